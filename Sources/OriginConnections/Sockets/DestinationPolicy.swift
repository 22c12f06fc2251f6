import HoldfastConfiguration
package import NIOCore

/// The addresses that the proxy of a command may connect to.
///
/// A command could otherwise reach services of this machine and its network through the proxy that
/// it could not reach itself, for example because it runs in a namespace. The check is on the
/// address that is connected to, so a name that resolves to another address a moment later does not
/// evade it.
package struct DestinationPolicy: Sendable, Hashable {
    /// A kind of addresses that is refused.
    package enum Refusal: String, Error, Sendable, Hashable, CaseIterable {
        /// This machine: 127.0.0.0/8, 0.0.0.0/8, ::1 and ::
        case loopback
        /// 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16, 100.64.0.0/10, fc00::/7, fec0::/10, and
        /// 64:ff9b:1::/48, which networks translate for themselves (RFC 8215)
        case privateNetwork
        /// 169.254.0.0/16 and fe80::/10. Clouds serve credentials of the machine there.
        case linkLocal
        /// 224.0.0.0/4, 240.0.0.0/4 and ff00::/8
        case multicast
        /// The socket has no IP address.
        case noAddress
    }

    /// Whether private and link-local addresses are allowed.
    package var allowsPrivate: Bool
    /// Whether loopback is allowed. For tests, whose origins are there.
    package var allowsLoopback = false

    package init(allowsPrivate: Bool) { self.allowsPrivate = allowsPrivate }

    /// Returns why the proxy does not connect to an address; `nil` if it does.
    package func refusal(of address: SocketAddress) -> Refusal? {
        refusal(of: address.ipAddress.flatMap { AddressRange.bytes(of: $0) } ?? [])
    }

    /// Returns why the proxy does not connect to an address; `nil` if it does.
    ///
    /// - Parameter bytes: 4 or 16 bytes in network order.
    package func refusal(of bytes: [UInt8]) -> Refusal? {
        let kind: Refusal?
        switch bytes.count {
        case 4: kind = Self.kind(ofIPv4: bytes)
        case 16: kind = Self.embedded(in: bytes).flatMap { Self.kind(ofIPv4: $0) } ?? Self.kind(ofIPv6: bytes)
        default: kind = .noAddress
        }
        switch kind {
        case .privateNetwork, .linkLocal: return allowsPrivate ? nil : kind
        case .loopback: return allowsLoopback ? nil : kind
        case .multicast, .noAddress, nil: return kind
        }
    }

    private static func kind(ofIPv4 bytes: [UInt8]) -> Refusal? {
        switch (bytes[0], bytes[1]) {
        case (127, _), (0, _): .loopback
        case (10, _), (172, 16...31), (192, 168), (100, 64...127): .privateNetwork
        case (169, 254): .linkLocal
        case (224..., _): .multicast
        default: nil
        }
    }

    private static func kind(ofIPv6 bytes: [UInt8]) -> Refusal? {
        if bytes.dropLast().allSatisfy({ $0 == 0 }), bytes[15] <= 1 { return .loopback }
        switch (bytes[0], bytes[1]) {
        case (0xFF, _): return .multicast
        case (0xFE, 0x80...0xBF): return .linkLocal
        case (0xFE, 0xC0...), (0xFC...0xFD, _): return .privateNetwork
        case (0, 0x64) where bytes[2..<6] == [0xFF, 0x9B, 0, 1]: return .privateNetwork
        default: return nil
        }
    }

    /// Returns the IPv4 address that an IPv6 address leads to; `nil` if there is none.
    private static func embedded(in bytes: [UInt8]) -> [UInt8]? {
        let last = Array(bytes[12...])
        // The unspecified address and loopback are no IPv4 addresses.
        if bytes[..<12].allSatisfy({ $0 == 0 }) { return last[..<3] == [0, 0, 0] && last[3] <= 1 ? nil : last }
        // IPv4-mapped (RFC 4291 §2.5.5.2) and IPv4-translated (RFC 2765)
        if bytes[..<10].allSatisfy({ $0 == 0 }), bytes[10] == 0xFF, bytes[11] == 0xFF { return last }
        if bytes[..<8].allSatisfy({ $0 == 0 }), bytes[8..<12] == [0xFF, 0xFF, 0, 0] { return last }
        // NAT64: 64:ff9b::/96 (RFC 6052) and 64:ff9b:1::/48 (RFC 8215), whose networks usually put
        // the address at the end too.
        if bytes[..<4] == [0, 0x64, 0xFF, 0x9B], bytes[4..<6] == [0, 1] || bytes[4..<12].allSatisfy({ $0 == 0 }) {
            return last
        }
        // 6to4: 2002::/16. RFC 3056
        if bytes[0] == 0x20, bytes[1] == 0x02 { return Array(bytes[2..<6]) }
        // Teredo: 2001::/32, which hides the client's address. RFC 4380 §4
        if bytes[..<4] == [0x20, 0x01, 0, 0] { return last.map { ~$0 } }
        // ISATAP, with any prefix. RFC 5214 §6.1
        if bytes[8] & 0xFC == 0, bytes[9..<12] == [0, 0x5E, 0xFE] { return last }
        return nil
    }
}
