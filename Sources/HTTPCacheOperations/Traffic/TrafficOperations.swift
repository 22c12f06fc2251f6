import HTTPCache
package import HTTPCacheSemantics

/// A running cache's record of individual requests, for operators. Its size is bounded.
package protocol TrafficOperations: Sendable {
    /// Returns the latest responses that were not stored, a few for each reason.
    func notStored() async -> [NotStoredExample]

    /// For the next minute, records each response for a URL that is not stored, however many others
    /// there are. Only the last URL is watched.
    func watch(_ url: TargetURI) async

    /// Returns the totals of all outages. The call is cheap enough to make every second.
    func outageTotals() async -> OutageTotals
}

/// The totals of all origin outages since the start of the process.
package struct OutageTotals: Sendable, Hashable {
    /// The number of stored responses served because their origin was unreachable. A response that
    /// replaces an origin's error response does not count.
    package var served: Int64 = 0
    /// The number of requests that could not be answered without their origin.
    package var refused: Int64 = 0
    /// The maximum age, in seconds, of the stored responses that were served during an outage in
    /// the last four seconds.
    package var oldest: Int64 = 0

    /// Creates totals of 0.
    package init() {}

    /// Creates totals.
    package init(served: Int64, refused: Int64, oldest: Int64) {
        self.served = served
        self.refused = refused
        self.oldest = oldest
    }
}

/// A response that was not stored.
package struct NotStoredExample: Sendable, Hashable {
    /// The reason.
    package var reason: StorageRefusal
    /// The authority and target as received from the client, with the query, truncated to 2 KiB.
    package var target: String
    /// The response's status.
    package var status: Int
    /// When the response was sent to its client.
    package var at: Timestamp
    /// The name of the request's route.
    package var route: String

    /// The maximum number of examples per reason.
    package static let limit = 5

    /// Creates an example.
    package init(reason: StorageRefusal, target: String, status: Int, at: Timestamp, route: String) {
        self.reason = reason
        self.target = target
        self.status = status
        self.at = at
        self.route = route
    }
}

/// A rule, and the number of times it was applied.
package struct RuleUse: Sendable, Hashable {
    /// The rule's name, or `rule 3` if it has none.
    package var name: String
    /// The line in the file.
    package var line: Int?
    /// The rule's conditions in the file's format, such as `match.url: /img/**`.
    package var conditions: [String]
    /// The rule's settings in the file's format.
    package var settings: [String]
    /// The approximate number of requests for which the rule decided a setting; 0 if there were
    /// none.
    package var uses: Int64

    /// Creates a rule's use.
    package init(name: String, line: Int?, conditions: [String], settings: [String], uses: Int64) {
        self.name = name
        self.line = line
        self.conditions = conditions
        self.settings = settings
        self.uses = uses
    }
}
