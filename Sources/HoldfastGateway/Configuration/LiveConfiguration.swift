import Synchronization

/// The configuration that counts now. Each request takes it once, and is answered by what it took.
final class LiveConfiguration: Sendable {
    /// In one piece, so that taking it is one reference counted.
    private final class Snapshot: Sendable {
        let configuration: GatewayConfiguration
        let number: UInt64

        init(_ configuration: GatewayConfiguration, number: UInt64) {
            self.configuration = configuration
            self.number = number
        }
    }

    private let snapshot: Mutex<Snapshot>

    init(_ configuration: GatewayConfiguration) {
        snapshot = Mutex(Snapshot(configuration, number: 0))
    }

    var current: GatewayConfiguration { snapshot.withLock { $0 }.configuration }

    /// Grows with every change: what was remembered under another number may hold no more.
    var number: UInt64 { snapshot.withLock { $0 }.number }

    /// Takes another configuration; where the gateway listens stays.
    func change(to configuration: GatewayConfiguration) {
        var configuration = configuration
        snapshot.withLock { snapshot in
            configuration.host = snapshot.configuration.host
            configuration.port = snapshot.configuration.port
            snapshot = Snapshot(configuration, number: snapshot.number + 1)
        }
    }
}
