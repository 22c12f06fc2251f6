/// One request's own settings, over those of the engine's rules: for example an endpoint's.
///
/// They are applied over the rules for the request, and over the defaults if there are none. Two
/// equal values lead to the same rules, so that their requests share fetches and compiled settings.
/// Each distinct value is remembered, so there should be few.
///
/// Invalidation knows the changes to the target (parameters that are dropped, sorted or ignored)
/// from requests with an equal value; see ``CacheEngine/invalidate(_:keepingForOffline:)``.
public protocol SettingsOverriding: Hashable, Sendable {
    /// Applies its settings over those that the rules gave.
    func apply(to settings: inout ExchangeSettings)

    /// Its settings, for people: `CacheEngine.explain(_:at:)` shows these in place of the rules'
    /// decisions about the same settings. They hold no secrets.
    var decisions: [RuleDecision] { get }
}

extension SettingsOverriding {
    /// No decisions to show.
    public var decisions: [RuleDecision] { [] }
}
