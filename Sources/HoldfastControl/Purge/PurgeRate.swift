import HTTPCacheSemantics

/// Limits the rate of purges to 50 per second, with bursts of up to 500 after a pause.
struct PurgeRate: Sendable {
    static let perSecond = 50.0
    static let burst = 500.0

    private var left = burst
    private var refilled: Timestamp?

    /// Counts a purge toward the limit.
    ///
    /// - Returns: `nil` if the purge may run now; otherwise the seconds to wait.
    mutating func take(at now: Timestamp) -> Int? {
        let elapsed = refilled.map { max(0, now.milliseconds - $0.milliseconds) } ?? 0
        left = min(Self.burst, left + Double(elapsed) / 1000 * Self.perSecond)
        refilled = now
        guard left >= 1 else { return max(1, Int(((1 - left) / Self.perSecond).rounded(.up))) }
        left -= 1
        return nil
    }

    /// Stops counting a purge that was not performed.
    mutating func giveBack() { left = min(Self.burst, left + 1) }
}
