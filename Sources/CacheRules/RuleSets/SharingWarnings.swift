import HTTPCacheSemantics

extension RuleSet {
    /// Warnings about rules that override `must-revalidate` or `s-maxage`, which allow responses to
    /// requests with credentials to be shared. RFC 9111 §3.5
    ///
    /// Such a rule is valid, but its effect may surprise: responses that would otherwise be shared
    /// are no longer stored. Rules with the same effect get one warning, at the first of them.
    package var sharingWarnings: [ConfigurationError.Finding] {
        let effects = rules.map { Self.liftedPremise($0.settings) }
        var counts: [String: Int] = [:]
        for effect in effects { if let effect { counts[effect.words, default: 0] += 1 } }
        var reported: Set<String> = []
        return zip(rules, effects).enumerated().compactMap { index, pair -> ConfigurationError.Finding? in
            guard let effect = pair.1, reported.insert(effect.words).inserted else { return nil }
            let others = (counts[effect.words] ?? 1) - 1
            var message = "With this rule, \(effect.words). For copies per user, set 'store.per'."
            switch others {
            case 0: break
            case 1: message += " The same applies to another rule."
            default: message += " The same applies to \(others) other rules."
            }
            return RuleCheck(pair.0, number: index + 1).finding(effect.setting, message)
        }
    }

    private static func liftedPremise(_ settings: RuleSettings) -> (setting: String, words: String)? {
        // The author of these has decided about requests with credentials.
        guard settings.bypass != true, settings.withoutCredentials != true, settings.cookies == nil,
            settings.store.principal == nil
        else { return nil }
        func names(_ directives: PolicyOverrides.Directives?) -> [String] {
            [("must-revalidate", PolicyOverrides.Directives.mustRevalidate), ("s-maxage", .sMaxage)]
                .filter { directives?.contains($0.1) == true }
                .map { "'\($0.0)'" }
        }
        let lifted = names(settings.stale.ignore)
        if !lifted.isEmpty {
            // 'must-revalidate' never allows it for a request with a cookie.
            let fields = lifted == ["'must-revalidate'"] ? "'Authorization'" : "'Authorization' or 'Cookie'"
            let verb = lifted.count == 1 ? "allows" : "allow"
            return (
                "stale.ignore",
                "\(lifted.joined(separator: " and ")) no longer \(verb) a response to a request with \(fields) to be shared, but 'public' does"
            )
        }
        let ignored = names(settings.ignore.directives)
        if !ignored.isEmpty {
            return (
                "ignore.directives",
                "a response that has \(ignored.joined(separator: " or ")), to a request with 'Authorization' or 'Cookie', is shared only if it also has 'public'"
            )
        }
        guard let lifetime = settings.freshness.lifetime, lifetime > .zero else { return nil }
        return (
            "freshness.lifetime",
            "a response to a request with 'Authorization' or 'Cookie' is shared only if it has 'public'"
        )
    }
}

extension RuleSet {
    /// Findings for rules that ignore members of content for requests with credentials. In a
    /// gateway for many clients, one user's response would be served to others.
    package var memberFindings: [ConfigurationError.Finding] {
        rules.enumerated().compactMap { index, rule in
            guard rule.settings.ignore.members != nil, rule.settings.withoutCredentials != true else { return nil }
            return RuleCheck(rule, number: index + 1).finding(
                "ignore.members",
                "It needs 'credentials: none' in the same rule: an ignored member could name a user. Requests with credentials then bypass the store."
            )
        }
    }
}
