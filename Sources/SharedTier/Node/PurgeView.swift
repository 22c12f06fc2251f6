import HTTPCache
import HTTPCacheSemantics
import Synchronization

/// A node's present knowledge of the shared log, by which responses of other nodes are judged.
///
/// ``InvalidationSharing`` writes it, ``ResponseSharing`` reads it.
package final class PurgeView: Sendable {
    private struct State {
        var isFollowing = false
        var position = LogPosition.zero
        /// The epochs that were read. A fencing position of another one is from a history that this
        /// node does not know.
        var epochs: Set<UInt64> = []
        var known: KnownPurges?
        var offset = EngineOffset(milliseconds: 0)
        /// `nil` until the journal was looked at: purges of an earlier process may wait.
        var additionsPublished: UInt64?
    }

    private let state = Mutex(State())
    private let following = Atomic(false)

    package init() {}

    // MARK: Reading

    /// Whether all purges of the retained log up to its end are known. As cheap as an atomic read.
    var isFollowing: Bool { following.load(ordering: .acquiring) }

    /// Up to where the log is in force here; `nil` while it is not followed.
    var position: LogPosition? { state.withLock { $0.isFollowing ? $0.position : nil } }

    var offset: EngineOffset { state.withLock { $0.offset } }

    /// See ``KnownPurges/isCurrent(_:tags:fence:)``.
    func isCurrent(_ key: CacheKey, tags: [String], fence: LogPosition) -> Bool {
        state.withLock { state in
            guard state.isFollowing, state.epochs.contains(fence.epoch), let known = state.known else { return false }
            return known.isCurrent(key, tags: tags, fence: fence)
        }
    }

    /// Whether a purge of this node may wait to be published, of which no position is known.
    func mayWait(_ log: any InvalidationLog) -> Bool {
        state.withLock { $0.additionsPublished } != log.additionCount
    }

    // MARK: Writing

    /// Whether the retained log has to be read, so that other nodes' responses can be judged.
    var needsLog: Bool { state.withLock { $0.known == nil } }

    /// The retained log was read.
    func setKnown(_ known: KnownPurges) { state.withLock { $0.known = known } }

    func note(_ scope: InvalidationScope, at position: LogPosition) {
        state.withLock { $0.known?.note(scope, at: position) }
    }

    /// Entries of the log are in force here.
    func apply(_ reading: Follower.Reading) {
        state.withLock { state in
            for case .apply(let invalidation, let position) in reading.steps {
                state.known?.note(invalidation.scope, at: position)
            }
            // They may be about anything.
            for position in reading.unopened { state.known?.note(.all, at: position) }
            // Some were missed, so the log has to be read again from its first entry.
            if reading.hasGap { state.known = nil }
            state.position = reading.cursor.position
            state.epochs = Set(reading.cursor.epochs.keys)
            if state.known == nil { state.isFollowing = false }
            following.store(state.isFollowing, ordering: .releasing)
        }
    }

    /// The log was read to its end.
    func follow(_ isFollowing: Bool) {
        state.withLock { state in
            state.isFollowing = isFollowing && state.known != nil
            following.store(state.isFollowing, ordering: .releasing)
        }
    }

    func setOffset(_ milliseconds: Int64) { state.withLock { $0.offset = EngineOffset(milliseconds: milliseconds) } }

    /// Nothing waits of what was journaled up to a count of additions.
    func notePublished(_ additions: UInt64) { state.withLock { $0.additionsPublished = additions } }
}
