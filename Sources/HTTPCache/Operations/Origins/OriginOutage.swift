public import HTTPCacheSemantics

/// An outage of an origin that is over.
public struct OriginOutage: Sendable, Hashable {
    /// Its number since the start of the process. Each is greater than the one before.
    public var number: Int
    /// `https://a.example`
    public var origin: String
    /// When the origin became unreachable.
    public var since: Timestamp
    /// When it responded again, or when no route led to it any more.
    public var until: Timestamp

    /// An outage.
    public init(number: Int, origin: String, since: Timestamp, until: Timestamp) {
        self.number = number
        self.origin = origin
        self.since = since
        self.until = until
    }
}
