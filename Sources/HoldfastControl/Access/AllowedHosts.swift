/// The hosts by which clients may name a control plane. A rebound name is none of them.
struct AllowedHosts: Sendable {
    /// In lower case. A host without a port stands for all ports.
    private let hosts: Set<String>

    /// - Parameter hosts: beside `localhost`; with or without a port, an IPv6 address in brackets.
    init(_ hosts: [String] = []) {
        self.init(only: hosts + ["localhost"])
    }

    /// - Parameter hosts: those alone.
    init(only hosts: [String]) {
        self.hosts = Set(hosts.map { $0.lowercased() })
    }

    func contains(_ host: String) -> Bool {
        let host = host.lowercased()
        if hosts.contains(host) { return true }
        // The colon behind an IPv6 address, not one in it.
        guard let colon = host.lastIndex(of: ":"), !host[colon...].contains("]") else { return false }
        let port = host[host.index(after: colon)...]
        return port.utf8.allSatisfy { (0x30...0x39).contains($0) } && hosts.contains(String(host[..<colon]))
    }

    /// For messages.
    var shown: String { hosts.sorted().map { "'\(ControlProblem.shown($0))'" }.joined(separator: ", ") }
}
