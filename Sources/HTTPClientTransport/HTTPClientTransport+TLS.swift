import HTTPCache
import NIOSSL

extension HTTPClientTransport {
    /// The certificates for connections to origins: the trusted certificates, and the client
    /// certificate that origins receive.
    ///
    /// ```swift
    /// let tls = try HTTPClientTransport.TLS(
    ///     trustRoots: .file("ca.pem"),
    ///     certificate: .file("client.pem"),
    ///     key: .file("client.key")
    /// )
    /// ```
    ///
    /// Files are read and checked once, when the value is created. After a file is renewed, create
    /// another transport. The description shows paths, but no keys.
    public struct TLS: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
        /// The trusted certificates; `nil` uses the system's.
        let roots: [NIOSSLCertificate]?
        let chain: [NIOSSLCertificate]
        let key: NIOSSLPrivateKey?
        /// The sources of the certificates.
        public let description: String

        /// Trusts these certificates, and presents no client certificate.
        ///
        /// - Parameter trustRoots: the certificates that replace the system's trusted certificates.
        /// - Throws: `TransportError` with code `tls`. The message names the file.
        public init(trustRoots: PEM) throws {
            roots = try Self.certificates(trustRoots, "trustRoots")
            (chain, key) = ([], nil)
            description = "trustRoots: \(trustRoots)"
        }

        /// Presents a certificate to each origin that requests one.
        ///
        /// - Parameters:
        ///   - trustRoots: the certificates that replace the system's trusted certificates; `nil`
        ///   uses the system's.
        ///   - certificate: the client's certificate, followed by the certificates up to its root.
        ///   - key: the private key of the first certificate. It must not be encrypted.
        /// - Throws: `TransportError` with code `tls`. The message names the file.
        public init(trustRoots: PEM? = nil, certificate: PEM, key: PEM) throws {
            roots = try trustRoots.map { try Self.certificates($0, "trustRoots") }
            chain = try Self.certificates(certificate, "certificate")
            self.key = try Self.privateKey(key)
            description =
                "trustRoots: \(trustRoots.map { "\($0)" } ?? "the system's"), certificate: \(certificate), key: \(key)"
            do {
                try Self.check(configuration)
            } catch NIOSSLError.failedToLoadPrivateKey {
                throw key.refusal("key", "does not match the first certificate of \(certificate).")
            } catch {
                throw certificate.refusal("certificate", "cannot be used for TLS.")
            }
        }

        /// The sources of the certificates.
        public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
    }
}

extension HTTPClientTransport.TLS {
    /// The settings for AsyncHTTPClient.
    var configuration: TLSConfiguration {
        var configuration = TLSConfiguration.makeClientConfiguration()
        if let roots { configuration.trustRoots = .certificates(roots) }
        configuration.certificateChain = chain.map { .certificate($0) }
        configuration.privateKey = key.map { .privateKey($0) }
        return configuration
    }

    /// Checks that the TLS library accepts the chain and the key, as in each handshake.
    private static func check(_ configuration: TLSConfiguration) throws {
        var configuration = configuration
        // The system's certificates may be missing, but that matters only for handshakes.
        configuration.trustRoots = .certificates([])
        _ = try NIOSSLContext(configuration: configuration)
    }

    private static func certificates(
        _ pem: HTTPClientTransport.PEM,
        _ role: String
    ) throws(TransportError) -> [NIOSSLCertificate] {
        let bytes = try pem.bytes(for: role)
        guard let found = try? NIOSSLCertificate.fromPEMBytes(bytes), !found.isEmpty else {
            throw pem.refusal(role, "contains no certificate in PEM format.")
        }
        return found
    }

    private static func privateKey(_ pem: HTTPClientTransport.PEM) throws(TransportError) -> NIOSSLPrivateKey {
        let bytes = try pem.bytes(for: "key")
        guard !String(decoding: bytes, as: UTF8.self).contains("ENCRYPTED") else {
            throw pem.refusal("key", "contains an encrypted key. Decrypt it, for example with 'openssl pkey'.")
        }
        guard let key = try? NIOSSLPrivateKey(bytes: bytes, format: .pem) else {
            throw pem.refusal("key", "contains no private key in PEM format.")
        }
        return key
    }
}
