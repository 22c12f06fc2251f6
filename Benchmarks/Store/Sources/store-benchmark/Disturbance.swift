import HTTPCache
import HTTPCacheSemantics
import OfflineStore
import Synchronization

/// Measures hits from disk while the store does much other work.
enum Disturbance {
    private static let hotCount = 2000
    private static let quietReads = 40_000

    /// Purges of a tag with many entries: soft, then hard, each compared with the same hits before
    /// it.
    ///
    /// - Parameters, from `options`: those of ``Store``, and `count` of the entries with the tag.
    @concurrent
    static func measurePurge(_ options: Options) async throws -> Report {
        let store = try await Store.open(options)
        let count = try options.number("count")
        try await Writing.write(store, .response, numbers: 0..<hotCount, length: 2048, tags: [], tasks: 64)
        let tagged = hotCount..<hotCount + count
        try await Writing.write(store, .response, numbers: tagged, length: 256, tags: ["feed"], tasks: 256)
        try await store.settle()
        var report = Report()
        for (name, isSoft) in [("soft", true), ("hard", false)] {
            let quiet = try await hits(store, reads: quietReads)
            let (disturbed, (call, all)) = try await hits(store) {
                let watch = Stopwatch()
                try await store.responses.invalidate(
                    .tag("feed"),
                    keepingForOffline: isSoft,
                    at: SystemWallClock().now()
                )
                let call = watch.elapsed
                try await store.settle()
                return (call, watch.elapsed)
            }
            report["\(name)Call"] = call * 1000
            report["\(name)Sweep"] = all * 1000
            note(quiet, disturbed, name, &report)
        }
        let left = try await store.responses.lookup(try Content.responseKey(hotCount)).count
        guard left == 0 else { throw BenchmarkError("What was purged is still there.") }
        try await store.close()
        return report
    }

    /// The same writes into a store with room to spare, and into one that is full and evicts.
    ///
    /// - Parameters, from `options`: those of ``Store``, but `budget` is that of the full store and
    ///   `folder` gets two.
    @concurrent
    static func measureEviction(_ options: Options) async throws -> Report {
        let budget = try options.number("budget")
        let folder = try options.text("folder")
        var report = Report()
        for (name, budget) in [("room", budget * 8), ("full", budget)] {
            let store = try await Store.open(try Options(["evict", "folder=\(folder)/\(name)", "budget=\(budget)"]))
            try await Writing.write(store, .response, numbers: 0..<hotCount, length: 2048, tags: [], tasks: 64)
            // More than the smaller budget holds: the full store has evicted before, and continues.
            let fill = hotCount..<hotCount + (try options.number("budget")) / 2800
            for start in stride(from: fill.lowerBound, to: fill.upperBound, by: 4000) {
                let end = min(start + 4000, fill.upperBound)
                try await Writing.write(store, .response, numbers: start..<end, length: 2048, tags: [], tasks: 64)
                // Entries that are read now and then stay.
                _ = try await hits(store, reads: hotCount * 2)
            }
            try await store.settle()
            let entries = try await store.statistics().responses
            let quiet = try await hits(store, reads: quietReads)
            let (disturbed, _) = try await hits(store) {
                let numbers = fill.upperBound..<fill.upperBound + 20_000
                try await Writing.write(store, .response, numbers: numbers, length: 2048, tags: [], tasks: 64)
                try await store.settle()
            }
            report["\(name)Entries"] = Double(entries)
            note(quiet, disturbed, name, &report)
            try await store.close()
        }
        return report
    }

    private static func note(_ quiet: Latencies, _ disturbed: Latencies, _ name: String, _ report: inout Report) {
        report["\(name)QuietP99"] = quiet.percentile(0.99)
        report["\(name)P99"] = disturbed.percentile(0.99)
        report["\(name)P50"] = disturbed.percentile(0.5)
        report["\(name)Hits"] = Double(disturbed.count)
    }

    /// Hits of hot entries, while other work runs.
    @concurrent
    private static func hits<Result>(_ store: CacheManager, during work: () async throws -> Result) async throws
        -> (Latencies, Result)
    {
        let end = End()
        return try await withThrowingTaskGroup(of: Latencies.self) { group in
            group.addTask { try await hits(store) { _ in end.isReached } }
            // The reader must end even after an error.
            defer { end.reach() }
            let result = try await work()
            end.reach()
            var all = Latencies()
            for try await latencies in group { all.merge(latencies) }
            return (all, result)
        }
    }

    @concurrent
    private static func hits(_ store: CacheManager, reads: Int) async throws -> Latencies {
        try await hits(store) { $0 == reads }
    }

    @concurrent
    private static func hits(_ store: CacheManager, until isEnough: @Sendable (Int) -> Bool) async throws -> Latencies {
        var random = SplitMix(seed: 42)
        // Each in turn, so that all of them stay in use.
        let keys = try (0..<hotCount).shuffled(using: &random).map { try Content.responseKey($0) }
        var latencies = Latencies()
        var count = 0
        while !isEnough(count) {
            let key = keys[count % keys.count]
            let start = nanoseconds()
            _ = try await Reading.readResponse(store.responses, key)
            latencies.note(nanoseconds() - start)
            count += 1
            // The pool has one thread for each core: a task that never waits must yield now and
            // then.
            if count % 64 == 0 { await Task.yield() }
        }
        return latencies
    }
}

/// A flag that one task sets and another reads.
private final class End: Sendable {
    private let value = Atomic(false)

    var isReached: Bool { value.load(ordering: .relaxed) }

    func reach() { value.store(true, ordering: .relaxed) }
}
