import HTTPCache
import HTTPCacheOperations
import HoldfastControl
import HoldfastGateway
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

    func status(of check: HealthCheck) async -> HealthStatus {
        let (phase, watch) = state.withLock { ($0.phase, $0.watch) }
        guard let watch else { return .failing }
        return switch check {
        case .all: await watch.status(in: phase)
        case .live: await watch.liveStatus()
        case .ready: await watch.readyStatus(in: phase)
        }
    }
}
