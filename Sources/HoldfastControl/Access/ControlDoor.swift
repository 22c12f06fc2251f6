import HTTPTypes
import NIOCore
import Synchronization

/// The way by which requests come to the control plane. It decides who a client is.
enum ControlDoor: Sendable {
    /// The Unix socket: the permissions of its file decide, and no token is needed.
    case socket
    /// A port: a token decides.
    case network(NetworkDoor)

    /// Checks a request before anything of it is looked at.
    ///
    /// - Throws: ``ControlProblem``, ``NetworkDoor/Wait``
    func admit(_ head: HTTPRequest, from channel: any Channel) async throws -> ControlClient {
        switch self {
        case .socket:
            try BrowserGuard(hosts: AllowedHosts(), permitsOwnOrigin: false).check(head)
            return ControlClient(name: await PeerIdentity.name(of: channel), scope: .operate)
        case .network(let door):
            return try door.admit(head, from: channel.remoteAddress?.ipAddress ?? "")
        }
    }
}

/// The control plane's port. It knows its tokens, and counts failed tries.
final class NetworkDoor: Sendable {
    private let browsers: BrowserGuard
    private let tokens: TokenTable
    private let tries = Mutex(FailedTries())
    private let now: @Sendable () -> NIODeadline

    init(_ network: ControlNetwork, now: @escaping @Sendable () -> NIODeadline = { .now() }) {
        browsers = BrowserGuard(hosts: network.allowedHosts, permitsOwnOrigin: true)
        tokens = TokenTable(network.tokens)
        self.now = now
    }

    /// There were too many failed tries.
    struct Wait: Error {
        /// When to try again.
        let seconds: Int
    }

    /// A page has no token, so a request without one is not counted: a page of the operator's
    /// browser could shut its operator out.
    func admit(_ head: HTTPRequest, from address: String) throws -> ControlClient {
        try browsers.check(head)
        let credentials = head.headerFields[values: .authorization]
        // Judged and counted as one step: thirty connections have five tries, not thirty.
        return try tries.withLock { tries in
            if let seconds = tries.wait(of: address, at: now()) { throw Wait(seconds: seconds) }
            guard !credentials.isEmpty else { throw Self.unauthorized }
            if credentials.count == 1, let text = Self.bearer(credentials[0]), let token = tokens.token(presented: text)
            {
                return ControlClient(name: token.name, scope: token.scope)
            }
            tries.record(address, at: now())
            throw Self.unauthorized
        }
    }

    /// The same for a missing token and a wrong one.
    private static let unauthorized = ControlProblem(
        .unauthorized,
        "A token is expected: 'Authorization: Bearer TOKEN', once, with a token of 'control.tokens'.",
        field: "Authorization"
    )

    private static func bearer(_ value: String) -> String? {
        let parts = value.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
        return String(parts[1])
    }
}
