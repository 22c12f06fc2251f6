import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import NIOCore
import TestSupport
import Testing

@testable import OfflineStore

/// Entries stored while the clock is ahead are not live for the whole difference: one model and
/// every call of the store, for steps of the clock in both directions.
@Suite(.timeLimit(.minutes(20))) struct WrongClockTests {
    /// A stored entry, and what must be true of it.
    private struct Stored {
        let name: String
        let storedAt: Timestamp
        let expiry: Expiry

        var expiresAt: Timestamp { expiry.instant(storedAt: storedAt) }

        func isLive(at now: Timestamp) -> Bool {
            if expiresAt == .distantFuture { return true }
            return now < expiresAt && storedAt.milliseconds - now.milliseconds <= 5000
        }
    }

    let folder: TemporaryFolder
    let clock = ManualClock()

    init() throws { folder = try TemporaryFolder() }

    /// A step in milliseconds, from a moment to years, in both directions, including the tolerance
    /// and its neighbors.
    private static func step(_ random: inout SeededGenerator) -> Int64 {
        let sizes: [Int64] = [1, 1000, 4999, 5000, 5001, 60_000, 3_600_000, 86_400_000, 31_536_000_000]
        let size = sizes[Int.random(in: 0..<sizes.count, using: &random)]
        return Bool.random(using: &random) ? size : -size
    }

    @Test(arguments: [0, 64 << 20], [1, 2, 3] as [UInt64])
    func livenessMatchesTheModel(memory: Int, seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        let store = try await openStore(folder.store, clock: clock) { $0.memoryBudget = memory }
        let reader = try await openReadOnly(folder.store, clock: clock)
        var all: [Stored] = []
        for round in 0..<60 {
            let lifetimes: [Expiry] = [
                .never, .after(.zero), .after(.seconds(3)), .after(.seconds(60)), .after(.seconds(90_000)),
            ]
            let thing = Stored(
                name: "\(round % 20)",
                storedAt: clock.now(),
                expiry: lifetimes[Int.random(in: 0..<lifetimes.count, using: &random)]
            )
            all.removeAll { $0.name == thing.name }
            all.append(thing)
            let key = try cacheKey("/\(thing.name)")
            try await store.setObject(thing.name, forKey: thing.name, expiry: thing.expiry)
            let response = RawResponse(status: .ok, body: ByteBuffer(string: thing.name))
            try await store.setResponse(response, for: key, expiry: thing.expiry)
            clock.advance(by: .milliseconds(Self.step(&random)))
            let now = clock.now()
            let live = all.filter { $0.isLive(at: now) }.map(\.name)
            for door in [store, reader] {
                let names = all.map(\.name)
                let keys = try names.map { try cacheKey("/\($0)") }
                #expect(try await door.objects(String.self, forKeys: names).compactMap(\.self) == live)
                let stored = try await door.storedObjects(String.self, forKeys: names)
                #expect(zip(names, stored).filter { $0.1?.isExpired == false }.map(\.0) == live)
                let responses = try await door.responses(for: keys)
                #expect(zip(names, keys).filter { responses[$0.1] != nil }.map(\.0) == live)
                var listed: Set<String> = []
                for try await entry in door.entries() where !entry.isExpired(at: now) {
                    switch entry.key {
                    case .object(let name): listed.insert(name)
                    case .response(let key): listed.insert(String(key.components.target.path.dropFirst()))
                    case nil: Issue.record("no key")
                    }
                }
                #expect(listed == Set(live))
                for thing in all {
                    let single = try await door.object(String.self, forKey: thing.name)
                    #expect((single != nil) == thing.isLive(at: now), "\(thing) at \(now)")
                    let response = try await door.response(for: try cacheKey("/\(thing.name)"))
                    #expect((response != nil) == thing.isLive(at: now), "\(thing) at \(now)")
                }
            }
            let statistics = try await store.statistics()
            #expect(statistics.expired == 2 * (all.count - live.count), "at \(now)")
        }
        let now = clock.now()
        let summary = try await store.removeExpired(includingOfflineUsable: true)
        let gone = all.filter { !$0.isLive(at: now) }.count
        #expect(summary.objects == gone && summary.responses == gone)
        try await reader.close()
        try await store.close()
    }

    /// The next process has not seen the clock ahead: the newest entries show it.
    @Test func nextProcessCountsAndRemovesEntriesStoredAhead() async throws {
        clock.advance(by: .seconds(86_400))
        var store = try await openStore(folder.store, clock: clock)
        for index in 0..<10 {
            try await store.store(
                draft(try cacheKey("/\(index)"), at: clock.now(), freshFor: .seconds(3600), isUsableStale: false),
                "x"
            )
        }
        try await store.setObject(1, forKey: "never")
        try await store.close()
        clock.advance(by: .seconds(-86_400))
        store = try await openStore(folder.store, clock: clock)
        #expect(try await store.statistics().expired == 10)
        #expect(try await store.removeExpired().responses == 10)
        #expect(try await store.object(Int.self, forKey: "never") == 1)
        try await store.close()
    }

    /// A clock that is set back by a second, as NTP does, makes nothing stale: the origin gets no
    /// request.
    @Test func smallClockCorrectionMakesNothingStale() async throws {
        let store = try await openStore(folder.store, clock: clock)
        for index in 0..<50 { try await store.setObject(index, forKey: "\(index)", expiry: .after(.seconds(60))) }
        let keys = (0..<50).map(String.init)
        for milliseconds in [500, 1000, 5000] {
            clock.advance(by: .milliseconds(-milliseconds))
            #expect(try await store.objects(Int.self, forKeys: keys).allSatisfy { $0 != nil })
            clock.advance(by: .milliseconds(milliseconds))
        }
        clock.advance(by: .milliseconds(-5001))
        #expect(try await store.objects(Int.self, forKeys: keys).allSatisfy { $0 == nil })
        try await store.close()
    }

    /// A 304 that came while the clock was ahead is as far ahead as the response it renewed.
    @Test(arguments: [0, 64 << 20]) func responseFreshenedAheadIsNotLive(memory: Int) async throws {
        let store = try await openStore(folder.store, clock: clock) { $0.memoryBudget = memory }
        let key = try cacheKey("/x")
        let response = try #require(try await store.store(draft(key, at: clock.now()), "x"))
        clock.advance(by: .seconds(86_400))
        var head = response.head
        (head.requestTime, head.responseTime) = (clock.now(), clock.now())
        let fresh = renewed(response, head, at: clock.now().adding(.seconds(60)))
        _ = try await store.responses.freshen(
            response,
            with: fresh,
            fencingNumber: store.responses.invalidationSequence
        )
        #expect(try await store.response(for: key) != nil)
        clock.advance(by: .seconds(-86_400))
        #expect(try await store.response(for: key) == nil)
        #expect(try await store.storedResponse(for: key)?.isExpired == true)
        let entry = try #require(try await store.entries(for: key.components.target).first)
        #expect(entry.isExpired(at: clock.now()))
        try await store.close()
    }

    /// Entries that were stored ahead and are useless offline are evicted before fresh ones,
    /// although their expiry is last.
    @Test(arguments: [[], [.tag("t", bytes: 3_000_000)]] as [[CacheManager.Quota]])
    func evictionRemovesEntriesStoredAheadFirst(_ quotas: [CacheManager.Quota]) async throws {
        let store = try await openStore(folder.store, clock: clock, budget: 8 << 20) {
            $0.evictionOrder = .keepingOfflineCopies
            $0.quotas = quotas
        }
        func put(_ name: String) async throws {
            let draft = draft(
                try cacheKey(name),
                at: clock.now(),
                freshFor: .seconds(1000),
                isUsableStale: false,
                tags: ["t"]
            )
            try await store.store(draft, [pattern(60_000)])
        }
        clock.advance(by: .seconds(86_400))
        for index in 0..<20 { try await put("/ahead-\(index)") }
        clock.advance(by: .seconds(-86_400))
        for index in 0..<40 { try await put("/\(index)") }
        try await store.settle()
        var index = 40
        while try await store.statistics().evictedEntries < 10, index < 300 {
            try await put("/\(index)")
            try await store.settle()
            index += 1
        }
        #expect(index < 300)
        #expect(try await store.responses.lookup(try cacheKey("/0")).count == 1)
        var left = 0
        for index in 0..<20 { left += try await store.responses.lookup(try cacheKey("/ahead-\(index)")).count }
        #expect(left < 20)
        try await store.close()
    }
}
