/// A reason that forbids the use of a stored response without validation, even while its origin is
/// unreachable, unless a rule overrides it.
///
/// The raw value is its name in ``Reuse/StaleUse``, problems and metrics. Every list of these
/// reasons (details in `Cache-Status`, metric labels, the directives in `stale.ignore`) is derived
/// from this type, so a new case cannot be missing from any of them. RFC 9111 §4.2.4
package enum StaleProhibition: String, CaseIterable, Sendable {
    case mustRevalidate = "must-revalidate"
    case proxyRevalidate = "proxy-revalidate"
    case noCache = "no-cache"
    /// `s-maxage` only implies the prohibition, so the response's stale extensions override it. RFC
    /// 9111 §5.2.2.10
    case sMaxage = "s-maxage"
    /// The origin reported that the resource has changed. RFC 9111 §4.4
    case invalidated
    /// A 304 added `no-store`, or an operator overrode it when the response was stored.
    case noStore = "no-store"
    /// A 304 added `private`.
    case isPrivate = "private"
    /// The response answered a request with credentials, and a rule overrides the directive that
    /// allows sharing it. RFC 9111 §3.5
    case credentials
    /// The request has a `Cookie`, and the response is not shareable.
    case cookie

    /// The member of `stale.ignore` that overrides this reason; `nil` if no rule can.
    package var liftedBy: PolicyOverrides.Directives? {
        switch self {
        case .mustRevalidate: .mustRevalidate
        case .proxyRevalidate: .proxyRevalidate
        case .noCache: .noCache
        case .sMaxage: .sMaxage
        case .invalidated: .invalidated
        case .noStore: .noStore
        case .isPrivate, .credentials, .cookie: nil
        }
    }
}
