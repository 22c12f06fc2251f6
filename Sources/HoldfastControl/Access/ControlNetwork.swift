public import NIOCore
import NIOPosix

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A control plane's address on the network: it is for clients with a token.
public struct ControlNetwork: Sendable {
    /// A name or an IP address, without brackets.
    public var host: String
    /// The port; 0 for any free one.
    public var port: Int
    /// The tokens that open it.
    public var tokens: TokenDesk
    /// The hosts by which clients may name it, beside `host` and `localhost`.
    public var hosts: [String]

    /// Why an address cannot be listened on.
    public struct Refusal: Error, Sendable, Hashable, CustomStringConvertible {
        /// Sentences that name the address, the reason and the next step.
        public let description: String
    }

    /// An address.
    public init(host: String, port: Int, tokens: TokenDesk, hosts: [String] = []) {
        self.host = host
        self.port = port
        self.tokens = tokens
        self.hosts = hosts
    }

    /// The hosts that a request may name. The address that stands for all addresses is none: pages
    /// reach this machine by it.
    var allowedHosts: AllowedHosts {
        let written = host.contains(":") ? "[\(host)]" : host
        return AllowedHosts(["0.0.0.0", "[::]"].contains(written) ? hosts : hosts + [written])
    }

    /// Listens for a moment, so that an error shows before clients are served.
    ///
    /// - Throws: ``Refusal``
    public func check(on group: any EventLoopGroup) async throws {
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
                    "The control plane cannot listen on '\(address)': \(why). Name another address with 'control.listen'."
            )
        }
    }
}
