import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics
import Synchronization

/// The store's statistics. Counting reads all rows, so recent results are reused.
final class StoreWatch: Sendable {
    /// The statistics, and the time when they were counted.
    struct Reading: Sendable {
        var statistics: StoreStatistics
        var at: Timestamp
        /// The duration of the count.
        var cost: Duration
    }

    private let operations: any CacheOperations
    private let clock: any WallClock
    private let latest = Mutex<Reading?>(nil)

    /// The maximum age of statistics, in milliseconds.
    static let longestAge: Int64 = 30_000
    /// The maximum age for an open page if counting takes almost no time, in milliseconds.
    private static let shortestAge: Int64 = 1000
    /// While a page is open, the time between counts is at least the duration of a count times this
    /// factor, up to ``longestAge``.
    private static let share: Int64 = 200

    init(_ operations: any CacheOperations, clock: any WallClock) {
        self.operations = operations
        self.clock = clock
    }

    /// The last statistics, whatever their age.
    var known: Reading? { latest.withLock { $0 } }

    /// Returns statistics that are at most ``longestAge`` old, or `nil` if they cannot be read.
    ///
    /// Two concurrent callers may both count, because the lock is not held during a count.
    func reading() async -> Reading? { await reading(noOlderThan: Self.longestAge) }

    /// Returns statistics for an open page. The faster the last count was, the sooner the store is
    /// counted again.
    func readingForPage() async -> Reading? {
        let cost = known.map { Int64($0.cost / .milliseconds(1)) } ?? 0
        return await reading(noOlderThan: min(Self.longestAge, max(Self.shortestAge, cost * Self.share)))
    }

    private func reading(noOlderThan age: Int64) async -> Reading? {
        let now = clock.now()
        if let known, now >= known.at, now.milliseconds(since: known.at) < age { return known }
        let start = ContinuousClock.now
        guard let statistics = try? await operations.statistics() else { return nil }
        let reading = Reading(statistics: statistics, at: now, cost: ContinuousClock.now - start)
        latest.withLock { $0 = reading }
        return reading
    }
}
