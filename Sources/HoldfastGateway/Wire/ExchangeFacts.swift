import HTTPCache
import HTTPCacheSemantics

/// Facts about a response that its head does not state, for metrics and the log.
struct ExchangeFacts: Sendable {
    /// Where the content came from.
    enum Source: Int, CaseIterable, Sendable {
        /// The store.
        case cache
        case origin
        /// The gateway itself: problems, and responses to requests for the gateway.
        case gateway
    }

    /// How the cache's exchange ended; `nil` if the request did not reach the cache.
    var ending: ExchangeEnding?
    var outcome: CacheOutcome
    /// See ``HTTPCache/CacheResponse/lateRefusal``.
    private var lateRefusal: LateRefusal?
    var source: Source
    /// Whether a stale response was served.
    var isStale = false
    /// The number of seconds since the response was fresh, if it is stale.
    var staleness: Int64 = 0
    /// Milliseconds since the origin generated or validated the response; `nil` if it came from
    /// neither the store nor an origin. RFC 9111 §4.2.3
    var age: Int64?
    /// The code of the problem, if the response is a problem.
    var problem: String?
    /// The reason why the cache refused to serve its stored response, if it did.
    var refusal: OfflineRefusal?
    /// The key of the underlying stored response, if there already is one.
    var storedKey: StoreKey?
    /// The request and the responses stored when it arrived; `nil` if the request did not reach the
    /// cache, or nothing is stored.
    var forecastSubject: OfflineForecast.Subject?

    /// The reason that the response was not stored. After the response has ended, this includes
    /// reasons that were not known before.
    var notStored: StorageRefusal? { outcome.notStored ?? lateRefusal?.refusal }

    /// Creates the facts about the cache's response.
    init(_ response: CacheResponse) {
        lateRefusal = response.lateRefusal
        forecastSubject = response.forecastSubject
        ending = ExchangeEnding(response)
        outcome = response.outcome
        isStale = response.isStale || ending == .staleHit
        staleness = isStale ? max(0, -(response.outcome.timeToLive ?? 0)) : 0
        age = response.ageMilliseconds
        storedKey = response.stored?.key
        // If the origin validated the response with 304, its content comes from the store.
        source =
            switch response.source {
            case .network where !response.isValidated: .origin
            case .network, .store: .cache
            case .substitute: .gateway
            }
    }

    /// Creates the facts about the gateway's own response.
    ///
    /// - Parameter error: the cache's error, if the request reached the cache.
    init(_ outcome: CacheOutcome, problem: String? = nil, error: (any Error)? = nil) {
        self.outcome = outcome
        self.problem = problem
        source = .gateway
        if let error = error as? ExchangeError {
            ending = ExchangeEnding(error)
            refusal = OfflineRefusal(error)
        }
    }

    /// The facts about a relayed response. Only responses that forbid storing are relayed.
    static let relayed: Self = {
        var facts = Self(CacheOutcome(forward: .uriMiss, notStored: .responseNoStore))
        facts.ending = .fetched
        facts.source = .origin
        facts.age = 0
        return facts
    }()
}

/// The reason why a request could not be answered without its origin.
enum OfflineRefusal: Hashable, CaseIterable, Sendable {
    /// Nothing usable is stored.
    case notStored
    /// A directive, a change of the resource, or the request's cookie forbids the use of the stored
    /// response.
    case forbidden(StaleProhibition)
    /// The response is staler than `stale.unreachable` or `stale.offline` allows.
    case limit

    static let allCases = [notStored] + StaleProhibition.allCases.map(forbidden) + [limit]

    /// The value of the label `reason`.
    var label: String {
        switch self {
        case .notStored: "not-stored"
        case .forbidden(let prohibition): prohibition.rawValue
        case .limit: "limit"
        }
    }

    /// - Returns: `nil` if the request was not refused for one of these reasons.
    init?(_ error: ExchangeError) {
        switch error.code {
        case .offlineMiss, .originUnreachable: self = .notStored
        case .staleForbidden:
            self = error.forbiddenBy.flatMap(StaleProhibition.init(rawValue:)).map(Self.forbidden) ?? .limit
        default: return nil
        }
    }
}
