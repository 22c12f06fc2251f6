package import HTTPCache
package import HTTPCacheOperations
package import NIOCore

/// Reports a gateway's health as one status, for clients that must not see details. It works with
/// or without a control plane.
package final class HealthWatch: Sendable {
    private let operations: any CacheOperations
    private let loops: LoopWatch

    /// Creates a watch for a gateway's health.
    ///
    /// - Parameter loops: the event loops that serve the gateway's clients.
    package init(operations: any CacheOperations, loops: [any EventLoop]) {
        self.operations = operations
        self.loops = LoopWatch(loops)
    }

    /// Returns the status that the control plane's `/healthz` would report in this phase.
    ///
    /// A stuck event loop delays the result by up to 2 seconds.
    package func status(in phase: ServingPhase) async -> HealthStatus {
        await readiness(in: phase).adding(await liveness()).status
    }

    /// Returns the status that the control plane's `/livez` would report.
    ///
    /// A stuck event loop delays the result by up to 2 seconds.
    package func liveStatus() async -> HealthStatus { await liveness().status }

    /// Returns the status that the control plane's `/readyz` would report in this phase.
    package func readyStatus(in phase: ServingPhase) async -> HealthStatus { await readiness(in: phase).status }

    private func liveness() async -> HealthReport { .liveness(stuckLoops: await loops.stuckLoops()) }

    private func readiness(in phase: ServingPhase) async -> HealthReport {
        .readiness(
            phase,
            await operations.storeCondition(),
            operations.unreachableOrigins,
            operations.modeState,
            fleet: operations.fleetCondition
        )
    }
}
