public import HTTPCacheSemantics

/// An outage of an origin that has ended.
public struct OriginOutage: Sendable, Hashable {
    /// The outage's number since the start of the process. Numbers always increase.
    public var number: Int
    /// The origin, such as `https://a.example`.
    public var origin: String
    /// When the origin became unreachable.
    public var since: Timestamp
    /// When the origin responded again, or when the last route to it was removed.
    public var until: Timestamp

    /// Creates an outage.
    public init(number: Int, origin: String, since: Timestamp, until: Timestamp) {
        self.number = number
        self.origin = origin
        self.since = since
        self.until = until
    }
}
