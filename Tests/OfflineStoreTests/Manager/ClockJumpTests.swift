import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import NIOCore
import OfflineStore
import Synchronization
import TestSupport
import Testing

/// A clock that is set forwards and back by years. No age is negative, nothing is lost, recently
/// used entries stay, and no entry is live for as long as the clock was wrong.
@Suite(.timeLimit(.minutes(20))) struct ClockJumpTests {
    static let year = Duration.seconds(365 * 86_400)

    let folder: TemporaryFolder
    let clock = ManualClock()

    init() throws { folder = try TemporaryFolder() }

    @Test func entriesHaveNoNegativeAgeAndLiveAgainOnceTheClockIsRight() async throws {
        let store = try await openStore(folder.store, clock: clock)
        let key = try cacheKey("/x")
        let response = RawResponse(status: .ok, body: ByteBuffer(string: "x"))
        try await store.setObject(1, forKey: "n", expiry: .after(.seconds(60)))
        try await store.setResponse(response, for: key, expiry: .after(.seconds(60)))

        clock.advance(by: Self.year * 20)
        #expect(try await store.object(Int.self, forKey: "n") == nil)
        #expect(try await store.response(for: key) == nil)
        let old = try #require(try await store.storedObject(Int.self, forKey: "n"))
        #expect(old.isExpired && old.age == Self.year * 20 && old.staleness == Self.year * 20 - .seconds(60))

        clock.advance(by: Self.year * -60)
        let early = try #require(try await store.storedObject(Int.self, forKey: "n"))
        #expect(early.isExpired && early.age == .zero && early.staleness == .zero)
        #expect(try await store.object(Int.self, forKey: "n") == nil)
        let earlyResponse = try #require(try await store.storedResponse(for: key))
        #expect(earlyResponse.isExpired && earlyResponse.age == .zero && earlyResponse.staleness == .zero)
        #expect(try await store.response(for: key) == nil)
        try await store.removeExpired()
        // Stored before 1970, by this clock.
        try await store.setObject(2, forKey: "early", expiry: .after(.seconds(60)))
        #expect(try await store.object(Int.self, forKey: "early") == 2)

        clock.advance(by: Self.year * 40)
        #expect(try await store.object(Int.self, forKey: "n") == 1)
        #expect(try await store.response(for: key) == response)
        #expect(try await store.object(Int.self, forKey: "early") == nil)
        #expect(try await store.storedObject(Int.self, forKey: "early")?.value == 2)
        try await store.close()
    }

    @Test func invalidationsAndOpeningDoNotDependOnTheClock() async throws {
        let key = try cacheKey("/x")
        for jump in [Self.year * 30, Self.year * -70, Self.year * 40] {
            clock.advance(by: jump)
            let store = try await openStore(folder.store, clock: clock)
            let before = store.responses.invalidationSequence
            let fencingNumber = store.responses.invalidationSequence
            try await store.store(draft(key, at: clock.now()), "x")
            try await store.responses.invalidate(.key(key), keepingForOffline: true, at: clock.now())
            #expect(store.responses.invalidationSequence.number == before.number + 1)
            #expect(try await store.responses.lookup(key).map(\.head.isInvalidated) == [true])
            clock.advance(by: jump)
            #expect(try await store.store(draft(key, at: clock.now()), "late", fencingNumber: fencingNumber) == nil)
            #expect(try await store.text(of: key) == "x")
            clock.advance(by: jump * -1)
            try await store.close()
        }
    }

    @Test func evictionOrderIgnoresTheClock() async throws {
        let store = try await openStore(folder.store, clock: clock, budget: 4 << 20)
        // Each a year before the one before it.
        for index in 0..<20 {
            clock.advance(by: Self.year * -1)
            try await store.store(draft(try cacheKey("/\(index)"), at: clock.now()), [pattern(60_000)])
        }
        for index in 0..<5 { #expect(try await store.text(of: try cacheKey("/\(index)")) != nil) }
        var index = 20
        while try await store.statistics().responses == index, index < 200 {
            clock.advance(by: Self.year * (index % 2 == 0 ? 50 : -50))
            try await store.store(draft(try cacheKey("/\(index)"), at: clock.now()), [pattern(60_000)])
            try await store.settle()
            index += 1
        }
        #expect(index < 200)
        #expect(try await store.responses.lookup(try cacheKey("/5")).isEmpty)
        #expect(try await store.responses.lookup(try cacheKey("/0")).count == 1)
        #expect(try await store.responses.lookup(try cacheKey("/\(index - 1)")).count == 1)
        try await store.close()
    }

    /// A clock that jumps at each reading, as a virtual machine's clock may when the machine is
    /// moved.
    private final class WildClock: WallClock {
        private let random = Mutex(SeededGenerator(seed: 1))

        func now() -> Timestamp {
            random.withLock { random in
                Timestamp(seconds: Int64.random(in: -5_000_000_000...50_000_000_000, using: &random))
            }
        }
    }

    @Test func clockJumpsDuringCallsDoNoHarm() async throws {
        var configuration = CacheManager.Configuration(budget: 16 << 20)
        configuration.readerCount = 2
        let clock = WildClock()
        for round in 0..<3 {
            let store = try await CacheManager.open(
                at: folder.store,
                configuration: configuration,
                clock: clock,
                logger: quiet
            )
            #expect(try await store.statistics().objects == (round == 0 ? 0 : 50))
            for index in 0..<50 {
                try await store.setObject(index, forKey: "\(index)", expiry: .after(.seconds(60)))
                let stored = try #require(try await store.storedObject(Int.self, forKey: "\(index)"))
                #expect(stored.value == index && stored.age >= .zero && stored.staleness >= .zero)
            }
            try await store.removeExpired()
            try await store.close()
        }
    }
}
