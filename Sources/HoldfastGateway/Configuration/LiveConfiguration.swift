import Synchronization

/// The configuration that counts now. Each request takes it once, and is answered by what it took.
final class LiveConfiguration: Sendable {
    private let inForce: Mutex<ConfigurationInForce>
    private let instance: UInt32

    /// - Parameter instance: see ``ConfigurationInForce/init(_:instance:)``.
    init(_ configuration: GatewayConfiguration, instance: UInt32) {
        self.instance = instance
        inForce = Mutex(ConfigurationInForce(configuration, instance: instance))
    }

    var current: ConfigurationInForce { inForce.withLock { $0 } }

    /// Takes another configuration; where the gateway listens stays.
    func change(to configuration: GatewayConfiguration) {
        var configuration = configuration
        inForce.withLock { inForce in
            configuration.host = inForce.configuration.host
            configuration.port = inForce.configuration.port
            inForce = ConfigurationInForce(configuration, instance: instance)
        }
    }
}
