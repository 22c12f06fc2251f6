import HTTPCache
import HTTPCacheSemantics
import HTTPTypes

extension RuleSet {
    /// Warnings about valid rules that probably do not do what their author meant.
    package var effectWarnings: [ConfigurationError.Finding] {
        var warnings: [ConfigurationError.Finding] = []
        for entry in compiled.entries.prefix(rules.count) {
            let check = RuleCheck(entry.rule, number: entry.number)
            warnings += entry.rule.match.urls.compactMap(\.hint).map { check.finding("match.url", $0) }
            warnings += entry.rule.match.methods.compactMap { KnownMethods.warning(about: $0.rawValue) }
                .map { check.finding("match.method", $0) }
            if let message = joinedTags(entry.rule) { warnings.append(check.finding("tags", message)) }
            warnings += expressions(in: entry.rule).map { check.finding("ignore.parameters", $0) }
            warnings += undoneFields(entry.rule).map { check.finding($0.setting, $0.message) }
            if let message = unstoredPost(entry.rule) { warnings.append(check.finding("store.methods", message)) }
            if let message = ignoredMembers(entry.rule) { warnings.append(check.finding("ignore.members", message)) }
            warnings += originFields(entry.rule).map { check.finding($0.setting, $0.message) }
            warnings += droppedCookies(of: entry).map { check.finding("match.cookie", $0) }
            if let message = unusedPrincipal(entry.rule) { warnings.append(check.finding("store.per", message)) }
            warnings += leftOutTokens(entry.rule).map { check.finding("store.without-cookies", $0) }
        }
        return warnings
    }

    /// Returns a warning about a tag that was probably meant as several tags.
    private func joinedTags(_ rule: Rule) -> String? {
        let tags = rule.settings.tags ?? []
        guard let joined = tags.first(where: { $0.contains(",") }) else { return nil }
        let parts = Writers.separated(tags)
        return "\(shown(joined)) is one tag with a comma. For several tags, write \(shown(Writers.list(parts)))."
    }

    /// Returns a warning for each ignored parameter that was probably meant as a regular
    /// expression.
    private func expressions(in rule: Rule) -> [String] {
        (rule.settings.ignore.parameters ?? []).filter { $0.hasSuffix(".*") }.map {
            "\(shown($0)) is not a regular expression: it means all names that begin with \(shown($0.dropLast())). Write \(shown("\($0.dropLast(2))*"))."
        }
    }

    /// Returns a warning for each field that a rule both sets and removes.
    private func undoneFields(_ rule: Rule) -> [CookieCheck.Fault] {
        var warnings: [CookieCheck.Fault] = []
        for (group, fields) in [("to-client", rule.settings.toClient), ("to-origin", rule.settings.toOrigin)] {
            for name in fields.removed ?? [] where fields.set?[name] != nil {
                let message = "'\(name.rawName)' is also in '\(group).set'. Remove it from one of them."
                warnings.append(("\(group).remove", message))
            }
        }
        return warnings
    }

    /// Returns a warning if POST is to be stored, but no rule says how its content is keyed.
    private func unstoredPost(_ rule: Rule) -> String? {
        guard let methods = rule.settings.store.methods, methods.contains(.post),
            !rules.contains(where: { $0.settings.store.content != nil })
        else { return nil }
        let isAlone = !methods.contains { $0 == .get || $0.rawValue == "QUERY" }
        return "Responses to POST are stored only with 'store.content'\(isAlone ? ", so nothing is stored" : ""). "
            + "Add 'content: any', 'content: json' or 'content: graphql' to 'store'."
    }

    /// Returns a warning if the requests for which responses would be stored separately bypass the
    /// store.
    private func unusedPrincipal(_ rule: Rule) -> String? {
        guard rule.settings.store.principal != nil, rule.settings.withoutCredentials == true else { return nil }
        return
            "It has no effect with 'credentials: none': every request with this field or cookie bypasses the store. Remove one of them."
    }

