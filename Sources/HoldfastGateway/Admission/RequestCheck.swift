import NIOCore

/// A check of each request before the hot table, such as a rate or a list of addresses:
/// ``Admission/requestChecks``.
///
/// It is asked on all event loops, once per request in HTTP/1 and HTTP/2, also for requests that
/// the hot table could serve.
protocol RequestCheck: Sendable {
    /// Decides about the next request of a client. It must not wait.
    ///
    /// - Parameter client: the client that the request is made for. If the peer is trusted, its
    ///   request names this client; see ``GatewayClient/address(behind:_:)``.
    /// - Returns: the problem that the client gets; `nil` to let the request pass.
    func problem(of client: ClientAddress, at now: NIODeadline) -> Problem?
}
