/// The checks of one route's requests, in order.
final class RouteChecks: Sendable {
    let checks: [any RequestCheck]

    init(_ checks: [any RequestCheck]) { self.checks = checks }

    /// Returns the checks of one client's requests.
    func requests(of client: ClientAddress) -> ClientChecks { ClientChecks(checks, of: client) }
}
