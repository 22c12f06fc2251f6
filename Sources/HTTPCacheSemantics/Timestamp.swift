/// An instant on the wall clock: whole milliseconds since 1970-01-01T00:00:00Z.
///
/// Ages, expiry and everything on disk use this one unit, so that no seconds are ever compared with
/// milliseconds. Arithmetic saturates at the ends of `Int64`; it never traps.
public struct Timestamp: Sendable, Hashable, Comparable, Codable {
    /// Milliseconds since 1970-01-01T00:00:00Z; negative before it.
    public var milliseconds: Int64

    /// Makes an instant.
    public init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    /// Whole seconds since 1970-01-01T00:00:00Z, saturating.
    public init(seconds: Int64) {
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1000)
        self.milliseconds = overflow ? (seconds < 0 ? .min : .max) : product
    }

    /// Later than every other instant. A value that never expires has this expiry.
    public static let distantFuture = Timestamp(milliseconds: .max)
    /// Earlier than every other instant.
    public static let distantPast = Timestamp(milliseconds: .min)

    /// Whether the first is earlier.
    public static func < (lhs: Timestamp, rhs: Timestamp) -> Bool {
        lhs.milliseconds < rhs.milliseconds
    }

    /// How far ahead of the clock a recorded instant may be: 5,000 ms.
    ///
    /// An ordinary correction sets a clock back by at most this much: a leap second, a step of NTP.
    /// An instant that is further ahead was recorded while the clock was wrong.
    public static let clockTolerance: Int64 = 5000

    /// Whether this instant is ahead of the clock by more than ``clockTolerance``, so that its
    /// distance from now is unknown.
    package func isAhead(of now: Timestamp) -> Bool { milliseconds(since: now) > Self.clockTolerance }

    /// This instant moved by a number of milliseconds, saturating.
    public func adding(milliseconds delta: Int64) -> Timestamp {
        let (sum, overflow) = milliseconds.addingReportingOverflow(delta)
        return Timestamp(milliseconds: overflow ? (delta < 0 ? .min : .max) : sum)
    }

    /// This instant moved by a duration, saturating; fractions of a millisecond are dropped.
    public func adding(_ duration: Duration) -> Timestamp {
        adding(milliseconds: duration.clampedMilliseconds)
    }

    /// Milliseconds from `earlier` to this instant, saturating; negative when `earlier` is later.
    public func milliseconds(since earlier: Timestamp) -> Int64 {
        let (difference, overflow) = milliseconds.subtractingReportingOverflow(earlier.milliseconds)
        return overflow ? (milliseconds < earlier.milliseconds ? .min : .max) : difference
    }
}

extension Duration {
    /// The duration in whole milliseconds, clamped to what `Int64` holds.
    package var clampedMilliseconds: Int64 {
        let (seconds, attoseconds) = components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1000)
        if overflow { return seconds < 0 ? .min : .max }
        let (sum, carried) = product.addingReportingOverflow(attoseconds / 1_000_000_000_000_000)
        return carried ? (seconds < 0 ? .min : .max) : sum
    }
}
