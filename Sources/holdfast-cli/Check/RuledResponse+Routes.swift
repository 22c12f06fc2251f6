import HTTPCache
import HTTPCacheSemantics
import HoldfastGateway

extension RuledResponse {
    /// Returns whether any client of a gateway finds the response, as far as schemes decide.
    ///
    /// - Parameters:
    ///   - routes: the gateway's routes; `nil` for a library.
    ///   - schemes: see `isFound(byClientsUsing:)`.
    func isFound(on routes: ClientRoutes?, byClientsUsing schemes: Set<String>) -> Bool {
        let finding = routes?.routes(to: key.components.target) ?? []
        return finding.isEmpty
            ? isFound(byClientsUsing: schemes) : finding.contains { isFound(on: $0, byClientsUsing: schemes) }
    }

    /// Returns whether any client of a route finds the response, as far as schemes decide.
    func isFound(on route: GatewayRoute, byClientsUsing schemes: Set<String>) -> Bool {
        route.forwards ? isFoundByProxyClients(ofGatewayServing: schemes) : isFound(byClientsUsing: schemes)
    }
}
