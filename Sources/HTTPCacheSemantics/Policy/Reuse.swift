/// Whether a stored response may answer a request now. RFC 9111 §4
public struct Reuse: Sendable, Hashable {
    /// What to do with the stored response.
    public enum Decision: Sendable, Hashable {
        /// Fresh, and nothing in request or response asks for validation.
        case fresh
        /// Stale, and the request's `max-stale` (or the policy) allows it as it is.
        case staleAllowed
        /// Stale, within the response's `stale-while-revalidate`, and nothing forbids it: serve it now and validate it in the background. RFC 5861 §3
        case staleWhileRevalidate
        /// Not without validation (or, unreachable origin, ``Reuse/staleUse``).
        case validate(ValidationReason)
    }
    /// What asks for validation; of several, the first in this list.
    ///
    /// ``forwardReason`` says what RFC 9211 calls it.
    public enum ValidationReason: String, Sendable, Hashable {
        /// The lifetime is over.
        case stale
        /// The response's `no-cache` (or, where a 304 brought it, `no-store`; in a shared cache also `private`).
        case responseNoCache
        /// It was invalidated. RFC 9111 §4.4
        case invalidated
        /// The request's `no-cache` (or `Pragma`).
        case requestNoCache
        /// Older than the request's `max-age`.
        case requestMaxAge
        /// Fresh for less than the request's `min-fresh`.
        case requestMinFresh
        /// The request has a `Cookie`, this is a shared cache, and the response does not say that it is for everybody (`public` or `s-maxage`).
        case requestCredentials

        /// `fwd` of RFC 9211 §2.2: `stale` for what the response or its history asks, `request` for what the request asks.
        public var forwardReason: CacheOutcome.ForwardReason {
            switch self {
            case .stale, .responseNoCache, .invalidated: .stale
            case .requestNoCache, .requestMaxAge, .requestMinFresh, .requestCredentials: .request
            }
        }
    }
    /// Whether the stored response may be used, however stale, when the origin cannot be reached. RFC 9111 §4.2.4
    public enum StaleUse: Sendable, Hashable {
        /// Nothing forbids it.
        case allowed
        /// The directive that forbids it, by name (`must-revalidate`, `no-cache`, `proxy-revalidate`, `s-maxage`; `no-store` or `private`, where a 304 brought it); or
        /// `cookie`, where the request has one and the response is not for everybody.
        case forbidden(by: String)
    }
    /// What to do.
    public var decision: Decision
    /// Lifetime and age behind the decision.
    public var freshness: Freshness
    /// Whether it may be used, as stale as it is now, when the origin cannot be reached.
    ///
    /// The prohibition that `s-maxage` implies is lifted while the response's own `stale-if-error` or `stale-while-revalidate` lasts.
    public var staleUse: StaleUse
    /// `stale-if-error` of response or request covers the present staleness. RFC 5861 §4
    ///
    /// Never for an invalidated response, nor where ``staleUse-swift.property`` is forbidden.
    public var allowsStaleOnError: Bool

    /// Makes a verdict.
    public init(decision: Decision, freshness: Freshness, staleUse: StaleUse, allowsStaleOnError: Bool) {
        self.decision = decision
        self.freshness = freshness
        self.staleUse = staleUse
        self.allowsStaleOnError = allowsStaleOnError
    }
}
