public import HTTPTypes

/// The statuses that are a success to an endpoint; others are an error that carries status and
/// content.
public struct AcceptedStatuses: Sendable, Hashable, ExpressibleByArrayLiteral {
    private var ranges: [ClosedRange<Int>]

    /// 200 to 299. RFC 9110 §15.3
    public static let successful = AcceptedStatuses(200...299)
    /// 200 to 399.
    public static let successfulAndRedirection = AcceptedStatuses(200...399)
    /// Whatever came.
    public static let any = AcceptedStatuses(100...999)

    /// A range of status codes.
    public init(_ range: ClosedRange<Int>) {
        ranges = [range]
    }

    /// These status codes.
    public init(arrayLiteral elements: Int...) {
        ranges = elements.map { $0...$0 }
    }

    /// These and others.
    public func union(_ other: AcceptedStatuses) -> AcceptedStatuses {
        var both = self
        both.ranges += other.ranges
        return both
    }

    /// Whether every success is among them, so that there is nothing to refuse before a success is
    /// stored.
    var acceptsSuccess: Bool { ranges.contains { $0.lowerBound <= 200 && $0.upperBound >= 299 } }

    /// Whether a status is among them.
    public func contains(_ status: HTTPResponse.Status) -> Bool {
        ranges.contains { $0.contains(status.code) }
    }
}
