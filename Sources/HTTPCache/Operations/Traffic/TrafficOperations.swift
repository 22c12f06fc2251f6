public import HTTPCacheSemantics

/// A running cache's record of individual requests, for operators. Its size is bounded.
public protocol TrafficOperations: Sendable {
    /// Returns the latest responses that were not stored, a few for each reason.
    func notStored() async -> [NotStoredExample]

    /// Returns the totals of all outages. The call is cheap enough to make every second.
    func outageTotals() async -> OutageTotals
}

/// The totals of all origin outages since the start of the process.
public struct OutageTotals: Sendable, Hashable {
    /// The number of stored responses served because their origin was unreachable. A response that
    /// replaces an origin's error response does not count.
    public var served: Int64 = 0
    /// The number of requests that could not be answered without their origin.
    public var refused: Int64 = 0
    /// The maximum age, in seconds, of the stored responses that were served during an outage in
    /// the last four seconds.
    public var oldest: Int64 = 0

    /// Creates totals of 0.
    public init() {}

    /// Creates totals.
    public init(served: Int64, refused: Int64, oldest: Int64) {
        self.served = served
        self.refused = refused
        self.oldest = oldest
    }
}

/// A response that was not stored.
public struct NotStoredExample: Sendable, Hashable {
    /// The reason.
    public var reason: StorageRefusal
    /// The authority and target as received from the client, with the query, truncated to 2 KiB.
    public var target: String
    /// The response's status.
    public var status: Int
    /// When the response was sent to its client.
    public var at: Timestamp
    /// The name of the request's route.
    public var route: String

    /// The maximum number of examples per reason.
    public static let limit = 5

    /// Creates an example.
    public init(reason: StorageRefusal, target: String, status: Int, at: Timestamp, route: String) {
        self.reason = reason
        self.target = target
        self.status = status
        self.at = at
        self.route = route
    }
}

/// A rule, and the number of times it was applied.
public struct RuleUse: Sendable, Hashable {
    /// The rule's name, or `rule 3` if it has none.
    public var name: String
    /// The line in the file.
    public var line: Int?
    /// The rule's conditions in the file's format, such as `match.url: /img/**`.
    public var conditions: [String]
    /// The rule's settings in the file's format.
    public var settings: [String]
    /// The approximate number of requests for which the rule decided a setting; 0 if there were
    /// none.
    public var uses: Int64

    /// Creates a rule's use.
    public init(name: String, line: Int?, conditions: [String], settings: [String], uses: Int64) {
        self.name = name
        self.line = line
        self.conditions = conditions
        self.settings = settings
        self.uses = uses
    }
}
