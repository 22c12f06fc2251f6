/// An instant on the wall clock, in whole milliseconds since 1970-01-01T00:00:00Z.
///
/// Ages, expiry times and everything on disk use this unit, so seconds are never compared with
/// milliseconds. Arithmetic saturates at the limits of `Int64`; it never traps.
public struct Timestamp: Sendable, Hashable, Comparable, Codable {
    /// Milliseconds since 1970-01-01T00:00:00Z; negative before then.
    public var milliseconds: Int64

    /// Creates an instant from milliseconds.
    public init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    /// Creates an instant from whole seconds since 1970-01-01T00:00:00Z, saturating.
    public init(seconds: Int64) {
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1000)
        self.milliseconds = overflow ? (seconds < 0 ? .min : .max) : product
    }

    /// An instant later than every other instant. It is the expiry of a value that never expires.
    public static let distantFuture = Timestamp(milliseconds: .max)
    /// An instant earlier than every other instant.
    public static let distantPast = Timestamp(milliseconds: .min)

    /// Returns whether the left instant is earlier.
    public static func < (lhs: Timestamp, rhs: Timestamp) -> Bool {
        lhs.milliseconds < rhs.milliseconds
    }

    /// The maximum time that a recorded instant may be ahead of the clock: 5,000 ms.
    ///
    /// An ordinary correction, such as a leap second or an NTP step, sets a clock back by at most
    /// this much. An instant further ahead was recorded while the clock was wrong.
    package static let clockTolerance: Int64 = 5000

    /// Returns whether this instant is ahead of the clock by more than ``clockTolerance``, so that
    /// its distance from now is unknown.
    package func isAhead(of now: Timestamp) -> Bool { milliseconds(since: now) > Self.clockTolerance }

    /// Returns this instant plus a number of milliseconds, saturating.
    public func adding(milliseconds delta: Int64) -> Timestamp {
        let (sum, overflow) = milliseconds.addingReportingOverflow(delta)
        return Timestamp(milliseconds: overflow ? (delta < 0 ? .min : .max) : sum)
    }

    /// Returns this instant plus a duration, saturating. Fractions of a millisecond are dropped.
    public func adding(_ duration: Duration) -> Timestamp {
        adding(milliseconds: duration.clampedMilliseconds)
    }

    /// Returns the milliseconds from `earlier` to this instant, saturating; negative if `earlier`
    /// is later.
    public func milliseconds(since earlier: Timestamp) -> Int64 {
        let (difference, overflow) = milliseconds.subtractingReportingOverflow(earlier.milliseconds)
        return overflow ? (milliseconds < earlier.milliseconds ? .min : .max) : difference
    }
}

extension Duration {
    /// The duration in whole milliseconds, clamped to the range of `Int64`.
    package var clampedMilliseconds: Int64 {
        let (seconds, attoseconds) = components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1000)
        if overflow { return seconds < 0 ? .min : .max }
        let (sum, carried) = product.addingReportingOverflow(attoseconds / 1_000_000_000_000_000)
        return carried ? (seconds < 0 ? .min : .max) : sum
    }
}
