import GatewayRouting
import Synchronization

/// The index of a route's name among the values of the label `route`.
typealias RouteLabel = Int

/// The values of the label `route`: the routes' names, up to a limit.
///
/// Configurations change while the gateway runs, and each brings its own routes. A name that was
/// assigned stays, so that a series keeps its meaning.
final class RouteLabels: Sendable {
    /// The maximum number of routes with their own names.
    static let limit = 64
    /// The number of values, and thus of indexes.
    static let count = limit + 2
    /// The label of requests that match no route.
    static let none: RouteLabel = 0
    /// The label of routes beyond ``limit``.
    static let other: RouteLabel = 1

    private let state = Mutex((names: ["none", "other"], labels: ["none": none, "other": other]))

    /// Returns the label of each route, in order. A route without a name is named by its number,
    /// from 1.
    func labels(of routes: [GatewayRoute]) -> [RouteLabel] {
        labels(of: routes.enumerated().map { index, route in route.name ?? "\(route.number ?? index + 1)" })
    }

    /// Returns the label of each name, in order.
    func labels(of names: [String]) -> [RouteLabel] {
        state.withLock { state in
            names.map { name in
                if let label = state.labels[name] { return label }
                guard state.names.count < Self.count else { return Self.other }
                state.names.append(name)
                state.labels[name] = state.names.count - 1
                return state.names.count - 1
            }
        }
    }

    /// The label's values, by index.
    var names: [String] { state.withLock { $0.names } }
}
