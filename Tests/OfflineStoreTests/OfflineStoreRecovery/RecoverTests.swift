import CSQLite
import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import NIOCore
import OfflineStore
import OfflineStoreRecovery
import TestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

@Suite(.timeLimit(.minutes(20))) struct RecoverTests {
    let folder: TemporaryFolder
    let clock = ManualClock()
    var database: String { folder.store + "/0001.sqlite" }
    var new: String { folder.path + "/new" }

    init() throws { folder = try TemporaryFolder() }

    private static let count = 24

    /// The length of entry `index`'s body: empty, small, or two chunks.
    private static func length(_ index: Int) -> Int { index % 12 == 11 ? 70_000 + index : index * 37 }

    /// So long that a page holds few of the rows, and that one of them overflows.
    private static func fields(_ index: Int) -> HTTPFields {
        [.contentType: "text/plain", .server: String(repeating: "s", count: index == 7 ? 20_000 : 1_200)]
    }

    private func fill(_ store: CacheManager, from first: Int = 0, count: Int = RecoverTests.count) async throws {
        for index in first..<first + count {
            let key = try cacheKey("/\(index)", partition: index % 3 == 0 ? .principal("someone") : .common)
            try await store.store(
                draft(
                    key,
                    at: clock.now(),
                    fields: Self.fields(index),
                    tags: index % 4 == 0 ? ["t\(index % 8)", "all"] : []
                ),
                [pattern(Self.length(index), seed: UInt64(index))]
            )
        }
        for index in first..<first + count / 4 {
            try await store.setObject("value \(index)", forKey: "n\(index)", expiry: .after(.seconds(60)))
        }
    }

    /// Makes a closed small store that also held removed and replaced entries.
    private func filled() async throws {
        let store = try await openStore(folder.store, clock: clock)
        // Some of it is removed again: it must not come back.
        try await fill(store, from: 100, count: 20)
        for index in 100..<120 {
            let key = try cacheKey("/\(index)", partition: index % 3 == 0 ? .principal("someone") : .common)
            try await store.removeResponse(for: key)
        }
        for index in 100..<105 { try await store.removeObject(forKey: "n\(index)") }
        try await store.settle()
        try await fill(store)
        try await store.responses.invalidate(.key(try cacheKey("/1")), keepingForOffline: true, at: clock.now())
        let pinned = try #require(try await store.entry(forObjectKey: "n1"))
        #expect(try await store.setPinned(true, pinned))
        try await store.close()
    }

    /// The content of a store: names of entries, each with whether it is invalidated.
    private func contents(_ path: String, bodies: Bool = true) async throws -> [String: Bool] {
        let store = try await openReadOnly(path, clock: clock)
        var contents: [String: Bool] = [:]
        for index in Array(0..<Self.count) + Array(100..<120) {
            let key = try cacheKey("/\(index)", partition: index % 3 == 0 ? .principal("someone") : .common)
            guard let response = try await store.responses.lookup(key).first else { continue }
            contents["/\(index)"] = response.head.isInvalidated
            let body = try await store.responses.openBody(of: response)?.collect(upTo: 1 << 20)
            #expect(body == pattern(Self.length(index), seed: UInt64(index)), "/\(index)")
        }
        for index in Array(0..<Self.count) + Array(100..<120) {
            guard let stored = try await store.storedObject(String.self, forKey: "n\(index)") else { continue }
            #expect(stored.value == "value \(index)" && stored.expiresAt == clock.now().adding(.seconds(60)))
            contents["n\(index)"] = stored.isExpired
        }
        try await store.close()
        return contents
    }

    private var all: Set<String> {
        Set((0..<Self.count).map { "/\($0)" } + (0..<Self.count / 4).map { "n\($0)" })
    }

    private func recover(_ path: String? = nil) async throws -> StoreRecovery {
        TemporaryFolder.remove(new)
        return try await CacheManager.recover(from: path ?? folder.store, to: new)
    }

    @Test func copiesEverythingFromAnIntactStore() async throws {
        try await filled()
        let secret = try await secret(of: folder.store)
        let before = try fingerprint(folder.store)
        let recovery = try await recover()
        #expect(recovery.isComplete && recovery.hasInvalidations)
        #expect(recovery.responses == Self.count && recovery.objects == Self.count / 4)
        #expect(recovery.sources.map(\.name) == ["0001.sqlite"])
        #expect(recovery.sources.map(\.entries) == [Self.count * 5 / 4])
        #expect(try fingerprint(folder.store) == before)
        #expect(Set(TemporaryFolder.names(new)) == ["0002.sqlite", "CURRENT", "sequence"])
        #expect(fileMode(new) == 0o700)
        for name in TemporaryFolder.names(new) { #expect(fileMode(new + "/" + name) == 0o600, "\(name)") }

        let contents = try await contents(new)
        #expect(Set(contents.keys) == all)
        #expect(contents.filter(\.value).keys.sorted() == ["/1"])
        #expect(try await CacheManager.verify(at: new, isFull: true).findings == [])
        let store = try await openStore(new, clock: clock)
        #expect(store.credentialSecret == secret)
        #expect(store.responses.invalidationSequence.number > 0)
        #expect(try await store.entry(forObjectKey: "n1")?.isPinned == true)
        let tagged = try #require(try await store.entries(for: TargetURI("https://api.example/4")).first)
        #expect(try await store.tags(of: tagged) == ["all", "t4"])
        try await store.removeResponses(tagged: "all")
        #expect(try await store.responses.lookup(cacheKey("/4")).isEmpty)
        try await store.store(draft(try cacheKey("/5"), at: clock.now()), "anew")
        #expect(try await store.text(of: try cacheKey("/5")) == "anew")
        try await store.close()
        #expect(try await CacheManager.verify(at: new, isFull: true).findings.filter { $0.kind != .size } == [])
    }

    private func secret(of path: String) async throws -> [UInt8] {
        let store = try await openReadOnly(path, clock: clock)
        let secret = store.credentialSecret
        try await store.close()
        return secret
    }

    /// The keys of the rows on a page, or in their overflow pages.
    private struct Layout {
        /// The table or index that a page is in.
        var owner: [Int: String] = [:]
        /// Pages that hold rows.
        var leaves: Set<Int> = []
    }

    private func layout() throws -> Layout {
        var connection: OpaquePointer?
        guard sqlite3_open_v2(database, &connection, SQLITE_OPEN_READONLY, nil) == SQLITE_OK else {
            throw TestFailure("open")
        }
        defer { sqlite3_close(connection) }
        var statement: OpaquePointer?
        guard
            sqlite3_prepare_v2(connection, "SELECT name, pageno, pagetype FROM dbstat", -1, &statement, nil)
                == SQLITE_OK
        else { throw TestFailure(String(cString: sqlite3_errmsg(connection))) }
        defer { sqlite3_finalize(statement) }
        var layout = Layout()
        while sqlite3_step(statement) == SQLITE_ROW {
            let page = Int(sqlite3_column_int64(statement, 1))
            layout.owner[page] = String(cString: sqlite3_column_text(statement, 0))
            if String(cString: sqlite3_column_text(statement, 2)) != "internal" { layout.leaves.insert(page) }
        }
        return layout
    }

    /// The entries of which a page holds something: rows by their keys, bodies by their beginnings.
    private func names(on page: [UInt8], of owner: String) throws -> Set<String> {
        func holds(_ bytes: some Collection<UInt8>) -> Bool { page.firstRange(of: bytes) != nil }
        var names: Set<String> = []
        for index in 0..<Self.count {
            let key = try cacheKey("/\(index)", partition: index % 3 == 0 ? .principal("someone") : .common)
            let start = pattern(max(1, Self.length(index)), seed: UInt64(index)).readableBytesView.prefix(16)
            if holds(owner == "entry" ? key.bytes[...] : Array(start)[...]) { names.insert("/\(index)") }
        }
        for index in 0..<Self.count / 4
        where holds(owner == "entry" ? Array("n\(index)".utf8) : Array("value \(index)".utf8)) {
            names.insert("n\(index)")
        }
        // Overflow of these is on pages of its own.
        return names.union(owner == "entry" ? ["/7"] : ["/11", "/23"])
    }

    /// The losses that damage to a page of a table may cause: entries with rows or bodies on it,
    /// the names of tags, the secret. Damage to a page of an index, to interior pages, to the
    /// pointer map or to free pages loses nothing. Damage to pages with invalidations, and to the
    /// first page, leaves the invalidations uncertain.
    @Test(arguments: [false, true])
    func damagedPageLosesOnlyItsOwnEntries(_ isRandom: Bool) async throws {
        try await filled()
        let layout = try layout()
        let whole = try readFile(database)
        var generator = SeededGenerator(seed: 11)
        var costly = 0
        for page in 1...whole.count / 8192 {
            let noise = (0..<8192).map { _ in isRandom ? UInt8.random(in: .min ... .max, using: &generator) : 0 }
            try writeFile(database, noise, at: (page - 1) * 8192)
            let recovery = try await recover()
            let contents = try await contents(new)
            let verification = try await CacheManager.verify(at: new, isFull: true)
            #expect(verification.findings == [], "page \(page)")
            try writeFile(database, Array(whole[(page - 1) * 8192..<page * 8192]), at: (page - 1) * 8192)
            #expect(Set(contents.keys).isSubset(of: all), "page \(page)")
            let lost = all.subtracting(contents.keys)
            let owner = layout.owner[page] ?? "free"
            switch owner {
            case "entry", "chunk":
                let mayCost = layout.leaves.contains(page)
                #expect(lost.isEmpty || mayCost, "page \(page) of \(owner)")
                let here = try names(on: Array(whole[(page - 1) * 8192..<page * 8192]), of: owner)
                #expect(
                    lost.isSubset(of: here) && here.count < all.count / 2,
                    "page \(page) of \(owner): \(lost.sorted())"
                )
                #expect(recovery.isComplete == lost.isEmpty, "page \(page) of \(owner): \(lost) \(recovery)")
                #expect(recovery.hasInvalidations)
                costly += lost.isEmpty ? 0 : 1
            case "tag":
                #expect(lost.isEmpty && recovery.lostTags > 0 && !recovery.isComplete, "page \(page)")
            case "store":
                #expect(
                    lost.isEmpty && !recovery.hasCredentialSecret && !recovery.hasInvalidations && !recovery.isComplete
                )
                #expect(contents.values.allSatisfy { $0 })
            case "tag_invalidation", "unsafe_tag_invalidation", "prefix_invalidation", "sqlite_schema":
                #expect(lost.isEmpty && recovery.isComplete && !recovery.hasInvalidations, "page \(page) of \(owner)")
                #expect(contents.values.allSatisfy { $0 })
            default:
                #expect(lost.isEmpty && recovery.isComplete && recovery.hasInvalidations, "page \(page) of \(owner)")
            }
        }
        #expect(costly > 3)
    }

    @Test func flippedBitLosesAtMostTheEntriesOnItsPage() async throws {
        try await filled()
        let layout = try layout()
        let whole = try readFile(database)
        var generator = SeededGenerator(seed: 5)
        for page in 1...whole.count / 8192 {
            let offset = (page - 1) * 8192 + Int.random(in: 100..<8192, using: &generator)
            try writeFile(database, [whole[offset] ^ UInt8(1 << Int.random(in: 0..<8, using: &generator))], at: offset)
            _ = try await recover()
            let contents = try await contents(new)
            try writeFile(database, [whole[offset]], at: offset)
            let lost = all.subtracting(contents.keys)
            #expect(Set(contents.keys).isSubset(of: all), "page \(page)")
            #expect(
                lost.isEmpty || ["entry", "chunk"].contains(layout.owner[page]),
                "page \(page) \(layout.owner[page] ?? "")"
            )
            #expect(lost.count <= 1 || !layout.leaves.contains(page), "page \(page) \(lost)")
        }
    }

    @Test func recoversTheRestOfATruncatedFile() async throws {
        try await filled()
        let whole = try readFile(database)
        var least = all.count
        for pages in (0..<whole.count / 8192).reversed() {
            try writeFile(database, Array(whole[..<(pages * 8192)]))
            let recovery = try await recover()
            let contents = try await contents(new)
            #expect(Set(contents.keys).isSubset(of: all))
            #expect(contents.count <= least, "\(pages) pages")
            least = contents.count
            #expect(recovery.isComplete == false || contents.count == all.count, "\(pages) pages")
        }
        #expect(least == 0)
    }

    @Test func missingSidecarInvalidatesEverything() async throws {
        try await filled()
        #expect(unlink(folder.store + "/sequence") == 0)
        #expect(unlink(folder.store + "/CURRENT") == 0)
        let recovery = try await recover()
        #expect(recovery.isComplete && !recovery.hasInvalidations)
        let contents = try await contents(new)
        #expect(Set(contents.keys) == all && contents.values.allSatisfy { $0 })
    }

    @Test func recoversFromASingleDatabaseFile() async throws {
        try await filled()
        let copy = folder.path + "/some name"
        try writeFile(copy, readFile(database))
        let recovery = try await recover(copy)
        #expect(recovery.isComplete && !recovery.hasInvalidations)
        #expect(Set(TemporaryFolder.names(new)) == ["0001.sqlite", "CURRENT", "sequence"])
        #expect(Set(try await contents(new).keys) == all)
    }

    @Test func databaseInUseWinsOverOthers() async throws {
        let store = try await openStore(folder.store, clock: clock)
        for index in [1, 2] {
            try await store.setObject("value \(index)", forKey: "n\(index)", expiry: .after(.seconds(60)))
        }
        try await store.setObject("old", forKey: "n3")
        try store.setAsideForTesting()
        try await store.setObject("value 3", forKey: "n3", expiry: .after(.seconds(60)))
        try store.setAsideForTesting()
        try await store.setObject("value 4", forKey: "n4", expiry: .after(.seconds(60)))
        try await store.close()
        let recovery = try await recover()
        #expect(recovery.isComplete)
        #expect(recovery.sources.map(\.name) == ["0003.sqlite", "0002.sqlite", "0001.sqlite"])
        #expect(recovery.sources.map(\.entries) == [1, 1, 2])
        #expect(try await contents(new) == ["n1": true, "n2": true, "n3": true, "n4": false])
        #expect(TemporaryFolder.names(new).contains("0004.sqlite"))
    }

    @Test func recoversCommitsInTheLog() async throws {
        let store = try await openStore(folder.store, clock: clock)
        try await fill(store)
        try await store.responses.invalidate(.key(try cacheKey("/1")), keepingForOffline: true, at: clock.now())
        let copy = folder.path + "/copy"
        try copyFolder(folder.store, to: copy)
        try await store.close()
        let log = try readFile(copy + "/0001.sqlite-wal")
        #expect(log.count > 200_000)
        var recovery = try await recover(copy)
        #expect(recovery.isComplete && recovery.hasInvalidations)
        #expect(Set(try await contents(new).keys) == all)
        // A torn tail: earlier commits are recovered, and the sidecar shows that the invalidation
        // at the end is missing.
        try writeFile(copy + "/0001.sqlite-wal", Array(log[..<(log.count - 5_000)]))
        recovery = try await recover(copy)
        #expect(!recovery.hasInvalidations)
        let torn = try await contents(new)
        #expect(Set(torn.keys) == all && torn.values.allSatisfy { $0 })
        // Half of it, then noise.
        let half = log.count / 2
        try writeFile(copy + "/0001.sqlite-wal", Array(log[..<half]) + Array(pattern(50_000).readableBytesView))
        recovery = try await recover(copy)
        let some = try await contents(new)
        #expect(!some.isEmpty && some.count < all.count)
    }

    @Test func recoveryAppliesUnfinishedInvalidations() async throws {
        try await filled()
        try runSQL(
            database,
            """
            UPDATE store SET sequence = 100, response_floor = 0, object_removed = 100;
            UPDATE entry SET sequence = 50;
            INSERT INTO tag_invalidation SELECT id, 0, 60 FROM tag WHERE name = CAST('t0' AS BLOB);
            INSERT INTO tag_invalidation SELECT id, 60, 0 FROM tag WHERE name = CAST('t4' AS BLOB);
            """
        )
        let recovery = try await recover()
        #expect(recovery.isComplete)
        let contents = try await contents(new)
        #expect(Set(contents.filter(\.value).keys.sorted()) == ["/1", "/4", "/12", "/20"])
        #expect(contents["/0"] == nil && contents["/8"] == nil && contents["/16"] == nil)
        #expect(contents["n0"] == nil && contents["/2"] == false)
    }

    @Test func copiesIntactEntriesMarkedAsDamaged() async throws {
        try await filled()
        try runSQL(database, "UPDATE entry SET is_damaged = 1, recency = -1 WHERE kind = 1")
        _ = try await recover()
        #expect(Set(try await contents(new).keys) == all)
    }

    @Test(arguments: ["schema-1", "schema-2", "schema-3", "schema-4"])
    func recoversOlderSchemas(_ name: String) async throws {
        let copy = folder.path + "/copy"
        try copyFolder(
            "/\(#filePath.split(separator: "/").dropLast(3).joined(separator: "/"))/Fixtures/stores/\(name)",
            to: copy
        )
        let recovery = try await recover(copy)
        #expect(recovery.isComplete && recovery.hasInvalidations)
        #expect(recovery.responses == 3 && recovery.objects == 1)
        let store = try await openStore(new, clock: clock)
        #expect(try await store.text(of: try cacheKey("/plain")) == "from schema \(name.suffix(1))")
        #expect(try await store.responses.lookup(cacheKey("/marked")).map(\.head.isInvalidated) == [true])
        #expect(try await store.storedObject([String].self, forKey: "names")?.value == ["a", "b"])
        if name != "schema-1" {
            let tagged = try #require(try await store.entries(for: TargetURI("https://api.example/plain")).first)
            #expect(try await store.tags(of: tagged) == ["a", "b"])
        }
        try await store.close()
    }

    @Test func impossibleRecoveriesAreRejectedWithoutChanges() async throws {
        #expect(await code { _ = try await recover() } == .notAStore)
        #expect(TemporaryFolder.names(folder.path).isEmpty)
        let store = try await openStore(folder.store, clock: clock)
        let inUse = await #expect(throws: StoreError.self) { _ = try await recover() }
        #expect(inUse?.code == .inUse)
        let words = inUse?.message ?? ""
        #expect(words.contains("(pid \(getpid()))") && words.contains("'cache-dump backup'"), "\(words)")
        try await store.close()
        #expect(
            await code { _ = try await CacheManager.recover(from: folder.store, to: folder.store) }
                == .invalidConfiguration
        )
        #expect(
            await code { _ = try await CacheManager.recover(from: folder.store, to: folder.store + "/new") }
                == .invalidConfiguration
        )
        #expect(
            await code { _ = try await CacheManager.recover(from: folder.store, to: folder.path) }
                == .invalidConfiguration
        )
        let header = try readFile(database)
        try writeFile(database, [0x7f], at: 62)
        #expect(await code { _ = try await recover() } == .newerSchema)
        try writeFile(database, [1], at: 68)
        #expect(await code { _ = try await recover() } == .foreignDatabase)
        #expect(TemporaryFolder.names(folder.path) == ["store"])
        try writeFile(database, header)
        let again = try await openStore(folder.store, clock: clock)
        try await again.close()
    }
}
