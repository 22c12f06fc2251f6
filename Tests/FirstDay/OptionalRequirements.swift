import Holdfast

// A value's own type and an optional of it satisfy each optional requirement.

private struct OfUser: Endpoint {
    let path = "/me"
    let principal: String
}

private struct OfPerhapsAUser: Endpoint {
    let path = "/me"
    let principal: String?
}

private enum Computed: Endpoint {
    case user(String)
    var path: String { "/me" }
    var principal: String {
        switch self {
        case .user(let name): name
        }
    }
}

private struct ComputedOptionally: Endpoint {
    let path = "/me"
    var principal: String? { nil }
}

private struct Omitted: Endpoint { let path = "/me" }

private func principals(of endpoint: some Endpoint, _ erased: any Endpoint) -> [String?] {
    [endpoint.principal.asOptional, erased.principal.asOptional]
}

private struct AllPlain: Endpoint {
    let path = "/me"
    let principal = "ada"
    let rule = RuleSettings()
    let offlineReads = OfflineReads.despiteDirectives
    let maximumBodyBytes = 1 << 20
    let timeout = Duration.seconds(3)
    let retry = RetryPlan()
    let sampleResponse = SampleResponse(json: "{}")
}

private enum AllComputed: Endpoint {
    case feed
    var path: String { "/feed" }
    var principal: String { "ada" }
    var rule: RuleSettings { RuleSettings() }
    var offlineReads: OfflineReads { .despiteDirectives }
    var maximumBodyBytes: Int { 1 << 20 }
    var timeout: Duration { .seconds(3) }
    var retry: RetryPlan { RetryPlan() }
    var sampleResponse: SampleResponse { SampleResponse(json: "{}") }
}

private struct AllOptional: Endpoint {
    let path = "/me"
    var principal: String?
    var rule: RuleSettings?
    var offlineReads: OfflineReads?
    var maximumBodyBytes: Int?
    var timeout: Duration?
    var retry: RetryPlan?
    var sampleResponse: SampleResponse?
}

// Defaults of an API's own protocol.

private protocol OwnAPI: Endpoint {}
extension OwnAPI {
    var timeout: Duration { .seconds(3) }
    var retry: RetryPlan? { RetryPlan() }
}

private struct OfOwnAPI: OwnAPI { let path = "/own" }
private struct Impatient: OwnAPI {
    let path = "/own"
    let timeout: Duration? = .seconds(1)
}

private struct Wrapper<Base: Endpoint>: Endpoint {
    let base: Base
    var path: URLPath { base.path.urlPath }
    var principal: Base.EndpointPrincipal { base.principal }
    var timeout: Duration? { base.timeout.asOptional }
}
