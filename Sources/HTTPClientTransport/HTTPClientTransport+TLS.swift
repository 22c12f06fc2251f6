import HTTPCache
import NIOSSL

extension HTTPClientTransport {
    /// The certificates for connections to origins: those that are trusted, and the one that
    /// origins get.
    ///
    /// ```swift
    /// let tls = try HTTPClientTransport.TLS(
    ///     trustRoots: .file("ca.pem"),
    ///     certificate: .file("client.pem"),
    ///     key: .file("client.key")
    /// )
    /// ```
    ///
    /// Files are read and checked once, when the value is made. After a file was renewed, make
    /// another transport. A description shows paths, and nothing of keys.
    public struct TLS: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
        /// `nil`: the system's.
        let roots: [NIOSSLCertificate]?
        let chain: [NIOSSLCertificate]
        let key: NIOSSLPrivateKey?
        /// The sources of the certificates.
        public let description: String

        /// Trusts these certificates, and presents none.
        ///
        /// - Parameter trustRoots: certificates that replace those that the system trusts.
        /// - Throws: `TransportError` with code `tls`, which names the file.
        public init(trustRoots: PEM) throws {
            roots = try Self.certificates(trustRoots, "trustRoots")
            (chain, key) = ([], nil)
            description = "trustRoots: \(trustRoots)"
        }

        /// Presents a certificate to each origin that requests one.
        ///
        /// - Parameters:
        ///   - trustRoots: certificates that replace those that the system trusts; with `nil`, the
        ///     system's are used.
        ///   - certificate: the client's certificate, and those that lead to its root.
        ///   - key: the private key of the first certificate. It must not be encrypted.
        /// - Throws: `TransportError` with code `tls`, which names the file.
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
    /// The client's settings.
    var configuration: TLSConfiguration {
        var configuration = TLSConfiguration.makeClientConfiguration()
        if let roots { configuration.trustRoots = .certificates(roots) }
        configuration.certificateChain = chain.map { .certificate($0) }
        configuration.privateKey = key.map { .privateKey($0) }
        return configuration
    }

    /// Makes the library take chain and key, as each handshake does.
    private static func check(_ configuration: TLSConfiguration) throws {
        var configuration = configuration
        // Those of the system may be missing, which concerns only the handshakes.
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
