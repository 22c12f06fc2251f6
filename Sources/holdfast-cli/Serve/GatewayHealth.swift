import HTTPCache
import HoldfastControl
import Synchronization

/// The gateway's health, as its clients may see it.
///
/// The gateway is made before the operations that are looked at, which need it. Until this is
/// connected, and that happens before the gateway listens, it must get no requests.
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
