public import HTTPCacheSemantics

/// The details that the engine adds to those of the policy. RFC 9211 §2.8
extension CacheOutcome.Detail {
    /// Stale, served while it is validated in the background: the response allows it (RFC 5861 §3),
    /// or the caller prefers it (``CacheRequest/Preference/staleWhileRevalidate``).
    public static let staleWhileRevalidate = CacheOutcome.Detail("stale-while-revalidate")
    /// Stale, served because the origin took longer than the soft timeout.
    public static let slow = CacheOutcome.Detail("slow")
    /// Served in place of an origin's response that looked wrong compared with it.
    public static let guarded = CacheOutcome.Detail("guarded")
    /// Served without asking the origin, fresh or not, because it arrived or was validated within
    /// ``CacheRequest/reuseWithin``.
    public static let recent = CacheOutcome.Detail("recent")
    /// Another node of the fleet had the response, which is stored here now.
    public static let fleet = CacheOutcome.Detail("fleet")
    /// Fresh, and served without validation by a node that may have missed purges of other nodes.
    public static let cutOff = CacheOutcome.Detail("cut-off")
    /// Too many requests wait for the origin.
    public static let overloaded = CacheOutcome.Detail("overloaded")

    /// Stale, served because an operator's rule overrides a directive that forbids it:
    /// `despite-must-revalidate`; or `invalidated`.
    public static func despite(_ directive: String) -> CacheOutcome.Detail {
        switch StaleProhibition(rawValue: directive) {
        case .mustRevalidate: CacheOutcome.Detail("despite-must-revalidate")
        case .proxyRevalidate: CacheOutcome.Detail("despite-proxy-revalidate")
        case .noCache: CacheOutcome.Detail("despite-no-cache")
        case .sMaxage: CacheOutcome.Detail("despite-s-maxage")
        case .noStore: CacheOutcome.Detail("despite-no-store")
        case .invalidated: .invalidated
        // No rule lifts these.
        case .isPrivate, .credentials, .cookie, nil: CacheOutcome.Detail("despite")
        }
    }
}
