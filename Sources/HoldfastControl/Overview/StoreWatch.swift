import HTTPCache
import HTTPCacheSemantics
import Synchronization

/// The store's numbers. Counting reads all rows, so it runs only occasionally.
final class StoreWatch: Sendable {
    /// The numbers, and when they were counted.
    struct Reading: Sendable {
        var measures: StoreMeasures
        var at: Timestamp
        /// How long the count took.
        var cost: Duration
    }

    private let operations: any CacheOperations
    private let clock: any WallClock
    private let latest = Mutex<Reading?>(nil)

    /// The greatest age of the numbers, in milliseconds.
    static let longestAge: Int64 = 30_000
    /// The greatest age for an open page if counting is almost free, in milliseconds.
    private static let shortestAge: Int64 = 1000
    /// An open page waits at least this many times the duration of a count before the next count.
    private static let share: Int64 = 200

    init(_ operations: any CacheOperations, clock: any WallClock) {
        self.operations = operations
        self.clock = clock
    }

    /// The last numbers, whatever their age.
    var known: Reading? { latest.withLock { $0 } }

    /// Numbers that are at most ``longestAge`` old; `nil` if they cannot be read.
    ///
    /// Two concurrent callers may both count, because the lock is not held during a count.
    func reading() async -> Reading? { await reading(noOlderThan: Self.longestAge) }

    /// Numbers for an open page. The faster a count is, the sooner it is repeated.
    func readingForPage() async -> Reading? {
        let cost = known.map { Int64($0.cost / .milliseconds(1)) } ?? 0
        return await reading(noOlderThan: min(Self.longestAge, max(Self.shortestAge, cost * Self.share)))
    }

    private func reading(noOlderThan age: Int64) async -> Reading? {
        let now = clock.now()
        if let known, now >= known.at, now.milliseconds(since: known.at) < age { return known }
        let start = ContinuousClock.now
        guard let measures = try? await operations.measures() else { return nil }
        let reading = Reading(measures: measures, at: now, cost: ContinuousClock.now - start)
        latest.withLock { $0 = reading }
        return reading
    }
}
