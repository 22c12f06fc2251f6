import HTTPCacheSemantics

extension Timestamp {
    /// Returns whether a value that expires at this instant is no longer live.
    ///
    /// A value that was stored or renewed further ahead of the clock than
    /// ``Timestamp/clockTolerance`` is not live either: the clock was wrong then, and the value's
    /// age is unknown. The value is live again when the clock approaches that time. A value that
    /// never expires does not depend on the clock.
    func isOver(at now: Timestamp, storedAt: Timestamp) -> Bool {
        self <= now || (storedAt.isAhead(of: now) && self < .distantFuture)
    }
}
