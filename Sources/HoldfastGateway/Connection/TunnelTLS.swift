import NIOCore
import NIOSSL

/// TLS in a tunnel of a ``CommandProxy``: the proxy is the server, for one host.
enum TunnelTLS {
    /// The error for a client that asks for another host than its tunnel leads to.
    struct WrongServerName: Error {}

    /// Creates the handler for one connection.
    ///
    /// Each connection has its own context. Its session tickets are encrypted with keys of that
    /// context, so no later connection resumes a session, and each sees the certificate of its own
    /// tunnel.
    ///
    /// - Parameters:
    ///   - host: the tunnel's host, in lowercase.
    ///   - certificate: the host's certificate, in DER.
    ///   - refused: called if the client asks for another host.
    /// - Throws: NIOSSL's error.
    static func handler(
        for host: String,
        _ certificate: [UInt8],
        _ key: NIOSSLPrivateKey,
        refused: @escaping @Sendable () -> Void
    ) throws -> NIOSSLServerHandler {
        let leaf = try NIOSSLCertificate(bytes: certificate, format: .der)
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: [.certificate(leaf)],
            privateKey: .privateKey(key)
        )
        configuration.minimumTLSVersion = .tlsv12
        configuration.cipherSuiteValues = ListenerTLS.ciphers
        configuration.applicationProtocols = ["h2", "http/1.1"]
        configuration.renegotiationSupport = .none
        configuration.shutdownTimeout = .zero
        // Clients leave out the name if the host is an address. A name has no dot at the end.
        // RFC 6066 §3
        let expected = host.hasSuffix(".") ? String(host.dropLast()) : host
        configuration.sslContextCallback = { values, promise in
            guard let name = values.serverHostname, name.lowercased() != expected else {
                return promise.succeed(.noChanges)
            }
            refused()
            promise.fail(WrongServerName())
        }
        return NIOSSLServerHandler(context: try NIOSSLContext(configuration: configuration))
    }
}
