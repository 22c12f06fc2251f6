import HTTPCacheSemantics

/// How many purges may come: 50 a second, and 500 at once after a pause.
struct PurgeRate: Sendable {
    static let perSecond = 50.0
    static let burst = 500.0

    private var left = burst
    private var refilled: Timestamp?

    /// Takes one purge.
    ///
    /// - Returns: `nil` if it may come now, else the seconds to wait.
    mutating func take(at now: Timestamp) -> Int? {
        let elapsed = refilled.map { max(0, now.milliseconds - $0.milliseconds) } ?? 0
        left = min(Self.burst, left + Double(elapsed) / 1000 * Self.perSecond)
        refilled = now
        guard left >= 1 else { return max(1, Int(((1 - left) / Self.perSecond).rounded(.up))) }
        left -= 1
        return nil
    }

    /// Gives back one that was taken and did nothing.
    mutating func giveBack() { left = min(Self.burst, left + 1) }
}
