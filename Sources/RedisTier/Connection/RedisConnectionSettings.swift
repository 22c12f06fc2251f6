package import NIOCore
package import NIOSSL

/// The address of a server.
package enum RedisEndpoint: Sendable, Hashable, CustomStringConvertible {
    /// A name or an IP address, and a port.
    case tcp(host: String, port: Int)
    /// The path of a Unix socket.
    case unix(path: String)

    package var description: String {
        switch self {
        case .tcp(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        case .unix(let path): "unix:\(path)"
        }
    }
}

/// A user of the server's access control list. The description omits the password.
package struct RedisCredentials: Sendable, CustomStringConvertible, CustomReflectable {
    /// `nil`: the server's user `default`.
    package var user: String?
    package var password: String

    package init(user: String? = nil, password: String) {
        self.user = user
        self.password = password
    }

    package var description: String { user ?? "default" }
    package var customMirror: Mirror { Mirror(self, children: ["user": description]) }
}

/// The TLS settings for a server.
package struct RedisTLS: Sendable {
    let context: NIOSSLContext
    let serverName: String?

    /// - Parameters:
    ///   - serverName: the name that the certificate must have, and that is sent (SNI); `nil`: the
    ///     host of the endpoint. A certificate with the server's IP address is also accepted.
    ///   - context: expensive to create. Share one among all connections.
    package init(context: NIOSSLContext, serverName: String? = nil) {
        self.context = context
        self.serverName = serverName
    }

    /// Reads PEM files; this blocks.
    ///
    /// - Parameters:
    ///   - trustRootsFile: the trusted certificates; `nil`: the system's.
    ///   - certificateFile: the client's certificate chain, for a server that requests one.
    ///   - keyFile: its key.
    /// - Throws: an error of NIOSSL.
    package init(
        trustRootsFile: String?,
        certificateFile: String? = nil,
        keyFile: String? = nil,
        serverName: String? = nil
    ) throws {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        if let trustRootsFile { configuration.trustRoots = .file(trustRootsFile) }
        if let certificateFile {
            configuration.certificateChain = try NIOSSLCertificate.fromPEMFile(certificateFile)
                .map { .certificate($0) }
        }
        if let keyFile { configuration.privateKey = .privateKey(try NIOSSLPrivateKey(file: keyFile, format: .pem)) }
        self.init(context: try NIOSSLContext(configuration: configuration), serverName: serverName)
    }

    /// The handler of one connection.
    func handler(for endpoint: RedisEndpoint) throws -> NIOSSLClientHandler {
        var name = serverName
        if name == nil, case .tcp(let host, _) = endpoint { name = host }
        // An IP address is compared with the certificate, but never sent as SNI.
        let isAddress = name.map { (try? SocketAddress(ipAddress: $0, port: 0)) != nil } ?? true
        return try NIOSSLClientHandler(context: context, serverHostname: isAddress ? nil : name)
    }
}

/// The settings of a connection, with its limits.
package struct RedisConnectionSettings: Sendable {
    package var endpoint: RedisEndpoint
    /// `nil`: the connection stays unauthenticated.
    package var credentials: RedisCredentials?
    /// The name in the server's `CLIENT LIST`, without spaces; `nil`: no name.
    package var clientName: String?
    /// `nil`: plain text.
    package var tls: RedisTLS?
    /// The limits on the server's replies.
    package var limits = RESPLimits()
    /// The time limit to connect, and again for TLS and the handshake.
    package var connectTimeout = TimeAmount.seconds(1)
    /// The connection is closed if the first command's reply is late by this much and no reply has
    /// arrived for this long.
    package var stallLimit = TimeAmount.seconds(1)
    /// The maximum number of commands in flight.
    package var commandCount = 1024
    /// The maximum number of encoded bytes of commands in flight.
    package var commandBytes = 32 << 20
    /// Called on the event loop with each push; it must not block.
    package var onPush: @Sendable ([RESPValue]) -> Void = { _ in }

    package init(endpoint: RedisEndpoint) { self.endpoint = endpoint }
}
