import Dispatch
import HTTPCache
import HTTPCacheSemantics
import StoreFiles
import Synchronization
import TestSupport
import Testing

@testable import OfflineStore

/// The values that readers see while the writer, a reader or a writing task is stopped.
@Suite(.timeLimit(.minutes(20))) struct PendingVisibilityTests {
    let folder: TemporaryFolder
    let clock = ManualClock()

    init() throws { folder = try TemporaryFolder() }

    /// The task of a committed value may not have continued yet. A value that another task stored
    /// after it wins all the same.
    @Test(arguments: [100, 200_000])
    func pendingValueHidesNoLaterValue(_ length: Int) async throws {
        let store = try await openStore(folder.store, clock: clock) { $0.maximumResidentBody = 100_000 }
        let core = store.core
        let gate = Gate()
        async let held: Void = core.write { _ in gate.pass() }
        await gate.entered()
        let executor = HeldExecutor()
        let first = Task(executorPreference: executor) { try await store.setObject([1], forKey: "x") }
        await reached { try await store.object([Int].self, forKey: "x") == [1] }
        executor.queue.suspend()
        // One that is too large to be visible before its commit, too.
        let value = Array(repeating: 2, count: length)
        let second = Task { try await store.setObject(value, forKey: "x") }
        await reached { try core.database().writer?.pendingBytes ?? 0 > length }
        gate.open()
        try await held
        try await second.value
        #expect(try await store.object([Int].self, forKey: "x") == value)
        executor.queue.resume()
        try await first.value
        #expect(try await store.object([Int].self, forKey: "x") == value)
        try await store.close()
    }

    /// Callers that wrote together are waited for, but only briefly.
    @Test func singleWriterAfterManyIsStored() async throws {
        let store = try await openStore(folder.store, clock: clock)
        let core = store.core
        let commits = try core.database().state.commits
        let gate = Gate()
        async let held: Void = core.write { _ in gate.pass() }
        await gate.entered()
        let before = commits.value
        async let many: Void = withThrowingTaskGroup { group in
            for index in 0..<8 { group.addTask { try await store.setObject(index, forKey: "\(index)") } }
            try await group.waitForAll()
        }
        await reached {
            for index in 0..<8 where try await store.object(Int.self, forKey: "\(index)") != index { return false }
            return true
        }
        gate.open()
        _ = try await (held, many)
        // The held one, the eight in one, and the commits of housekeeping after opening.
        #expect(commits.value - before < 8)
        for value in 0..<3 {
            try await store.setObject(value, forKey: "x")
            #expect(try await store.object(Int.self, forKey: "x") == value)
        }
        try await store.close()
    }

    /// With a memory tier and without.
    @Test(arguments: [1 << 20, 0], ["/other", "https://other.example/"])
    func otherInvalidationsHideNoPendingValue(memory: Int, other: String) async throws {
        let store = try await openStore(folder.store, clock: clock) { $0.memoryBudget = memory }
        let core = store.core
        let (key, now) = (try cacheKey("/x"), clock.now())
        let scope: InvalidationScope =
            other.hasPrefix("/") ? .key(try cacheKey(other)) : .prefix(try TargetPrefix(other))
        try await store.setObject(1, forKey: "x")
        try await store.store(draft(key, at: now), "1")
        let (first, second) = (Gate(), Gate())
        async let invalidation = core.write(isDurable: true) { context in
            first.pass()
            return try context.invalidate(scope, keepingForOffline: true, at: now).number
        }
        await first.entered()
        async let held: Void = core.write { _ in second.pass() }
        await reached { try core.database().writer?.waiting.isEmpty == false }
        async let object: Void = store.setObject(2, forKey: "x")
        async let response = store.store(draft(key, at: now), "2")
        await reached { try await store.object(Int.self, forKey: "x") == 2 }
        await reached { try await store.text(of: key) == "2" }
        first.open()
        let number = try await invalidation
        await second.entered()
        #expect(store.responses.invalidationSequence.number == number)
        #expect(try await store.object(Int.self, forKey: "x") == 2)
        #expect(try await store.text(of: key) == "2")
        second.open()
        try await held
        try await object
        #expect(try await response != nil)
        try await store.close()
    }

    @Test func invalidationHidesThePendingValueItRejects() async throws {
        let store = try await openStore(folder.store, clock: clock)
        let core = store.core
        let (key, now) = (try cacheKey("/x"), clock.now())
        let (first, second) = (Gate(), Gate())
        async let invalidation = core.write(isDurable: true) { context in
            first.pass()
            return try context.invalidate(.key(key), keepingForOffline: true, at: now).number
        }
        await first.entered()
        async let held: Void = core.write { _ in second.pass() }
        await reached { try core.database().writer?.waiting.isEmpty == false }
        async let response = store.store(draft(key, at: now), "2")
        await reached { try await store.text(of: key) == "2" }
        first.open()
        _ = try await invalidation
        await second.entered()
        #expect(try await store.text(of: key) == nil)
        second.open()
        try await held
        #expect(try await response == nil)
        try await store.close()
    }

    /// While a reader uses an older snapshot, whose rows are not marked yet, swept invalidations
    /// are still compared with.
    @Test func sweepEndingDuringAReadHidesNoInvalidation() async throws {
        let store = try await openStore(folder.store, clock: clock) { $0.checkpointThreshold = 256 << 10 }
        let (core, now) = (store.core, clock.now())
        let (database, key) = (try core.database(), try cacheKey("/99"))
        let limits = database.state.limits
        for index in 0..<100 { try await store.store(draft(try cacheKey("/\(index)"), at: now, tags: ["t"]), "1") }
        try await store.settle()
        #expect(limits.batch < 100 && !database.state.mayHavePending.load(ordering: .acquiring))
        let (before, sweeping, reading) = (Gate(), Gate(), Gate())
        async let first: Void = core.write { _ in before.pass() }
        await before.entered()
        async let invalidation = store.responses.invalidate(.tag("t"), keepingForOffline: true, at: now)
        await reached { database.writer?.waiting.isEmpty == false }
        // In a transaction of its own, after the first step of the sweep.
        async let second: Void = core.write(bytes: limits.transaction + 1) { _ in sweeping.pass() }
        await reached { database.writer?.pendingBytes ?? 0 > 0 }
        before.open()
        await sweeping.entered()
        async let found = onThread {
            try core.read(database) { connection in
                let entries = EntryReading(core: core, database: database, connection: connection)
                let hash = database.state.hash(key.bytes, .responseKey)
                let early = try entries.responses(of: key, hash: hash)
                reading.pass()
                return try (early + entries.responses(of: key, hash: hash)).map(\.head.isInvalidated)
            }
        }
        await reading.entered()
        sweeping.open()
        let path = database.path
        await reached { try queryInteger(path, "SELECT count(*) FROM tag_invalidation") == 0 }
        // Time enough to clear the flag of pending invalidations, if the reader is overlooked.
        for _ in 0..<5_000 where database.state.mayHavePending.load(ordering: .acquiring) {
            await Task.yield()  // time for a mistake
        }
        reading.open()
        #expect(try await found == [true, true])
        _ = try await (first, second, invalidation)
        try await store.close()
    }

    /// The damaged database may still take an invalidation while the next one is being created.
    @Test func lastNumberOfADamagedDatabaseIsNotReused() async throws {
        let store = try await openStore(folder.store, clock: clock)
        let (core, now) = (store.core, clock.now())
        let gate = Gate()
        async let invalidation = core.write(isDurable: true) { context in
            gate.pass()
            return try context.invalidate(.all, keepingForOffline: true, at: now).number
        }
        await gate.entered()
        async let exchange: Void = onThread { try store.setAsideForTesting() }
        // It has to wait; without waiting it would be over by then.
        for _ in 0..<5_000 where try core.database().number == 1 {
            await Task.yield()  // time for a mistake
        }
        gate.open()
        let number = try await invalidation
        try await exchange
        #expect(try core.database().number == 2)
        let next = try await store.responses.invalidate(.all, keepingForOffline: true, at: now)
        #expect(next.number > number)
        try await store.close()
    }
}

/// Stops an operation of the writer, or a reader, on its thread.
private final class Gate: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)
    private let isEntered = Atomic(false)

    func pass() {
        isEntered.store(true, ordering: .releasing)
        semaphore.wait()
    }

    func open() { semaphore.signal() }

    func entered() async { await reached { isEntered.load(ordering: .acquiring) } }
}

/// An executor that can be stopped, with the tasks on it.
private final class HeldExecutor: TaskExecutor {
    let queue = DispatchQueue(label: "holdfast.test.held")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}

private func reached(_ condition: () async throws -> Bool) async {
    while (try? await condition()) != true, !Task.isCancelled { await Task.yield() }
}

/// Runs blocking code on a thread of its own.
private func onThread<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
        DispatchQueue.global().async { continuation.resume(with: Swift.Result { try body() }) }
    }
}
