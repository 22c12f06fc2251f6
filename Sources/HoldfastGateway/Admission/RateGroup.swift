import HoldfastConfiguration

/// The clients that share one bucket of a rate.
enum RateGroup: Hashable, Sendable {
    case ipv4(UInt32)
    /// The first 64 bits of addresses.
    case ipv6(UInt64)
    /// All clients of Unix sockets.
    case unix
    /// All clients without an address.
    case unknown

    /// Returns the group of a client.
    ///
    /// - Parameter address: an IP address, or ``GatewayClient/localName``. An IPv4-mapped IPv6
    ///   address counts as IPv4. `nil`, or any other text, if the address is not known.
    init(_ address: String?, by grouping: HoldfastConfiguration.Configuration.RequestRate.Grouping) {
        guard let bytes = address.flatMap({ AddressRange.Parsed($0) })?.bytes else {
            self = .unknown
            return
        }
        let bits = bytes.prefix(8).reduce(0) { $0 << 8 | UInt64(truncatingIfNeeded: $1) }
        switch (bytes.count, grouping) {
        case (0, _): self = .unix
        case (4, .address): self = .ipv4(UInt32(truncatingIfNeeded: bits))
        case (4, .prefix): self = .ipv4(UInt32(truncatingIfNeeded: bits) & 0xFFFF_FF00)
        case (_, .address): self = .ipv6(bits)
        case (_, .prefix): self = .ipv6(bits & 0xFFFF_FFFF_FFFF_FF00)
        }
    }
}
