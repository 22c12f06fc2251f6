/// The current outages combined.
struct OutageReport: Sendable, Hashable, Codable {
    /// The time when the first of them began.
    var since: String
    /// The number of stale responses that came from the store because an origin was unreachable.
    var fromStore: Int64
    /// The number of requests that could not be answered.
    var refused: Int64
    /// The age of the oldest stale response that was served, in seconds.
    var oldestSeconds: Int64
}
