import Synchronization

/// The current configuration. Each request reads it once, and is served by it to its end.
final class LiveConfiguration: Sendable {
    private let inForce: Mutex<ConfigurationInForce>
    private let instance: UInt32

    /// - Parameter instance: see ``ConfigurationInForce/init(_:instance:)``.
    init(_ configuration: GatewayConfiguration, instance: UInt32) {
        self.instance = instance
        inForce = Mutex(ConfigurationInForce(configuration, instance: instance))
    }

    var current: ConfigurationInForce { inForce.withLock { $0 } }

    /// Applies another configuration. The address on which the gateway listens stays the same.
    func change(to configuration: GatewayConfiguration) {
        var configuration = configuration
        inForce.withLock { inForce in
            configuration.host = inForce.configuration.host
            configuration.port = inForce.configuration.port
            inForce = ConfigurationInForce(configuration, instance: instance)
        }
    }
}
