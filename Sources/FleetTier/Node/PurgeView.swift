import HTTPCache
import HTTPCacheSemantics
import Synchronization

/// A node's current knowledge of the fleet log. It decides whether other nodes' responses are
/// current.
///
/// ``InvalidationSharing`` writes this view, and ``ResponseSharing`` reads it.
package final class PurgeView: Sendable {
    private struct State {
        var isFollowing = false
        var position = LogPosition.zero
        /// The epochs that this node has read. A fencing position in any other epoch belongs to a
        /// history that this node does not know.
        var epochs: Set<UInt64> = []
        var known: KnownPurges?
        var offset = EngineOffset(milliseconds: 0)
        /// The number of published additions; `nil` until the journal has been checked, because
        /// purges of an earlier process may be waiting.
        var additionsPublished: UInt64?
    }

    private let state = Mutex(State())
    private let following = Atomic(false)

    package init() {}

    // MARK: Reading

    /// Whether this node knows all purges of the retained log, up to its end. Reading this property
    /// costs one atomic load.
    var isFollowing: Bool { following.load(ordering: .acquiring) }

    /// The position up to which the log is applied here; `nil` while this node does not follow it.
    var position: LogPosition? { state.withLock { $0.isFollowing ? $0.position : nil } }

    var offset: EngineOffset { state.withLock { $0.offset } }

    /// See ``KnownPurges/isCurrent(_:tags:fencingPosition:)``.
    func isCurrent(_ key: StoreKey, tags: [String], fencingPosition: LogPosition) -> Bool {
        state.withLock { state in
            guard state.isFollowing, state.epochs.contains(fencingPosition.epoch), let known = state.known else {
                return false
            }
            return known.isCurrent(key, tags: tags, fencingPosition: fencingPosition)
        }
    }

    /// Returns whether one of this node's purges may be waiting for publication. Such a purge has
    /// no position yet.
    func mayWait(_ log: any InvalidationLog) -> Bool {
        state.withLock { $0.additionsPublished } != log.additionCount
    }

    // MARK: Writing

    /// Whether this node must read the retained log before it can use other nodes' responses.
    var needsLog: Bool { state.withLock { $0.known == nil } }

    /// Records that the retained log has been read.
    func setKnown(_ known: KnownPurges) { state.withLock { $0.known = known } }

    func note(_ invalidation: FleetInvalidation, at position: LogPosition) {
        state.withLock { $0.known?.note(invalidation, at: position) }
    }

    /// Records that entries of the log are applied here.
    func apply(_ reading: Follower.Reading) {
        state.withLock { state in
            for case .apply(let invalidation, let position) in reading.steps {
                state.known?.note(invalidation, at: position)
            }
            // An entry that could not be decrypted may be a purge of any response.
            for position in reading.unopened { state.known?.note(.all, at: position) }
            // Some entries were missed, so the log must be read again from its first entry.
            if reading.hasGap { state.known = nil }
            state.position = reading.cursor.position
            state.epochs = Set(reading.cursor.epochs.keys)
            if state.known == nil { state.isFollowing = false }
            following.store(state.isFollowing, ordering: .releasing)
        }
    }

    /// Records whether the log has been read to its end.
    func follow(_ isFollowing: Bool) {
        state.withLock { state in
            state.isFollowing = isFollowing && state.known != nil
            following.store(state.isFollowing, ordering: .releasing)
        }
    }

    func setOffset(_ milliseconds: Int64) { state.withLock { $0.offset = EngineOffset(milliseconds: milliseconds) } }

    /// Records that a number of additions to the journal are published.
    func notePublished(_ additions: UInt64) { state.withLock { $0.additionsPublished = additions } }
}
