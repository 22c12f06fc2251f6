import HTTPCacheSemantics
import LibC

/// A range of IP addresses that begin with the same bits (`10.0.0.0/8`, `fd00::/8`), or one address
/// (`192.0.2.7`). RFC 4632 §3.1, RFC 4291 §2.3
///
/// `unix` matches all clients that connect through a Unix socket. They have no address, so no range
/// of addresses contains them.
public struct AddressRange: Sendable, Hashable, CustomStringConvertible {
    /// The text that the range was parsed from.
    public let description: String
    /// The bytes of the address; empty for clients of Unix sockets.
    private let bytes: [UInt8]
    private let bits: Int

    /// The name for every client that connects through a Unix socket, used instead of an address.
    package static let unixName = "unix"

    /// Parses a range or an address.
    ///
    /// - Parameter text: an address, optionally with a prefix length in bits, or `unix`. Returns
    ///   `nil` if the text is not valid, or if a bit after the prefix is not 0: such text looks
    ///   like a smaller range than the prefix length states.
    public init?(_ text: String) {
        if text == Self.unixName {
            description = text
            bytes = []
            bits = 0
            return
        }
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard let address = parts.first.flatMap({ Self.bytes(of: String($0)) }), parts.count <= 2 else { return nil }
        let written = parts.first.map { $0.contains(":") ? 128 : 32 } ?? 0
        var bits = address.count * 8
        if parts.count == 2 {
            guard parts[1].utf8.allSatisfy(\.isDigit), let length = Int(parts[1]),
                length <= written
            else { return nil }
            // '::ffff:10.0.0.0/104' is a range of IPv4 addresses.
            bits = length - (written - bits)
            guard bits >= 0 else { return nil }
        }
        for bit in bits..<(address.count * 8) where address[bit / 8] & (0x80 >> (bit % 8)) != 0 { return nil }
        self.description = text
        self.bytes = address
        self.bits = bits
    }

    /// Returns whether an address is in the range. An IPv4-mapped IPv6 address (`::ffff:10.0.0.7`)
    /// is compared as IPv4.
    public func contains(_ address: String) -> Bool { Parsed(address).map { contains($0) } ?? false }

    /// An address that is compared with several ranges.
    package struct Parsed: Sendable {
        /// Empty for clients of Unix sockets.
        package let bytes: [UInt8]

        package init(bytes: [UInt8]) { self.bytes = bytes }

        /// Returns `nil` if the text is neither an address nor ``AddressRange/unixName``.
        package init?(_ address: String) {
            guard let bytes = address == AddressRange.unixName ? [] : AddressRange.bytes(of: address) else {
                return nil
            }
            self.bytes = bytes
        }
    }

    /// Returns whether an address is in the range.
    package func contains(_ address: Parsed) -> Bool {
        let other = address.bytes
        guard other.count == bytes.count else { return false }
        let whole = bits / 8
        guard other.prefix(whole) == bytes.prefix(whole) else { return false }
        guard bits % 8 > 0 else { return true }
        return (other[whole] ^ bytes[whole]) >> (8 - bits % 8) == 0
    }

    /// Converts an IPv4-mapped IPv6 address (`::ffff:10.0.0.7`) to IPv4 and returns any other text
    /// unchanged. A dual-stack socket reports IPv4 clients in the mapped form.
    package static func plain(_ address: String) -> String {
        guard address.contains(":"), let bytes = bytes(of: address), bytes.count == 4 else { return address }
        return bytes.map { String($0) }.joined(separator: ".")
    }

    /// Returns the address as 4 or 16 bytes, or `nil` if the text is not an address.
    package static func bytes(of address: String) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: 16)
        if inet_pton(AF_INET, address, &bytes) == 1 { return Array(bytes.prefix(4)) }
        // A link-local address may end with a zone: 'fe80::1%eth0'.
        guard inet_pton(AF_INET6, String(address.prefix { $0 != "%" }), &bytes) == 1 else { return nil }
        let isCarried = bytes.prefix(10).allSatisfy { $0 == 0 } && bytes[10] == 0xFF && bytes[11] == 0xFF
        return isCarried ? Array(bytes.suffix(4)) : bytes
    }
}

extension AddressRange {
    /// Whether another range has no address outside this range.
    func covers(_ other: AddressRange) -> Bool {
        bits <= other.bits && contains(Parsed(bytes: other.bytes))
    }

    /// Returns the range that a text with bits after its prefix probably means: `10.0.0.0/8` for
    /// `10.0.0.1/8`. Returns `nil` for other text.
    static func intended(by text: String) -> AddressRange? {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, AddressRange(text) == nil, var bytes = Self.bytes(of: String(parts[0])),
            parts[1].utf8.allSatisfy(\.isDigit), let length = Int(parts[1])
        else { return nil }
        let isMapped = bytes.count == 4 && parts[0].contains(":")
        let kept = length - (isMapped ? 96 : 0)
        guard (0..<bytes.count * 8).contains(kept) else { return nil }
        for bit in kept..<bytes.count * 8 { bytes[bit / 8] &= ~(0x80 >> (bit % 8)) }
        return AddressRange("\(Self.text(of: bytes))/\(kept)")
    }

    /// The network that an address without a prefix probably means: `10.0.0.0/8` for `10.0.0.0`,
    /// `fd00::/16` for `fd00::`. `nil` for a range, and for an address that ends with other bits.
    var intendedNetwork: AddressRange? {
        guard bits == bytes.count * 8, !description.contains("/") else { return nil }
        let step = bytes.count == 4 ? 1 : 2
        let zeros = bytes.reversed().prefix { $0 == 0 }.count / step
        guard zeros >= (bytes.count == 4 ? 1 : 4) else { return nil }
        return AddressRange("\(Self.text(of: bytes))/\((bytes.count / step - zeros) * step * 8)")
    }

    /// Returns the text of an address of 4 or 16 bytes.
    private static func text(of bytes: [UInt8]) -> String {
        if bytes.count == 4 { return bytes.map { String($0) }.joined(separator: ".") }
        // INET6_ADDRSTRLEN
        var text = [CChar](repeating: 0, count: 46)
        guard inet_ntop(AF_INET6, bytes, &text, 46) != nil else { return "" }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(truncatingIfNeeded: $0) }, as: UTF8.self)
    }

    /// Returns the network of an address: its first 24 bits (IPv4) or 48 bits (IPv6), with the rest
    /// set to 0. Returns `nil` if the text is not an address.
    package static func masked(_ address: String) -> String? {
        guard let bytes = Self.bytes(of: address) else { return nil }
        if bytes.count == 4 { return "\(bytes[0]).\(bytes[1]).\(bytes[2]).0" }
        let groups = stride(from: 0, to: 6, by: 2).map { String(Int(bytes[$0]) << 8 | Int(bytes[$0 + 1]), radix: 16) }
        return groups.joined(separator: ":") + "::"
    }
}
