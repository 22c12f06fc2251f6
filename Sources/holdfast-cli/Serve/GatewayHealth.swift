import HTTPCache
import HTTPCacheOperations
import HoldfastControl
import Synchronization

/// The gateway's health, as reported to its clients.
///
/// The gateway is created before the operations that its health depends on, because they need the
/// gateway. It must not get requests until ``connect(to:)`` is called, which happens before the
/// gateway listens.
final class GatewayHealth: Sendable {
    private struct State {
        var phase = ServingPhase.starting
        var watch: HealthWatch?
    }

    private let state = Mutex(State())

    func connect(to watch: HealthWatch) { state.withLock { $0.watch = watch } }

    func enter(_ phase: ServingPhase) { state.withLock { $0.phase = phase } }

    func status() async -> HealthStatus {
        let (phase, watch) = state.withLock { ($0.phase, $0.watch) }
        return await watch?.status(in: phase) ?? .failing
    }
}
