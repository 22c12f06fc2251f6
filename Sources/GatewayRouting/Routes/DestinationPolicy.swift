package import HoldfastConfiguration
package import NIOCore

/// The addresses that a proxy may connect to, where its clients name the host.
///
/// A client could otherwise reach services of this machine and its network through the proxy that
/// it could not reach itself, for example because it runs in a namespace. The check is on the
/// address that is connected to, so a name that resolves to another address a moment later does not
/// evade it.
package struct DestinationPolicy: Sendable, Hashable {
    /// A kind of addresses that is refused.
    package enum Refusal: String, Error, Sendable, Hashable, CaseIterable {
        /// This machine: 127.0.0.0/8, 0.0.0.0/8, ::1 and ::, and the addresses of its interfaces
        case loopback
        /// A listener of the gateway itself
        case ownListener
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
    /// Addresses that are allowed although they are private, link-local or this machine's.
    package var allowed: [AddressRange] = []
    /// The ports of the gateway's own listeners, which are refused on this machine even if its
    /// address is allowed. `nil` for a gateway that listens on loopback alone.
    package var ownPorts: Set<UInt16>?

    package init(allowsPrivate: Bool) { self.allowsPrivate = allowsPrivate }

    /// Returns why the proxy does not connect to an address; `nil` if it does.
    ///
    /// - Parameter own: returns the addresses of this machine's interfaces, each as bytes; `nil` if
    ///   they are not known, so that any address may be one. Called only if ``ownPorts`` is set.
    package func refusal(of address: SocketAddress, own: () -> Set<[UInt8]>?) -> Refusal? {
        guard let bytes = address.ipAddress.flatMap({ AddressRange.bytes(of: $0) }) else { return .noAddress }
        let plain = bytes.count == 16 ? Self.embedded(in: bytes) ?? bytes : bytes
        let isOwn = ownPorts != nil && own()?.contains(plain) ?? true
        return refusal(of: bytes, port: UInt16(clamping: address.port ?? 0), isOwn: isOwn)
    }

    /// Returns why the proxy does not connect to an address; `nil` if it does.
    ///
    /// - Parameters:
    ///   - bytes: 4 or 16 bytes in network order.
    ///   - isOwn: whether it is an address of this machine.
    package func refusal(of bytes: [UInt8], port: UInt16, isOwn: Bool = false) -> Refusal? {
        let kind = isOwn ? .loopback : Self.kind(of: bytes)
        if kind == .loopback, ownPorts?.contains(port) == true { return .ownListener }
        switch kind {
        case .privateNetwork where allowsPrivate, .linkLocal where allowsPrivate: return nil
        case .loopback where allowsLoopback: return nil
        case .privateNetwork, .linkLocal, .loopback:
            return allowed.contains { $0.contains(AddressRange.Parsed(bytes: bytes)) } ? nil : kind
        case .ownListener, .multicast, .noAddress, nil: return kind
        }
    }

    private static func kind(of bytes: [UInt8]) -> Refusal? {
        switch bytes.count {
        case 4: kind(ofIPv4: bytes)
        case 16: embedded(in: bytes).flatMap { kind(ofIPv4: $0) } ?? kind(ofIPv6: bytes)
        default: .noAddress
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
