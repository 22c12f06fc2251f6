import HTTPCache
import HTTPCacheOperations
import ServiceLifecycle

/// A purge that is in effect on this node, and the level that it has reached in the fleet.
struct PurgeAcknowledgement: Sendable {
    var result: PurgeResult
    /// Whether the purge has reached the level that its client requested. `true` if the client
    /// requested no level, so that the response has the same status as without a fleet.
    var isReached = true

    /// Waits until a purge has reached its level, or until the time limit. During the wait, the
    /// purge holds neither a permit nor an idempotency key.
    ///
    /// - Parameter result: the result of a purge that is in effect on this node.
    init(_ result: PurgeResult, of purge: PurgeRequest, _ sharing: (any SharingOperations)?) async {
        self.result = result
        guard let sharing, !result.dryRun else { return }
        let level = purge.wait ?? sharing.acknowledgedLevel
        // `within` was checked before the purge.
        let limit = purge.within.flatMap { try? PurgeWait.limit($0) } ?? PurgeWait.limit(for: level)
        // A shutdown ends the wait, so that clients still get their responses.
        let reach = await cancelWhenGracefulShutdown { await sharing.reach(level, within: limit) }
        self.result.reached = reach.level
        self.result.position = reach.position
        self.result.replicas = reach.replicas
        self.result.nodes = reach.nodes
        self.result.note = reach.note
        isReached = purge.wait.map { reach.level >= $0 } ?? true
    }
}
