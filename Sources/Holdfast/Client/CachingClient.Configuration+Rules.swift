import CacheRules
import HTTPCacheSemantics

extension CachingClient.Configuration {
    /// The engine's rules: the rules of the configuration, then the effect of ``offlineReads``.
    var engineRules: RuleSet {
        guard offlineReads != .asAllowed else { return rules }
        var settings = RuleSettings()
        settings.stale.ignore = offlineReads.liftedDirectives
        return rules.appending(settings, named: "offlineReads")
    }
}
