public import CacheRules
public import HTTPCache
public import HTTPTypes
public import HoldfastContent

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// An endpoint of any type, for lists and functions that accept endpoints of several APIs. It makes
/// the wrapped endpoint's request and returns bytes. To decode them, a call specifies the type with
/// `as:`.
///
/// ```swift
/// for endpoint in [AnyEndpoint(GitHub.user("ada")), AnyEndpoint(Weather.today)] {
///     let emission = try await client.fetch(endpoint)
/// }
/// ```
public struct AnyEndpoint: Endpoint {
    /// The undecoded content.
    public typealias Response = Data

    /// The wrapped endpoint.
    public let base: any Endpoint

    /// Wraps an endpoint of any type. An endpoint that is already wrapped is not wrapped again.
    public init(_ base: any Endpoint) {
        self.base = (base as? AnyEndpoint)?.base ?? base
    }

    /// The base URL of the wrapped endpoint. All properties below also come from the wrapped
    /// endpoint.
    public var baseURL: String { base.baseURL }
    /// See ``Endpoint/baseURL(in:)``.
    public func baseURL(in environment: ServerEnvironment?) -> String { base.baseURL(in: environment) }
    /// See ``Endpoint/path``.
    public var path: URLPath { base.path.urlPath }
    /// See ``Endpoint/method``.
    public var method: HTTPRequest.Method { base.method }
    /// See ``Endpoint/task``.
    public var task: HTTPTask { base.task }
    /// See ``Endpoint/headers``.
    public var headers: Headers { Headers(base: base.headers) }
    /// See ``Endpoint/principal``.
    public var principal: String? { base.principal.asOptional }
    /// See ``Endpoint/secrets``.
    public var secrets: Secrets { base.secrets }
    /// See ``Endpoint/isMutation``.
    public var isMutation: Bool { base.isMutation }
    /// See ``Endpoint/isIdempotent``.
    public var isIdempotent: Bool { base.isIdempotent }
    /// See ``Endpoint/storage``.
    public var storage: CacheRequest.Storage { base.storage }
    /// See ``Endpoint/rule``.
    public var rule: RuleSettings? { base.rule.asOptional }
    /// See ``Endpoint/offlineReads``.
    public var offlineReads: OfflineReads? { base.offlineReads.asOptional }
    /// See ``Endpoint/tags``.
    public var tags: [String] { base.tags }
    /// See ``Endpoint/strategy``.
    public var strategy: SingleValueStrategy { base.strategy }
    /// See ``Endpoint/invalidates``.
    public var invalidates: [StoreInvalidation] { base.invalidates }
    /// See ``Endpoint/invalidatesTarget``.
    public var invalidatesTarget: Bool { base.invalidatesTarget }
    /// See ``Endpoint/acceptedStatuses``.
    public var acceptedStatuses: AcceptedStatuses { base.acceptedStatuses }
    /// See ``Endpoint/valuePath``.
    public var valuePath: ValuePath { base.valuePath }
    /// See ``Endpoint/envelope``.
    public var envelope: EnvelopeChoice { base.envelope }
    /// See ``Endpoint/emptyContent``.
    public var emptyContent: EmptyContent { base.emptyContent }
    /// See ``Endpoint/maximumBodyBytes``.
    public var maximumBodyBytes: Int? { base.maximumBodyBytes.asOptional }
    /// See ``Endpoint/timeout``.
    public var timeout: Duration? { base.timeout.asOptional }
    /// See ``Endpoint/retry``.
    public var retry: RetryPlan? { base.retry.asOptional }
    /// See ``Endpoint/redirects``.
    public var redirects: RedirectPolicy { base.redirects }
    /// See ``Endpoint/sampleResponse``.
    public var sampleResponse: SampleResponse? { base.sampleResponse.asOptional }

    /// The wrapped endpoint's fields, of any type.
    public struct Headers: HTTPFieldsConvertible {
        fileprivate let base: any HTTPFieldsConvertible

        /// See ``HTTPFieldsConvertible/httpFields()``.
        public func httpFields() throws -> HTTPFields { try base.httpFields() }
    }
}
