import HTTPCacheSemantics
import HTTPTypes
import Synchronization

/// The routes that requests may go by: those of now and, for requests that were begun before the last change, those of then.
struct RoutesInUse: Sendable {
    private(set) var current: GatewayRoutes?
    private var previous: GatewayRoutes?

    init(_ routes: GatewayRoutes?) { current = routes }

    mutating func change(to routes: GatewayRoutes) {
        previous = current
        current = routes
    }

    /// The routes that lead to a request's target: the present ones where they do.
    func routes(for head: HTTPRequest) -> GatewayRoutes? {
        // Nearly always there is one set: then nothing is copied to be asked.
        guard previous != nil, let target = TargetURI(request: head), current?.endpoint(for: target) == nil else {
            return current
        }
        return previous
    }
}

extension OriginTransport {
    /// Takes other routes in place of those it has; for a transport that was made with some.
    ///
    /// Requests that are under way still reach the origins of the routes before.
    public func reconfigure(routes: GatewayRoutes) {
        routesInUse.withLock { $0.change(to: routes) }
    }

    func routes(for head: HTTPRequest) -> GatewayRoutes? {
        routesInUse.withLock { $0.routes(for: head) }
    }
}
