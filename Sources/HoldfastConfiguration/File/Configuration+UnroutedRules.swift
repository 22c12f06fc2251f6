package import CacheRules
import HTTPCacheSemantics

extension Configuration {
    /// Returns findings for rules whose URLs no request of a gateway has. Such a rule never takes
    /// effect: rules match the URLs of origins, not those that clients request.
    package var unroutedRules: [ConfigurationError.Finding] {
        let all = routes.compactMap { RouteTargets($0) }
        guard !all.isEmpty, all.count == routes.count else { return [] }
        let targets = Set(all + forwardProxy.hosts.flatMap { RouteTargets.ofProxy($0) })
        var findings: [ConfigurationError.Finding] = []
        for (index, rule) in rules.rules.enumerated() {
            for url in rule.match.urls {
                guard let pattern = try? CompiledPattern(url), let fault = fault(of: pattern, url.text, targets)
                else { continue }
                findings.append(
                    RuleCheck(rule, number: index + 1).finding("match.url", "\(shown(url.text)) \(fault)")
                )
            }
        }
        return findings.map { references.hide(in: $0) }
    }

    /// Warnings about rules that name the address of an origin whose route keeps the client's host
    /// and states no host. Such a rule matches only requests of clients that use the origin's own
    /// address.
    ///
    /// An address that clients may use too, such as `https://www.example.com`, is not reported.
    var preservedHostWarnings: [ConfigurationError.Finding] {
        let open = routes.filter { $0.preservesHost && $0.host == nil }.compactMap { try? TargetURI($0.origin) }
            .filter(\.hasServersOwnAddress)
        guard !open.isEmpty else { return [] }
        let others = Set(routes.filter { !$0.preservesHost || $0.host != nil }.compactMap { RouteTargets($0) })
        var findings: [ConfigurationError.Finding] = []
        for (index, rule) in rules.rules.enumerated() {
            for url in rule.match.urls {
                guard let (authority, path) = Self.parts(of: url.text), let pattern = try? CompiledPattern(url),
                    let origin = open.first(where: { $0.authority == authority.lowercased() }),
                    !others.contains(where: { $0.areReached(by: pattern) })
                else { continue }
                findings.append(
                    RuleCheck(rule, number: index + 1).finding(
                        "match.url",
                        "\(shown(url.text)) matches only requests whose 'Host' is \(shown(origin.authority)): with 'preserve-host', rules match the host that clients request. Write \(shown(path))."
                    )
                )
            }
        }
        return findings
    }

    /// Returns the authority and the rest of a pattern with a scheme; `nil` if it has no path.
    private static func parts(of pattern: String) -> (authority: String, path: String)? {
        guard let begin = pattern.firstRange(of: "://")?.upperBound else { return nil }
        let authority = String(pattern[begin...].prefix { $0 != "/" && $0 != "?" })
        let path = String(pattern[begin...].dropFirst(authority.count))
        return path.utf8.first == UInt8(ascii: "/") ? (authority, path) : nil
    }

    private func fault(of pattern: CompiledPattern, _ text: String, _ targets: Set<RouteTargets>) -> String? {
        if PathNormalForm.hasDotSegment(text) {
            return
                "contains a dot segment, which the gateway rejects, so it matches nothing. Write the resolved path."
        }
        if targets.contains(where: { $0.areReached(by: pattern) }) { return nil }
        let near = routes.filter { RouteTargets($0)?.haveOrigin(of: pattern) == true }
        guard near.isEmpty else {
            let subject = near.count == 1 ? "The route's requests go" : "The routes' requests go"
            return "matches nothing: no route leads to this path. \(subject) to \(Self.urls(of: near, with: "/**"))."
        }
        return "matches nothing, because no route leads to this origin. \(advice(about: text))"
    }

    private func advice(about pattern: String) -> String {
        if let advice = advice(aboutHostOf: pattern) { return advice }
        return "The routes lead to \(Self.urls(of: routes, with: ""))."
    }

    /// Returns up to three of the URLs to which routes lead.
    private static func urls(of routes: [Route], with end: String) -> String {
        var seen: Set<String> = []
        let urls = routes.compactMap { route in
            RouteTargets(route).map { end.isEmpty && !route.preservesHost ? route.origin : $0.url + end }
        }.filter { seen.insert($0).inserted }
        let rest = urls.count > 3 ? " and \(urls.count - 3) more" : ""
        return urls.prefix(3).map { shown($0) }.joined(separator: ", ") + rest
    }

    /// Returns the pattern to write instead, if the pattern names a URL that a route leads to an
    /// origin, an origin with another scheme or port, or any host.
    private func advice(aboutHostOf pattern: String) -> String? {
        guard let (authority, path) = Self.parts(of: pattern) else { return nil }
        if authority.allSatisfy({ $0 == "*" }) { return "Write \(shown(path)), which matches every origin." }
        guard !authority.contains("*") else { return nil }
        let host = authority.lowercased().withoutPort
        func write(_ url: String) -> String { "Rules match the origin's URLs: write \(shown(url))." }
        for route in routes where !route.preservesHost {
            guard let target = try? TargetURI(route.origin), target.host == host else { continue }
            return write("\(target.scheme)://\(target.authority)\(path)")
        }
        if let (route, rest) = route(for: authority, path: path), route.host != nil, !route.preservesHost {
            var origin = route.origin
            while origin.hasSuffix("/") { origin.removeLast() }
            return write(origin + (rest.hasPrefix("/") ? rest : "/" + rest))
        }
        for route in routes where route.preservesHost {
            guard let target = try? TargetURI(route.origin), let targets = RouteTargets(route) else { continue }
            guard target.host == host || route.host?.lowercased().withoutPort == host else { continue }
            let origin = route.host == nil ? "" : targets.url.dropLast(PathPrefix(target.path).text.count)
            return
                "With 'preserve-host', rules match the host that clients request: write \(shown("\(origin)\(path)"))."
        }
        return nil
    }
}

extension TargetURI {
    /// Whether the address is probably only the server's own: an IP address, a name without a dot,
    /// or a port that no URL omits.
    fileprivate var hasServersOwnAddress: Bool {
        !host.contains(where: \.isLetter) || host.hasPrefix("[") || !host.contains(".")
            || port != (scheme == "https" ? 443 : 80)
    }
}
