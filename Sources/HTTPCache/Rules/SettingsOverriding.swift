/// What one request says in place of what the engine's rules say for it: an endpoint's own
/// settings.
///
/// Applied over the rules that hold for the request, and over the defaults where there are none.
/// Two values that are equal lead to the same rules, so that requests with them share fetches and
/// what was compiled for them; each kind of value is remembered by what it says, so it should be
/// one of few.
///
/// What it changes in the target (parameters that are dropped, sorted or ignored) is known to
/// invalidation by requests that have an equal one; see
/// ``CacheEngine/invalidate(_:keepingForOffline:)``.
public protocol SettingsOverriding: Hashable, Sendable {
    /// Puts what it says into what the rules came to.
    func apply(to settings: inout ExchangeSettings)

    /// What it says, for people: ``CacheEngine/explain(_:at:)`` shows these in place of the rules'
    /// decisions of the same settings. No secret is in them.
    var decisions: [RuleDecision] { get }
}

extension SettingsOverriding {
    /// None to show.
    public var decisions: [RuleDecision] { [] }
}
