import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Logging
import NIOPosix
import Synchronization
import Testing

@testable import EventLoops
@testable import HoldfastGateway

@Suite("Lookups for a loop", .timeLimit(.minutes(20)))
struct DiskLookupsTests {
    /// A lookup as an engine would make it in a store.
    private func lookup(in disk: DiskStore) throws -> StoredLookup {
        let engine = CacheEngine(
            store: disk,
            transport: ScriptedTransport(),
            policy: CachePolicy(kind: .shared),
            credentialSecret: Array(repeating: 7, count: 32),
            parts: .init(clock: ManualClock()),
            logger: Logger(label: "engine") { _ in SwiftLogNoOpLogHandler() }
        )
        let request = CacheRequest(head: HTTPRequest(method: .get, scheme: "http", authority: "a.example", path: "/a"))
        let attempt = engine.attempt(on: try #require(engine.prepare(request)))
        guard case .lookUp(let lookup) = attempt.begin() else {
            throw DiskStore.Failure()
        }
        return lookup
    }

    private func with(_ body: (DiskLookups, _ standing: DiskStore) async throws -> Void) async throws {
        // The test has threads of its own: the system's threads must not wait for it.
        let threads = NIOThreadPool(numberOfThreads: DiskLookups.workerLimit + 1)
        threads.start()
        let lookups = DiskLookups(MultiThreadedEventLoopGroup.singleton.next(), threads: threads)
        let result: Result<Void, any Error>
        do {
            result = .success(try await body(lookups, DiskStore(InMemoryResponseStore())))
        } catch {
            result = .failure(error)
        }
        try await threads.shutdownGracefully()
        try result.get()
    }

    private func until(_ condition: () -> Bool) async {
        while !condition() { await Task.yield() }
    }

    /// Mutants: `addWorker` that starts the first worker only; one without `workerLimit`.
    @Test("A slow lookup delays the others only briefly, and threads are limited") func othersHelp()
        async throws
    {
        try await with { lookups, standing in
            let quick = try lookup(in: DiskStore(InMemoryResponseStore()))
            let slow = try lookup(in: standing)
            let found = Atomic(0)
            try await standing.whileStanding {
                #expect(lookups.begin(slow) { _ in })
                await until {
                    _ = lookups.begin(quick) { _ in found.add(1, ordering: .relaxed) }
                    return found.load(ordering: .relaxed) > 0
                }
                // The other workers are kept waiting too, and then none is left.
                for _ in 0..<100 { _ = lookups.begin(slow) { _ in } }
                await until {
                    _ = lookups.begin(slow) { _ in }
                    return standing.operations.count == DiskLookups.workerLimit
                }
                for _ in 0..<10_000 {
                    _ = lookups.begin(slow) { _ in }
                    await Task.yield()
                }
                #expect(standing.operations.count == DiskLookups.workerLimit)
            }
        }
    }

    /// Mutants: `begin` without `waitingLimit`; `returnResults` that leaves one out; a worker that
    /// ends without handing over its results.
    @Test("Accepted lookups get one result each, and no more are accepted than may wait") func answersEach()
        async throws
    {
        try await with { lookups, standing in
            let slow = try lookup(in: standing)
            let answered = Atomic(0)
            var taken = 0
            try await standing.whileStanding {
                while lookups.begin(slow, { _ in answered.add(1, ordering: .relaxed) }) { taken += 1 }
                #expect(taken >= DiskLookups.waitingLimit)
                #expect(taken <= DiskLookups.waitingLimit + DiskLookups.workerLimit)
                #expect(answered.load(ordering: .relaxed) == 0)
            }
            await until { answered.load(ordering: .relaxed) >= taken }
            #expect(answered.load(ordering: .relaxed) == taken)
            #expect(standing.operationsOnLoops == [])
        }
    }
}
