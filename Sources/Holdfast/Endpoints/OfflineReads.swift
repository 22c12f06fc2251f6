import HTTPCacheSemantics

/// Which responses are kept for offline reads, and emitted before the network's value.
///
/// ```swift
/// let client = try await CachingClient.open(
///     store: "feed.store",
///     configuration: .init(offlineReads: .despiteDirectives)
/// )
/// ```
///
/// The first of these settings that is present takes effect:
///
/// 1. ``CallOptions/offlineReads``
/// 2. `stale.ignore` in the endpoint's ``Endpoint/rule``
/// 3. ``Endpoint/offlineReads``
/// 4. `stale.ignore` in the client's ``CachingClient/Configuration/rules``
/// 5. ``CachingClient/Configuration/offlineReads``
public enum OfflineReads: Sendable, Hashable {
    /// Keeps only responses that HTTP allows to be stored, and therefore none with `no-store`. A
    /// response with `no-cache`, or a stale response with `must-revalidate`, is stored, but is not
    /// emitted until the origin has confirmed it. RFC 9111 §4.2.4, §5.2.2
    case asAllowed
    /// Keeps successful responses to GET, regardless of `Cache-Control`: `no-store`, `no-cache`,
    /// `must-revalidate`, `private`, `max-age=0`, or none.
    ///
    /// While the origin is reachable, this changes nothing: each fetch contacts the origin as the
    /// response requires, with the stored validators. The stored value is only emitted before the
    /// network's value (`startWith`, `onCache`), returned by `stored`, and used if the origin
    /// is unreachable or the mode is `offline`. A response with `no-store` is never fresh, even if
    /// it states a lifetime.
    ///
    /// **Owners.** A response to a request with credentials (`Authorization`, `Cookie`, and so on)
    /// or with a principal is stored for the same credentials or principal, and no other request
    /// can read it. A response with `public` and without `no-store` is shared, as usual. A response
    /// with `no-store` that sets a cookie (`Set-Cookie`) is stored, with the cookie, only for a
    /// request with credentials or a principal.
    ///
    /// **On disk.** Content that an API forbids to store is then in the store's folder until it is
    /// replaced, evicted or removed. Use this only for data that may be stored there.
    ///
    /// **Redirects** that the call follows are stored like the successes that they lead to.
    ///
    /// **Never stored**: responses with `Vary: *`, errors, responses to a request with its own
    /// `no-store`, a 201 or 202 without a lifetime, and responses that an endpoint's `storage` or a
    /// rule excludes. A response that a successful unsafe request invalidated is not emitted until
    /// it has been fetched again.
    case despiteDirectives

    /// The directives that no longer prevent the use of an unconfirmed stored response.
    var liftedDirectives: PolicyOverrides.Directives {
        switch self {
        case .asAllowed: []
        case .despiteDirectives:
            PolicyOverrides.Directives(StaleProhibition.allCases.compactMap(\.liftedBy)).subtracting(.invalidated)
        }
    }
}
