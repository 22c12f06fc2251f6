public import HTTPTypes

/// The statuses that an endpoint accepts as a success. Any other status is an error, which includes
/// the status and the content.
public struct AcceptedStatuses: Sendable, Hashable, ExpressibleByArrayLiteral {
    private var ranges: [ClosedRange<Int>]

    /// 200 to 299. RFC 9110 §15.3
    public static let successful = AcceptedStatuses(200...299)
    /// 200 to 399.
    public static let successfulAndRedirection = AcceptedStatuses(200...399)
    /// Every status.
    public static let any = AcceptedStatuses(100...999)

    /// Accepts a range of status codes.
    public init(_ range: ClosedRange<Int>) {
        ranges = [range]
    }

    /// Accepts these status codes.
    public init(arrayLiteral elements: Int...) {
        ranges = elements.map { $0...$0 }
    }

    /// Returns the union of these and other statuses.
    public func union(_ other: AcceptedStatuses) -> AcceptedStatuses {
        var both = self
        both.ranges += other.ranges
        return both
    }

    /// Whether all 2xx statuses are accepted, so that no status must be rejected before the
    /// response is stored.
    var acceptsSuccess: Bool { ranges.contains { $0.lowerBound <= 200 && $0.upperBound >= 299 } }

    /// Returns whether a status is accepted.
    public func contains(_ status: HTTPResponse.Status) -> Bool {
        ranges.contains { $0.contains(status.code) }
    }
}
