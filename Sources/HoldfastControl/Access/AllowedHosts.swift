import HTTPCacheSemantics

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

    /// The hosts, as error messages list them.
    var shown: String { hosts.sorted().map { "'\(ControlProblem.shown($0))'" }.joined(separator: ", ") }
}
