/// Metrics for an origin, or for all origins that share a label.
package struct OriginNumbers: Sendable, Hashable {
    /// The label, such as `https://a.example` or `other`.
    package var label: String
    /// Whether no origin with this label counts as unreachable.
    package var isUp = true
    /// The number of requests in flight.
    package var inFlight = 0
    /// The number of requests waiting for a permit.
    package var waiting = 0
    /// The time in milliseconds that the origin was unreachable, including the current outage. For
    /// several origins, the sum.
    package var outageMilliseconds: Int64 = 0

    /// Creates the metrics of a reachable origin without requests.
    package init(label: String) { self.label = label }
}
