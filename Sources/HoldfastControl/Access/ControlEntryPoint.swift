import HTTPCacheSemantics
import HTTPTypes
import NIOCore

/// How a request reaches the control plane, which determines how its client is authorized.
enum ControlEntryPoint: Sendable {
    /// The Unix socket. File permissions control access, so no token is needed.
    case socket
    /// A port. Clients need a token.
    case network(NetworkEntryPoint)
    /// A port that serves only metrics. Clients need a token if one is set.
    case metrics(MetricsEntryPoint)

    /// Whether this is the port for metrics. Its clients may know only the gateway's address, even
    /// if they request a path that is not served there.
    var servesOnlyMetrics: Bool {
        if case .metrics = self { true } else { false }
    }

    /// Checks a request before any other code reads it, and returns its client.
    ///
    /// - Parameter acceptsAddresses: whether `Host` may be any IP address, if the request came
    ///   through a port.
    /// - Throws: ``ControlProblem``, ``TokenVerifier/Wait``
    func admit(
        _ head: HTTPRequest,
        from channel: any Channel,
        acceptsAddresses: Bool = false
    ) async throws -> ControlClient {
        let address = channel.remoteAddress?.ipAddress ?? ""
        switch self {
        case .socket:
            try Self.socketGuard.check(head)
            return ControlClient(name: await PeerIdentity.name(of: channel), scope: .operate)
        case .metrics(let entryPoint): return try entryPoint.admit(head, from: address, acceptsAddresses)
        case .network(let entryPoint):
            return try entryPoint.admit(head, from: address, acceptsAddresses: acceptsAddresses)
        }
    }
}

extension ControlEntryPoint {
    /// Checks a request that needs no token.
    ///
    /// - Throws: ``ControlProblem``
    func admitWithoutToken(_ head: HTTPRequest) throws(ControlProblem) {
        switch self {
        case .socket: try Self.socketGuard.check(head)
        case .metrics(let entryPoint): try entryPoint.browsers.check(head)
        case .network(let entryPoint): try entryPoint.browsers.check(head)
        }
    }

    /// Returns whether credentials authorize a request, so that its connection keeps its permit. A
    /// wrong token does not count as a failed attempt here, because the request itself is checked
    /// later.
    ///
    /// - Parameter credentials: the values of the request's `Authorization` fields.
    func opens(presenting credentials: [String]) -> Bool {
        switch self {
        case .socket: true
        case .network(let entryPoint): entryPoint.tokens.knows(credentials, or: entryPoint.sessions)
        case .metrics(let entryPoint): entryPoint.tokens?.knows(credentials) ?? false
        }
    }

    private static let socketGuard = BrowserGuard(hosts: AllowedHosts(), permitsOwnOrigin: false)

    /// Starts a session for a page.
    ///
    /// - Throws: ``ControlProblem``
    func beginSession(_ code: String) throws(ControlProblem) -> PageSessions.Session {
        guard case .network(let entryPoint) = self else {
            throw ControlProblem(
                .invalidRequest,
                "No session is needed here, and a session's token would not be accepted. Exchange the code on the port in 'control.listen'.",
                field: "code"
            )
        }
        return try entryPoint.beginSession(code)
    }

    /// Returns whether the token of an admitted request is still valid.
    func stillAdmits(_ head: HTTPRequest) -> Bool {
        guard case .network = self else { return true }
        return opens(presenting: head.headerFields[values: .authorization])
    }

    /// Returns the time when the session of a request's token ends, or `nil` if the token belongs
    /// to no session.
    func sessionEnd(presenting credentials: [String]) -> Timestamp? {
        guard case .network(let entryPoint) = self, let text = TokenVerifier.bearer(in: credentials) else { return nil }
        return entryPoint.sessions.end(ofToken: text)
    }

    /// Ends the session of a request's token.
    ///
    /// - Returns: whether there was a session.
    func endSession(presenting credentials: [String]) -> Bool {
        guard case .network(let entryPoint) = self, let text = TokenVerifier.bearer(in: credentials) else {
            return false
        }
        return entryPoint.sessions.end(token: text)
    }
}

/// The control plane's port.
struct NetworkEntryPoint: Sendable {
    fileprivate let browsers: BrowserGuard
    fileprivate let tokens: TokenVerifier
    fileprivate let sessions: PageSessions

    init(_ network: ControlNetwork, _ sessions: PageSessions = PageSessions()) {
        browsers = BrowserGuard(
            hosts: network.allowedHosts,
            permitsOwnOrigin: true,
            proxiedHosts: network.proxiedHosts
        )
        tokens = network.tokens
        self.sessions = sessions
    }

    func admit(
        _ head: HTTPRequest,
        from address: String,
        acceptsAddresses: Bool = false
    ) throws -> ControlClient {
        try browsers.check(head, acceptsAddresses: acceptsAddresses)
        return try tokens.client(presenting: head.headerFields[values: .authorization], from: address, or: sessions)
    }

    /// Starts a session for a page.
    func beginSession(_ code: String) throws(ControlProblem) -> PageSessions.Session {
        try sessions.session(for: code)
    }
}

/// The port for metrics.
struct MetricsEntryPoint: Sendable {
    fileprivate let browsers: BrowserGuard
    fileprivate let tokens: TokenVerifier?

    init(_ address: MetricsAddress) {
        browsers = BrowserGuard(hosts: address.allowedHosts, permitsOwnOrigin: false)
        tokens = address.tokens
    }

    func admit(_ head: HTTPRequest, from address: String, _ acceptsAddresses: Bool) throws -> ControlClient {
        try browsers.check(head, acceptsAddresses: acceptsAddresses)
        let anyone = ControlClient(name: "metrics", scope: .read)
        return try tokens?.client(presenting: head.headerFields[values: .authorization], from: address) ?? anyone
    }
}
