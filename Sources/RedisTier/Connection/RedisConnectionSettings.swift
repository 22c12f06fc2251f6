import LocalFiles
package import NIOCore
package import NIOSSL
import Synchronization

/// The address of a server.
package enum RedisEndpoint: Sendable, Hashable, CustomStringConvertible {
    /// A host name or an IP address, and a port.
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

/// A user in the server's access control list. The description omits the password.
package struct RedisCredentials: Sendable, CustomStringConvertible, CustomReflectable {
    /// The user name; `nil` means the server's `default` user.
    package var user: String?
    private let current: ReplaceablePassword

    /// The password that the next connection uses.
    package var password: String { current.text.withLock { $0 } }

    package init(user: String? = nil, password: String) {
        self.user = user
        current = ReplaceablePassword(password)
    }

    /// Replaces the password in all copies of these credentials. Open connections stay
    /// authenticated.
    func replacePassword(with password: String) { current.text.withLock { $0 = password } }

    package var description: String { user ?? "default" }
    package var customMirror: Mirror { Mirror(self, children: ["user": description]) }
}

/// A password that the copies of its credentials share.
private final class ReplaceablePassword: Sendable {
    let text: Mutex<String>

    init(_ text: String) { self.text = Mutex(text) }
}

/// The TLS settings for a server.
package struct RedisTLS: Sendable {
    private let current: ReplaceableContext
    let serverName: String?

    /// The context that the next connection uses.
    var context: NIOSSLContext { current.context.withLock { $0 } }

    /// - Parameters:
    ///   - serverName: the name that the certificate must have, which is also sent as SNI; `nil`
    ///     uses the endpoint's host. A certificate for the server's IP address is also accepted.
    ///   - context: the TLS context. It is expensive to create, so share one among all connections.
    package init(context: NIOSSLContext, serverName: String? = nil) {
        current = ReplaceableContext(context)
        self.serverName = serverName
    }

    /// Replaces the context in all copies of these settings. Open connections keep theirs.
    func replaceContext(with other: RedisTLS) { current.context.withLock { $0 = other.context } }

    /// The maximum size of a key's file, in bytes.
    private static let longestKey = 1 << 20

    /// Loads PEM files. This call blocks.
    ///
    /// - Parameters:
    ///   - trustRootsFile: the trusted certificates; `nil` uses the system's trust store.
    ///   - certificateFile: the client's certificate chain, for a server that requires a client
    ///     certificate.
    ///   - keyFile: the private key of the client's certificate.
    /// - Throws: an NIOSSL error; `LocalFile.Refusal` for the key.
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
        if let keyFile {
            let bytes = try LocalFile.read(keyFile, limit: Self.longestKey, isSecret: true)
            configuration.privateKey = .privateKey(try NIOSSLPrivateKey(bytes: bytes, format: .pem))
        }
        self.init(context: try NIOSSLContext(configuration: configuration), serverName: serverName)
    }

    /// Returns a TLS handler for one connection.
    func handler(for endpoint: RedisEndpoint) throws -> NIOSSLClientHandler {
        var name = serverName
        if name == nil, case .tcp(let host, _) = endpoint { name = host }
        // An IP address is compared with the certificate but never sent as SNI.
        let isAddress = name.map { (try? SocketAddress(ipAddress: $0, port: 0)) != nil } ?? true
        return try NIOSSLClientHandler(context: context, serverHostname: isAddress ? nil : name)
    }
}

/// A TLS context that the copies of its settings share.
private final class ReplaceableContext: Sendable {
    let context: Mutex<NIOSSLContext>

    init(_ context: NIOSSLContext) { self.context = Mutex(context) }
}

/// The settings and limits of a connection.
package struct RedisConnectionSettings: Sendable {
    package var endpoint: RedisEndpoint
    /// The credentials; `nil` leaves the connection unauthenticated.
    package var credentials: RedisCredentials?
    /// The name in the server's `CLIENT LIST`, without spaces; `nil` sets no name.
    package var clientName: String?
    /// The TLS settings; `nil` uses plain text.
    package var tls: RedisTLS?
    /// The limits on the server's replies.
    package var limits = RESPLimits()
    /// The time limit for connecting. A second period of the same length covers TLS and the
    /// handshake.
    package var connectTimeout = TimeAmount.seconds(1)
    /// The connection is closed if the first pending command's deadline passed at least this long
    /// ago and no reply has arrived for the same time.
    package var stallLimit = TimeAmount.seconds(1)
    /// The maximum number of commands in flight on the connection.
    package var commandCount = 1024
    /// The maximum encoded size of the commands in flight, in bytes.
    package var commandBytes = 32 << 20
    /// A callback that runs on the event loop for each push message. It must not block.
    package var onPush: @Sendable ([RESPValue]) -> Void = { _ in }

    package init(endpoint: RedisEndpoint) { self.endpoint = endpoint }
}
