/// Metrics for an origin, or for all origins that share a label.
public struct OriginNumbers: Sendable, Hashable {
    /// The label, such as `https://a.example` or `other`.
    public var label: String
    /// Whether no origin with this label counts as unreachable.
    public var isUp = true
    /// The number of requests in flight.
    public var inFlight = 0
    /// The number of requests waiting for a permit.
    public var waiting = 0
    /// The time in milliseconds that the origin was unreachable, including the current outage. For
    /// several origins, the sum.
    public var outageMilliseconds: Int64 = 0

    /// Creates the metrics of a reachable origin without requests.
    public init(label: String) { self.label = label }
}
