package import HTTPCacheSemantics
import Synchronization

/// When each origin last responded: for people who read that it is unreachable, and to tell an
/// origin that went away from a name that never led to one.
///
/// Origins may be as many as clients name hosts, so only the last ``limit`` of them are remembered.
package final class OriginContacts: Sendable {
    /// The maximum number of origins. If there are more, all are forgotten. No request depends on
    /// them, and the reports that do are about one kind of failure: ``OriginRegistry``.
    package static let limit = 4096

    private let instants = Mutex<[Origin: Timestamp]>([:])

    init() {}

    func note(_ origin: Origin, at now: Timestamp) {
        instants.withLock { instants in
            if instants.count >= Self.limit, instants[origin] == nil { instants.removeAll() }
            instants[origin] = now
        }
    }

    /// Returns when an origin last responded; `nil` if that is not known.
    package func last(with origin: Origin) -> Timestamp? { instants.withLock { $0[origin] } }
}
