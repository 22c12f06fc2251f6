import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import NIOCore
import OfflineStore
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(20))) struct ResponseStoreTests {
    let folder: TemporaryFolder
    let clock = ManualClock()

    init() throws { folder = try TemporaryFolder() }

    @Test func findsAStoredResponseWithItsBody() async throws {
        let store = try await openStore(folder.store, clock: clock)
        let key = try cacheKey("/a?x=1")
        #expect(try await store.responses.lookup(key).isEmpty)
        let stored = try #require(try await store.store(draft(key, at: clock.now()), "hello"))
        let found = try await store.responses.lookup(key)
        #expect(found == [stored])
        #expect(found.first?.head.fields[.contentType] == "text/plain")
        #expect(try await store.text(of: key) == "hello")
        #expect(try await store.responses.lookup(try cacheKey("/a?x=2")).isEmpty)
        try await store.close()
    }

    @Test(arguments: SharingBasis.allCases) func keepsWhatSharingRestsOn(_ basis: SharingBasis) async throws {
        let keys = [try cacheKey("/a"), try cacheKey("/a", partition: .principal("alice"))]
        var store = try await openStore(folder.store, clock: clock)
        for key in keys {
            var draft = draft(key, at: clock.now())
            draft.head.sharingBasis = basis
            try await store.store(draft, "hello")
        }
        for _ in 0..<2 {
            try await store.close()
            store = try await openStore(folder.store, clock: clock)
            #expect(try await store.responses.lookup(keys[0]).map(\.head.sharingBasis) == [basis])
            // A principal's response is served to that principal alone, whatever was recorded.
            let own = basis == .unrecorded ? .noCredentials : basis
            #expect(try await store.responses.lookup(keys[1]).map(\.head.sharingBasis) == [own])
        }
        try await store.close()
    }

    @Test func nothingIsVisibleBeforeFinish() async throws {
        let store = try await openStore(folder.store, clock: clock)
        let key = try cacheKey("/slow")
        let writer = try #require(
            try await store.responses.beginWrite(
                draft(key, at: clock.now()),
                fencingNumber: store.responses.invalidationSequence
            )
        )
        try await writer.append(pattern(5 << 20))
        #expect(try await store.responses.lookup(key).isEmpty)
        #expect(try await store.statistics().responses == 0)
        _ = try await writer.finish()
        #expect(try await store.responses.lookup(key).count == 1)
        try await store.close()
    }

    @Test func storesAnEmptyBody() async throws {
        let store = try await openStore(folder.store, clock: clock)
        let key = try cacheKey("/empty")
        let stored = try #require(try await store.store(draft(key, at: clock.now()), []))
        #expect(stored.bodyLength == 0)
        #expect(try await store.text(of: key) == "")
        try await store.close()
    }

    @Test(arguments: [1, 65_535, 65_536, 65_537, 131_072, 4 << 20, (4 << 20) + 1])
    func returnsBodiesOfEveryLengthWhole(_ length: Int) async throws {
        let store = try await openStore(folder.store, clock: clock)
        let key = try cacheKey("/length")
        let body = pattern(length, seed: UInt64(length))
        try await store.store(draft(key, at: clock.now(), expectedLength: StatedLength(clamping: length)), [body])
        let response = try #require(try await store.responses.lookup(key).first)
        let stream = try #require(try await store.responses.openBody(of: response))
        #expect(stream.length == StatedLength(clamping: length))
        #expect(try await stream.collect(upTo: length) == body)
        try await store.close()
    }

    @Test func largeBodyStreamsInAndOutInPieces() async throws {
        let store = try await openStore(folder.store, clock: clock, budget: 256 << 20)
        let key = try cacheKey("/large")
        let piece = pattern(100_000)
        let writer = try #require(
            try await store.responses.beginWrite(
                draft(key, at: clock.now()),
                fencingNumber: store.responses.invalidationSequence
            )
        )
        for _ in 0..<120 { try await writer.append(piece) }
        let stored = try #require(try await writer.finish())
        #expect(stored.bodyLength == 12_000_000)
        var whole = ByteBuffer()
        var largest = 0
        for try await chunk in try #require(try await store.responses.openBody(of: stored)) {
            largest = max(largest, chunk.readableBytes)
            whole.writeImmutableBuffer(chunk)
        }
        #expect(largest == 65_536)
        #expect(whole.readableBytes == 12_000_000)
        for index in 0..<120 { #expect(whole.getSlice(at: index * 100_000, length: 100_000) == piece) }
        try await store.close()
    }

    @Test func newResponseReplacesOnlyItsVariant() async throws {
        let store = try await openStore(folder.store, clock: clock)
        let key = try cacheKey("/vary")
        let now = clock.now()
        let fields: HTTPFields = [.vary: "Accept-Language"]
        try await store.store(draft(key, at: now, fields: fields, selecting: [.acceptLanguage: "de"]), "hallo")
        try await store.store(draft(key, at: now, fields: fields, selecting: [.acceptLanguage: "en"]), "hello")
        let old = try #require(
            try await store.responses.lookup(key).first { $0.head.selectingFields[.acceptLanguage] == "de" }
        )
        try await store.store(draft(key, at: now, fields: fields, selecting: [.acceptLanguage: "de"]), "servus")
        let found = try await store.responses.lookup(key)
        #expect(Set(found.map { $0.head.selectingFields[.acceptLanguage] }) == ["de", "en"])
        let new = try #require(found.first { $0.head.selectingFields[.acceptLanguage] == "de" })
        #expect(new.id != old.id)
        let body = try #require(try await store.responses.openBody(of: new))
        #expect(String(buffer: try await body.collect(upTo: 99)) == "servus")
        try await store.close()
    }

    @Test func variantsOfAKeyAreLimited() async throws {
        let store = try await openStore(folder.store, clock: clock) { $0.maximumVariantsPerKey = 4 }
        let key = try cacheKey("/many")
        for index in 0..<9 {
            try await store.store(
                draft(key, at: clock.now(), fields: [.vary: "Accept"], selecting: [.accept: "\(index)"]),
                "\(index)"
            )
        }
        let found = try await store.responses.lookup(key)
        #expect(Set(found.map { $0.head.selectingFields[.accept] }) == ["5", "6", "7", "8"])
        try await store.close()
    }

    @Test(arguments: [2, 3])
    func fewBodiesAreReadWithTheirHeads(_ count: Int) async throws {
        let store = try await openStore(folder.store, clock: clock) { $0.memoryBudget = 0 }
        let key = try cacheKey("/large")
        for index in 0..<count {
            try await store.store(
                draft(key, at: clock.now(), fields: [.vary: "Accept"], selecting: [.accept: "\(index)"]),
                String(repeating: "\(index)", count: 30_000)
            )
        }
        let found = try await store.responses.lookup(key)
        #expect(found.count == count)
        #expect(found.filter { $0.content?.body != nil }.count == (count == 2 ? 2 : 0), "64 KiB of all variants")
        for response in found {
            let body = try #require(try await store.responses.openBody(of: response))
            let text = String(buffer: try await body.collect(upTo: 30_000))
            #expect(text == String(repeating: response.head.selectingFields[.accept] ?? "", count: 30_000))
        }
        let newest = try #require(try await store.responses(for: [key])[key])
        #expect(newest.body.readableBytes == 30_000)
        try await store.close()
    }

    @Test func partitionsDoNotSeeEachOther() async throws {
        let store = try await openStore(folder.store, clock: clock)
        let alice = try cacheKey("/me", partition: .principal("alice"))
        let bob = try cacheKey("/me", partition: .principal("bob"))
        try await store.store(draft(alice, at: clock.now()), "alice")
        #expect(try await store.text(of: alice) == "alice")
        #expect(try await store.text(of: bob) == nil)
        #expect(try await store.text(of: try cacheKey("/me")) == nil)
        try await store.close()
    }

    @Test func keysWithOneHashAreToldApart() async throws {
        let store = try await openStore(folder.store, clock: clock) { $0.keyHash = { _ in 5 } }
        for name in ["/a", "/b", "/c"] { try await store.store(draft(try cacheKey(name), at: clock.now()), name) }
        try await store.setObject(["o"], forKey: "a")
        try await store.setObject(["p"], forKey: "b")
        for name in ["/a", "/b", "/c"] { #expect(try await store.text(of: try cacheKey(name)) == name) }
        try await store.responses.invalidate(
            .target(try TargetURI("https://api.example/a")),
            keepingForOffline: false,
            at: clock.now()
        )
        try await store.responses.invalidate(.key(try cacheKey("/b")), keepingForOffline: false, at: clock.now())
        #expect(try await store.text(of: try cacheKey("/a")) == nil)
        #expect(try await store.text(of: try cacheKey("/b")) == nil)
        #expect(try await store.text(of: try cacheKey("/c")) == "/c")
        #expect(try await store.object([String].self, forKey: "a") == ["o"])
        #expect(try await store.removeObject(forKey: "a"))
        #expect(try await store.object([String].self, forKey: "b") == ["p"])
        try await store.close()
    }

    @Test func bodyShorterThanAnnouncedIsNotStored() async throws {
        let store = try await openStore(folder.store, clock: clock)
        let key = try cacheKey("/cut")
        #expect(
            await code { _ = try await store.store(draft(key, at: clock.now(), expectedLength: 10), "short") }
                == .incomplete
        )
        #expect(try await store.responses.lookup(key).isEmpty)
        try await store.close()
    }

    /// Mutant: the size of the head is added to the stated length before that is compared.
    @Test(arguments: [2_147_483_648, 9_007_199_254_740_993, .max - 600, .max - 1, .max] as [Int64])
    func anyStatedLengthIsDeclined(_ length: Int64) async throws {
        for quotas: [CacheManager.Quota] in [[], [.everyOrigin(bytes: 40_000)]] {
            let path = folder.store + "-\(quotas.count)"
            let store = try await openStore(path, clock: clock) { $0.quotas = quotas }
            let draft = draft(
                try cacheKey("/huge"),
                at: clock.now(),
                expectedLength: StatedLength(clamping: length)
            )
            let fencingNumber = store.responses.invalidationSequence
            #expect(try await store.responses.beginWrite(draft, fencingNumber: fencingNumber) == nil)
            try await store.close()
        }
    }

    @Test func tooLargeResponsesAreDeclined() async throws {
        let store = try await openStore(folder.store, clock: clock, budget: 8 << 20)
        let key = try cacheKey("/huge")
        #expect(try await store.store(draft(key, at: clock.now(), expectedLength: 1_048_577), []) == nil)
        #expect(
            await code { _ = try await store.store(draft(key, at: clock.now()), [pattern((1 << 20) + 1)]) } == .tooLarge
        )
        #expect(
            await message { try await store.setObject(String(repeating: "x", count: 1 << 20), forKey: "k") }.contains(
                "1048576"
            )
        )
        #expect(try await store.store(draft(key, at: clock.now()), [pattern(1 << 20)]) != nil)
        try await store.close()
    }

    // MARK: Reading back and leases

    @Test func writtenBytesCanBeReadBack() async throws {
        let store = try await openStore(folder.store, clock: clock)
        let body = pattern(5_000_000)
        let writer = try #require(
            try await store.responses.beginWrite(
                draft(try cacheKey("/back"), at: clock.now()),
                fencingNumber: store.responses.invalidationSequence
            )
        )
        func check(_ length: Int) async throws {
            #expect(await writer.readableLength == Int64(length))
            for offset in [0, 1, 65_535, 65_536, 2_097_151, 4_194_304, length - 1] where offset < length {
                let bytes = try await writer.readBack(from: Int64(offset))
                #expect(bytes.readableBytes > 0)
                #expect(bytes == body.getSlice(at: offset, length: bytes.readableBytes))
            }
        }
        try await writer.append(try #require(body.getSlice(at: 0, length: 70_000)))
        try await check(70_000)
        try await writer.append(try #require(body.getSlice(at: 70_000, length: 4_930_000)))
        try await check(5_000_000)
        _ = try await writer.finish()
        try await check(5_000_000)
        try await store.removeAll()
        try await check(5_000_000)
        try await store.close()
    }

    @Test func abandonedBodyIsReadableUntilItsWriterIsReleased() async throws {
        let store = try await openStore(folder.store, clock: clock)
        do {
            let writer = try #require(
                try await store.responses.beginWrite(
                    draft(try cacheKey("/gone"), at: clock.now()),
                    fencingNumber: store.responses.invalidationSequence
                )
            )
            try await writer.append(pattern(5 << 20))
            await writer.abandon()
            #expect(try await writer.readBack(from: 0).readableBytes == 65_536)
            #expect(await code { _ = try await writer.finish() } == .closed)
            try await store.settle()
            #expect(try await store.statistics().unreferencedBodies == 1)
        }
        try await store.settle()
        let statistics = try await store.statistics()
        #expect(statistics.unreferencedBodies == 0)
        #expect(statistics.responses == 0)
        try await store.close()
    }

    @Test(arguments: ["replace", "remove all", "invalidate"])
    func bodyStaysReadableUntilItsStreamIsReleased(_ how: String) async throws {
        let store = try await openStore(folder.store, clock: clock, budget: 32 << 20)
        let key = try cacheKey("/leased")
        let body = pattern(3_000_000)
        let stored = try #require(try await store.store(draft(key, at: clock.now()), [body]))
        do {
            let stream = try #require(try await store.responses.openBody(of: stored))
            var iterator = stream.makeAsyncIterator()
            var whole = try #require(try await iterator.next())
            switch how {
            case "replace": try await store.store(draft(key, at: clock.now()), "new")
            case "remove all": try await store.removeAll()
            default: try await store.responses.invalidate(.all, keepingForOffline: false, at: clock.now())
            }
            try await store.settle()
            while let chunk = try await iterator.next() { whole.writeImmutableBuffer(chunk) }
            #expect(whole == body)
        }
        try await store.settle()
        #expect(try await store.statistics().unreferencedBodies == 0)
        #expect(try await store.responses.openBody(of: stored) == nil)
        try await store.close()
    }

    // MARK: Freshening

    @Test func freshenReplacesTheHeadAndKeepsTheBody() async throws {
        let store = try await openStore(folder.store, clock: clock)
        let key = try cacheKey("/fresh")
        let stored = try #require(try await store.store(draft(key, at: clock.now()), "body"))
        try await store.responses.invalidate(.key(key), keepingForOffline: true, at: clock.now())
        #expect(try await store.responses.lookup(key).first?.head.isInvalidated == true)
        clock.advance(by: .seconds(10))
        var head = stored.head
        head.fields[.eTag] = "\"2\""
        head.responseTime = clock.now()
        let freshened = try #require(
            try await store.responses.freshen(
                stored,
                with: renewed(stored, head, at: clock.now().adding(.seconds(60))),
                fencingNumber: store.responses.invalidationSequence
            )
        )
        #expect(freshened.id == stored.id)
        let found = try await store.responses.lookup(key)
        #expect(found == [freshened])
        #expect(found.first?.head.isInvalidated == false)
        #expect(found.first?.storedAt == stored.storedAt)
        #expect(try await store.text(of: key) == "body")
        try await store.close()
    }

    @Test func removedOrInvalidatedResponsesAreNotFreshened() async throws {
        let store = try await openStore(folder.store, clock: clock)
        let key = try cacheKey("/fresh")
        let old = try #require(try await store.store(draft(key, at: clock.now()), "old"))
        try await store.store(draft(key, at: clock.now()), "new")
        func freshen(_ response: StoredResponse, _ fencingNumber: InvalidationSequence) async throws -> StoredResponse?
        {
            try await store.responses.freshen(
                response,
                with: renewed(response, at: clock.now()),
                fencingNumber: fencingNumber
            )
        }
        #expect(try await freshen(old, store.responses.invalidationSequence) == nil)
        let new = try #require(try await store.responses.lookup(key).first)
        let fencingNumber = store.responses.invalidationSequence
        try await store.responses.invalidate(.key(key), keepingForOffline: true, at: clock.now())
        #expect(try await freshen(new, fencingNumber) == nil)
        #expect(try await store.responses.lookup(key).first?.head.isInvalidated == true)
        try await store.close()
    }

    @Test func concurrentWritersAndReadersAgree() async throws {
        let store = try await openStore(folder.store, clock: clock) { $0.readerCount = 4 }
        let keys = try (0..<8).map { try cacheKey("/stress/\($0)") }
        let now = clock.now()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<8 {
                group.addTask {
                    var generator = SeededGenerator(seed: UInt64(task + 1))
                    for round in 0..<60 {
                        let index = Int.random(in: keys.indices, using: &generator)
                        let length = Int.random(in: 1...200_000, using: &generator)
                        if round % 3 == 0 {
                            try await store.store(draft(keys[index], at: now), [pattern(length, seed: UInt64(length))])
                        } else if round % 17 == 1 {
                            try await store.responses.invalidate(
                                .key(keys[index]),
                                keepingForOffline: round % 2 == 0,
                                at: now
                            )
                        } else {
                            for response in try await store.responses.lookup(keys[index]) {
                                guard let body = try await store.responses.openBody(of: response) else { continue }
                                let bytes = try await body.collect(upTo: 1 << 20)
                                #expect(bytes == pattern(Int(response.bodyLength), seed: UInt64(response.bodyLength)))
                            }
                        }
                        if round % 5 == 0 { try await store.setObject(round, forKey: "n\(index)") }
                        if round % 5 == 1 { _ = try await store.object(Int.self, forKey: "n\(index)") }
                    }
                }
            }
            try await group.waitForAll()
        }
        try await store.settle()
        let statistics = try await store.statistics()
        #expect(statistics.damagedReads == 0)
        #expect(statistics.unreferencedBodies == 0)
        #expect(statistics.setAside.isEmpty)
        try await store.close()
        #expect(
            try queryInteger(
                folder.store + "/0001.sqlite",
                "SELECT count(*) FROM chunk WHERE id >> 16 NOT IN (SELECT body_id FROM entry)"
            ) == 0
        )
    }
}