    /// Returns a warning that clients share responses although the origin can tell their requests
    /// apart.
    private func ignoredMembers(_ rule: Rule) -> String? {
        guard let paths = rule.settings.ignore.members, !paths.isEmpty else { return nil }
        let names = paths.map { shown($0) }.joined(separator: ", ")
        return
            "The origin gets \(names), but the key does not have \(paths.count == 1 ? "it" : "them"). If a response depends on an ignored member, one client decides what all clients get."
    }

    /// The usual names of cookies that hold the CSRF token of a visitor's forms: of Django,
    /// Angular, Laravel, Node.js, Flask and ASP.NET.
    private static let tokenCookies = [
        "csrftoken", "XSRF-TOKEN", "_csrf", "csrf_token", "__RequestVerificationToken",
    ]

    /// Returns a warning for each name in `store.without-cookies` that leaves a CSRF token, or
    /// every cookie, out of a stored page. The page's forms contain the same token, which then
    /// belongs to the visitor whose request was stored.
    private func leftOutTokens(_ rule: Rule) -> [String] {
        (rule.settings.store.withoutCookies ?? []).compactMap { pattern in
            if pattern == "*" {
                return
                    "'*' also leaves out the cookies of sessions and CSRF tokens, so pages with forms are shared. List names of cookies that no page depends on."
            }
            let names = CookieNames([pattern])
            guard let name = Self.tokenCookies.first(where: names.contains) else { return nil }
            let subject = name == pattern ? shown(name) : "\(shown(pattern)) includes \(shown(name)), which"
            return
                "\(subject) usually holds a CSRF token. A stored page with a form shares its first visitor's token with all clients. Remove the name, unless the rule matches only pages without forms."
        }
    }

    /// Returns the consequence of each change to an origin's responses.
    private func originFields(_ rule: Rule) -> [CookieCheck.Fault] {
        var warnings: [CookieCheck.Fault] = []
        let (removed, vary) = (rule.settings.fromOrigin.removed ?? [], rule.settings.fromOrigin.vary ?? [])
        if !removed.isEmpty {
            let names = removed.map { "'\($0.rawName)'" }.joined(separator: ", ")
            let changing = rule.match.methods.isEmpty || rule.match.methods.contains { !$0.isSafe }
            let advice =
                changing ? " A login is such a request. Add 'method: [GET, HEAD]' to 'match' to exclude it." : ""
            warnings.append(
                (
                    "from-origin.remove",
                    "No client without credentials gets \(names), and responses are stored as if the origin had not sent \(removed.count == 1 ? "it" : "them").\(advice)"
                )
            )
        }
        if !vary.isEmpty {
            let names = vary.map { "'\($0.rawName)'" }.joined(separator: ", ")
            warnings.append(
                (
                    "from-origin.vary",
                    "Each value of \(names) has its own stored response, up to 'store.variants-per-key', and clients see the names in 'Vary'."
                )
            )
        }
        return warnings
    }

    /// Returns a warning for each cookie of a rule's condition that another rule removes from the
    /// same requests. The origin then cannot see why the request bypasses the store.
    private func droppedCookies(of entry: CompiledRules.Entry) -> [String] {
        let names = entry.rule.match.request.cookies.keys.sorted()
        guard !names.isEmpty, entry.rule.settings.mode != .offline || entry.rule.settings.bypass == true,
            let other = compiled.entries.first(where: { $0.rule.settings.cookies != nil && $0.covers(entry) }),
            let cookies = other.rule.settings.cookies, !cookies.forwardsAll
        else { return [] }
        let listed = Set(rules.flatMap { $0.settings.vary.map { Array($0.cookies.keys) } ?? [] })
        return names.filter { !cookies.kept.overlaps($0) && !listed.contains($0) }.map {
            "\(shown($0)) is not in 'keep' of 'cookies' of \(other.described(from: entry.rule.location?.file)), so the origin never gets it. Add it to that list."
        }
    }
}
