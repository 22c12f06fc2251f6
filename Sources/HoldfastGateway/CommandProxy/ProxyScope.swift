import HTTPCacheSemantics
import HTTPTypes
import HTTPWire
import Synchronization

/// The origins that requests on one connection to a ``CommandProxy`` may name.
final class ProxyScope: Sendable {
    private let proxy: CommandProxy
    /// The host and port that the connection's tunnel leads to; `nil` outside tunnels, where each
    /// request names its origin and has the password.
    private let tunnel: RequestedHost?
    /// Whether the tunnel had a request, or it was reported why it had none.
    private let isSettled = Atomic(false)

    init(_ proxy: CommandProxy, tunnel: RequestedHost?) {
        self.proxy = proxy
        self.tunnel = tunnel
    }

    /// Returns a request with the origin that its connection leads to.
    func scoped(_ request: GatewayRequest) -> GatewayRequest {
        guard let tunnel else { return request }
        isSettled.store(true, ordering: .relaxed)
        var request = request
        if request.scheme == nil { request.scheme = .https }
        // Only HTTP/1.0 has requests without a host.
        if request.authority == nil { request.authority = tunnel }
        return request
    }

    /// Returns why a request is refused; `nil` if it is not.
    ///
    /// - Parameter request: see ``scoped(_:)``.
    func problem(of request: GatewayRequest) -> Problem? {
        guard let tunnel else {
            guard proxy.admits(request.fields) else { return .proxyPassword }
            guard let host = request.authority, let scheme = request.scheme else { return nil }
            return proxy.problem(ofPort: host.port ?? scheme.standardPort, of: host.name)
        }
        // The certificate was made for the tunnel's host. RFC 9110 §7.4
        guard request.scheme == .https, let host = request.authority, host.name == tunnel.name,
            host.port ?? 443 == tunnel.port ?? 443
        else { return .outsideTunnel(tunnel) }
        return nil
    }

    /// Reports that the handshake in the tunnel failed.
    func reportFailedHandshake(_ reason: String) {
        guard let tunnel, !isSettled.exchange(true, ordering: .relaxed) else { return }
        proxy.report(.failedHandshake(host: tunnel.name, reason: reason))
    }

    /// Reports a tunnel that ended without a request.
    func reportEnd() {
        guard let tunnel, !isSettled.exchange(true, ordering: .relaxed) else { return }
        proxy.report(.emptyTunnel(host: tunnel.name))
    }

    /// Reports that a client switched to another protocol.
    func reportSwitch(of request: GatewayRequest) {
        proxy.report(.switchedProtocol(host: request.authority?.name ?? ""))
    }
}

extension Problem {
    /// The status that asks a proxy's client for its password. RFC 9110 §15.5.8
    static let proxyPasswordStatus = 407

    static let proxyPassword = Problem(
        .proxyPassword,
        title: "The proxy needs its password",
        status: proxyPasswordStatus,
        detail:
            "Only the command that 'holdfast record' or 'holdfast replay' runs may use this proxy. Its address, with the password, is in the command's variable 'https_proxy'."
    )

    static func forbiddenPort(_ host: String, _ port: UInt16) -> Problem {
        Problem(
            .forbiddenPort,
            title: "The port is not allowed",
            status: 403,
            detail:
                "The proxy allows only the ports 80 and 443 of origins, not port \(port) of '\(host)'. Use '--allow-port \(port)' to allow it."
        )
    }

    fileprivate static func outsideTunnel(_ tunnel: RequestedHost) -> Problem {
        Problem(
            .misdirected,
            title: "The request belongs to another host",
            status: 421,
            detail:
                "This connection is a tunnel to '\(tunnel)', and the request names another host. Nothing was forwarded.",
            outcome: CacheOutcome(detail: CacheOutcome.Detail("misdirected"))
        )
    }

    /// - Parameter reason: a sentence.
    static func noCertificate(_ host: String, _ reason: String) -> Problem {
        Problem(
            .noCertificate,
            title: "There is no certificate for the host",
            status: 503,
            detail: "The tunnel to '\(host)' was refused. \(reason)",
            retryAfter: 1
        )
    }
}
