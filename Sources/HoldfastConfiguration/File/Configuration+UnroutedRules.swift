import HTTPCacheSemantics

extension Configuration {
    /// Returns findings for rules about hosts to which no route leads. In a gateway, such a rule
    /// never takes effect: rules match the URLs of origins, not those that clients request.
    package var unroutedRules: [ConfigurationError.Finding] {
        let all = routes.compactMap { OriginPlace($0) }
        guard !all.isEmpty, all.count == routes.count else { return [] }
        let places = Set(all)
        var findings: [ConfigurationError.Finding] = []
        for (index, rule) in rules.rules.enumerated() {
            for url in rule.match.urls {
                guard let pattern = try? CompiledPattern(url), !places.contains(where: { $0.isReached(by: pattern) })
                else { continue }
                findings.append(
                    RuleCheck(rule, number: index + 1).finding(
                        "match.url",
                        "\(shown(url.text)) matches nothing, because no route leads to this origin. \(advice(about: url.text))"
                    )
                )
            }
        }
        return findings.map { references.hide(in: $0) }
    }

    private func advice(about pattern: String) -> String {
        if let url = originPattern(of: pattern) {
            return "Rules match the origin's URLs: write \(shown(url))."
        }
        var seen: Set<String> = []
        let origins = routes.map(\.origin).filter { seen.insert($0).inserted }
        let rest = origins.count > 3 ? " and \(origins.count - 3) more" : ""
        return "The routes lead to \(origins.prefix(3).map { shown($0) }.joined(separator: ", "))\(rest)."
    }

    /// Returns the pattern for the same responses at the origin, if the pattern names a URL that a
    /// route leads to an origin, or an origin with another scheme or port.
    private func originPattern(of pattern: String) -> String? {
        guard let begin = pattern.firstRange(of: "://")?.upperBound else { return nil }
        let authority = String(pattern[begin...].prefix { $0 != "/" && $0 != "?" })
        let path = String(pattern[begin...].dropFirst(authority.count))
        guard !authority.contains("*"), path.utf8.first == UInt8(ascii: "/") else { return nil }
        let host = authority.lowercased().withoutPort
        for route in routes where !route.preservesHost {
            guard let target = try? TargetURI(route.origin), target.host == host else { continue }
            return "\(target.scheme)://\(target.authority)\(path)"
        }
        guard let (route, rest) = route(for: authority, path: path), route.host != nil, !route.preservesHost else {
            return nil
        }
        var origin = route.origin
        while origin.hasSuffix("/") { origin.removeLast() }
        return origin + (rest.hasPrefix("/") ? rest : "/" + rest)
    }
}

/// The targets to which a route leads, by scheme, host and port.
private struct OriginPlace: Hashable {
    private let isHTTPS: Bool
    /// The origin's host; `nil` with `preserve-host`, which keeps the client's.
    private let host: [UInt8]?
    private let port: UInt16
    /// The client's host with `preserve-host`: without its port, `nil` for any host.
    private let clientHost: String?

    /// - Returns: `nil` if the route's origin is not valid, which another finding says.
    init?(_ route: Configuration.Route) {
        guard let target = try? TargetURI(route.origin) else { return nil }
        isHTTPS = target.scheme == "https"
        host = route.preservesHost ? nil : Array(target.host.utf8)
        port = target.port
        clientHost = route.preservesHost ? route.host?.lowercased().withoutPort : nil
    }

    func isReached(by pattern: CompiledPattern) -> Bool {
        guard let ports = isHTTPS ? pattern.https : pattern.http else { return false }
        if let host { return ports.covers(.number(port)) && pattern.host.matches(host) }
        // The client chooses the port.
        guard let clientHost else { return true }
        guard clientHost.hasPrefix("*.") else { return pattern.host.matches(Array(clientHost.utf8)) }
        // Two patterns that may match the same host are not compared.
        return pattern.host.hasStar
            || Configuration.Route.host(clientHost, covers: String(decoding: pattern.host.prefix, as: UTF8.self))
    }
}
