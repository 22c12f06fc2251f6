package import HTTPCache
package import HTTPCacheOperations
package import HTTPCacheSemantics

/// The modes that operators set for origins and routes, for the engine.
///
/// The engine also sends requests of its own, such as validations, which use no route. A mode of a
/// route therefore applies to all targets that the route may lead to, as the route's setting `mode`
/// does.
package struct SwitchedModes: TargetModes {
    private let routes: GatewayRoutes
    private let ofOrigins: [OriginEndpoint: OfflineMode]
    private let ofRoutes: [(route: GatewayRoute, mode: OfflineMode)]

    /// Returns `nil` if no switch sets the mode of one of the routes or their origins.
    package init?(_ switches: Switches, _ routes: GatewayRoutes) {
        var ofOrigins: [OriginEndpoint: OfflineMode] = [:]
        var ofRoutes: [(route: GatewayRoute, mode: OfflineMode)] = []
        for one in switches.modes {
            guard let mode = one.mode else { continue }
            switch one.subject {
            case .origin(let url):
                for route in routes.routes where route.origin.name == url { ofOrigins[route.endpoint] = mode }
            case .route(let name):
                ofRoutes += routes.routes.filter { $0.name == name }.map { (route: $0, mode: mode) }
            case .server: break
            }
        }
        if ofOrigins.isEmpty, ofRoutes.isEmpty { return nil }
        (self.routes, self.ofOrigins, self.ofRoutes) = (routes, ofOrigins, ofRoutes)
    }

    /// Returns the strictest of the modes of a target's origin and of the routes that may lead to
    /// it.
    package func mode(for target: TargetURI) -> OfflineMode? {
        var strictest: OfflineMode?
        if !ofOrigins.isEmpty { strictest = routes.endpoint(for: target).flatMap { ofOrigins[$0] } }
        for (route, mode) in ofRoutes where route.mayLead(to: target) {
            strictest = OfflineMode.leastNetwork(mode, strictest)
        }
        return strictest
    }
}
