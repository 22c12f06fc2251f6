import HTTPCacheSemantics
import HTTPTypes
import Synchronization

/// The routes that requests may go by: those of now and, for requests that were begun before the
/// last change, those of then.
struct RoutesInUse: Sendable {
    /// Routes that are handed out for each request: one reference, and not one for each of their
    /// parts.
    final class Shared: Sendable {
        private let routes: GatewayRoutes

        init(_ routes: GatewayRoutes) { self.routes = routes }

        func endpoint(for target: TargetURI) -> OriginEndpoint? { routes.endpoint(for: target) }
    }

    private var current: Shared?
    private var previous: Shared?

    init(_ routes: GatewayRoutes?) { current = routes.map(Shared.init) }

    mutating func change(to routes: GatewayRoutes) {
        previous = current
        current = Shared(routes)
    }

    /// The routes that lead to a request's target: the present ones where they do.
    func routes(for head: HTTPRequest) -> Shared? {
        // Nearly always there is one set: then nobody asks it twice.
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

    func routes(for head: HTTPRequest) -> RoutesInUse.Shared? {
        routesInUse.withLock { $0.routes(for: head) }
    }
}
