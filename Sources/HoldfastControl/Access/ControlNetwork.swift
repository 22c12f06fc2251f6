import HTTPCacheSemantics
import LibC
package import NIOCore
import NIOPosix

/// A network address of the control plane, for clients with a token.
package struct ControlNetwork: Sendable {
    /// A host name or an IP address, without brackets.
    package var host: String
    /// The port; 0 means any free port.
    package var port: Int
    /// The tokens that clients may use.
    package var tokens: TokenVerifier
    /// The host names that clients may use in addition to `host` and `localhost`.
    package var hosts: [String]

    /// Creates an address.
    package init(host: String, port: Int, tokens: TokenVerifier, hosts: [String] = []) {
        self.host = host
        self.port = port
        self.tokens = tokens
        self.hosts = hosts
    }

    /// The hosts that requests may use. The wildcard address is not included, because web pages can
    /// reach this machine through it.
    var allowedHosts: AllowedHosts { AllowedHosts(hosts + Self.names(of: host)) }

    /// Returns the names by which requests may call a host: none for the wildcard address.
    fileprivate static func names(of host: String) -> [String] {
        let written = host.contains(":") ? "[\(host)]" : host
        return ["0.0.0.0", "[::]"].contains(written) ? [] : [written]
    }

    /// The hosts at which a proxy may serve the page over TLS: the additional hosts.
    var proxiedHosts: AllowedHosts { AllowedHosts(only: hosts) }

    /// Returns the page's URL for browsers. If the host is the wildcard address, the URL uses the
    /// first additional host, or `localhost` if there is none.
    func pageURL(port: Int) -> String {
        guard ["0.0.0.0", "::"].contains(host) else { return Self.url(host, port) }
        let name = hosts.first ?? "localhost"
        return "http://\(name)" + (name.hasPort ? "" : ":\(port)")
    }

    static func url(_ host: String, _ port: Int, isSecure: Bool = false) -> String {
        "\(isSecure ? "https" : "http")://\(host.contains(":") ? "[\(host)]" : host):\(port)"
    }

    /// Listens briefly, to detect errors before the gateway serves clients.
    ///
    /// - Throws: `InvalidSetting`
    package func check(on group: any EventLoopGroup) async throws {
        try await Self.check(host, port, of: "control.listen", on: group)
    }

    /// Listens briefly on an address.
    ///
    /// - Parameter setting: the setting that contains the address.
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
            throw refusal(error, "'\(setting)'", host, port)
        }
    }

    /// The error for an address that cannot be opened.
    func refusal(_ error: any Error) -> InvalidSetting { Self.refusal(error, "'control.listen'", host, port) }

    /// - Parameters:
    ///   - subject: the setting in quotes, or what listens.
    ///   - advice: the next step.
    static func refusal(
        _ error: any Error,
        _ subject: String,
        _ host: String,
        _ port: Int,
        _ advice: String = "Choose another address."
    ) -> InvalidSetting {
        let why = (error as? IOError).map { String(cString: strerror($0.errnoCode)) } ?? "\(error)"
        let address = host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        return InvalidSetting("\(subject) cannot listen on '\(address)': \(why). \(advice)")
    }
}

/// An address where a control plane serves only metrics.
package struct MetricsAddress: Sendable {
    /// Creates the TLS handler of a new connection, on its event loop.
    package typealias TLSHandler = @Sendable () -> any ChannelHandler

    /// A host name or an IP address, without brackets.
    package var host: String
    /// The port; 0 means any free port.
    package var port: Int
    /// The host names that clients may use in addition to `host`, `localhost` and IP addresses.
    package var hosts: [String]
    /// The tokens that clients may use; `nil` if they need none.
    package var tokens: TokenVerifier?
    /// Adds TLS to each connection; `nil` serves without TLS.
    package var tls: TLSHandler?

    /// Creates an address.
    package init(
        host: String,
        port: Int,
        hosts: [String] = [],
        tokens: TokenVerifier? = nil,
        tls: TLSHandler? = nil
    ) {
        self.host = host
        self.port = port
        self.hosts = hosts
        self.tokens = tokens
        self.tls = tls
    }

    var allowedHosts: AllowedHosts {
        AllowedHosts(["127.0.0.1", "[::1]"] + hosts + ControlNetwork.names(of: host))
    }

    /// Returns the URL for clients.
    func url(port: Int) -> String { ControlNetwork.url(host, port, isSecure: tls != nil) + "/metrics" }

    /// Listens briefly, to detect errors before the gateway serves clients.
    ///
    /// - Throws: `InvalidSetting`
    package func check(on group: any EventLoopGroup) async throws {
        try await ControlNetwork.check(host, port, of: "metrics.listen", on: group)
    }

    /// The error for an address that cannot be opened.
    func refusal(_ error: any Error) -> InvalidSetting {
        ControlNetwork.refusal(error, "'metrics.listen'", host, port)
    }
}

extension String {
    /// Whether the host has a port. IPv6 addresses are in brackets.
    fileprivate var hasPort: Bool {
        guard let colon = lastIndex(of: ":") else { return false }
        return !self[colon...].contains("]")
    }
}
