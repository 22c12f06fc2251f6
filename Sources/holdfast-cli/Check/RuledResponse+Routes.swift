import HTTPCache
import HTTPCacheSemantics
import HoldfastGateway

extension RuledResponse {
    /// Returns whether any client of a gateway finds the response, as far as schemes decide.
    ///
    /// - Parameters:
    ///   - routes: the gateway's routes; `nil` for a library.
    ///   - schemes: see `isFound(byClientsUsing:)`.
    func isFound(on routes: GatewayRoutes?, byClientsUsing schemes: Set<String>) -> Bool {
        let target = key.components.target
        guard let routes, routes.find(target) else { return isFound(byClientsUsing: schemes) }
        return routes.routes.contains { $0.finds(target) && isFound(on: $0, byClientsUsing: schemes) }
    }

    /// Returns whether any client of a route finds the response, as far as schemes decide.
    func isFound(on route: GatewayRoute, byClientsUsing schemes: Set<String>) -> Bool {
        route.forwards ? isFoundByProxyClients(ofGatewayServing: schemes) : isFound(byClientsUsing: schemes)
    }
}
