import Synchronization

/// The configuration that counts now. Each request takes it once, and is answered by what it took.
final class LiveConfiguration: Sendable {
    /// In one piece, so that taking it is one reference counted.
    private final class Snapshot: Sendable {
        let configuration: GatewayConfiguration

        init(_ configuration: GatewayConfiguration) {
            self.configuration = configuration
        }
    }

    private let snapshot: Mutex<Snapshot>

    init(_ configuration: GatewayConfiguration) {
        snapshot = Mutex(Snapshot(configuration))
    }

    var current: GatewayConfiguration { snapshot.withLock { $0 }.configuration }

    /// Takes another configuration; where the gateway listens stays.
    func change(to configuration: GatewayConfiguration) {
        var configuration = configuration
        snapshot.withLock { snapshot in
            configuration.host = snapshot.configuration.host
            configuration.port = snapshot.configuration.port
            snapshot = Snapshot(configuration)
        }
    }
}
