/// Whether a stored response may answer a request now. RFC 9111 §4
public struct Reuse: Sendable, Hashable {
    /// What to do with the stored response.
    public enum Decision: Sendable, Hashable {
        /// Fresh, and nothing in request or response asks for validation.
        case fresh
        /// Stale, and the request's `max-stale` (or the policy) allows it as it is.
        case staleAllowed
        /// Stale, within the response's `stale-while-revalidate`, and nothing forbids it: serve it
        /// now and validate it in the background. RFC 5861 §3
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
        /// The response's `no-cache` (or, where a 304 brought it, `no-store`; in a shared cache
        /// also `private`).
        case responseNoCache
        /// It was invalidated. RFC 9111 §4.4
        case invalidated
        /// The request's `no-cache` (or `Pragma`).
        case requestNoCache
        /// Older than the request's `max-age`.
        case requestMaxAge
        /// Fresh for less than the request's `min-fresh`.
        case requestMinFresh
        /// The request has a `Cookie`, this is a shared cache, and the response does not say that
        /// it is for everybody (`public` or `s-maxage`).
        case requestCredentials

        /// `fwd` of RFC 9211 §2.2: `stale` for what the response or its history asks, `request` for
        /// what the request asks.
        public var forwardReason: CacheOutcome.ForwardReason {
            switch self {
            case .stale, .responseNoCache, .invalidated: .stale
            case .requestNoCache, .requestMaxAge, .requestMinFresh, .requestCredentials: .request
            }
        }
    }
    /// Whether the stored response may be used, however stale, when the origin cannot be reached.
    /// RFC 9111 §4.2.4
    public enum StaleUse: Sendable, Hashable {
        /// Nothing forbids it.
        case allowed
        /// The directive that forbids it, by name (`must-revalidate`, `no-cache`,
        /// `proxy-revalidate`, `s-maxage`; `no-store` or `private`, where a 304 brought it); or
        /// `invalidated`, where a success of an unsafe method invalidated it; or `cookie`, where
        /// the request has one and the response is not for everybody; or an operator's limit of
        /// staleness that is exceeded, by its name in a file (`stale.normal`, `stale.offline`).
        case forbidden(by: String)
    }
    /// What to do.
    public var decision: Decision
    /// Lifetime and age behind the decision.
    public var freshness: Freshness
    /// Whether it may be used, as stale as it is now, when the origin cannot be reached.
    ///
    /// The prohibition that `s-maxage` implies is lifted while the response's own `stale-if-error`
    /// or `stale-while-revalidate` lasts.
    ///
    /// An operator's limits of time are beside it: see ``staleUse(isOffline:)``.
    public var staleUse: StaleUse
    /// The operator's limit that the present staleness exceeds where the origin cannot be reached
    /// or is asked only on a miss: `stale.normal`. ``PolicyOverrides/maximumStaleness``
    public var exceededBudget: String?
    /// The same where no origin is asked at all: `stale.offline`.
    /// ``PolicyOverrides/maximumStalenessOffline``
    public var exceededBudgetOffline: String?
    /// The directive that would forbid stale use and does not, because an operator says so.
    /// ``PolicyOverrides/staleDespite``
    public var liftedDirective: String?
    /// `stale-if-error` of response or request covers the present staleness. RFC 5861 §4
    ///
    /// Never for an invalidated response, nor where ``staleUse-swift.property`` is forbidden.
    public var allowsStaleOnError: Bool

    /// Makes a verdict.
    public init(
        decision: Decision,
        freshness: Freshness,
        staleUse: StaleUse,
        allowsStaleOnError: Bool,
        exceededBudget: String? = nil,
        exceededBudgetOffline: String? = nil,
        liftedDirective: String? = nil
    ) {
        self.decision = decision
        self.freshness = freshness
        self.staleUse = staleUse
        self.allowsStaleOnError = allowsStaleOnError
        self.exceededBudget = exceededBudget
        self.exceededBudgetOffline = exceededBudgetOffline
        self.liftedDirective = liftedDirective
    }

    /// ``staleUse-swift.property``, and within the operator's limits of time.
    ///
    /// - Parameter isOffline: no origin is asked at all; otherwise it cannot be reached, or is
    ///   asked only on a miss.
    public func staleUse(isOffline: Bool) -> StaleUse {
        guard staleUse == .allowed, let budget = isOffline ? exceededBudgetOffline : exceededBudget else {
            return staleUse
        }
        return .forbidden(by: budget)
    }
}
