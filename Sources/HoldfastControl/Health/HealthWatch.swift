public import HTTPCache
public import NIOCore

/// Says how a gateway is, with or without a control plane, for clients that may learn no more.
public final class HealthWatch: Sendable {
    private let operations: any CacheOperations
    private let loops: LoopWatch

    /// - Parameter loops: the event loops that serve the gateway's clients.
    public init(operations: any CacheOperations, loops: [any EventLoop]) {
        self.operations = operations
        self.loops = LoopWatch(loops)
    }

    /// The status that `/healthz` of the control plane shows in this phase.
    ///
    /// An event loop that is stuck delays it by up to 2 seconds.
    public func status(in phase: ServingPhase) async -> HealthStatus {
        let condition = await operations.storeCondition()
        let readiness = HealthReport.readiness(
            phase,
            condition,
            operations.unreachableOrigins,
            operations.modeState,
            fleet: operations.fleetCondition
        )
        return readiness.adding(.liveness(stuckLoops: await loops.stuckLoops())).status
    }
}
