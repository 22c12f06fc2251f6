import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Logging
import NIOCore
import NIOPosix
import Synchronization
import Testing

@testable import EventLoops
@testable import HTTPCache
@testable import HoldfastGateway

/// Lookups for a loop.
@Suite(.timeLimit(.minutes(20)))
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
        while !condition(), !Task.isCancelled { await Task.yield() }
    }

    /// Mutants: `addWorker` that starts the first worker only; one without `workerLimit`.
    @Test func slowLookupDelaysOthersOnlyBrieflyOnLimitedThreads() async throws {
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
    @Test func acceptsOnlyAsManyLookupsAsMayWaitWithOneResultEach() async throws {
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

    /// Mutant: `loop-responds-after-each-lookup`.
    @Test(arguments: [(1, 0), (63, 0), (64, 64), (150, 128)])
    func returnsResultsThatTheLoopReadsItselfTogether(count: Int, returnedAtOnce: Int) async throws {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let lookups = DiskLookups(loop)
        var known = try lookup(in: DiskStore(InMemoryResponseStore()))
        known.immediateLookup = { _ in [] }
        let returned = Mutex(0)
        let first = try await loop.submit { [known] in
            for _ in 0..<count { _ = lookups.begin(known) { _ in returned.withLock { $0 += 1 } } }
            return returned.withLock { $0 }
        }.get()
        #expect(first == returnedAtOnce)
        let all = try await loop.submit { returned.withLock { $0 } }.get()
        #expect(all == count)
    }

    /// Clients that ask again as soon as they get a response do not make a round endless.
    @Test func resultsOfTheNextRequestsWait() async throws {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let lookups = DiskLookups(loop)
        var known = try lookup(in: DiskStore(InMemoryResponseStore()))
        known.immediateLookup = { _ in [] }
        let depth = Mutex((now: 0, highest: 0, left: 1000))
        let ended = loop.makePromise(of: Void.self)
        @Sendable func ask(_ lookup: StoredLookup) {
            let isLast = depth.withLock { depth in
                depth.left -= 1
                depth.now += 1
                depth.highest = max(depth.highest, depth.now)
                return depth.left == 0
            }
            if isLast { ended.succeed() }
            if depth.withLock({ $0.left > 0 }) { _ = lookups.begin(lookup) { _ in ask(lookup) } }
            depth.withLock { $0.now -= 1 }
        }
        loop.execute { [known] in for _ in 0..<30 { ask(known) } }
        try await ended.futureResult.get()
        #expect(depth.withLock { $0.highest } <= 2)
    }
}
