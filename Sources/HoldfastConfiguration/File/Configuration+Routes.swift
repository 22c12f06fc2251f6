import CacheRules
import HTTPCache
import HTTPCacheSemantics

extension Configuration.Route {
    /// Returns the text by which messages refer to the route: `route 'api'`, `route 3`.
    ///
    /// - Parameter number: the route's number, from 1. It is used for routes that are not from a
    ///   file.
    func subject(number: Int) -> String {
        (written["name"] ?? name).map { "route \(shown($0))" } ?? "route \(self.number ?? number)"
    }

    /// Returns the rest of a request's path and query after the route's path. The rest is empty, or
    /// begins with a slash or a question mark. Returns `nil` if the route does not match.
    ///
    /// Paths are compared in normal form: `//v%31;x/y` is below `/v1`. A gateway rejects dot
    /// segments before it selects a route.
    func rest(of path: String, host requested: String?) -> Substring? {
        if let host {
            guard let requested = requested?.lowercased() else { return nil }
            // A request for a host without a port means port 80. RFC 9110 §4.2.1
            guard Self.host(host, covers: requested.hasPort ? requested : requested + ":80") else { return nil }
        }
        return path.utf8.first == UInt8(ascii: "/") ? PathPrefix(self.path).rest(of: path) : nil
    }

    /// Returns whether a route's host matches another route's host, or the host that a client
    /// requests. A host without a port matches any port.
    static func host(_ host: String, covers other: String) -> Bool {
        let mine = host.lowercased()
        let its = mine.hasPort ? other : other.withoutPort
        if mine == its { return true }
        guard mine.hasPrefix("*.") else { return false }
        let tail = mine.dropFirst()
        let label = its.prefix { $0 != "." }
        return !label.isEmpty && its.dropFirst(label.count) == tail
    }
}

extension String {
    var hasPort: Bool { withoutPort.utf8.count < utf8.count }

    var withoutPort: String {
        guard let colon = lastIndex(of: ":"), !self[colon...].contains("]") else { return self }
        return String(self[..<colon])
    }
}

extension Configuration {
    /// Returns the route for a request: the first route whose host and path match.
    ///
    /// - Parameters:
    ///   - host: the host that the client requests, with its port if present.
    ///   - path: the request's path as received, with or without the query.
    /// - Returns: the route, and the rest of the path, which is appended to ``Route/origin``: it is
    ///   empty, or begins with a slash or a question mark.
    package func route(for host: String?, path: String) -> (route: Route, rest: Substring)? {
        for route in routes {
            if let rest = route.rest(of: path, host: host) { return (route, rest) }
        }
        return nil
    }

    /// Returns findings for top-level settings and routes that contradict each other.
    ///
    /// - Parameter refused: the settings whose values could not be read, and the lists of which a
    ///   part could not be read.
    func contradictions(refused: Set<String> = []) -> [ConfigurationError.Finding] {
        var findings: [ConfigurationError.Finding] = []
        func other(_ setting: String, than own: String) -> String {
            place(of: setting, from: file(of: own)).map { "'\(setting)' (\($0))" } ?? "'\(setting)'"
        }
        func report(_ setting: String, _ message: String) { findings.append(finding(setting, message)) }
        if let soft = options.softTimeout, let hard = options.hardTimeout, soft >= hard {
            report(
                "timeouts.soft",
                "It is not less than \(other("timeouts.hard", than: "timeouts.soft")), so it has no effect. Lower it."
            )
        }
        if options.breaker.initialBackOff > options.breaker.maximumBackOff, !refused.contains("breaker.longest-pause") {
            report(
                "breaker.first-probe",
                "It is more than \(other("breaker.longest-pause", than: "breaker.first-probe")). Lower it."
            )
        }
        let hasProxies = !clients.trusted.isEmpty || refused.contains("clients.trusted")
        if !hasProxies, listeners.contains(where: \.expectsProxyHeader) {
            report(
                "listen",
                "'proxy-protocol' accepts only the proxies in 'clients.trusted', which is empty, so no client could connect. Add the addresses of the proxies there."
            )
        }
        findings += excessContradictions(refused: refused)
        findings += controlContradictions(refused: refused)
        findings += healthContradictions()
        findings += forwardContradictions(refused: refused)
        let hasAllRoutes = refused.isDisjoint(with: ["routes", "forward-proxy.hosts"])
        findings += originContradictions(hasAllRoutes: hasAllRoutes, hasAllOrigins: !refused.contains("origins"))
        findings += quotaContradictions(hasAllRoutes: hasAllRoutes)
        // Without the URL, the other 'fleet' settings cannot be checked.
        if !refused.contains("fleet.url") { findings += fleetContradictions(refused: refused) }
        let lookup = RouteLookup(routes)
        for (index, route) in routes.enumerated() { findings += problems(of: route, at: index, lookup) }
        findings += fixedContradictions(lookup)
        return findings
    }

