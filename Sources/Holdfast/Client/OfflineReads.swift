import HTTPCacheSemantics
import HoldfastConfiguration

/// Which responses are kept for reads without the network, and shown before it answers.
///
/// ```swift
/// let client = try await CachingClient.open(
///     store: "feed.store",
///     configuration: .init(offlineReads: .despiteDirectives)
/// )
/// ```
///
/// The first of these that is given decides: ``CallOptions/offlineReads``, `stale.despite` in the
/// endpoint's ``Endpoint/rule``, ``Endpoint/offlineReads``, `stale.despite` in the client's
/// ``CachingClient/Configuration/rules``, ``CachingClient/Configuration/offlineReads``.
public enum OfflineReads: Sendable, Hashable {
    /// Those that HTTP allows. A response that says `no-store` is not stored. One that says
    /// `must-revalidate` or `no-cache` is stored, and not shown until the origin has confirmed it.
    /// RFC 9111 §4.2.4, §5.2.2
    case asAllowed
    /// Successes of GET, whatever their `Cache-Control` says: `no-store`, `no-cache`,
    /// `must-revalidate`, `private`, `max-age=0`, or nothing.
    ///
    /// It changes nothing while the origin can be asked: each fetch asks it as the response
    /// demands, with the stored validators. The stored value is only emitted before the network's
    /// answer (`startWith`, `onCache`), returned by `.storedOnly`, and used where the origin cannot
    /// be reached or the mode is `offline`. A response that says `no-store` is never fresh,
    /// whatever lifetime it states.
    ///
    /// **Whose it is.** A response to a request with credentials (`Authorization`, `Cookie`, …) or
    /// with a principal is stored for these, and no other sees it; one that says `public` without
    /// `no-store` is for all, as ever. A response with `no-store` that sets a cookie (`Set-Cookie`)
    /// is stored only for a request with credentials or a principal, with the cookie.
    ///
    /// **On disk.** Content that an API forbids to store is then in the store's folder, until it is
    /// replaced, evicted or removed. Choose it for data for which that is right.
    ///
    /// **Not stored all the same** are responses with `Vary: *`, errors, responses to a request
    /// that says `no-store` itself, a 201 or 202 that states no lifetime, and all that an
    /// endpoint's `storage` or a rule keeps out. A response that a success of an unsafe method
    /// invalidated is not shown before it was fetched again.
    case despiteDirectives

    /// What does not forbid the use of a stored response that the origin has not confirmed.
    var liftedDirectives: PolicyOverrides.Directives {
        switch self {
        case .asAllowed: []
        case .despiteDirectives: [.noStore, .noCache, .mustRevalidate, .proxyRevalidate, .sMaxage]
        }
    }
}

extension CachingClient.Configuration {
    /// The rules of the engine: those of the configuration, and after them what ``offlineReads``
    /// says.
    var engineRules: RuleSet {
        guard offlineReads != .asAllowed else { return rules }
        var settings = RuleSettings()
        settings.stale.despite = offlineReads.liftedDirectives
        return rules.followed(by: settings, named: "offlineReads")
    }
}
