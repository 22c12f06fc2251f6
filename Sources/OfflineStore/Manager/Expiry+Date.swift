public import HTTPCacheSemantics

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension Timestamp {
    /// Converts a date, rounded down to the millisecond and clamped to the range of timestamps.
    public init(_ date: Date) {
        let milliseconds = (date.timeIntervalSince1970 * 1000).rounded(.down)
        // 2^63 is the first value that `Int64` does not hold.
        if milliseconds >= 0x1p63 {
            self = .distantFuture
        } else if milliseconds >= -0x1p63 {
            self.init(milliseconds: Int64(milliseconds))
        } else {
            self = .distantPast
        }
    }

    /// The instant as a date.
    public var date: Date { Date(timeIntervalSince1970: Double(milliseconds) / 1000) }
}

extension Expiry {
    /// Expires at a date: the value is live before it.
    public static func at(_ date: Date) -> Expiry { .at(Timestamp(date)) }
}
