import HTTPCache
import ServiceLifecycle

/// A purge that is in effect on this node, and how far it has reached other nodes.
struct PurgeAcknowledgement: Sendable {
    var result: PurgeResult
    /// Whether the purge has reached the level that its client asked for. `true` if the client
    /// asked for none: the response then has the same status as that of a gateway without a fleet.
    var isReached = true

    /// Waits until a purge has reached its level. It holds no permit and no key while it waits.
    ///
    /// - Parameter result: the result of a purge that is in effect and durable on this node.
    init(_ result: PurgeResult, of purge: PurgeRequest, _ sharing: (any SharingOperations)?) async {
        self.result = result
        guard let sharing, !result.dryRun else { return }
        let level = purge.wait ?? sharing.acknowledgedLevel
        // The text was checked before the purge.
        let limit = purge.within.flatMap { try? PurgeWait.limit($0) } ?? PurgeWait.limit(for: level)
        // Clients get their responses before the gateway ends.
        let reach = await cancelWhenGracefulShutdown { await sharing.reach(level, within: limit) }
        self.result.reached = reach.level
        self.result.position = reach.position
        self.result.replicas = reach.replicas
        self.result.nodes = reach.nodes
        self.result.note = reach.note
        isReached = purge.wait.map { reach.level >= $0 } ?? true
    }
}
