import HTTPCacheSemantics

/// An instant on the clock of the log's server, in whole milliseconds since 1970. A separate type
/// prevents comparisons with instants on a node's clock.
package struct EngineTime: Sendable, Hashable, Comparable {
    package var milliseconds: Int64

    package init(milliseconds: Int64) { self.milliseconds = milliseconds }

    package static func < (left: Self, right: Self) -> Bool { left.milliseconds < right.milliseconds }

    /// Returns the milliseconds from `earlier` to this instant. The result saturates, because a
    /// server may report any instant.
    package func elapsedMilliseconds(since earlier: EngineTime) -> Int64 {
        Timestamp(milliseconds: milliseconds).milliseconds(since: Timestamp(milliseconds: earlier.milliseconds))
    }

    /// Returns this instant shifted by milliseconds, saturating.
    package func adding(milliseconds delta: Int64) -> EngineTime {
        EngineTime(milliseconds: Timestamp(milliseconds: milliseconds).adding(milliseconds: delta).milliseconds)
    }

    /// Returns this instant shifted by a duration, saturating.
    package func adding(_ duration: Duration) -> EngineTime {
        let (seconds, attoseconds) = duration.components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1000)
        let (sum, overflowToo) =
            milliseconds
            .addingReportingOverflow(overflow ? (seconds < 0 ? .min : .max) : product)
        guard !overflow, !overflowToo else { return EngineTime(milliseconds: seconds < 0 ? .min : .max) }
        let (whole, isTooLarge) = sum.addingReportingOverflow(attoseconds / 1_000_000_000_000_000)
        return EngineTime(milliseconds: isTooLarge ? (attoseconds < 0 ? .min : .max) : whole)
    }
}
