import HTTPCache
import HTTPCacheSemantics
import Synchronization

/// The store's numbers, which are counted over all rows and therefore only now and then.
final class StoreWatch: Sendable {
    /// The numbers, and when they were counted.
    struct Reading: Sendable {
        var measures: StoreMeasures
        var at: Timestamp
        /// How long the counting took.
        var cost: Duration
    }

    private let operations: any CacheOperations
    private let clock: any WallClock
    private let latest = Mutex<Reading?>(nil)

    /// How old numbers may be, in milliseconds.
    static let longestAge: Int64 = 30_000
    /// The same for a page that people look at, if counting takes next to nothing.
    private static let shortestAge: Int64 = 1000
    /// Counting for a page takes at most this part of the time.
    private static let share: Int64 = 200

    init(_ operations: any CacheOperations, clock: any WallClock) {
        self.operations = operations
        self.clock = clock
    }

    /// The numbers that were counted last, however old.
    var known: Reading? { latest.withLock { $0 } }

    /// The numbers, of at most ``longestAge``; `nil` if they cannot be read.
    ///
    /// Two callers at once may both count; the lock is not held meanwhile.
    func reading() async -> Reading? { await reading(noOlderThan: Self.longestAge) }

    /// The numbers for a page that people look at: the sooner counted again, the less that takes.
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
