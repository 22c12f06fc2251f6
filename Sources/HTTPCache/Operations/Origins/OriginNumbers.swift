/// The numbers of an origin for metrics, or those of all origins that share a label.
public struct OriginNumbers: Sendable, Hashable {
    /// `https://a.example`, or `other`.
    public var label: String
    /// Whether it is not treated as unreachable; of several, whether none is.
    public var isUp = true
    /// Requests under way.
    public var inFlight = 0
    /// Requests that wait for a permit.
    public var waiting = 0
    /// Milliseconds for which it was unreachable, the present outage included; of several, the sum.
    public var outageMilliseconds: Int64 = 0

    /// An origin that is up, without requests.
    public init(label: String) { self.label = label }
}
