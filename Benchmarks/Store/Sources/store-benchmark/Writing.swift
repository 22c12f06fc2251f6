import HTTPCacheSemantics
import OfflineStore
import Synchronization

/// Stores through the public API: each value awaited, or many at a time.
enum Writing {
    enum Kind: String {
        case object
        case response
    }

    /// - Parameters, from `options`: those of ``Store``, and `kind`, `count`, `first` (0), `length`
    ///   in bytes (2048), `tasks` that each await what they store (1), `tag`, `batch`: the values
    ///   of one call, with one call after the other (0: none).
    @concurrent
    static func measure(_ options: Options) async throws -> Report {
        let store = try await Store.open(options)
        guard let kind = Kind(rawValue: options.text("kind", default: "object")) else {
            throw BenchmarkError("'kind' is 'object' or 'response'.")
        }
        let count = try options.number("count")
        let first = try options.number("first", default: 0)
        let length = try options.number("length", default: 2048)
        let tag = options.text("tag", default: "")
        let tasks = try options.number("tasks", default: 1)
        // Outside the measurement, so that opening and the first plans are not part of it.
        try await write(store, kind, numbers: 1 << 40..<1 << 40 + 64, length: length, tags: [], tasks: 8)
        let numbers = first..<first + count
        let tags = tag.isEmpty ? [] : [tag]
        // Made before, unless there are too many: making them is not measured.
        let isMade = count * length <= 256 << 20
        let batch = try options.number("batch", default: 0)
        let values = isMade && batch == 0 ? try numbers.map { try Value(kind, $0, length: length, tags: tags) } : []
        if batch > 0 {
            let batches = try Batches(kind, numbers: numbers, size: batch, length: length)
            let watch = Stopwatch()
            try await batches.store(in: store, tags: tags)
            // Kept alive until here: freeing the caller's values is not measured either.
            let report = withExtendedLifetime(batches) { watch.report(count: count) }
            try await store.close()
            return report
        }
        let watch = Stopwatch()
        let latencies = try await run(store, numbers: numbers, tasks: tasks) { number in
            isMade ? values[number - first] : try Value(kind, number, length: length, tags: tags)
        }
        var report = withExtendedLifetime(values) { watch.report(count: count) }
        report["p50"] = latencies.percentile(0.5)
        report["p99"] = latencies.percentile(0.99)
        report["resident"] = ResidentMemory.present
        try await store.close()
        return report
    }

    @concurrent
    @discardableResult
    static func write(
        _ store: CacheManager,
        _ kind: Kind,
        numbers: Range<Int>,
        length: Int,
        tags: [String],
        tasks: Int
    ) async throws -> Latencies {
        try await run(store, numbers: numbers, tasks: tasks) { try Value(kind, $0, length: length, tags: tags) }
    }

    @concurrent
    private static func run(
        _ store: CacheManager,
        numbers: Range<Int>,
        tasks: Int,
        value: @escaping @Sendable (Int) throws -> Value
    ) async throws -> Latencies {
        let queue = NumberQueue(numbers)
        return try await withThrowingTaskGroup(of: Latencies.self) { group in
            for _ in 0..<tasks {
                group.addTask {
                    var latencies = Latencies()
                    while let number = queue.next() {
                        let value = try value(number)
                        let start = nanoseconds()
                        try await value.store(in: store)
                        latencies.note(nanoseconds() - start)
                    }
                    return latencies
                }
            }
            var all = Latencies()
            for try await latencies in group { all.merge(latencies) }
            return all
        }
    }
}

/// One value to store, with its key.
private enum Value: Sendable {
    case object([UInt8], key: String)
    case response(RawResponse, key: StoreKey, tags: [String])

    init(_ kind: Writing.Kind, _ number: Int, length: Int, tags: [String]) throws {
        switch kind {
        case .object: self = .object(Content.bytes(number, count: length), key: Content.objectKey(number))
        case .response:
            self = .response(
                Content.response(number, count: length),
                key: try Content.responseKey(number),
                tags: tags
            )
        }
    }

    @concurrent
    func store(in store: CacheManager) async throws {
        switch self {
        case .object(let bytes, let key): try await store.setObject(bytes, forKey: key)
        case .response(let response, let key, let tags):
            try await store.setResponse(response, for: key, expiry: .after(.seconds(36_000)), tags: tags)
        }
    }
}

/// Many values, stored in batches.
private struct Batches {
    private var objects: [[String: [UInt8]]] = []
    private var responses: [[StoreKey: RawResponse]] = []

    init(_ kind: Writing.Kind, numbers: Range<Int>, size: Int, length: Int) throws {
        for start in stride(from: numbers.lowerBound, to: numbers.upperBound, by: size) {
            let some = start..<min(start + size, numbers.upperBound)
            switch kind {
            case .object:
                let pairs = some.map { (Content.objectKey($0), Content.bytes($0, count: length)) }
                objects.append(Dictionary(uniqueKeysWithValues: pairs))
            case .response:
                let pairs = try some.map { (try Content.responseKey($0), Content.response($0, count: length)) }
                responses.append(Dictionary(uniqueKeysWithValues: pairs))
            }
        }
    }

    @concurrent
    func store(in store: CacheManager, tags: [String]) async throws {
        for some in objects { try await store.setObjects(some) }
        for some in responses { try await store.setResponses(some, expiry: .after(.seconds(36_000)), tags: tags) }
    }
}

/// Numbers that several tasks take from in turn.
private final class NumberQueue: Sendable {
    private let rest: Mutex<Range<Int>>

    init(_ numbers: Range<Int>) { rest = Mutex(numbers) }

    func next() -> Int? { rest.withLock { $0.popFirst() } }
}
