package import Crypto
import Foundation
import SwiftASN1
import X509

/// The certificate authority of one run of `holdfast record` or `holdfast replay`.
///
/// Its key exists only in this value: no function returns it, and it is written nowhere. Only the
/// command that is run gets the certificate, so nothing else trusts it. docs/decisions/0109
///
/// ```swift
/// let (key, leafKey) = (P256.Signing.PrivateKey(), P256.Signing.PrivateKey())
/// let authority = try RunAuthority(key: key, leafKey: leafKey, at: now)
/// let leaf = try LeafName("registry.example").map { try authority.leaf(for: $0) }
/// ```
package struct RunAuthority: Sendable {
    /// The time for which certificates are valid, in seconds: one day
    package static let lifetime: Int64 = 86_400
    /// The time before the run at which certificates become valid, in seconds, for clients that
    /// compare with another clock: one minute
    static let tolerance: Int64 = 60

    /// The authority's certificate, in PEM.
    package let pem: String
    /// The private key of all leaf certificates, in PEM.
    package let leafKey: String

    private let key: Certificate.PrivateKey
    private let leafPublicKey: Certificate.PublicKey
    private let name: DistinguishedName
    private let identifier: SubjectKeyIdentifier
    private let start: Date
    private let end: Date

    /// Creates an authority that is valid from now on.
    ///
    /// - Parameters:
    ///   - key: the authority's key. The caller keeps no copy.
    ///   - leafKey: the key of all leaf certificates.
    ///   - now: the time in seconds since 1970.
    /// - Throws: an error of swift-certificates.
    package init(key: P256.Signing.PrivateKey, leafKey: P256.Signing.PrivateKey, at now: Int64) throws {
        let (key, leafKey) = (Certificate.PrivateKey(key), Certificate.PrivateKey(leafKey))
        self.key = key
        self.leafKey = try leafKey.serializeAsPEM().pemString
        leafPublicKey = leafKey.publicKey
        name = try DistinguishedName { CommonName("Holdfast: one run of a command") }
        let identifier = SubjectKeyIdentifier(hash: key.publicKey)
        self.identifier = identifier
        start = Date(timeIntervalSince1970: Double(now - Self.tolerance))
        end = Date(timeIntervalSince1970: Double(now + Self.lifetime))
        let extensions = try Certificate.Extensions {
            Critical(BasicConstraints.isCertificateAuthority(maxPathLength: 0))
            Critical(KeyUsage(keyCertSign: true))
            identifier
        }
        let certificate = try Certificate(
            version: .v3,
            serialNumber: Certificate.SerialNumber(),
            publicKey: key.publicKey,
            notValidBefore: start,
            notValidAfter: end,
            issuer: name,
            subject: name,
            extensions: extensions,
            issuerPrivateKey: key
        )
        pem = PEMDocument(type: "CERTIFICATE", derBytes: try Self.bytes(of: certificate)).pemString
    }

    /// Signs a certificate for a host.
    ///
    /// - Returns: the certificate, in DER.
    /// - Throws: an error of swift-certificates.
    package func leaf(for host: LeafName) throws -> [UInt8] {
        let extensions = try Certificate.Extensions {
            Critical(BasicConstraints.notCertificateAuthority)
            Critical(KeyUsage(digitalSignature: true))
            try ExtendedKeyUsage([.serverAuth])
            AuthorityKeyIdentifier(keyIdentifier: identifier.keyIdentifier)
            // Critical, because the subject is empty. RFC 5280 §4.2.1.6
            Critical(SubjectAlternativeNames([host.generalName]))
        }
        let certificate = try Certificate(
            version: .v3,
            serialNumber: Certificate.SerialNumber(),
            publicKey: leafPublicKey,
            notValidBefore: start,
            notValidAfter: end,
            issuer: name,
            subject: DistinguishedName(),
            extensions: extensions,
            issuerPrivateKey: key
        )
        return try Self.bytes(of: certificate)
    }

    private static func bytes(of certificate: Certificate) throws -> [UInt8] {
        var serializer = DER.Serializer()
        try serializer.serialize(certificate)
        return serializer.serializedBytes
    }
}
