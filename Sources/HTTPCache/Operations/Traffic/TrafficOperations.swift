public import HTTPCacheSemantics

/// The memory that a running cache has of single requests, for operators. It is bounded.
public protocol TrafficOperations: Sendable {
    /// The latest responses that were not stored, a few for each reason.
    func notStored() async -> [NotStoredExample]

    /// The numbers of all outages together. They cost little: ask for them each second.
    func outageTotals() async -> OutageTotals
}

/// The numbers of all outages of origins since the start of the process.
public struct OutageTotals: Sendable, Hashable {
    /// Stored responses that were served because their origin could not be reached. A response that
    /// replaces an error of its origin does not count.
    public var served: Int64 = 0
    /// Requests that could not be answered without their origin.
    public var refused: Int64 = 0
    /// The greatest age in seconds of such a response that was served in the last four seconds.
    public var oldest: Int64 = 0

    /// Nothing.
    public init() {}

    /// Totals.
    public init(served: Int64, refused: Int64, oldest: Int64) {
        self.served = served
        self.refused = refused
        self.oldest = oldest
    }
}

/// A response that was not stored.
public struct NotStoredExample: Sendable, Hashable {
    /// Why.
    public var reason: StorageRefusal
    /// Authority and target as the client sent them, cut at 2 KiB, with its query.
    public var target: String
    /// The status.
    public var status: Int
    /// When it was sent to its client.
    public var at: Timestamp
    /// The name of the request's route.
    public var route: String

    /// The most examples of a reason.
    public static let limit = 5

    /// An example.
    public init(reason: StorageRefusal, target: String, status: Int, at: Timestamp, route: String) {
        self.reason = reason
        self.target = target
        self.status = status
        self.at = at
        self.route = route
    }
}

/// A rule, and how often it was applied.
public struct RuleUse: Sendable, Hashable {
    /// Its name, or `rule 3`.
    public var name: String
    /// The line of the file.
    public var line: Int?
    /// Its conditions as a file has them, `match.url: /img/**`.
    public var conditions: [String]
    /// Its settings as a file has them.
    public var settings: [String]
    /// The requests for which it decided a setting, about; 0 if there was none.
    public var uses: Int64

    /// A rule.
    public init(name: String, line: Int?, conditions: [String], settings: [String], uses: Int64) {
        self.name = name
        self.line = line
        self.conditions = conditions
        self.settings = settings
        self.uses = uses
    }
}
