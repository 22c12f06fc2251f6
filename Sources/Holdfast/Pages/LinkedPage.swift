import CacheRules
import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastContent

/// A page that another page links to: an endpoint with the link's URL.
struct LinkedPage<Base: Endpoint>: Endpoint {
    typealias Response = Base.Response

    let base: Base
    let target: TargetURI

    var baseURL: String { target.uri }
    func baseURL(in environment: ServerEnvironment?) -> String { target.uri }
    var path: String { "" }
    var method: HTTPRequest.Method { .get }
    /// The link has its own query.
    var task: HTTPTask {
        if case .parameters(_, _, _, _, let headers) = base.task { .parameters(headers: headers) } else { .plain }
    }
    var headers: Base.EndpointHeaders { base.headers }
    var principal: String? { base.principal.asOptional }
    var secrets: Secrets { base.secrets }
    var isMutation: Bool { base.isMutation }
    var isIdempotent: Bool { base.isIdempotent }
    var storage: CacheRequest.Storage { base.storage }
    var rule: RuleSettings? { base.rule.asOptional }
    var offlineReads: OfflineReads? { base.offlineReads.asOptional }
    var tags: [String] { base.tags }
    var strategy: SingleValueStrategy { base.strategy }
    var invalidates: [StoreInvalidation] { base.invalidates }
    var invalidatesTarget: Bool { base.invalidatesTarget }
    var acceptedStatuses: AcceptedStatuses { base.acceptedStatuses }
    var valuePath: ValuePath { base.valuePath }
    var envelope: EnvelopeChoice { base.envelope }
    var emptyContent: EmptyContent { base.emptyContent }
    var maximumBodyBytes: Int? { base.maximumBodyBytes.asOptional }
    var timeout: Duration? { base.timeout.asOptional }
    var retry: RetryPlan? { base.retry.asOptional }
    var redirects: RedirectPolicy { base.redirects }
    var sampleResponse: SampleResponse? { nil }
}
