/// Whether a stored response may serve a request now. RFC 9111 §4
public struct Reuse: Sendable, Hashable {
    /// The use that may be made of the stored response.
    public enum Decision: Sendable, Hashable {
        /// Fresh, and neither request nor response requires validation.
        case fresh
        /// Stale, and the request's `max-stale` (or the policy) allows it as it is.
        case staleAllowed
        /// Stale, within the response's `stale-while-revalidate`, and nothing forbids it: serve it
        /// now and validate it in the background. RFC 5861 §3
        case staleWhileRevalidate
        /// Not without validation (or, if the origin is unreachable, ``Reuse/staleUse``).
        case validate(ValidationReason)
    }
    /// The reason for validation; of several, the first in this list.
    ///
    /// ``forwardReason`` gives RFC 9211's name for it.
    public enum ValidationReason: String, Sendable, Hashable {
        /// The lifetime is over.
        case stale
        /// The response's `no-cache` (or `no-store`, if a 304 brought it; in a shared cache also
        /// `private`).
        case responseNoCache
        /// It was invalidated. RFC 9111 §4.4
        case invalidated
        /// It came to a request with credentials, and a rule lifts the directive that shares it.
        /// RFC 9111 §3.5
        case responseCredentials
        /// The request's `no-cache` (or `Pragma`).
        case requestNoCache
        /// Older than the request's `max-age`.
        case requestMaxAge
        /// Fresh for less than the request's `min-fresh`.
        case requestMinFresh
        /// The request has a `Cookie`, this is a shared cache, and the response is not marked as
        /// shareable (`public`, or `s-maxage` with a number above 0).
        case requestCredentials

        /// `fwd` of RFC 9211 §2.2: `stale` if the response or its history requires validation,
        /// `request` if the request does.
        public var forwardReason: CacheOutcome.ForwardReason {
            switch self {
            case .stale, .responseNoCache, .invalidated, .responseCredentials: .stale
            case .requestNoCache, .requestMaxAge, .requestMinFresh, .requestCredentials: .request
            }
        }
    }
    /// Whether the stored response may be used, however stale, while the origin is unreachable. RFC
    /// 9111 §4.2.4
    public enum StaleUse: Sendable, Hashable {
        /// Nothing forbids it.
        case allowed
        /// The name of what forbids it. It is one of these:
        ///
        /// - a directive: `must-revalidate`, `no-cache`, `proxy-revalidate`, `s-maxage`, or
        ///   `no-store` or `private` if a 304 brought it;
        /// - `invalidated`: a success of an unsafe method invalidated it;
        /// - `credentials`: it came to a request with credentials, and a rule lifts the directive
        ///   that shares it;
        /// - `cookie`: the request has one and the response is not for all;
        /// - an operator's limit of staleness that is exceeded, by its name in a configuration file
        ///   (`stale.unreachable`, `stale.offline`).
        case forbidden(by: String)
    }
    /// The use that may be made of the stored response.
    public var decision: Decision
    /// Lifetime and age behind the decision.
    public var freshness: Freshness
    /// Whether it may be used, as stale as it is now, while the origin is unreachable.
    ///
    /// The prohibition that `s-maxage` implies is lifted while the response's own `stale-if-error`
    /// or `stale-while-revalidate` lasts.
    ///
    /// An operator's time limits are separate: see ``staleUse(isOffline:)``.
    public var staleUse: StaleUse
    /// The operator's limit that the present staleness exceeds if the origin is asked only on a
    /// miss: `stale.unreachable`. ``PolicyOverrides/maximumStalenessUnreachable``
    public var exceededBudget: String?
    /// The same if the origin is unreachable. Only ``CachePolicy/extendedStaleness`` makes a
    /// difference.
    public var exceededBudgetUnreachable: String?
    /// The same if no origin is asked at all: `stale.offline`.
    /// ``PolicyOverrides/maximumStalenessOffline``
    public var exceededBudgetOffline: String?
    /// The directive that would forbid stale use, but that an operator lifts.
    /// ``PolicyOverrides/directivesIgnoredWhenStale``
    public var liftedDirective: String?
    /// Whether `stale-if-error` of response or request covers the present staleness. RFC 5861 §4
    ///
    /// `false` for an invalidated response, and if ``staleUse-swift.property`` is forbidden.
    public var allowsStaleOnError: Bool
    /// Whether nothing but ``CachePolicy/extendedStaleness`` covers the present staleness in place
    /// of an origin's error.
    public var isExtendedOnError: Bool

    /// Makes a verdict.
    public init(
        decision: Decision,
        freshness: Freshness,
        staleUse: StaleUse,
        allowsStaleOnError: Bool,
        isExtendedOnError: Bool = false,
        exceededBudget: String? = nil,
        exceededBudgetUnreachable: String? = nil,
        exceededBudgetOffline: String? = nil,
        liftedDirective: String? = nil
    ) {
        self.decision = decision
        self.freshness = freshness
        self.staleUse = staleUse
        self.allowsStaleOnError = allowsStaleOnError
        self.isExtendedOnError = isExtendedOnError
        self.exceededBudget = exceededBudget
        self.exceededBudgetUnreachable = exceededBudgetUnreachable
        self.exceededBudgetOffline = exceededBudgetOffline
        self.liftedDirective = liftedDirective
    }

    /// ``staleUse-swift.property`` with the operator's time limits applied.
    ///
    /// - Parameters:
    ///   - isOffline: whether no origin is asked at all.
    ///   - isOriginUnreachable: whether it was asked and did not answer, or is known to be
    ///     unreachable. Otherwise it is asked only on a miss.
    public func staleUse(isOffline: Bool, isOriginUnreachable: Bool = false) -> StaleUse {
        let exceeded = isOriginUnreachable ? exceededBudgetUnreachable : exceededBudget
        guard staleUse == .allowed, let budget = isOffline ? exceededBudgetOffline : exceeded else {
            return staleUse
        }
        return .forbidden(by: budget)
    }
}
