/// A reason that forbids the use of a stored response without validation, also while its origin is
/// unreachable.
///
/// The raw value is its name in ``Reuse/StaleUse``, problems and metrics. Everything that lists
/// these reasons (details of `Cache-Status`, labels of metrics, the directives of `stale.ignore`)
/// is made from this type, so that a new case is missing nowhere. RFC 9111 §4.2.4
package enum StaleProhibition: String, CaseIterable, Sendable {
    case mustRevalidate = "must-revalidate"
    case proxyRevalidate = "proxy-revalidate"
    case noCache = "no-cache"
    /// Only implied, so the response's extensions lift it. RFC 9111 §5.2.2.10
    case sMaxage = "s-maxage"
    /// The origin reported that the resource has another state now. RFC 9111 §4.4
    case invalidated
    /// A 304 brought it, or an operator lifted it when the response was stored.
    case noStore = "no-store"
    /// A 304 brought it.
    case isPrivate = "private"
    /// The response is shared because of a directive that a rule lifts. RFC 9111 §3.5
    case credentials
    /// The request has a `Cookie`, and the response is not for all.
    case cookie

    /// The member of `stale.ignore` that lifts it; `nil` if no rule can.
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
