public import HTTPCache
public import NIOCore

/// Reports a gateway's health, with or without a control plane, to clients that may learn nothing
/// more.
public final class HealthWatch: Sendable {
    private let operations: any CacheOperations
    private let loops: LoopWatch

    /// - Parameter loops: the event loops that serve the gateway's clients.
    public init(operations: any CacheOperations, loops: [any EventLoop]) {
        self.operations = operations
        self.loops = LoopWatch(loops)
    }

    /// The status that the control plane's `/healthz` shows in this phase.
    ///
    /// A stuck event loop delays the result by up to 2 seconds.
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
