/// How fast, and how many, purged responses are fetched again.
public struct RefreshPace: Sendable, Hashable, Codable {
    /// The most requests that begin in a second.
    public var perSecond: Int
    /// The most requests altogether.
    public var atMost: Int

    /// The values that ``perSecond`` may have.
    public static let rates = 1...1000
    /// The values that ``atMost`` may have.
    public static let counts = 1...100_000
    /// The number of requests if none is named.
    public static let standardCount = 5000

    /// A pace. Values beyond the limits are brought to the nearest one.
    public init(perSecond: Int, atMost: Int = standardCount) {
        self.perSecond = min(max(perSecond, Self.rates.lowerBound), Self.rates.upperBound)
        self.atMost = min(max(atMost, Self.counts.lowerBound), Self.counts.upperBound)
    }

    /// The pause after the beginning of each request.
    var interval: Duration { .seconds(1) / perSecond }
}

/// The state of a refresh, and what it has done so far.
public struct RefreshReport: Sendable, Hashable, Codable {
    /// Whether a refresh continues, or why it has ended.
    public enum State: String, Sendable, Hashable, Codable, CaseIterable {
        /// It fetches.
        case running
        /// Everything was looked at.
        case done
        /// It has sent as many requests as it may.
        case limitReached = "limit-reached"
        /// The mode does not let it ask origins.
        case stoppedByMode = "stopped-by-mode"
        /// Too many requests in a row failed.
        case tooManyFailures = "too-many-failures"
        /// The store cannot be read.
        case storeFailed = "store-failed"
        /// The program ended.
        case shutDown = "shut-down"
    }

    /// The number of the purge.
    public var sequence: Int64
    /// How fast, and how many.
    public var pace: RefreshPace
    /// The client that asked for it: `uid 1000`.
    public var client: String
    /// Whether it continues.
    public var state = State.running
    /// The requests that were begun.
    public var requested = 0
    /// Those whose origin sent or confirmed a response, with a status below 400.
    public var refreshed = 0
    /// Those that failed, or got a status from 400 on.
    public var failed = 0
    /// Responses that were left out because their origin was unreachable.
    public var unreachable = 0
    /// Responses that were left out because their request cannot be made again.
    public var skipped = 0

    /// A refresh that begins.
    public init(sequence: Int64, pace: RefreshPace, client: String) {
        self.sequence = sequence
        self.pace = pace
        self.client = client
    }
}

/// A refresh was rejected before anything was purged.
public enum RefreshRefusal: Error, Sendable, Hashable {
    /// As many are under way as may be.
    case tooMany(limit: Int)
    /// The mode does not let anything ask origins.
    case mode(OfflineMode)
}

/// Fetching purged responses again, in the background and at a pace.
public protocol RefreshOperations: Sendable {
    /// Takes a permit for a refresh, before anything is purged. ``beginRefresh(_:_:)`` or
    /// ``releaseRefresh()`` follows.
    func reserveRefresh() throws(RefreshRefusal)

    /// Gives the permit back.
    func releaseRefresh()

    /// Begins a refresh of the invalidated responses of the scopes, with the permit that was taken.
    /// It continues until everything was looked at, the report's number of requests was sent, the
    /// mode changes to one that asks no origins, or the program ends.
    func beginRefresh(_ scopes: [InvalidationScope], _ report: RefreshReport)

    /// The refreshes under way, then the last ones that have ended, the last ended first.
    var refreshes: [RefreshReport] { get }
}
