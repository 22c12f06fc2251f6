/// The host names that clients may use for a control plane. A rebound DNS name is not among them.
struct AllowedHosts: Sendable {
    /// Lowercase. A host without a port matches every port.
    private let hosts: Set<String>

    /// - Parameter hosts: allowed in addition to `localhost`, with or without a port. IPv6
    ///   addresses are in brackets.
    init(_ hosts: [String] = []) {
        self.init(only: hosts + ["localhost"])
    }

    /// - Parameter hosts: the only hosts allowed.
    init(only hosts: [String]) {
        self.hosts = Set(hosts.map { $0.lowercased() })
    }

    func contains(_ host: String) -> Bool {
        let host = host.lowercased()
        if hosts.contains(host) { return true }
        // The colon after an IPv6 address, not one inside it.
        guard let colon = host.lastIndex(of: ":"), !host[colon...].contains("]") else { return false }
        let port = host[host.index(after: colon)...]
        return port.utf8.allSatisfy { (0x30...0x39).contains($0) } && hosts.contains(String(host[..<colon]))
    }

    /// The hosts as error messages list them.
    var shown: String { hosts.sorted().map { "'\(ControlProblem.shown($0))'" }.joined(separator: ", ") }
}
