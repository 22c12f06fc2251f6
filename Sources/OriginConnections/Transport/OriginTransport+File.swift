public import GatewayRouting
public import HoldfastConfiguration

extension OriginTransport.Configuration {
    /// Reads the transport's settings from a configuration file: `origins`, and the origins' part
    /// of `timeouts`.
    ///
    /// - Parameter routes: the gateway's routes.
    public init(_ configuration: HoldfastConfiguration.Configuration, routes: GatewayRoutes) {
        self.init()
        self.routes = routes
        if let duration = configuration.stallTimeouts.send { sendTimeout = duration }
        if let duration = configuration.stallTimeouts.receive { readTimeout = duration }
        origins = configuration.resolvedOrigins
        let timeouts = configuration.originTimeouts
        if let duration = timeouts.connect { (connectTimeout, limitsConnecting) = (duration, true) }
        if let duration = timeouts.firstByte { firstByteTimeout = duration }
        if let duration = timeouts.idle { idleTimeout = duration }
    }
}
