import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import NIOCore
import OfflineStore
import Synchronization
import TestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Whether a test's writer has ended.
private final class Writing: Sendable {
    let isDone = Atomic(false)
}

@Suite(.timeLimit(.minutes(20))) struct DamageTests {
    let folder: TemporaryFolder
    let clock = ManualClock()
    var database: String { folder.store + "/0001.sqlite" }

    init() throws { folder = try TemporaryFolder() }

    @Test func flippedByteInABodyIsACountedMiss() async throws {
        var store = try await openStore(folder.store, clock: clock)
        let key = try cacheKey("/x")
        try await store.store(draft(key, at: clock.now()), "the body")
        try await store.close()
        try runSQL(database, "UPDATE chunk SET data = CAST('the bodY' AS BLOB)")
        store = try await openStore(folder.store, clock: clock)
        #expect(try await store.text(of: key) == nil)
        #expect(try await store.statistics().damagedReads == 1)
        try await store.store(draft(key, at: clock.now()), "anew")
        #expect(try await store.text(of: key) == "anew")
        try await store.close()
    }

    @Test func damageInALaterChunkMakesTheStreamThrow() async throws {
        var store = try await openStore(folder.store, clock: clock)
        try await store.store(draft(try cacheKey("/x"), at: clock.now()), [pattern(200_000)])
        try await store.close()
        try runSQL(database, "UPDATE chunk SET data = substr(data, 1, 65535) || x'00' WHERE id & 65535 = 2")
        store = try await openStore(folder.store, clock: clock) { $0.memoryBudget = 0 }
        let stored = try #require(try await store.responses.lookup(try cacheKey("/x")).first)
        let stream = try #require(try await store.responses.openBody(of: stored))
        var count = 0
        let code = await code { for try await _ in stream { count += 1 } }
        #expect(code == .damaged && count == 2)
        #expect(try await store.statistics().setAside.isEmpty)
        try await store.close()
    }

    @Test(arguments: [
        "UPDATE chunk SET data = substr(data, 1, 3)", "DELETE FROM chunk",
        "UPDATE entry SET body_length = body_length - 1",
        "UPDATE entry SET head = substr(head, 2)", "UPDATE entry SET head = x''",
        "UPDATE entry SET body_id = body_id + 1",
        "UPDATE chunk SET checksum = checksum + 1",
    ])
    func damagedRowIsAMiss(_ sql: String) async throws {
        var store = try await openStore(folder.store, clock: clock)
        let key = try cacheKey("/x")
        try await store.store(draft(key, at: clock.now()), "the body")
        try await store.setObject("value", forKey: "n")
        try await store.close()
        try runSQL(database, sql)
        store = try await openStore(folder.store, clock: clock)
        #expect(try await store.text(of: key) == nil)
        #expect(try await store.object(String.self, forKey: "n") == nil)
        for try await entry in store.entries() { _ = try await store.body(of: entry) }
        try await store.close()
    }

    @Test(arguments: ["garbage", "empty", "truncated", "zeros", "missing"])
    func damagedDatabaseIsSetAsideAndReplaced(_ how: String) async throws {
        let store = try await openStore(folder.store, clock: clock)
        for index in 0..<50 {
            try await store.store(draft(try cacheKey("/\(index)"), at: clock.now()), [pattern(20_000)])
        }
        try await store.responses.invalidate(.all, keepingForOffline: true, at: clock.now())
        try await store.close()
        let size = Int(fileSize(database))
        switch how {
        case "garbage": try writeFile(database, Array(pattern(size).readableBytesView))
        case "empty": try writeFile(database, [])
        case "truncated": truncate(database, off_t(10_000))
        case "zeros": try writeFile(database, [UInt8](repeating: 0, count: size))
        default: unlink(database)
        }
        let before = how == "missing" ? [] : try readFile(database)
        let again = try await openStore(folder.store, clock: clock)
        let statistics = try await again.statistics()
        #expect(statistics.databaseName == (how == "missing" ? "0001.sqlite" : "0002.sqlite"))
        #expect(statistics.setAside.map(\.name) == (how == "missing" ? [] : ["0001.sqlite"]))
        #expect(statistics.lostDatabases == 1)
        #expect(statistics.responses == 0)
        #expect(again.responses.invalidationSequence.number >= 1)
        if how != "missing" { #expect(try readFile(database) == before) }
        try await again.store(draft(try cacheKey("/x"), at: clock.now()), "x")
        try await again.close()
        let third = try await openStore(folder.store, clock: clock)
        #expect(try await third.text(of: try cacheKey("/x")) == "x")
        try await third.close()
    }

    @Test func databaseDamagedWhileOpenIsSetAsideAndReplaced() async throws {
        let store = try await openStore(folder.store, clock: clock)
        for index in 0..<200 {
            try await store.store(draft(try cacheKey("/\(index)"), at: clock.now()), [pattern(20_000)])
        }
        try await store.close()
        // Every page but the first is noise; the header and the schema are intact.
        let size = Int(fileSize(database))
        try writeFile(database, Array(pattern(size - 16_384 * 4).readableBytesView), at: 16_384 * 4)
        let secretBefore: [UInt8]
        let again = try await openStore(folder.store, clock: clock)
        secretBefore = again.credentialSecret
        var failures = 0
        for index in 0..<200 {
            do {
                _ = try await again.text(of: try cacheKey("/\(index)"))
                try await again.store(draft(try cacheKey("/\(index)"), at: clock.now()), "new")
            } catch {
                #expect((error as? StoreError)?.code == .damaged)
                failures += 1
            }
        }
        let statistics = try await again.statistics()
        if failures > 0 {
            #expect(statistics.setAside.map(\.name) == ["0001.sqlite"])
            #expect(again.credentialSecret == secretBefore)
        }
        #expect(failures < 5)
        #expect(try await again.text(of: try cacheKey("/199")) == "new")
        try await again.close()
    }

    @Test func runningWriterNoticesThatItsDatabaseWasSetAside() async throws {
        let store = try await openStore(folder.store, clock: clock)
        let writer = try #require(
            try await store.responses.beginWrite(
                draft(try cacheKey("/x"), at: clock.now()),
                fencingNumber: store.responses.invalidationSequence
            )
        )
        try await writer.append(pattern(3 << 20))
        let fencingNumber = store.responses.invalidationSequence
        try store.setAsideForTesting()
        #expect(await code { _ = try await writer.finish() } == .damaged)
        #expect(try await store.statistics().databaseName == "0002.sqlite")
        #expect(store.responses.invalidationSequence >= fencingNumber)
        try await store.responses.invalidate(.all, keepingForOffline: true, at: clock.now())
        #expect(try await store.store(draft(try cacheKey("/x"), at: clock.now()), "x") != nil)
        try await store.close()
    }

    /// Mutant: `StoreCore.withDatabase(_:)` throws the error.
    @Test func readsContinueWhileDatabasesAreSetAside() async throws {
        let store = try await openStore(folder.store, clock: clock) { $0.memoryBudget = 0 }
        let key = try cacheKey("/x")
        let clock = clock
        let writing = Writing()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<3 {
                group.addTask {
                    while !writing.isDone.load(ordering: .acquiring) {
                        let _: [Int?] = try await store.objects(forKeys: ["a", "b"])
                        let _: Int? = try await store.object(forKey: "a")
                        _ = try await store.responses.lookup(key)
                        // The writer needs a thread, too.
                        await Task.yield()
                        try Task.checkCancellation()
                    }
                }
            }
            group.addTask {
                defer { writing.isDone.store(true, ordering: .releasing) }
                for round in 0..<12 {
                    // So that reads have something on disk.
                    try await store.setObject(round, forKey: "a")
                    try await store.store(draft(key, at: clock.now()), "x")
                    for _ in 0..<20 { await Task.yield() }
                    try store.setAsideForTesting()
                }
            }
            try await group.waitForAll()
        }
        try await store.close()
    }

    @Test func flippedBitsInTheLogLoseOnlyItsTail() async throws {
        let store = try await openStore(folder.store, clock: clock)
        try await store.store(draft(try cacheKey("/a"), at: clock.now()), "a")
        let length = fileSize(database + "-wal")
        try await store.responses.invalidate(.key(try cacheKey("/a")), keepingForOffline: false, at: clock.now())
        let copy = folder.path + "/copy"
        try copyFolder(folder.store, to: copy)
        try await store.close()
        try writeFile(copy + "/0001.sqlite-wal", [0xff, 0xff], at: Int(length) + 200)
        let crashed = try await openStore(copy, clock: clock)
        // The invalidation was in the tail that SQLite dropped; the sidecar has its number.
        #expect(try await crashed.responses.lookup(try cacheKey("/a")).map(\.head.isInvalidated) == [true])
        #expect(crashed.responses.invalidationSequence.number == 2)
        try await crashed.close()
    }

    // MARK: Recorded damage

    @Test(arguments: ["first", "later", "missing", "head", "object"])
    func damagedEntryIsNotServedAgain(_ what: String) async throws {
        var store = try await openStore(folder.store, clock: clock)
        let key = try cacheKey("/x")
        try await store.store(draft(key, at: clock.now(), tags: ["t"]), [pattern(200_000)])
        try await store.setObject("value", forKey: "n")
        try await store.store(draft(try cacheKey("/whole"), at: clock.now()), "whole")
        let damaged = "SELECT id FROM entry WHERE kind = \(what == "object" ? 1 : 0) ORDER BY id LIMIT 1"
        let change =
            switch what {
            case "head": "UPDATE entry SET head = zeroblob(length(head)) WHERE id = (\(damaged))"
            case "later": "UPDATE chunk SET checksum = 0 WHERE id = (\(damaged)) * 65536 + 2"
            case "missing": "DELETE FROM chunk WHERE id = (\(damaged)) * 65536 + 1"
            default: "UPDATE chunk SET checksum = 0 WHERE id = (\(damaged)) * 65536"
            }
        try await store.close()
        try runSQL(database, change)
        let copy = folder.path + "/copy"
        try copyFolder(folder.store, to: copy)
        store = try await openStore(folder.store, clock: clock)
        let find: (CacheManager) async throws -> Void = { store in
            if what == "object" {
                let value = try await store.object(String.self, forKey: "n")
                #expect(value == nil)
            } else {
                _ = await code { _ = try await store.text(of: key) }
            }
        }
        try await find(store)
        // At once, before anything is written.
        let found = try await store.responses.lookup(key)
        #expect(found.isEmpty == (what != "object"))
        #expect(try await store.statistics().damagedEntries == 1)
        #expect(try await store.statistics().damagedReads >= 1)
        try await store.settle()
        #expect(try queryInteger(database, "SELECT count(*) FROM entry WHERE is_damaged = 1") == 1)
        #expect(try queryInteger(database, "SELECT is_damaged FROM entry WHERE id = (\(damaged))") == 1)
        #expect(try await store.statistics().damagedEntries == 1)
        var states: [Bool] = []
        for try await entry in store.entries() { states.append(entry.isDamaged) }
        #expect(states == (what == "object" ? [false, true, false] : [true, false, false]))
        #expect(try await store.text(of: try cacheKey("/whole")) == "whole")
        try await store.close()

        // And after opening again, without finding it again.
        let again = try await openStore(folder.store, clock: clock)
        #expect(try await again.responses.lookup(key).isEmpty == (what != "object"))
        #expect(try await again.object(String.self, forKey: "n") == (what == "object" ? nil : "value"))
        #expect(try await again.statistics().damagedReads == 0)
        #expect(try await again.statistics().damagedEntries == 1)
        if what == "object" {
            try await again.setObject("new", forKey: "n")
            #expect(try await again.object(String.self, forKey: "n") == "new")
        } else {
            try await again.store(draft(key, at: clock.now()), "new")
            #expect(try await again.text(of: key) == "new")
        }
        #expect(try await again.statistics().damagedEntries == 0)
        try await again.close()

        // A process that reads alone knows it too, and changes nothing.
        let reader = try await openReadOnly(copy, clock: clock)
        try await find(reader)
        #expect(try await reader.responses.lookup(key).isEmpty == (what != "object"))
        #expect(try await reader.object(String.self, forKey: "n") == (what == "object" ? nil : "value"))
        #expect(try await reader.statistics().damagedEntries == 1)
        try await reader.close()
        #expect(try queryInteger(copy + "/0001.sqlite", "SELECT count(*) FROM entry WHERE is_damaged = 1") == 0)
    }

    @Test func damagedPinnedEntryIsCountedAndItsReplacementPinned() async throws {
        var store = try await openStore(folder.store, clock: clock)
        for name in ["a", "b", "c"] { try await store.setObject(name, forKey: name) }
        let entry = try #require(try await store.entry(forObjectKey: "b"))
        #expect(try await store.setPinned(true, entry))
        try await store.close()
        try runSQL(database, "UPDATE chunk SET checksum = 0 WHERE id / 65536 = \(entry.id)")
        store = try await openStore(folder.store, clock: clock)
        #expect(try await store.object(String.self, forKey: "b") == nil)
        try await store.settle()
        #expect(try await store.statistics().damagedEntries == 1)
        // Uses that were recorded before do not make it recent again.
        for name in ["a", "b", "c"] { _ = try await store.object(String.self, forKey: name) }
        try await store.close()
        let again = try await openStore(folder.store, clock: clock)
        #expect(try await again.statistics().damagedEntries == 1)
        #expect(try await again.entry(forObjectKey: "b")?.isDamaged == true)
        try await again.setObject("b", forKey: "b")
        #expect(try await again.entry(forObjectKey: "b")?.isPinned == true)
        #expect(try await again.entry(forObjectKey: "b")?.isDamaged == false)
        #expect(try await again.removeObject(forKey: "b"))
        try await again.close()
    }

    @Test func damagedVariantDoesNotAffectOthers() async throws {
        var store = try await openStore(folder.store, clock: clock)
        let key = try cacheKey("/x")
        for language in ["de", "en"] {
            try await store.store(
                draft(key, at: clock.now(), fields: [.vary: "Accept-Language"], selecting: [.acceptLanguage: language]),
                language
            )
        }
        try await store.close()
        try runSQL(database, "UPDATE chunk SET checksum = 0 WHERE id = (SELECT min(id) FROM chunk)")
        store = try await openStore(folder.store, clock: clock)
        for response in try await store.responses.lookup(key) { _ = try await store.responses.openBody(of: response) }
        let rest = try await store.responses.lookup(key)
        #expect(rest.map { $0.head.selectingFields[.acceptLanguage] } == ["en"])
        #expect(try await store.text(of: key) == "en")
        let removed = try await store.removeResponse(for: key)
        #expect(removed)
        #expect(try await store.statistics().damagedEntries == 0)
        try await store.close()
    }

    @Test(arguments: ["schema-1", "schema-2"])
    func readingProcessRemembersDamageInOlderSchemas(_ name: String) async throws {
        let copy = folder.path + "/copy"
        try copyFolder(
            "/\(#filePath.split(separator: "/").dropLast(3).joined(separator: "/"))/Fixtures/stores/\(name)",
            to: copy
        )
        try runSQL(copy + "/0001.sqlite", "UPDATE chunk SET checksum = 0 WHERE id & 65535 = 1")
        let reader = try await openReadOnly(copy, clock: clock)
        let key = try cacheKey("/large")
        #expect(await code { _ = try await reader.text(of: key) } == .damaged)
        #expect(try await reader.responses.lookup(key).isEmpty)
        #expect(try await reader.statistics().damagedEntries == 1)
        try await reader.close()
    }
}
