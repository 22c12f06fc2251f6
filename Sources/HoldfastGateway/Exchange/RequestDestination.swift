import GatewayRouting
import HTTPWire
import HoldfastConfiguration

/// The part of the gateway that serves a request which the checks of all requests let pass.
/// docs/listeners.md has the order.
enum RequestDestination {
    case health(HealthCheck)
    /// The route has a fixed answer.
    case fixed(HoldfastConfiguration.Configuration.FixedRoute)
    /// The cache, or else the route's origin. The route's checks come first.
    case route(GatewayRoutes.Choice)
    case rejected(Problem)

    /// - Parameter rulesHavePaths: whether rules match paths. A dot segment could evade them.
    init(
        of request: GatewayRequest,
        from client: GatewayClient,
        _ configuration: GatewayConfiguration,
        rulesHavePaths: Bool
    ) {
        if let check = configuration.healthCheck(request) {
            self = .health(check)
        } else if let choice = configuration.fixedRoute(of: request, from: client) {
            self = .fixed(choice.route)
        } else {
            do {
                self = .route(
                    try GatewayService.choice(
                        for: request,
                        configuration.routes,
                        configuration.fixedRoutes,
                        rulesHavePaths: rulesHavePaths
                    )
                )
            } catch {
                self = .rejected(error.problem)
            }
        }
    }
}
