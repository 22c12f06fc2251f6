import HTTPCacheSemantics
import HTTPTypes
import Synchronization

/// The routes that requests may use: the current ones, and the previous ones for requests that were
/// begun before the last change.
struct RoutesInUse: Sendable {
    /// A reference to routes. Each request takes one, which is cheaper than to retain each of their
    /// parts.
    final class Shared: Sendable {
        let routes: GatewayRoutes

        init(_ routes: GatewayRoutes) { self.routes = routes }
    }

    private var current: Shared?
    private var previous: Shared?

    init(_ routes: GatewayRoutes?) { current = routes.map(Shared.init) }

    mutating func change(to routes: GatewayRoutes) {
        previous = current
        current = Shared(routes)
    }

    /// The routes that lead to a request's target: the current ones if they do, else the previous
    /// ones.
    func routes(for head: HTTPRequest) -> Shared? {
        // Usually there are no previous routes. Then the current ones are not searched here and
        // again later.
        guard previous != nil, let target = TargetURI(request: head), current?.routes.endpoint(for: target) == nil
        else { return current }
        return previous
    }
}

extension OriginTransport {
    /// Replaces the routes of a transport that was created with routes.
    ///
    /// Call ``prepare(for:)`` before: it says if an https origin cannot be reached. Requests under
    /// way still reach the origins of the previous routes.
    public func reconfigure(routes: GatewayRoutes) {
        routesInUse.withLock { $0.change(to: routes) }
        telemetry.configure(routes)
    }
}
