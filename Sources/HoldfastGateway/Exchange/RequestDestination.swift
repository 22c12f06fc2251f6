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
        _ inForce: ConfigurationInForce,
        rulesHavePaths: Bool
    ) {
        switch inForce.ownResponse(to: request, from: client) {
        case .health(let check): self = .health(check)
        case .fixed(let choice): self = .fixed(choice.route)
        case nil:
            do {
                self = .route(
                    try GatewayService.choice(
                        for: request,
                        inForce.configuration.routes,
                        inForce,
                        rulesHavePaths: rulesHavePaths
                    )
                )
            } catch {
                self = .rejected(error.problem)
            }
        }
    }
}

/// A response that the gateway makes itself, without the cache.
enum OwnResponse {
    case health(HealthCheck)
    case fixed(FixedRoutes.Choice)
}

extension ConfigurationInForce {
    /// Returns the gateway's own response to a request; `nil` if the request is for the cache.
    ///
    /// Every forwarded request asks. A method of the configuration itself, which is a large value,
    /// would copy it each time.
    func ownResponse(to request: GatewayRequest, from client: GatewayClient) -> OwnResponse? {
        // Another host's paths mean nothing here.
        if hasProxy, configuration.routes.forward(request) { return nil }
        if let check = healthCheck(request) { return .health(check) }
        return fixedRoute(of: request, from: client).map { .fixed($0) }
    }
}
