import LibC
import SwiftASN1
import X509

/// The host that a leaf certificate is for: a name, or an IP address.
package struct LeafName: Sendable, Hashable, CustomStringConvertible {
    private enum Kind: Hashable {
        case name
        /// 4 or 16 bytes.
        case address([UInt8])
    }

    /// The host, without brackets and without a dot at the end.
    package let description: String
    private let kind: Kind

    /// The maximum length of a name in bytes. RFC 1035 §2.3.4
    package static let maximumLength = 253

    /// - Parameter host: a name in lowercase, an IPv4 address, or an IPv6 address in brackets.
    /// - Returns: `nil` if a certificate cannot name the host.
    package init?(_ host: String) {
        if host.hasPrefix("["), host.hasSuffix("]") {
            let text = String(host.dropFirst().dropLast())
            guard let bytes = Self.address(text, AF_INET6, length: 16) else { return nil }
            (description, kind) = (text, .address(bytes))
            return
        }
        if let bytes = Self.address(host, AF_INET, length: 4) {
            (description, kind) = (host, .address(bytes))
            return
        }
        // Certificates and the server name in TLS have no dot at the end. RFC 6066 §3
        let name = host.hasSuffix(".") ? String(host.dropLast()) : host
        guard !name.isEmpty, name.utf8.count <= Self.maximumLength,
            name.utf8.allSatisfy({ Self.isNameByte($0) })
        else { return nil }
        (description, kind) = (name, .name)
    }

    /// Whether the host is an IP address, which TLS clients do not send as server name.
    package var isAddress: Bool { kind != .name }

    var generalName: GeneralName {
        switch kind {
        case .name: .dnsName(description)
        case .address(let bytes): .ipAddress(ASN1OctetString(contentBytes: bytes[...]))
        }
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        case UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."): true
        default: false
        }
    }

    private static func address(_ text: String, _ family: CInt, length: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: length)
        return inet_pton(family, text, &bytes) == 1 ? bytes : nil
    }
}
