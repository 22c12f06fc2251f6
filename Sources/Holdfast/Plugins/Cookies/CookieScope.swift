import HTTPCacheSemantics

/// Determines which hosts and paths get a cookie. RFC 6265bis §5.1
enum CookieScope {
    /// Returns whether a host equals a domain or is below it.
    static func host(_ host: String, matches domain: String) -> Bool {
        guard host != domain else { return true }
        return host.hasSuffix("." + domain) && mayHaveSubdomains(host)
    }

    /// Returns whether a host is a name and not an address.
    static func mayHaveSubdomains(_ host: String) -> Bool {
        guard !host.hasPrefix("["), let last = host.split(separator: ".").last else { return false }
        return !last.utf8.allSatisfy(\.isDigit)
    }

    /// Returns the host and the domains above it.
    static func domains(above host: String) -> [Substring] {
        guard mayHaveSubdomains(host) else { return [host[...]] }
        var domains = [host[...]]
        while let last = domains.last, let dot = last.firstIndex(of: ".") {
            domains.append(last[last.index(after: dot)...])
        }
        return domains
    }

    /// Returns whether a path equals a cookie's path or is below it.
    static func path(_ path: String, matches scope: String) -> Bool {
        guard path != scope else { return true }
        return path.hasPrefix(scope) && (scope.hasSuffix("/") || path.dropFirst(scope.count).hasPrefix("/"))
    }
}
