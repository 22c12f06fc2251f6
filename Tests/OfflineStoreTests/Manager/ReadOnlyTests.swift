import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import NIOCore
import OfflineStore
import TestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

@Suite(.timeLimit(.minutes(20))) struct ReadOnlyTests {
    let folder: TemporaryFolder
    let clock = ManualClock()

    init() throws { folder = try TemporaryFolder() }

    @Test func newEntriesAreSeenAndNoFileChanges() async throws {
        let writer = try await openStore(folder.store, clock: clock)
        let key = try cacheKey("/x")
        let reader = try await openReadOnly(folder.store, clock: clock)
        #expect(reader.isReadOnly && !writer.isReadOnly)
        #expect(try await reader.text(of: key) == nil)
        try await writer.store(draft(key, at: clock.now()), "x")
        try await writer.setObject(1, forKey: "n")
        #expect(try await reader.text(of: key) == "x")
        #expect(try await reader.object(Int.self, forKey: "n") == 1)
        try await writer.responses.invalidate(.all, keepingForOffline: true, at: clock.now())
        #expect(try await reader.responses.lookup(key).map(\.head.isInvalidated) == [true])
        #expect(reader.responses.invalidationSequence.number == 1)
        try await writer.settle()

        let before = try fingerprint(folder.store) { !$0.hasSuffix("-shm") }
        for try await entry in reader.entries() { _ = try await reader.body(of: entry)?.collect(upTo: 99) }
        _ = try await reader.statistics()
        try await reader.close()
        let another = try await openReadOnly(folder.store, clock: clock)
        #expect(try await another.text(of: key) == "x")
        try await another.close()
        #expect(try fingerprint(folder.store) { !$0.hasSuffix("-shm") } == before)
        try await writer.close()
    }

    @Test func readsAStoreThatNoProcessWrites() async throws {
        let writer = try await openStore(folder.store, clock: clock)
        try await writer.setObject(1, forKey: "n")
        let copy = folder.path + "/copy"
        try copyFolder(folder.store, to: copy)
        try await writer.close()
        for path in [folder.store, copy] {
            let before = try fingerprint(path) { !$0.hasSuffix("-shm") }
            let reader = try await openReadOnly(path, clock: clock)
            #expect(try await reader.object(Int.self, forKey: "n") == 1)
            try await reader.close()
            #expect(try fingerprint(path) { !$0.hasSuffix("-shm") } == before)
        }
    }

    @Test func callsThatWriteAreRejected() async throws {
        let writer = try await openStore(folder.store, clock: clock)
        let stored = try #require(try await writer.store(draft(try cacheKey("/x"), at: clock.now()), "x"))
        let reader = try await openReadOnly(folder.store, clock: clock)
        #expect(await code { try await reader.setObject(1, forKey: "n") } == .readOnly)
        #expect(await code { _ = try await reader.removeObject(forKey: "n") } == .readOnly)
        #expect(await code { try await reader.removeAll() } == .readOnly)
        #expect(await code { _ = try await reader.removeExpired() } == .readOnly)
        #expect(
            await code {
                try await reader.setResponse(RawResponse(status: .ok), for: try cacheKey("/x"), expiry: .never)
            } == .readOnly
        )
        #expect(await code { _ = try await reader.removeResponse(for: try cacheKey("/x")) } == .readOnly)
        // Responses from the engine are not stored, which is no failure.
        let passing = try await reader.store(draft(try cacheKey("/y"), at: clock.now()), "y")
        #expect(passing == nil)
        #expect(
            await code { _ = try await reader.responses.invalidate(.all, keepingForOffline: true, at: clock.now()) }
                == .readOnly
        )
        let freshened = try await reader.responses.freshen(
            stored,
            with: renewed(stored, at: clock.now()),
            fencingNumber: reader.responses.invalidationSequence
        )
        #expect(freshened == nil)
        #expect(await message { try await reader.removeAll() }.contains("'\(folder.store)'"))
        try await reader.close()
        try await writer.close()
    }

    @Test func missingStoreIsAClearError() async throws {
        #expect(await code { _ = try await openReadOnly(folder.store, clock: clock) } == .notAStore)
        #expect(await code { _ = try await openReadOnly(folder.path, clock: clock) } == .notAStore)
        #expect(TemporaryFolder.names(folder.path).isEmpty)
    }

    @Test func readerFollowsToTheNextDatabase() async throws {
        let writer = try await openStore(folder.store, clock: clock)
        try await writer.setObject(1, forKey: "n")
        let reader = try await openReadOnly(folder.store, clock: clock)
        #expect(try await reader.object(Int.self, forKey: "n") == 1)
        try writer.setAsideForTesting()
        try await writer.setObject(2, forKey: "n")
        #expect(try await reader.object(Int.self, forKey: "n") == 2)
        try await reader.close()
        try await writer.close()
    }

    @Test func readerDoesNotHoldTheWritersLog() async throws {
        let writer = try await openStore(folder.store, clock: clock, budget: 32 << 20)
        let reader = try await openReadOnly(folder.store, clock: clock)
        for index in 0..<200 {
            try await writer.store(draft(try cacheKey("/\(index % 10)"), at: clock.now()), [pattern(100_000)])
            let response = try #require(try await reader.responses.lookup(try cacheKey("/\(index % 10)")).first)
            let body = try await reader.responses.openBody(of: response)
            #expect(try await body?.collect(upTo: 100_000).readableBytes == 100_000)
        }
        try await writer.settle()
        #expect(try await writer.statistics().logBytes < 8 << 20)
        try await reader.close()
        try await writer.close()
    }
}
