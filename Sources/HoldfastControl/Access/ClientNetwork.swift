#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A client of the control plane, as far as its address tells: what limits count as one client.
///
/// It is the network of an IPv6 address, since a client has 2⁶⁴ of them, and else the address. An
/// IPv4 address in IPv6 notation (`::ffff:192.0.2.7`) is the IPv4 address: a listener for both
/// versions has clients of IPv4 in that notation. All clients of a Unix socket are one.
struct ClientNetwork: Sendable, Hashable {
    private let name: String

    /// - Parameter address: `nil` for a client of a Unix socket.
    init(_ address: String?) {
        guard let address else {
            name = ""
            return
        }
        var bytes = [UInt8](repeating: 0, count: 16)
        guard inet_pton(AF_INET6, String(address.prefix { $0 != "%" }), &bytes) == 1 else {
            name = address
            return
        }
        let isCarried = bytes.prefix(10).allSatisfy { $0 == 0 } && bytes[10] == 0xFF && bytes[11] == 0xFF
        name =
            isCarried
            ? bytes.suffix(4).map { String($0) }.joined(separator: ".")
            : bytes.prefix(8).map { String($0, radix: 16) }.joined(separator: ":")
    }
}
