/// A request's own settings, such as an endpoint's settings, which override the engine's rules.
///
/// They override the rules for the request, or the defaults if there are no rules. Two equal values
/// lead to the same rules, so that their requests share fetches and compiled settings. Each
/// distinct value is cached, so there should be few.
///
/// Invalidation learns about changes to the target (parameters that are removed, sorted or ignored)
/// from requests with an equal value: see ``CacheEngine/invalidate(_:keepingForOffline:)``.
public protocol SettingsOverriding: Hashable, Sendable {
    /// Overrides settings that come from the rules.
    func apply(to settings: inout ExchangeSettings)

    /// The settings in a form for people. `CacheEngine.explain(_:at:)` shows them in place of the
    /// rules' decisions about the same settings. They contain no secrets.
    var decisions: [RuleDecision] { get }
}

extension SettingsOverriding {
    /// No decisions.
    public var decisions: [RuleDecision] { [] }
}
