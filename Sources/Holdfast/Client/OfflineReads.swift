import HTTPCacheSemantics
import HoldfastConfiguration

/// Which responses are kept for reads without the network, and emitted before the network's value.
///
/// ```swift
/// let client = try await CachingClient.open(
///     store: "feed.store",
///     configuration: .init(offlineReads: .despiteDirectives)
/// )
/// ```
///
/// The first of these that is set takes effect: ``CallOptions/offlineReads``, `stale.ignore` in
/// the endpoint's ``Endpoint/rule``, ``Endpoint/offlineReads``, `stale.ignore` in the client's
/// ``CachingClient/Configuration/rules``, ``CachingClient/Configuration/offlineReads``.
public enum OfflineReads: Sendable, Hashable {
    /// Keeps only responses that HTTP allows to be stored: none with `no-store`. A response with
    /// `must-revalidate` or `no-cache` is stored, but not shown until the origin has confirmed it.
    /// RFC 9111 §4.2.4, §5.2.2
    case asAllowed
    /// Successful responses to GET, whatever their `Cache-Control`: `no-store`, `no-cache`,
    /// `must-revalidate`, `private`, `max-age=0`, or none.
    ///
    /// It changes nothing while the origin is reachable: each fetch contacts it as the response
    /// demands, with the stored validators. The stored value is only emitted before the network's
    /// value (`startWith`, `onCache`), returned by `.storedOnly`, and used if the origin is
    /// unreachable or the mode is `offline`. A response with `no-store` is never fresh, whatever
    /// lifetime it states.
    ///
    /// **Owners.** A response to a request with credentials (`Authorization`, `Cookie`, and so on)
    /// or with a principal is stored for these, and no other request sees it. A response with
    /// `public` and without `no-store` is shared, as always. A response with `no-store` that sets a
    /// cookie (`Set-Cookie`) is stored, with the cookie, only for a request with credentials or a
    /// principal.
    ///
    /// **On disk.** Content that an API forbids to store is then in the store's folder until it is
    /// replaced, evicted or removed. Use this only for data that may be there.
    ///
    /// **Redirects** that the call follows are stored like the successes that they lead to.
    ///
    /// **Never stored** are responses with `Vary: *`, errors, responses to a request with its own
    /// `no-store`, a 201 or 202 that states no lifetime, and responses that an endpoint's `storage`
    /// or a rule excludes. A response that a successful unsafe request invalidated is not shown
    /// until it has been fetched again.
    case despiteDirectives

    /// The directives that no longer forbid the use of an unconfirmed stored response.
    var liftedDirectives: PolicyOverrides.Directives {
        switch self {
        case .asAllowed: []
        case .despiteDirectives:
            PolicyOverrides.Directives(StaleProhibition.allCases.compactMap(\.liftedBy)).subtracting(.invalidated)
        }
    }
}

extension CachingClient.Configuration {
    /// The engine's rules: those of the configuration, and after them the effect of
    /// ``offlineReads``.
    var engineRules: RuleSet {
        guard offlineReads != .asAllowed else { return rules }
        var settings = RuleSettings()
        settings.stale.ignore = offlineReads.liftedDirectives
        return rules.appending(settings, named: "offlineReads")
    }
}
