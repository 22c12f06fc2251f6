import NIOCore

/// A check of each request, such as a rate or a list of addresses: of all requests before the hot
/// table (``Admission/requestChecks``), or of a route's requests (``RouteChecks``).
///
/// It is asked on all event loops, in HTTP/1 and HTTP/2, also for requests that the hot table could
/// serve.
protocol RequestCheck: Sendable {
    /// Returns the check of one client's requests; `nil` if all of them pass.
    ///
    /// A connection keeps it until the settings change, so that a request costs no comparison of
    /// addresses.
    ///
    /// - Parameter client: the client that requests are made for. If the peer is trusted, each
    ///   request names this client; see ``GatewayClient/address(behind:_:)``.
    func requests(of client: ClientAddress) -> ClientCheck?

    /// Returns why a client's next request would be rejected, for tools; `nil` if it would pass.
    /// The request does not count.
    func forecast(for client: ClientAddress, at now: NIODeadline) -> CheckForecast?
}

/// The reason that a request would be rejected.
struct CheckForecast {
    /// The setting that decides, such as `clients.deny`.
    let setting: String
    let problem: Problem
}

/// Decides about the next request of a client. It does not wait.
///
/// It returns the problem that the client gets; `nil` to let the request pass.
typealias ClientCheck = @Sendable (_ now: NIODeadline) -> Problem?

/// The checks of one client's requests, in order.
struct ClientChecks: Sendable {
    /// An array of plain closures would call each of them through a conversion.
    private struct Check: Sendable {
        let problem: ClientCheck
    }

    private let checks: [Check]

    /// - Parameter checks: the checks of all clients. Those that pass all requests of this client
    ///   are left out.
    init(_ checks: [any RequestCheck], of client: ClientAddress) {
        self.checks = checks.compactMap { check -> Check? in
            guard let problem = check.requests(of: client) else { return nil }
            return Check(problem: problem)
        }
    }

    var isEmpty: Bool { checks.isEmpty }

    /// Asks the checks in order, until one rejects the request.
    func firstProblem(at now: NIODeadline) -> Problem? {
        for check in checks { if let problem = check.problem(now) { return problem } }
        return nil
    }
}
