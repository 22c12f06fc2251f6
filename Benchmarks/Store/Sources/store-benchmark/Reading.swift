import HTTPCache
import HTTPCacheSemantics
import NIOCore
import OfflineStore

/// Reads stored values in random order, in one task.
enum Reading {
    /// - Parameters, from `options`: those of ``Store``, and `kind` (`object`, `response`,
    ///   `resident`, `objects`, `responses`), `count` of the stored values, `reads`, `batch` (100).
    @concurrent
    static func measure(_ options: Options) async throws -> Report {
        let store = try await Store.open(options)
        let count = try options.number("count")
        let reads = try options.number("reads")
        let batch = try options.number("batch", default: 100)
        let kind = options.text("kind", default: "object")
        let numbers = Content.numbers(reads, below: count)
        // Everything once if it fits in memory, else a tenth: reading connections, plans and pages
        // are then warm.
        let isInMemory = options.text("memory", default: "0") != "0"
        let warmUp =
            isInMemory ? Array(0..<count) + Array(0..<count) : Content.numbers(reads / 10 + 1, below: count, seed: 7)
        let written = FileBytes.written
        var report: Report
        switch kind {
        case "object":
            let keys = numbers.map { Content.objectKey($0) }
            _ = try await readObjects(store, warmUp.map { Content.objectKey($0) })
            let watch = Stopwatch()
            let bytes = try await readObjects(store, keys)
            report = watch.report(count: reads)
            report["bytes"] = Double(bytes)
        case "response":
            let keys = try numbers.map { try Content.responseKey($0) }
            _ = try await readResponses(store, try warmUp.map { try Content.responseKey($0) })
            let watch = Stopwatch()
            let bytes = try await readResponses(store, keys)
            report = watch.report(count: reads)
            report["bytes"] = Double(bytes)
        case "resident":
            let keys = try numbers.map { try Content.responseKey($0) }
            _ = try await readResponses(store, try warmUp.map { try Content.responseKey($0) })
            let watch = Stopwatch()
            let found = readResident(store, keys)
            report = watch.report(count: reads)
            guard found == reads else { throw BenchmarkError("\(reads - found) of \(reads) are not in memory.") }
        case "objects":
            let keys = numbers.map { Content.objectKey($0) }
            _ = try await store.objects([UInt8].self, forKeys: Array(keys.prefix(batch)))
            let batches = Batches(keys, batch)
            let watch = Stopwatch()
            for (some, _) in batches.all {
                let found = try await store.objects([UInt8].self, forKeys: some)
                guard found.allSatisfy({ $0 != nil }) else { throw missing }
            }
            report = watch.report(count: reads)
        case "responses":
            let keys = try numbers.map { try Content.responseKey($0) }
            _ = try await store.responses(for: Array(keys.prefix(batch)))
            let batches = Batches(keys, batch)
            let watch = Stopwatch()
            for (some, count) in batches.all {
                let found = try await store.responses(for: some)
                guard found.count == count else { throw missing }
            }
            report = watch.report(count: reads)
        default: throw BenchmarkError("'\(kind)' is not known.")
        }
        report["resident"] = ResidentMemory.present
        report["written"] = FileBytes.written - written
        try await store.close()
        return report
    }

    private static let missing = BenchmarkError("Something that was stored was not found.")

    @concurrent
    private static func readObjects(_ store: CacheManager, _ keys: [String]) async throws -> Int {
        var bytes = 0
        for key in keys {
            guard let value = try await store.object([UInt8].self, forKey: key) else { throw missing }
            bytes += value.count
        }
        return bytes
    }

    @concurrent
    static func readResponses(_ store: CacheManager, _ keys: [StoreKey]) async throws -> Int {
        let responses = store.responses
        var bytes = 0
        for key in keys { bytes += try await readResponse(responses, key) }
        return bytes
    }

    /// Reads as a hit does: from memory first, then from the store.
    static func readResponse(_ responses: any ResponseStore, _ key: StoreKey) async throws -> Int {
        var found = responses.resident(key)
        if found == nil { found = try await responses.lookup(key) }
        guard let response = found?.first, let body = try await responses.openBody(of: response) else { throw missing }
        return try await body.collect(upTo: Int(response.bodyLength)).readableBytes
    }

    private static func readResident(_ store: CacheManager, _ keys: [StoreKey]) -> Int {
        let responses = store.responses
        var found = 0
        for key in keys {
            guard let response = responses.resident(key)?.first, let body = response.content?.body else { continue }
            if body.readableBytes == Int(response.bodyLength) { found += 1 }
        }
        return found
    }
}

/// Keys in the order of reading, in batches, and the number of different ones.
private struct Batches<Key: Hashable> {
    var all: [(keys: [Key], count: Int)]

    init(_ keys: [Key], _ size: Int) {
        all = stride(from: 0, to: keys.count, by: size).map { start in
            let some = Array(keys[start..<min(start + size, keys.count)])
            return (some, Set(some).count)
        }
    }
}
