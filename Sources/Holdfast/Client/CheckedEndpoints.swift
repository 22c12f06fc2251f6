import Logging
import Synchronization

/// Checks each endpoint type once for properties that are ignored.
final class CheckedEndpoints: Sendable {
    private struct State {
        var types: Set<ObjectIdentifier> = []
        var found: [IgnoredProperty] = []
    }

    /// The maximum number of types to check. Additional types are not checked.
    static let limit = 512

    private let state = Mutex(State())

    /// The ignored properties that were found.
    var found: [IgnoredProperty] { state.withLock { $0.found } }

    /// Returns an endpoint's ignored properties if its type has not been checked before.
    func check(_ endpoint: any Endpoint) -> [IgnoredProperty] {
        let type: any Endpoint.Type = Swift.type(of: endpoint)
        if type == AnyEndpoint.self, let wrapped = endpoint as? AnyEndpoint { return check(wrapped.base) }
        let isFirst = state.withLock {
            $0.types.count < Self.limit && $0.types.insert(ObjectIdentifier(type)).inserted
        }
        guard isFirst else { return [] }
        let found = IgnoredProperty.all(of: endpoint)
        if !found.isEmpty { state.withLock { $0.found += found } }
        return found
    }
}

extension CachingClient {
    /// The ignored properties of the endpoints that have been used.
    package var ignoredProperties: [IgnoredProperty] { checked.found }

    /// Logs an endpoint's ignored properties, once for each type.
    func noteIgnoredProperties(of endpoint: any Endpoint) {
        for ignored in checked.check(endpoint) {
            logger.warning(
                "Property of an endpoint is ignored",
                metadata: [
                    "endpoint": "\(ignored.endpoint)", "property": "\(ignored.property)",
                    "advice": "\(ignored.explanation)",
                ]
            )
        }
    }
}
