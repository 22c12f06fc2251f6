import HTTPCacheSemantics

extension Timestamp {
    /// Whether what expires at this instant is no longer live.
    ///
    /// So is what was stored or renewed further ahead of the clock than
    /// ``Timestamp/clockTolerance``: the clock was wrong then, and how long ago that was is
    /// unknown. It is live again when the clock comes near that instant. What never expires does
    /// not depend on the clock.
    func isOver(at now: Timestamp, storedAt: Timestamp) -> Bool {
        self <= now || (storedAt.isAhead(of: now) && self < .distantFuture)
    }
}
