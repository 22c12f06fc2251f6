import GatewayRouting
import HTTPCache
import HTTPCacheSemantics
import HTTPWire
import HoldfastConfiguration

/// The route of a problem. An object, because routes are too large to copy for each request.
final class ProblemRoute: Sendable {
    private let route: GatewayRoute
    private let offlinePage: RoutePage?
    private let errorPage: RoutePage?

    init(_ route: GatewayRoute) {
        self.route = route
        offlinePage = route.errorPages.offline.map { RoutePage($0.template) }
        errorPage = route.errorPages.error.map { RoutePage($0.template) }
    }

    /// Returns the page that the route has for a problem; `nil` for the gateway's own page.
    func page(for problem: Problem) -> RoutePage? { problem.isOutage ? offlinePage : errorPage }

    /// The scheme that a request names; `nil` if the client's connection decides.
    func scheme(of request: GatewayRequest) -> GatewayRequest.Scheme? { route.forwards ? request.scheme : nil }

    /// The origin of a request on the route, as the engine knows it.
    func origin(of request: GatewayRequest) -> Origin {
        guard let scheme = scheme(of: request), let host = request.authority else {
            return Origin(scheme: route.origin.scheme, host: route.origin.host, port: route.origin.port)
        }
        return Origin(scheme: scheme.rawValue, host: host.name, port: host.port ?? scheme.standardPort)
    }
}
