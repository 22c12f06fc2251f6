package import HTTPCacheSemantics

/// An outage of an origin that has ended.
package struct OriginOutage: Sendable, Hashable {
    /// The outage's number since the start of the process. Numbers always increase.
    package var number: Int
    /// The origin, such as `https://a.example`.
    package var origin: String
    /// When the origin became unreachable.
    package var since: Timestamp
    /// When the origin responded again, or when the last route to it was removed.
    package var until: Timestamp

    /// Creates an outage.
    package init(number: Int, origin: String, since: Timestamp, until: Timestamp) {
        self.number = number
        self.origin = origin
        self.since = since
        self.until = until
    }
}
