import HTTPTypes
import NIOCore

/// The way by which requests come to the control plane. It decides who a client is.
enum ControlDoor: Sendable {
    /// The Unix socket: the permissions of its file decide, and no token is needed.
    case socket
    /// A port: a token decides.
    case network(NetworkDoor)
    /// A port of this machine, on which there are metrics alone: no token is needed.
    case metrics(BrowserGuard)

    /// Checks a request before anything of it is looked at.
    ///
    /// - Throws: ``ControlProblem``, ``TokenDesk/Wait``
    func admit(_ head: HTTPRequest, from channel: any Channel) async throws -> ControlClient {
        switch self {
        case .socket:
            try BrowserGuard(hosts: AllowedHosts(), permitsOwnOrigin: false).check(head)
            return ControlClient(name: await PeerIdentity.name(of: channel), scope: .operate)
        case .metrics(let browsers):
            try browsers.check(head)
            return ControlClient(name: "metrics", scope: .read)
        case .network(let door):
            return try door.admit(head, from: channel.remoteAddress?.ipAddress ?? "")
        }
    }
}

/// The control plane's port.
struct NetworkDoor: Sendable {
    private let browsers: BrowserGuard
    private let tokens: TokenDesk

    init(_ network: ControlNetwork) {
        browsers = BrowserGuard(hosts: network.allowedHosts, permitsOwnOrigin: true)
        tokens = network.tokens
    }

    func admit(_ head: HTTPRequest, from address: String) throws -> ControlClient {
        try browsers.check(head)
        return try tokens.client(presenting: head.headerFields[values: .authorization], from: address)
    }
}
