package import HoldfastConfiguration
package import NIOSSL

/// A certificate with its chain and its key.
package struct CertificatePair: Sendable {
    /// The maximum number of certificates in a chain. Clients reject longer chains.
    static let chainLimit = 10

    package let name: String
    package let chain: [NIOSSLCertificate]
    package let key: NIOSSLPrivateKey
    /// The key that handshakes use. With it, no event loop waits for an RSA signature.
    private let signingKey: NIOSSLPrivateKey
    /// The host names that the certificate is valid for, in lowercase. `*.example.com` matches all
    /// names with one more label.
    package let names: [String]
    /// The time when the certificate expires, in seconds since 1970.
    package let expiry: Int64

    /// Reads both files, and checks that they belong together.
    ///
    /// - Throws: ``CertificateRefusal``
    package init(_ files: Configuration.TLS.Certificate) throws(CertificateRefusal) {
        name = files.name
        let chain = try Self.certificates(in: CertificateFile(files.chain))
        guard chain.count <= Self.chainLimit else {
            throw CertificateRefusal(
                files.chain,
                "contains \(chain.count) certificates. The limit is \(Self.chainLimit)."
            )
        }
        let key = try Self.key(in: CertificateFile(files.key, isKey: true))
        try Self.check(chain, key, files)
        self.chain = chain
        self.key = key
        signingKey = RSAKey(key).map { NIOSSLPrivateKey(customPrivateKey: $0) } ?? key
        names = chain[0].dnsNames
        expiry = Int64(chain[0].notValidAfter)
    }

    /// Returns the certificates of a PEM file; at least one.
    package static func certificates(in file: CertificateFile) throws(CertificateRefusal) -> [NIOSSLCertificate] {
        guard let found = try? NIOSSLCertificate.fromPEMBytes(file.bytes), !found.isEmpty else {
            throw CertificateRefusal(
                file.path,
                ForeignFile(file.bytes)?.words(insteadOf: "a certificate") ?? "contains no certificate in PEM format."
            )
        }
        return found
    }

    private static func key(in file: CertificateFile) throws(CertificateRefusal) -> NIOSSLPrivateKey {
        if let key = try? NIOSSLPrivateKey(bytes: file.bytes, format: .pem) { return key }
        let isEncrypted = String(decoding: file.bytes, as: UTF8.self).contains("ENCRYPTED")
        throw CertificateRefusal(
            file.path,
            isEncrypted
                ? "contains an encrypted key. Decrypt it, for example with 'openssl pkey'."
                : ForeignFile(file.bytes)?.words(insteadOf: "a private key") ?? "contains no private key in PEM format."
        )
    }

    /// Checks that the library accepts the chain and the key, as each handshake requires.
    private static func check(
        _ chain: [NIOSSLCertificate],
        _ key: NIOSSLPrivateKey,
        _ files: Configuration.TLS.Certificate
    ) throws(CertificateRefusal) {
        let configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) },
            privateKey: .privateKey(key)
        )
        do {
            _ = try NIOSSLContext(configuration: configuration)
        } catch NIOSSLError.failedToLoadPrivateKey {
            if let index = chain.indices.dropFirst().first(where: { matches(chain[$0], key) }) {
                throw CertificateRefusal(
                    files.chain,
                    "is in the wrong order: the key belongs to certificate \(index + 1). Put the server's certificate first, and each certificate's issuer directly after it."
                )
            }
            throw CertificateRefusal(
                files.key,
                "contains a key that does not match the first certificate in '\(files.chain)'."
            )
        } catch {
            throw CertificateRefusal(files.chain, "contains a certificate that cannot be used for TLS.")
        }
    }

    private static func matches(_ certificate: NIOSSLCertificate, _ key: NIOSSLPrivateKey) -> Bool {
        let configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: [.certificate(certificate)],
            privateKey: .privateKey(key)
        )
        return (try? NIOSSLContext(configuration: configuration)) != nil
    }

    /// The settings of a handshake that uses this certificate.
    package var override: NIOSSLContextConfigurationOverride {
        var result = NIOSSLContextConfigurationOverride()
        result.certificateChain = chain.map { .certificate($0) }
        result.privateKey = .privateKey(signingKey)
        return result
    }
}

extension CertificatePair {
    /// Whether both values come from the same reading of the files.
    package func isSame(as other: CertificatePair) -> Bool { chain[0] === other.chain[0] }

    /// Makes a client or a server present this certificate.
    package func present(in configuration: inout TLSConfiguration) {
        configuration.certificateChain = chain.map { .certificate($0) }
        configuration.privateKey = .privateKey(signingKey)
    }
}

extension NIOSSLCertificate {
    /// The host names that the certificate is valid for, in lowercase. RFC 9525 accepts no other
    /// kinds of names.
    var dnsNames: [String] {
        _subjectAlternativeNames().compactMap { name in
            guard name.nameType == .dnsName else { return nil }
            return name.contents.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }.lowercased()
        }
    }

    /// Whether the certificate's key is an RSA key.
    package var hasRSAKey: Bool {
        // The object identifier 1.2.840.113549.1.1.1 of the key's algorithm.
        let identifier: [UInt8] = [0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01]
        guard let bytes = try? extractPublicKey().toSPKIBytes() else { return false }
        return (0...8).contains { bytes.dropFirst($0).starts(with: identifier) }
    }
}
