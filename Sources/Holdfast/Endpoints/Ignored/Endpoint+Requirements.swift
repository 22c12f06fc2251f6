import HTTPCache
import HTTPTypes
import HoldfastContent

extension Endpoint {
    /// The types that this endpoint uses for the requirements.
    var typesOfRequirements: [String: Any.Type] {
        [
            "baseURL": String.self, "method": HTTPRequest.Method.self, "task": HTTPTask.self,
            "headers": EndpointHeaders.self, "principal": EndpointPrincipal.self, "secrets": Secrets.self,
            "isMutation": Bool.self, "isIdempotent": Bool.self, "storage": CacheRequest.Storage.self,
            "rule": EndpointRule.self, "offlineReads": EndpointOfflineReads.self, "tags": [String].self,
            "strategy": SingleValueStrategy.self, "invalidates": [StoreInvalidation].self,
            "invalidatesTarget": Bool.self, "acceptedStatuses": AcceptedStatuses.self, "valuePath": ValuePath.self,
            "envelope": EnvelopeChoice.self, "emptyContent": EmptyContent.self,
            "maximumBodyBytes": EndpointMaximumBodyBytes.self, "timeout": EndpointTimeout.self,
            "retry": EndpointRetry.self, "redirects": RedirectPolicy.self,
            "sampleResponse": EndpointSampleResponse.self,
        ]
    }

    /// Returns whether a requirement has its default value, which means that the endpoint probably
    /// does not declare it.
    func isDefault(_ requirement: String) -> Bool {
        let defaults = DefaultsOfEndpoint(method: method, task: task, storage: storage, isMutation: isMutation)
        return switch requirement {
        case "baseURL": baseURL.isEmpty
        case "method": method == task.impliedMethod
        case "task": task.isPlain
        case "headers": (try? headers.httpFields().isEmpty) ?? false
        case "principal": principal.asOptional == nil
        case "secrets": secrets.isEmpty
        case "isMutation": isMutation == isMutationByDefault
        case "isIdempotent": isIdempotent == defaults.isIdempotent
        case "storage": storage == .byResponse
        case "rule": rule.asOptional == nil
        case "offlineReads": offlineReads.asOptional == nil
        case "tags": tags.isEmpty
        case "strategy": strategy == .standard
        case "invalidates": invalidates.isEmpty
        case "invalidatesTarget": invalidatesTarget == defaults.invalidatesTarget
        case "acceptedStatuses": acceptedStatuses == defaults.acceptedStatuses
        case "valuePath": valuePath == defaults.valuePath
        case "envelope": envelope == defaults.envelope
        case "emptyContent": emptyContent == defaults.emptyContent
        case "maximumBodyBytes": maximumBodyBytes.asOptional == nil
        case "timeout": timeout.asOptional == nil
        case "retry": retry.asOptional == nil
        case "redirects": redirects == defaults.redirects
        case "sampleResponse": sampleResponse.asOptional == nil
        default: false
        }
    }
}

/// An endpoint that supplies the defaults that depend on whether an endpoint is a mutation.
private struct DefaultsOfEndpoint: Endpoint {
    let path = ""
    let method: HTTPRequest.Method
    let task: HTTPTask
    let storage: CacheRequest.Storage
    let isMutation: Bool
}

extension HTTPTask {
    fileprivate var isPlain: Bool { if case .plain = self { true } else { false } }
}
