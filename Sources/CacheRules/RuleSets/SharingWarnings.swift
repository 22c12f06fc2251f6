import HTTPCacheSemantics

extension RuleSet {
    /// Warnings about rules that override `must-revalidate` or `s-maxage`, which allow responses to
    /// requests with credentials to be shared. RFC 9111 §3.5
    ///
    /// Such a rule is valid, but its effect may surprise: responses that would otherwise be shared
    /// are no longer stored.
    package var sharingWarnings: [ConfigurationError.Finding] {
        rules.enumerated().compactMap { index, rule in
            guard let (setting, effect) = Self.liftedPremise(rule.settings) else { return nil }
            return RuleCheck(rule, number: index + 1).finding(
                setting,
                "It \(effect). A directive that a rule overrides no longer allows responses to requests with 'Authorization' or 'Cookie' to be shared; 'public' still does. To store such responses per user, set 'store.per'."
            )
        }
    }

    private static func liftedPremise(_ settings: RuleSettings) -> (setting: String, effect: String)? {
        guard settings.bypass != true, settings.store.principal == nil else { return nil }
        func names(_ directives: PolicyOverrides.Directives?) -> String? {
            let found = [("must-revalidate", PolicyOverrides.Directives.mustRevalidate), ("s-maxage", .sMaxage)]
                .filter { directives?.contains($0.1) == true }
                .map { "'\($0.0)'" }
            return found.isEmpty ? nil : found.joined(separator: " and ")
        }
        if let names = names(settings.stale.ignore) { return ("stale.ignore", "overrides \(names)") }
        if let names = names(settings.ignore.directives) { return ("ignore.directives", "ignores \(names)") }
        guard let lifetime = settings.freshness.lifetime, lifetime > .zero else { return nil }
        return ("freshness.lifetime", "replaces the lifetime that 'must-revalidate' and 's-maxage' apply to")
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
