import Logging
import Synchronization

/// Checks each type of endpoint once for properties that are ignored.
///
/// A call asks about its endpoint's type, so the answer for a checked type takes no lock: it is in
/// a table, found by the type's address. Two types that share a place in it push each other out,
/// and are then found in the set.
final class CheckedEndpoints: Sendable {
    private struct State {
        var types: Set<ObjectIdentifier> = []
        var found: [IgnoredProperty] = []
    }

    /// The number of types that are checked. Further ones are not.
    static let limit = 512
    /// A power of two.
    private static let places = 256

    private let state = Mutex(State())
    /// Safe, because only atomics are behind it, for as long as this object lives.
    private nonisolated(unsafe) let known: UnsafeMutablePointer<Atomic<UInt>>

    init() {
        known = .allocate(capacity: Self.places)
        for place in 0..<Self.places { (known + place).initialize(to: Atomic(0)) }
    }

    deinit {
        known.deinitialize(count: Self.places)
        known.deallocate()
    }

    /// The properties that were found so far.
    var found: [IgnoredProperty] { state.withLock { $0.found } }

    /// Returns the ignored properties of an endpoint, if its type is checked for the first time.
    func check(_ endpoint: any Endpoint) -> [IgnoredProperty] {
        let type: any Endpoint.Type = Swift.type(of: endpoint)
        if type == AnyEndpoint.self, let wrapped = endpoint as? AnyEndpoint { return check(wrapped.base) }
        let identifier = ObjectIdentifier(type)
        let address = UInt(bitPattern: identifier)
        // Types are aligned to 16 bytes.
        let place = known + Int(truncatingIfNeeded: address >> 4) & (Self.places - 1)
        if place.pointee.load(ordering: .relaxed) == address { return [] }
        let isFirst = state.withLock { $0.types.count < Self.limit && $0.types.insert(identifier).inserted }
        place.pointee.store(address, ordering: .relaxed)
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
