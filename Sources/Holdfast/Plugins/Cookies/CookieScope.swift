/// The hosts and paths that get a cookie. RFC 6265bis §5.1
enum CookieScope {
    /// Whether a host is a domain, or below it.
    static func host(_ host: String, matches domain: String) -> Bool {
        guard host != domain else { return true }
        return host.hasSuffix("." + domain) && mayHaveSubdomains(host)
    }

    /// Whether a host is a name, not an address.
    static func mayHaveSubdomains(_ host: String) -> Bool {
        guard !host.hasPrefix("["), let last = host.split(separator: ".").last else { return false }
        return !last.utf8.allSatisfy { (0x30...0x39).contains($0) }
    }

    /// The host and the domains above it.
    static func domains(above host: String) -> [Substring] {
        guard mayHaveSubdomains(host) else { return [host[...]] }
        var domains = [host[...]]
        while let last = domains.last, let dot = last.firstIndex(of: ".") {
            domains.append(last[last.index(after: dot)...])
        }
        return domains
    }

    /// Whether a path is a cookie's path, or below it.
    static func path(_ path: String, matches scope: String) -> Bool {
        guard path != scope else { return true }
        return path.hasPrefix(scope) && (scope.hasSuffix("/") || path.dropFirst(scope.count).hasPrefix("/"))
    }
}
