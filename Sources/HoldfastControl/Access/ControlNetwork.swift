public import NIOCore
import NIOPosix

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A network address of the control plane, for clients with a token.
public struct ControlNetwork: Sendable {
    /// A name or an IP address, without brackets.
    public var host: String
    /// The port; 0 for any free one.
    public var port: Int
    /// The tokens it accepts.
    public var tokens: TokenVerifier
    /// Host names that clients may use in addition to `host` and `localhost`.
    public var hosts: [String]

    /// An address cannot be listened on.
    public struct Refusal: Error, Sendable, Hashable, CustomStringConvertible {
        /// Names the address, the reason and the next step.
        public let description: String
    }

    /// Creates an address.
    public init(host: String, port: Int, tokens: TokenVerifier, hosts: [String] = []) {
        self.host = host
        self.port = port
        self.tokens = tokens
        self.hosts = hosts
    }

    /// The hosts that a request may name. The wildcard address is left out, because pages can reach
    /// this machine through it.
    var allowedHosts: AllowedHosts {
        let written = host.contains(":") ? "[\(host)]" : host
        return AllowedHosts(["0.0.0.0", "[::]"].contains(written) ? hosts : hosts + [written])
    }

    /// The hosts at which a proxy may serve the page over TLS: those that the operator named.
    var proxiedHosts: AllowedHosts { AllowedHosts(only: hosts) }

    /// The URL at which a browser finds the page. If the host is the wildcard address, the URL uses
    /// the first additional host, or `localhost` if there is none.
    func pageURL(port: Int) -> String {
        guard ["0.0.0.0", "::"].contains(host) else { return ControlServer.url(host, port) }
        let name = hosts.first ?? "localhost"
        return "http://\(name)" + (name.hasPort ? "" : ":\(port)")
    }

    /// Listens for a moment, so that an error shows up before clients are served.
    ///
    /// - Throws: ``Refusal``
    public func check(on group: any EventLoopGroup) async throws {
        try await Self.check(host, port, of: "control.listen", on: group)
    }

    /// - Parameter setting: the setting that names the address.
    fileprivate static func check(
        _ host: String,
        _ port: Int,
        of setting: String,
        on group: any EventLoopGroup
    ) async throws {
        do {
            let channel = try await ServerBootstrap(group: group)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                .bind(host: host, port: port)
                .get()
            try await channel.close()
        } catch {
            let why = (error as? IOError).map { String(cString: strerror($0.errnoCode)) } ?? "\(error)"
            let address = host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
            throw Refusal(
                description:
                    "The control plane cannot listen on '\(address)': \(why). Set another address with '\(setting)'."
            )
        }
    }
}

/// An address of this machine where a control plane serves only metrics, to all clients and without
/// a token.
public struct MetricsAddress: Sendable {
    /// A name or an IP address that only this machine reaches, without brackets.
    public var host: String
    /// The port; 0 for any free one.
    public var port: Int

    /// Creates an address.
    public init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    var allowedHosts: AllowedHosts { AllowedHosts(["127.0.0.1", "[::1]", host.contains(":") ? "[\(host)]" : host]) }

    /// Listens for a moment, so that an error shows up before clients are served.
    ///
    /// - Throws: ``ControlNetwork/Refusal``
    public func check(on group: any EventLoopGroup) async throws {
        try await ControlNetwork.check(host, port, of: "metrics.listen", on: group)
    }
}

extension String {
    /// Whether a port follows the host. IPv6 addresses are in brackets.
    fileprivate var hasPort: Bool {
        guard let colon = lastIndex(of: ":") else { return false }
        return !self[colon...].contains("]")
    }
}
