import Logging
import Synchronization

/// Checks each type of endpoint once for properties that are ignored.
final class CheckedEndpoints: Sendable {
    private struct State {
        var types: Set<ObjectIdentifier> = []
        var found: [IgnoredProperty] = []
    }

    /// The maximum number of types that are checked. Further types are not checked.
    static let limit = 512

    private let state = Mutex(State())

    /// The ignored properties that were found.
    var found: [IgnoredProperty] { state.withLock { $0.found } }

    /// Returns the ignored properties of an endpoint if its type was not checked before.
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
    /// The properties of endpoints that were found to be ignored.
    package var ignoredProperties: [IgnoredProperty] { checked.found }

    /// Logs, once for each type, the properties of an endpoint that are ignored.
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
