package import HTTPCache

/// The rate and the maximum number of requests with which a refresh fetches purged responses again.
package struct RefreshPace: Sendable, Hashable, Codable {
    /// The maximum number of requests started per second.
    package var perSecond: Int
    /// The maximum total number of requests.
    package var atMost: Int

    /// The valid values of ``perSecond``.
    package static let rates = 1...1000
    /// The valid values of ``atMost``.
    package static let counts = 1...100_000
    /// The default number of requests.
    package static let standardCount = 5000

    /// Creates a pace. Values out of range are clamped.
    package init(perSecond: Int, atMost: Int = standardCount) {
        self.perSecond = min(max(perSecond, Self.rates.lowerBound), Self.rates.upperBound)
        self.atMost = min(max(atMost, Self.counts.lowerBound), Self.counts.upperBound)
    }

    /// The pause after the start of each request.
    var interval: Duration { .seconds(1) / perSecond }
}

/// The state and the results of a refresh.
package struct RefreshReport: Sendable, Hashable, Codable {
    /// Whether a refresh is running, or the reason that it ended.
    package enum State: String, Sendable, Hashable, Codable, CaseIterable {
        /// It is fetching responses.
        case running
        /// All responses were examined.
        case done
        /// It sent the maximum number of requests.
        case limitReached = "limit-reached"
        /// The mode does not allow requests to origins.
        case stoppedByMode = "stopped-by-mode"
        /// Too many consecutive requests failed.
        case tooManyFailures = "too-many-failures"
        /// The store cannot be read.
        case storeFailed = "store-failed"
        /// The program shut down.
        case shutDown = "shut-down"
    }

    /// The number of the purge.
    package var sequence: Int64
    /// The rate and the number of requests.
    package var pace: RefreshPace
    /// The client that requested the refresh, such as `uid 1000`.
    package var client: String
    /// Whether the refresh is running, or the reason that it ended.
    package var state = State.running
    /// The number of requests that were started.
    package var requested = 0
    /// The number of requests for which the origin sent or confirmed a response with a status below
    /// 400, or a 4xx that is now stored.
    package var refreshed = 0
    /// The number of requests that failed, or got a response that does not replace the stored one.
    package var failed = 0
    /// The number of responses skipped because their origin was unreachable.
    package var unreachable = 0
    /// The number of responses skipped because their request cannot be repeated.
    package var skipped = 0

    /// Creates the report of a new refresh.
    package init(sequence: Int64, pace: RefreshPace, client: String) {
        self.sequence = sequence
        self.pace = pace
        self.client = client
    }
}

/// The reason that a refresh was rejected before anything was purged.
package enum RefreshRefusal: Error, Sendable, Hashable {
    /// The maximum number of refreshes is already running.
    case tooMany(limit: Int)
    /// The mode does not allow requests to origins.
    case mode(OfflineMode)
}

/// Fetches purged responses again, in the background and at a limited rate.
package protocol RefreshOperations: Sendable {
    /// Reserves a permit for a refresh before anything is purged. Afterwards, call
    /// ``beginRefresh(_:_:)`` or ``releaseRefresh()``.
    func reserveRefresh() throws(RefreshRefusal)

    /// Returns the permit.
    func releaseRefresh()

    /// Starts a refresh of the invalidated responses in the scopes, with the reserved permit. The
    /// refresh continues until one of these happens:
    /// - all responses have been examined
    /// - the number of requests in the report has been sent
    /// - the mode changes to one that allows no requests to origins
    /// - too many consecutive requests fail
    /// - the store cannot be read
    /// - the program shuts down
    func beginRefresh(_ scopes: [InvalidationScope], _ report: RefreshReport)

    /// The running refreshes, followed by the most recent refreshes that have ended, newest first.
    var refreshes: [RefreshReport] { get }
}