    private func problems(of route: Route, at index: Int, _ lookup: RouteLookup) -> [ConfigurationError.Finding] {
        var findings: [ConfigurationError.Finding] = []
        func report(_ setting: String?, _ message: String) {
            let subject = route.subject(number: index + 1)
            findings.append(
                .init(file: route.file ?? file, line: route.line, subject: subject, setting: setting, message: message)
            )
        }
        func place(_ other: Int) -> Place? {
            routes[other].line.map { Place(routes[other].file ?? file, $0, from: route.file ?? file) }
        }
        if route.origin.isEmpty {
            report("origin", "It is missing. Set a URL such as 'https://api.example.com'.")
        } else {
            do {
                let target = try TargetURI(route.origin)
                if target.query != nil || route.origin.contains("#") {
                    report("origin", "\(shown(route.origin)) has a query or a fragment. Remove it.")
                }
                if PathNormalForm.hasDotSegment(target.path) {
                    report("origin", "\(shown(route.origin)) has dot segments. Write the resolved path.")
                }
                if target.path.contains("*") {
                    report("origin", "\(shown(route.origin)) contains a star. Write '%2A'.")
                }
            } catch {
                let hasUser = (error as? TargetURIError)?.code == .userInformation
                if let advice = OriginReader.advice(onMissingScheme: route.origin) {
                    report("origin", "\(shown(route.origin)) has no scheme. \(advice)")
                } else {
                    report(
                        "origin",
                        "\(error)"
                            + (hasUser ? " Write '{Authorization: {env: NAME}}' in 'to-origin.set' of a rule." : "")
                    )
                }
            }
        }
        checkPath(route.path) { report("path", $0) }
        if let host = route.host, let fault = Self.fault(ofHost: host) { report("host", fault) }
        func reportShared(_ setting: String, _ other: Int, _ value: String, _ word: String) {
            let place = place(other).map { " (\($0))" } ?? ""
            report(
                setting,
                "\(routes[other].subject(number: other + 1))\(place) leads to the same origin. Both routes share stored responses, so that route's '\(value)' also "
                    + "applies here. Set the same value here. Another \(word) has an effect only if this route comes first and leads to a longer path."
            )
        }
        if let other = lookup.modes.first(above: route), let mode = routes[other].mode, mode != route.mode {
            reportShared("mode", other, mode.rawValue, "mode")
        }
        if let other = lookup.tags.first(above: route), Set(routes[other].tagsFrom) != Set(route.tagsFrom) {
            reportShared("tags-from", other, Writers.list(routes[other].tagsFrom.map(\.rawValue)), "list")
        }
        if let name = route.name, let first = lookup.named[name], first < index {
            report(
                "name",
                "Another route\(place(first).map { " \($0.after)" } ?? "") has this name. Rename one of them."
            )
        }
        if let first = lookup.firstCovering(route), first < index {
            let place = place(first).map { " (\($0))" } ?? ""
            report(
                nil,
                "No request can reach it: \(routes[first].subject(number: first + 1))\(place) comes first and matches all of its requests. Move it up, or remove it."
            )
        }
        return findings
    }

    /// Returns a message about a route's host; `nil` if it can be used.
    static func fault(ofHost host: String) -> String? {
        let sample = host.hasPrefix("*.") ? "a\(host.dropFirst())" : host
        if (try? TargetURI("http://\(sample)/")) != nil { return nil }
        if !host.utf8.allSatisfy({ $0 < 0x80 }) {
            return
                "\(shown(host)) contains non-ASCII characters, which no request sends. Write the name in its 'xn--' form."
        }
        return "\(shown(host)) is not a host such as 'api.local', 'api.local:8080' or '*.example.com'."
    }

