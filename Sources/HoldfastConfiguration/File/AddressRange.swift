#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// IP addresses that begin with the same bits: `10.0.0.0/8`, `fd00::/8`, or one, `192.0.2.7`. RFC
/// 4632 §3.1, RFC 4291 §2.3
public struct AddressRange: Sendable, Hashable, CustomStringConvertible {
    /// As it was written.
    public let description: String
    private let bytes: [UInt8]
    private let bits: Int

    /// - Parameter text: an address, and how many of its bits count where that is not all; the bits
    ///   behind them must be 0, lest less be meant than is said.
    public init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard let address = parts.first.flatMap({ Self.bytes(of: String($0)) }), parts.count <= 2 else { return nil }
        let written = parts.first.map { $0.contains(":") ? 128 : 32 } ?? 0
        var bits = address.count * 8
        if parts.count == 2 {
            guard parts[1].utf8.allSatisfy({ (0x30...0x39).contains($0) }), let length = Int(parts[1]),
                length <= written
            else { return nil }
            // '::ffff:10.0.0.0/104' speaks of addresses of IPv4.
            bits = length - (written - bits)
            guard bits >= 0 else { return nil }
        }
        for bit in bits..<(address.count * 8) where address[bit / 8] & (0x80 >> (bit % 8)) != 0 { return nil }
        self.description = text
        self.bytes = address
        self.bits = bits
    }

    /// Whether an address is one of them. One of IPv4 that IPv6 carries (`::ffff:10.0.0.7`) counts
    /// as what it is.
    public func contains(_ address: String) -> Bool {
        guard let other = Self.bytes(of: address), other.count == bytes.count else { return false }
        let whole = bits / 8
        guard other.prefix(whole) == bytes.prefix(whole) else { return false }
        guard bits % 8 > 0 else { return true }
        return (other[whole] ^ bytes[whole]) >> (8 - bits % 8) == 0
    }

    /// 4 bytes, or 16.
    private static func bytes(of address: String) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: 16)
        if inet_pton(AF_INET, address, &bytes) == 1 { return Array(bytes.prefix(4)) }
        // An address of one link only may name it.
        guard inet_pton(AF_INET6, String(address.prefix { $0 != "%" }), &bytes) == 1 else { return nil }
        let isCarried = bytes.prefix(10).allSatisfy { $0 == 0 } && bytes[10] == 0xFF && bytes[11] == 0xFF
        return isCarried ? Array(bytes.suffix(4)) : bytes
    }
}
