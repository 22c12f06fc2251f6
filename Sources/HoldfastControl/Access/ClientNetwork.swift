import LibC

/// The network that identifies a client of the control plane. Limits apply per network.
///
/// - An IPv6 client is identified by its /64 network, because it can use 2⁶⁴ addresses.
/// - An IPv4 client is identified by its address. An IPv4-mapped address (`::ffff:192.0.2.7`)
///   counts as IPv4, because a listener for both versions sees IPv4 clients in that form.
/// - All clients of a Unix socket count as one client.
struct ClientNetwork: Sendable, Hashable {
    private let name: String

    /// Returns the network of an address.
    ///
    /// - Parameter address: the client's IP address; `nil` for a client of a Unix socket.
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