    func checkPath(_ path: String, _ report: (String) -> Void) {
        guard path.utf8.first == UInt8(ascii: "/") else {
            var written = "/" + path
            while written != "/", written.hasSuffix("/") { written.removeLast() }
            var faults: [String] = []
            checkPath(written) { faults.append($0) }
            let isPath = faults.isEmpty && !path.contains(":")
            return report(
                "\(shown(path)) does not begin with a slash." + (isPath ? " Write \(shown(written))." : "")
            )
        }
        if path != "/", path.utf8.last == UInt8(ascii: "/") {
            report(
                "\(shown(path)) ends with a slash. Write \(shown(path.dropLast())), which includes all paths below it."
            )
        }
        if path.contains("*") {
            let prefix = path.prefix { $0 != "*" }
            let whole = prefix.prefix(through: prefix.lastIndex(of: "/") ?? prefix.startIndex)
            let written = whole.count > 1 ? whole.dropLast() : whole
            report("\(shown(path)) contains a star, but a route's path is a prefix. Write \(shown(written)).")
        } else if path.contains("?") || path.contains("#") {
            report("\(shown(path)) has a query or a fragment, but a route's path is a prefix of paths. Remove it.")
        } else if !path.utf8.allSatisfy(\.isVisible) {
            report("\(shown(path)) contains a space, a control character or a non-ASCII byte. Percent-encode it.")
        }
        if PathNormalForm.hasDotSegment(path) {
            report("\(shown(path)) contains a dot segment, which no client sends. Write the resolved path.")
        }
        if path.utf8.contains(UInt8(ascii: ";")) {
            report("\(shown(path)) contains a ';', but path parameters are not compared. Remove them.")
        }
    }

    /// Returns the routes' modes and tag fields as rules. Each rule matches all targets of a
    /// route's origin. These rules come after all others, so that the settings of a file's rules
    /// take precedence.
    ///
    /// As rules, the settings also apply to requests that use no route, such as refreshes.
    func routeRules() -> [CompiledRules.Entry] {
        routes.enumerated().compactMap { index, route in
            guard route.mode != nil || !route.tagsFrom.isEmpty, let target = try? TargetURI(route.origin) else {
                return nil
            }
            var path = target.path[...]
            while path.hasSuffix("/") { path.removeLast() }
            // With 'preserve-host', targets contain the client's host instead of the origin's.
            let authority: String
            if route.preservesHost {
                // A client that names no port means 80, and its target has no port.
                authority =
                    route.host.map { host in
                        host.hasSuffix(":80") ? host.withoutPort : host.hasPort ? host : "\(host):*"
                    } ?? "**:*"
            } else {
                authority = target.authority
            }
            let base = "\(target.scheme)://\(authority)\(path)"
            var texts = ["\(base)/**"]
            if !path.isEmpty { texts += [base] }
            var settings = RuleSettings()
            settings.mode = route.mode
            settings.tagsFrom = route.tagsFrom.isEmpty ? nil : route.tagsFrom
            let subject = route.subject(number: index + 1)
            var location = route.line.map { Rule.Location(file: route.file ?? file, line: $0) }
            location?.written = route.written
            let rule = Rule(subject, settings: settings, location: location)
            let patterns = texts.compactMap { try? CompiledPattern(URLPattern($0)) }
            return patterns.isEmpty
                ? nil
                : CompiledRules.Entry(rule: rule, number: index + 1, patterns: patterns, name: subject)
        }
    }
}

extension Readers {
    /// Reads the names of protocols that may replace HTTP on a connection.
    static func upgrades(_ value: FileValue) throws(Refusal) -> [String] {
        let items = try value.list(of: "protocols such as 'websocket'")
        guard items.count <= Configuration.Route.upgradeLimit else {
            throw Refusal("There are \(items.count) protocols. The limit is \(Configuration.Route.upgradeLimit).")
        }
        // 'tcp' and 'spdy/3.1' are those of containers: attach, exec, port forwarding.
        let known = ["websocket", "tcp", "spdy/3.1"]
        var result: [String] = []
        for item in items {
            let name = try item.text("a protocol such as 'websocket'").lowercased()
            guard name.utf8.allSatisfy({ $0.isTokenByte || $0 == UInt8(ascii: "/") }), name.utf8.count <= 64 else {
                throw Refusal(
                    "\(item.shown) is not a protocol name. A name has 1 to 64 ASCII letters, digits, and characters such as '-', '.' and '/'.",
                    line: item.line
                )
            }
            // Through such a tunnel, requests would reach the origin without passing the gateway's
            // routes and limits.
            let kind = name.prefix { $0 != "/" }
            guard !["h2", "h2c", "h3", "http", "tls"].contains(kind) else {
                throw Refusal(
                    "\(item.shown) would carry requests past the gateway. Use a protocol such as 'websocket'.",
                    line: item.line
                )
            }
            guard known.contains(name) else {
                throw Refusal(
                    "\(item.shown) is not a known protocol, so no client could use it. Known are \(known.map { "'\($0)'" }.joined(separator: ", ")).",
                    line: item.line
                )
            }
            if !result.contains(name) { result.append(name) }
        }
        return result
    }
}
