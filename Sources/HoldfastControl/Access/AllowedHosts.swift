import HTTPCacheSemantics
import LibC

/// The host names that clients may use for a control plane. Other names are rejected, which
/// prevents DNS rebinding.
struct AllowedHosts: Sendable {
    /// The hosts in lower case. A host without a port matches every port.
    private let hosts: Set<String>

    /// Creates a set of hosts that includes `localhost`.
    ///
    /// - Parameter hosts: the hosts to allow in addition to `localhost`, with or without a port.
    ///   IPv6 addresses are in brackets.
    init(_ hosts: [String] = []) {
        self.init(only: hosts + ["localhost"])
    }

    /// Creates a set of exactly these hosts.
    ///
    /// - Parameter hosts: the only hosts to allow.
    init(only hosts: [String]) {
        self.hosts = Set(hosts.map { $0.lowercased() })
    }

    func contains(_ host: String) -> Bool {
        let host = host.lowercased()
        if hosts.contains(host) { return true }
        // A colon inside the brackets of an IPv6 address does not begin a port.
        guard let colon = host.lastIndex(of: ":"), !host[colon...].contains("]") else { return false }
        let port = host[host.index(after: colon)...]
        return port.utf8.allSatisfy(\.isDigit) && hosts.contains(String(host[..<colon]))
    }

    /// Returns whether a host is an IP address, with or without a port. DNS rebinding needs a name,
    /// so an address is no sign of it. The wildcard addresses are excluded: they are the address of
    /// no machine.
    static func isAddress(_ host: String) -> Bool {
        var address = Substring(host)
        if address.hasPrefix("[") {
            guard let end = address.firstIndex(of: "]") else { return false }
            let port = address[end...].dropFirst()
            guard port.isEmpty || (port.hasPrefix(":") && port.dropFirst().utf8.allSatisfy(\.isDigit)) else {
                return false
            }
            address = address[..<end].dropFirst()
            guard address.contains(":") else { return false }
        } else if let colon = address.lastIndex(of: ":") {
            guard address[colon...].dropFirst().utf8.allSatisfy(\.isDigit) else { return false }
            address = address[..<colon]
            guard !address.contains(":") else { return false }
        }
        guard let bytes = Self.bytes(of: String(address)) else { return false }
        return bytes.contains { $0 != 0 }
    }

    /// Returns the bytes of an IP address in the usual notation; `nil` for any other text.
    private static func bytes(of address: String) -> [UInt8]? {
        for (family, count) in [(AF_INET, 4), (AF_INET6, 16)] {
            var bytes = [UInt8](repeating: 0, count: count)
            if inet_pton(family, address, &bytes) == 1 { return bytes }
        }
        return nil
    }

    /// The hosts, as error messages list them.
    var shown: String { hosts.sorted().map { "'\(ControlProblem.shown($0))'" }.joined(separator: ", ") }
}
