import HTTPCache
package import HTTPCacheOperations
import Synchronization

/// A node's view of its fleet log, for metrics, health and the control plane.
package final class SharingStatus: Sendable {
    /// The state of the connection, with the values of `holdfast_fleet_state`.
    package enum State: Int, Sendable, CaseIterable {
        case off = 0
        /// The node is connecting to the server or beginning an epoch.
        case connecting = 1
        /// The node is reading the entries that arrived while it was away.
        case resyncing = 2
        case following = 3
        case cutOff = 4

        /// The name of the state, in words.
        package var name: String {
            switch self {
            case .off: "off"
            case .connecting: "connecting"
            case .resyncing: "catching up"
            case .following: "following"
            case .cutOff: "cut off"
            }
        }
    }

    /// Counts since startup.
    package struct Counts: Sendable, Hashable {
        /// The number of applied invalidations from other nodes.
        package var applied = 0
        package var published = 0
        package var gaps = 0
        package var epochs = 0
        /// The number of entries that are damaged or do not belong to this fleet.
        package var unreadable = 0
        /// The number of times that the server was unusable.
        package var failures = 0
        /// The number of times that the node connected and began to follow the log.
        package var connections = 0
    }

    private struct Content {
        var state = State.off
        var counts = Counts()
        var waiting = 0
        var position: String?
        var contact: ContinuousClock.Instant?
        var failure: (any Error)?
        /// Why the last attempt to connect failed.
        var connectionFailure: String?
        var unopened: UInt64 = 0
        var namesakes: [String] = []
        var behind: Int64?

        var problem: String? {
            guard let failure else { return nil }
            // The node learns from a call only that there is no connection.
            if case FleetLogError.unreachable = failure, let connectionFailure { return connectionFailure }
            return "\(failure)"
        }
    }

    private let content = Mutex(Content())

    /// Creates the status of a node that has not connected yet.
    package init() {}

    package var state: State { content.withLock { $0.state } }
    package var counts: Counts { content.withLock { $0.counts } }
    /// The number of invalidations waiting to be published, as last counted.
    package var waiting: Int { content.withLock { $0.waiting } }
    /// The position up to which the log was read.
    package var position: String? { content.withLock { $0.position } }
    /// The time since the server last replied; `nil` if it never did.
    package var contactAge: Duration? { content.withLock { $0.contact }.map { .now - $0 } }
    /// The reason that the server is unusable now; `nil` if it is usable.
    package var problem: String? { content.withLock { $0.problem } }

    /// The number of entries that are not applied here because they could not be decrypted.
    package var unopened: UInt64 { content.withLock { $0.unopened } }
    /// The number of entries that this node must still read to follow the log; `nil` if it does not
    /// know of any.
    package var behind: Int64? { content.withLock { $0.behind } }
    /// The identities of running nodes with this node's name.
    package var namesakes: [String] { content.withLock { $0.namesakes } }

    /// The state in words, for operators.
    package var condition: FleetCondition {
        let content = content.withLock { $0 }
        let (state, waiting) = (content.state, content.waiting)
        var words = state == .following ? "following purges of other nodes" : state.name
        if let behind = content.behind { words += ", \(LogEntry.counted(behind)) of the log left to read" }
        if state != .following, let problem = content.problem { words += ": \(problem)" }
        if content.unopened > 0 {
            words +=
                "; entries of the log that cannot be opened: \(content.unopened); "
                + "they use a different secret, or come from a newer version"
        }
        if !content.namesakes.isEmpty { words += "; another node has the same name" }
        if waiting > 0 { words += "; unsent purges of this node: \(waiting)" }
        return FleetCondition(
            isFollowing: state == .following && content.unopened == 0,
            detail: words
        )
    }

    func enter(_ state: State) {
        content.withLock {
            $0.state = state
            if state == .following { ($0.failure, $0.connectionFailure) = (nil, nil) }
        }
    }

    func countConnection() { content.withLock { $0.counts.connections += 1 } }

    func setNamesakes(_ identities: [String]) { content.withLock { $0.namesakes = identities } }

    func setBehind(_ entries: Int64?) { content.withLock { $0.behind = entries } }

    func setWaiting(_ count: Int) { content.withLock { $0.waiting = count } }

    func countPublished(_ count: Int) {
        content.withLock { $0.counts.published += count }
    }

    func count(_ reading: Follower.Reading, fresh: Int) {
        content.withLock {
            $0.counts.applied += fresh
            $0.counts.gaps += reading.hasGap ? 1 : 0
            $0.counts.epochs += reading.markers
            $0.counts.unreadable += reading.unopened.count
            $0.unopened = reading.hold?.count ?? 0
            $0.position = "\(reading.cursor.position)"
        }
    }

    func noteContact() { content.withLock { $0.contact = .now } }

    func countFailure(_ failure: any Error) {
        content.withLock {
            $0.counts.failures += 1
            $0.failure = failure
        }
    }

    /// Records why an attempt to connect failed.
    ///
    /// - Parameter reason: a sentence for the operator. A final period is dropped.
    package func noteConnectionFailure(_ reason: String) {
        let words = reason.hasSuffix(".") ? String(reason.dropLast()) : reason
        content.withLock { $0.connectionFailure = words }
    }
}
