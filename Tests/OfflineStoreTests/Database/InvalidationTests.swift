import HTTPCache
import HTTPCacheSemantics
import OfflineStore
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(20))) struct InvalidationTests {
    let folder: TemporaryFolder
    let clock = ManualClock()

    init() throws { folder = try TemporaryFolder() }

    private func scopes() throws -> [InvalidationScope] {
        [.all, .key(try cacheKey("/x")), .target(try TargetURI("https://api.example/x"))]
    }

    @Test func invalidationDuringAFillWins() async throws {
        let store = try await openStore(folder.store, clock: clock)
        for scope in try scopes() {
            for keeping in [true, false] {
                let fencingNumber = store.responses.invalidationSequence
                try await store.responses.invalidate(scope, keepingForOffline: keeping, at: clock.now())
                #expect(store.responses.invalidationSequence > fencingNumber)
                #expect(
                    try await store.store(
                        draft(try cacheKey("/x"), at: clock.now()),
                        "old",
                        fencingNumber: fencingNumber
                    ) == nil
                )
            }
        }
        #expect(try await store.responses.lookup(try cacheKey("/x")).isEmpty)
        #expect(try await store.store(draft(try cacheKey("/x"), at: clock.now()), "new") != nil)
        try await store.close()
    }

    @Test func rejectedLargeFillIsSweptOnceItsWriterIsReleased() async throws {
        let store = try await openStore(folder.store, clock: clock)
        let fencingNumber = store.responses.invalidationSequence
        try await store.responses.invalidate(.all, keepingForOffline: true, at: clock.now())
        #expect(
            try await store.store(
                draft(try cacheKey("/x"), at: clock.now()),
                [pattern(5 << 20)],
                fencingNumber: fencingNumber
            ) == nil
        )
        try await store.settle()
        #expect(try await store.statistics().unreferencedBodies == 0)
        try await store.close()
    }

    @Test func invalidationOfOtherTargetsDoesNotAffectAFill() async throws {
        let store = try await openStore(folder.store, clock: clock)
        let fencingNumber = store.responses.invalidationSequence
        try await store.responses.invalidate(.key(try cacheKey("/y")), keepingForOffline: false, at: clock.now())
        try await store.responses.invalidate(
            .target(try TargetURI("https://api.example/z")),
            keepingForOffline: false,
            at: clock.now()
        )
        #expect(
            try await store.store(draft(try cacheKey("/x"), at: clock.now()), "x", fencingNumber: fencingNumber) != nil
        )
        try await store.close()
    }

    @Test func fenceOlderThanTheLogRejectsTheFill() async throws {
        let store = try await openStore(folder.store, clock: clock) { $0.invalidationLogLength = 16 }
        let fencingNumber = store.responses.invalidationSequence
        for index in 0..<20 {
            try await store.responses.invalidate(
                .key(try cacheKey("/other\(index)")),
                keepingForOffline: false,
                at: clock.now()
            )
        }
        #expect(
            try await store.store(draft(try cacheKey("/x"), at: clock.now()), "x", fencingNumber: fencingNumber) == nil
        )
        #expect(try await store.store(draft(try cacheKey("/x"), at: clock.now()), "x") != nil)
        try await store.close()
        #expect(try queryInteger(folder.store + "/0001.sqlite", "SELECT count(*) FROM invalidation") == 16)
    }

    @Test func targetIsInvalidatedInAllPartitions() async throws {
        let store = try await openStore(folder.store, clock: clock)
        let keys = [
            try cacheKey("/x"), try cacheKey("/x", partition: .principal("alice")),
            try cacheKey("/x", partition: .credentials([1, 2])),
        ]
        for key in keys { try await store.store(draft(key, at: clock.now()), "x") }
        try await store.store(draft(try cacheKey("/x?y"), at: clock.now()), "other")
        try await store.responses.invalidate(
            .target(try TargetURI("https://api.example/x")),
            keepingForOffline: true,
            at: clock.now()
        )
        for key in keys {
            #expect(try await store.responses.lookup(key).map(\.head.isInvalidated) == [true])
            #expect(try await store.text(of: key) == "x")
        }
        #expect(try await store.responses.lookup(try cacheKey("/x?y")).map(\.head.isInvalidated) == [false])
        try await store.responses.invalidate(
            .target(try TargetURI("https://api.example/x")),
            keepingForOffline: false,
            at: clock.now()
        )
        for key in keys { #expect(try await store.responses.lookup(key).isEmpty) }
        try await store.close()
    }

    @Test func invalidatingAllMarksResponsesAndLeavesObjects() async throws {
        let store = try await openStore(folder.store, clock: clock)
        for index in 0..<5 { try await store.store(draft(try cacheKey("/\(index)"), at: clock.now()), "x") }
        try await store.setObject(1, forKey: "n")
        try await store.responses.invalidate(.all, keepingForOffline: true, at: clock.now())
        try await store.store(draft(try cacheKey("/new"), at: clock.now()), "x")
        #expect(try await store.statistics().invalidated == 5)
        #expect(try await store.object(Int.self, forKey: "n") == 1)
        #expect(try await store.responses.lookup(try cacheKey("/new")).map(\.head.isInvalidated) == [false])
        #expect(try await store.responses.lookup(try cacheKey("/3")).map(\.head.isInvalidated) == [true])
        try await store.close()
        let again = try await openStore(folder.store, clock: clock)
        #expect(try await again.statistics().invalidated == 5)
        try await again.close()
    }

    @Test func sequenceGrowsAcrossRestarts() async throws {
        var last = InvalidationSequence(0)
        for _ in 0..<3 {
            let store = try await openStore(folder.store, clock: clock)
            #expect(store.responses.invalidationSequence == last)
            last = try await store.responses.invalidate(.all, keepingForOffline: true, at: clock.now())
            #expect(store.responses.invalidationSequence == last)
            try await store.close()
        }
        #expect(last.number == 3)
    }
}
