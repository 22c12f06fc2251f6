import HTTPCache
import ServiceLifecycle

/// A purge that is in force here, and how far it has come to other nodes.
struct PurgeAcknowledgement: Sendable {
    var result: PurgeResult
    /// Whether it has come as far as its client has asked. A client that named no level has asked
    /// for nothing: it gets the status that a gateway without a fleet responds with.
    var isReached = true

    /// Waits until a purge has come as far as it should. It holds no turn and no key meanwhile.
    ///
    /// - Parameter result: of the purge, which is in force and durable here.
    init(_ result: PurgeResult, of purge: PurgeRequest, _ sharing: (any SharingOperations)?) async {
        self.result = result
        guard let sharing, !result.dryRun else { return }
        let level = purge.wait ?? sharing.acknowledgedLevel
        // It was checked before the purge.
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
