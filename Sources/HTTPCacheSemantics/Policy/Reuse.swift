/// The decision on whether a stored response may serve a request now. RFC 9111 §4
public struct Reuse: Sendable, Hashable {
    /// The permitted use of the stored response.
    public enum Decision: Sendable, Hashable {
        /// It is fresh, and neither request nor response requires validation.
        case fresh
        /// It is stale, but the request's `max-stale` allows serving it without validation.
        case staleAllowed
        /// It is stale but within the response's `stale-while-revalidate`, and nothing forbids
        /// stale use: serve it now and validate it in the background. RFC 5861 §3
        case staleWhileRevalidate
        /// It needs validation first (or, if the origin is unreachable, see ``Reuse/staleUse``).
        case validate(ValidationReason)
    }
    /// The reason for validation. If there are several, the order in
    /// ``CachePolicy/reuse(of:for:at:)`` decides.
    ///
    /// ``forwardReason`` is the name in RFC 9211.
    public enum ValidationReason: String, Sendable, Hashable {
        /// The lifetime has ended.
        case stale
        /// The response's `no-cache` (or `no-store`, if a 304 added it; in a shared cache also
        /// `private`).
        case responseNoCache
        /// The response was invalidated. RFC 9111 §4.4
        case invalidated
        /// The response answered a request with credentials, and a rule overrides the directive
        /// that allows sharing it. RFC 9111 §3.5
        case responseCredentials
        /// The request's `no-cache` (or `Pragma`).
        case requestNoCache
        /// The response is older than the request's `max-age`.
        case requestMaxAge
        /// The response stays fresh for less than the request's `min-fresh`.
        case requestMinFresh
        /// The request has a `Cookie`, this is a shared cache, and the response is not marked as
        /// shareable (`public`, or `s-maxage` above 0).
        case requestCredentials

        /// The `fwd` value in RFC 9211 §2.2: `stale` if the response or its history requires
        /// validation, `request` if the request does.
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
        /// The name of the reason, which is one of these:
        ///
        /// - a directive: `must-revalidate`, `no-cache`, `proxy-revalidate`, `s-maxage`, or
        ///   `no-store` or `private` if a 304 added it;
        /// - `invalidated`: a successful unsafe request invalidated the response;
        /// - `credentials`: the response answered a request with credentials, and a rule overrides
        ///   the directive that allows sharing it;
        /// - `cookie`: the request has a cookie and the response is not shareable;
        /// - an operator's exceeded staleness limit, by its name in a configuration file
        ///   (`stale.unreachable`, `stale.offline`).
        case forbidden(by: String)
    }
    /// The permitted use of the stored response.
    public var decision: Decision
    /// The lifetime and age on which the decision is based.
    public var freshness: Freshness
    /// Whether the response may be used, at its current staleness, while the origin is unreachable.
    ///
    /// The prohibition that `s-maxage` implies does not apply while the response's own
    /// `stale-if-error` or `stale-while-revalidate` lasts.
    ///
    /// An operator's time limits are separate: see `staleUse(isOffline:)`.
    public var staleUse: StaleUse
    /// The operator's limit that the current staleness exceeds if requests are sent to the origin
    /// only on a miss: `stale.unreachable`. ``PolicyOverrides/maximumStalenessUnreachable``
    package var exceededBudget: String?
    /// The same limit if the origin is unreachable. The two differ only if
    /// ``CachePolicy/extendedStaleness`` is set.
    package var exceededBudgetUnreachable: String?
    /// The limit that the current staleness exceeds if no origin is contacted: `stale.offline`.
    /// ``PolicyOverrides/maximumStalenessOffline``
    package var exceededBudgetOffline: String?
    /// The directive (or `invalidated`) that would forbid stale use but that an operator overrides.
    /// ``PolicyOverrides/directivesIgnoredWhenStale``
    package var liftedDirective: String?
    /// Whether the response's or the request's `stale-if-error` covers the current staleness. RFC
    /// 5861 §4
    ///
    /// `false` for an invalidated response, and if ``staleUse-swift.property`` is forbidden.
    public var allowsStaleOnError: Bool
    /// Whether only ``CachePolicy/extendedStaleness`` allows the current staleness in place of an
    /// origin's error.
    package var isExtendedOnError: Bool

    /// Creates a decision.
    package init(
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

    /// Returns ``staleUse-swift.property`` with the operator's time limits applied.
    ///
    /// - Parameters:
    ///   - isOffline: whether no origin is contacted.
    ///   - isOriginUnreachable: whether the origin was contacted and did not respond, or is known
    ///     to be unreachable. Otherwise requests are sent to it only on a miss.
    public func staleUse(isOffline: Bool, isOriginUnreachable: Bool = false) -> StaleUse {
        let exceeded = isOriginUnreachable ? exceededBudgetUnreachable : exceededBudget
        guard staleUse == .allowed, let budget = isOffline ? exceededBudgetOffline : exceeded else {
            return staleUse
        }
        return .forbidden(by: budget)
    }
}
