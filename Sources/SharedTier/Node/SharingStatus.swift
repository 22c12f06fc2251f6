package import HTTPCache
import Synchronization

/// The state of a node towards its shared log, for metrics, health and the control plane.
package final class SharingStatus: Sendable {
    /// As `holdfast_shared_state` counts them.
    package enum State: Int, Sendable, CaseIterable {
        case off = 0
        /// It looks for the engine, or begins an epoch.
        case connecting = 1
        /// It reads what came while it was away.
        case resyncing = 2
        case following = 3
        case cutOff = 4

        /// The state in words.
        package var name: String {
            switch self {
            case .off: "off"
            case .connecting: "connecting"
            case .resyncing: "resyncing"
            case .following: "following"
            case .cutOff: "cut off"
            }
        }
    }

    /// Counts since the start.
    package struct Counts: Sendable, Hashable {
        /// Invalidations of other nodes that were put in force.
        package var applied = 0
        package var published = 0
        package var gaps = 0
        package var epochs = 0
        /// Entries that are none of this fleet, or are damaged.
        package var unreadable = 0
        /// How often the engine could not be used.
        package var failures = 0
        /// How often the node began to follow anew.
        package var connections = 0
    }

    private struct Content {
        var state = State.off
        var counts = Counts()
        var waiting = 0
        var position: String?
        var contact: ContinuousClock.Instant?
        var problem: String?
    }

    private let content = Mutex(Content())

    package init() {}

    package var state: State { content.withLock { $0.state } }
    package var counts: Counts { content.withLock { $0.counts } }
    /// How many invalidations waited to be published when they were last counted.
    package var waiting: Int { content.withLock { $0.waiting } }
    /// Up to where the log was read.
    package var position: String? { content.withLock { $0.position } }
    /// How long ago the engine last answered; `nil` if it never did.
    package var contactAge: Duration? { content.withLock { $0.contact }.map { .now - $0 } }
    /// The reason for which the engine cannot be used now.
    package var problem: String? { content.withLock { $0.problem } }

    /// The state for people.
    package var condition: SharedCondition {
        let (state, problem, waiting) = content.withLock { ($0.state, $0.problem, $0.waiting) }
        let waits = waiting > 0 ? "; \(waiting) purges of this node wait" : ""
        let why = state == .following ? "" : problem.map { ": \($0)" } ?? ""
        let words = state == .following ? "purges of other nodes are followed" : "\(state.name)\(why)"
        return SharedCondition(isFollowing: state == .following, detail: words + waits)
    }

    func enter(_ state: State) {
        content.withLock {
            $0.state = state
            if state == .following { $0.problem = nil }
        }
    }

    func countConnection() { content.withLock { $0.counts.connections += 1 } }

    func setWaiting(_ count: Int) { content.withLock { $0.waiting = count } }

    func countPublished(_ count: Int) {
        content.withLock { $0.counts.published += count }
    }

    func count(_ reading: Follower.Reading, fresh: Int) {
        content.withLock {
            $0.counts.applied += fresh
            $0.counts.gaps += reading.hasGap ? 1 : 0
            $0.counts.epochs += reading.markers
            $0.counts.unreadable += reading.unreadable
            $0.position = "\(reading.cursor.position)"
        }
    }

    func noteContact() { content.withLock { $0.contact = .now } }

    func countFailure(_ problem: String) {
        content.withLock {
            $0.counts.failures += 1
            $0.problem = problem
        }
    }
}
