import Crypto
import SwiftASN1

/// Trusted certificates in the format of Java's key stores, JKS, which every version of Java reads.
///
/// ```swift
/// let store = try JavaTrustStore(pem: bundle)
/// ```
package struct JavaTrustStore: Sendable {
    /// The content of the file.
    package let bytes: [UInt8]

    /// Java's own trust stores have this password, in UTF-16. It protects nothing, and Java needs
    /// none to read certificates.
    private static let password = "changeit"

    /// - Parameter pem: certificates in PEM. Other objects are left out.
    /// - Throws: an error of swift-asn1 if an object is malformed.
    package init(pem: String) throws {
        let certificates = try PEMDocument.parseMultiple(pemString: pem).filter { $0.discriminator == "CERTIFICATE" }
        // The magic number, and the version.
        var bytes = Self.number(0xFEED_FEED) + Self.number(2) + Self.number(UInt32(clamping: certificates.count))
        for (index, certificate) in certificates.enumerated() {
            bytes += Self.number(2)  // a trusted certificate
            bytes += Self.text("\(index)") + Self.number(0) + Self.number(0)  // the alias and a time
            let content = certificate.derBytes
            bytes += Self.text("X.509") + Self.number(UInt32(clamping: content.count)) + content
        }
        var digest = Insecure.SHA1()
        digest.update(data: Self.password.utf8.flatMap { [0, $0] })
        digest.update(data: Array("Mighty Aphrodite".utf8))
        digest.update(data: bytes)
        self.bytes = bytes + Array(digest.finalize())
    }

    private static func number(_ value: UInt32) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
    }

    /// Returns a text in ASCII with its length.
    private static func text(_ text: String) -> [UInt8] { [0, UInt8(clamping: text.utf8.count)] + Array(text.utf8) }
}
