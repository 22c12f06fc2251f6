import HTTPCacheSemantics

extension RuleSet {
    /// Returns the rules that override a directive on which the sharing of responses to requests
    /// with credentials depends, and the effect. RFC 9111 §3.5
    ///
    /// Such a rule is valid but may surprise, because responses that would otherwise be shared are
    /// no longer stored.
    public var sharingWarnings: [ConfigurationError.Finding] {
        rules.enumerated().compactMap { index, rule in
            guard let (setting, effect) = Self.liftedPremise(rule.settings) else { return nil }
            return RuleCheck(rule, number: index + 1).finding(
                setting,
                "It \(effect). Responses to requests with 'Authorization' or 'Cookie' are therefore shared only if they have 'public'. To store them per user, set 'store.per'."
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
        if let names = names(settings.stale.ignore) { return ("stale.ignore", "lifts \(names)") }
        if let names = names(settings.ignore.directives) { return ("ignore.directives", "ignores \(names)") }
        guard let lifetime = settings.freshness.lifetime, lifetime > .zero else { return nil }
        return ("freshness.lifetime", "replaces the lifetime that 'must-revalidate' and 's-maxage' apply to")
    }
}
