public import HTTPCacheSemantics

/// Details that the engine adds to the policy's details. RFC 9211 §2.8
extension CacheOutcome.Detail {
    /// The response is stale, and was served while it is validated in the background. The response
    /// allows this (RFC 5861 §3), or the caller prefers it
    /// (``CacheRequest/Preference/staleWhileRevalidate``).
    public static let staleWhileRevalidate = CacheOutcome.Detail("stale-while-revalidate")
    /// The response is stale, and was served because the origin exceeded the soft timeout.
    public static let slow = CacheOutcome.Detail("slow")
    /// The response was served in place of the origin's response, which looked wrong by comparison.
    public static let guarded = CacheOutcome.Detail("guarded")
    /// The response, fresh or not, was served without contacting the origin, because it arrived or
    /// was validated within ``CacheRequest/reuseWithin``.
    public static let recent = CacheOutcome.Detail("recent")
    /// Another node of the fleet had the response. It is now also stored here.
    public static let fleet = CacheOutcome.Detail("fleet")
    /// The response is fresh, and was served without validation by a node that may have missed
    /// other nodes' purges.
    public static let cutOff = CacheOutcome.Detail("cut-off")
    /// The origin cannot be asked, and a response that is stored only with `gzip` was decoded for a
    /// client that does not accept `gzip`.
    package static let decoded = CacheOutcome.Detail("decoded")
    /// The origin cannot be asked, and the response is stored only in a coding that the client does
    /// not accept and the cache does not decode.
    package static let coding = CacheOutcome.Detail("coding")
    /// Too many requests are waiting for the origin.
    public static let overloaded = CacheOutcome.Detail("overloaded")

    /// Returns the detail for a stale response that was served because an operator's rule overrides
    /// a directive that forbids it, such as `despite-must-revalidate`; `invalidated` for an
    /// invalidated response.
    public static func despite(_ directive: String) -> CacheOutcome.Detail {
        switch StaleProhibition(rawValue: directive) {
        case .mustRevalidate: CacheOutcome.Detail("despite-must-revalidate")
        case .proxyRevalidate: CacheOutcome.Detail("despite-proxy-revalidate")
        case .noCache: CacheOutcome.Detail("despite-no-cache")
        case .sMaxage: CacheOutcome.Detail("despite-s-maxage")
        case .noStore: CacheOutcome.Detail("despite-no-store")
        case .invalidated: .invalidated
        // No rule can override these.
        case .isPrivate, .credentials, .cookie, nil: CacheOutcome.Detail("despite")
        }
    }
}
