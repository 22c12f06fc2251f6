import CSQLite
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

@Suite(.timeLimit(.minutes(20))) struct VerifyTests {
    let folder: TemporaryFolder
    let clock = ManualClock()
    var database: String { folder.store + "/0001.sqlite" }

    init() throws { folder = try TemporaryFolder() }

    private func fill(_ store: CacheManager) async throws {
        for index in 0..<40 {
            let tags = index % 2 == 0 ? ["even", "number-\(index)"] : []
            try await store.store(
                draft(try cacheKey("/\(index)"), at: clock.now(), tags: tags),
                [pattern(index * 5_000)]
            )
        }
        try await store.setObject("value", forKey: "n")
        try await store.store(draft(try cacheKey("/large"), at: clock.now()), [pattern(6 << 20)])
        let varying = try cacheKey("/varying")
        for language in ["de", "en"] {
            try await store.store(
                draft(
                    varying,
                    at: clock.now(),
                    fields: [.vary: "Accept-Language"],
                    selecting: [.acceptLanguage: language]
                ),
                language
            )
        }
    }

    /// Makes a closed store with something of every kind.
    private func filled() async throws {
        let store = try await openStore(folder.store, clock: clock, budget: 256 << 20)
        try await fill(store)
        try await store.close()
    }

    private func findings(isFull: Bool = true) async throws -> [String] {
        Set(try await CacheManager.verify(at: folder.store, isFull: isFull).findings.map(\.kind.description)).sorted()
    }

    @Test func intactStoreHasNoFindingsAndIsUnchanged() async throws {
        try await filled()
        let before = try fingerprint(folder.store) { !$0.hasSuffix("-shm") && !$0.hasSuffix("-wal") }
        for isFull in [false, true] {
            let verification = try await CacheManager.verify(at: folder.store, isFull: isFull)
            #expect(verification.findings == [])
            #expect(verification.isWhole && verification.isStructureExamined)
            #expect(verification.entries == 44 && verification.examinedEntries == 44)
            #expect(verification.databaseName == "0001.sqlite" && verification.schemaVersion == 5)
            if isFull { #expect(verification.examinedBytes == 39 * 20 * 5_000 + 6 << 20 + 4 + 7) }
        }
        #expect(try fingerprint(folder.store) { !$0.hasSuffix("-shm") && !$0.hasSuffix("-wal") } == before)
    }

    @Test(arguments: [
        ("UPDATE chunk SET checksum = checksum + 1 WHERE id = (SELECT max(id) FROM chunk)", ["body"]),
        ("UPDATE chunk SET data = zeroblob(65536) WHERE (id & 65535) = 50", ["body"]),
        ("DELETE FROM chunk WHERE (id & 65535) = 51", ["body"]),
        ("UPDATE entry SET head = substr(head, 2) WHERE kind = 1", ["head", "size"]),
        ("UPDATE entry SET head = zeroblob(length(head)) WHERE id = (SELECT min(id) FROM entry)", ["head"]),
        ("UPDATE entry SET size = size + 1 WHERE kind = 1", ["size"]),
        ("UPDATE entry SET key_hash = key_hash + 1 WHERE kind = 1", ["head", "key"]),
        ("UPDATE entry SET target_hash = NULL WHERE id = (SELECT min(id) FROM entry)", ["key"]),
        ("UPDATE entry SET key = x'00' WHERE id = (SELECT min(id) FROM entry)", ["key", "size"]),
        ("UPDATE entry SET kind = 7 WHERE kind = 1", ["row"]),
        ("UPDATE entry SET sequence = 99 WHERE kind = 1", ["row"]),
        ("UPDATE store SET next_id = 5", ["row"]),
        ("INSERT INTO garbage SELECT max(body_id) FROM entry", ["body"]),
        ("DELETE FROM entry WHERE kind = 1", ["orphan"]),
        (
            "INSERT INTO chunk SELECT id + 1, checksum, data FROM chunk WHERE id = (SELECT body_id << 16 FROM entry WHERE kind = 1)",
            ["orphan"]
        ),
        ("DELETE FROM entry_tag WHERE tag_id = (SELECT max(id) FROM tag)", ["size", "tag"]),
        ("DELETE FROM tag WHERE id = 1", ["tag"]),
        ("UPDATE tag SET octets = octets + 1 WHERE id = 1", ["size"]),
        ("UPDATE tag SET name_hash = 1 WHERE id = 1", ["tag"]),
        ("UPDATE entry SET is_damaged = 1, recency = -1 WHERE kind = 1", []),
    ])
    func findsEveryKindOfChange(_ sql: String, _ kinds: [String]) async throws {
        try await filled()
        #expect(try await findings() == [])
        try runSQL(database, sql)
        #expect(try await findings() == kinds)
    }

    @Test func findsADuplicateVariant() async throws {
        try await filled()
        try runSQL(
            database,
            "UPDATE entry SET variant = (SELECT min(variant) FROM entry WHERE length(variant) > 0) WHERE length(variant) > 0"
        )
        #expect(try await findings() == ["duplicate", "key"])
    }

    @Test func findsARowMissingFromAnIndexEitherWay() async throws {
        try await filled()
        // The index is declared for other rows, so that changing these does not change it.
        let schema =
            "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = 'CREATE INDEX entry_by_recency ON entry (recency) WHERE is_pinned = "
        try runSQL(database, schema + "7' WHERE name = 'entry_by_recency'")
        try runSQL(database, "UPDATE entry SET recency = recency + 1000 WHERE id = (SELECT max(id) FROM entry)")
        try runSQL(database, schema + "0' WHERE name = 'entry_by_recency'")
        #expect(try await findings() == ["structure"])
        // Beside a writer, and for a database too large for SQLite's own check, indexes are
        // compared in batches.
        let store = try await openStore(folder.store, clock: clock, budget: 256 << 20)
        let verification = try await CacheManager.verify(at: folder.store, isFull: true, structureLimit: 0)
        #expect(!verification.isStructureExamined)
        #expect(verification.findings.map(\.kind) == [.index])
        try await store.close()
    }

    @Test func quickVerificationFindsRecordedDamage() async throws {
        try await filled()
        try runSQL(database, "UPDATE entry SET is_damaged = 1, recency = -1 WHERE kind = 1")
        #expect(try await findings(isFull: false) == ["known"])
    }

    @Test(arguments: [true, false])
    func examinesTheFolderAndItsFiles(_ isFull: Bool) async throws {
        try await filled()
        #expect(unlink(folder.store + "/sequence") == 0)
        #expect(try await findings(isFull: isFull) == ["sequence"])
        let store = try await openStore(folder.store, clock: clock, budget: 256 << 20)
        try await store.close()
        #expect(try await findings(isFull: isFull) == [])
        try runSQL(database, "UPDATE store SET sequence = 0; UPDATE entry SET sequence = 0")
        #expect(try await findings(isFull: isFull) == ["sequence"])
        #expect(unlink(folder.store + "/CURRENT") == 0)
        #expect(try await findings(isFull: isFull) == ["current", "sequence"])
        #expect(truncate(database, off_t(fileSize(database) - 8192)) == 0)
        #expect(try await findings(isFull: isFull) == ["current", "database"])
        try writeFile(database, [UInt8](repeating: 0, count: 8192), at: 0)
        try writeFile(folder.store + "/CURRENT", Array("0001.sqlite\n".utf8))
        #expect(try await findings(isFull: isFull) == ["database"])
    }

    @Test func findsUnreadablePages() async throws {
        try await filled()
        for page in [3, 4, 5, 40] {
            let before = Array(try readFile(database)[page * 8192..<page * 8192 + 8192])
            try writeFile(database, [UInt8](repeating: 0x5a, count: 8192), at: page * 8192)
            #expect(try await findings().isEmpty == false, "page \(page)")
            try writeFile(database, before, at: page * 8192)
        }
        #expect(try await findings() == [])
    }

    @Test func findingsBeyondTheLimitAreCountedAndNameTheirEntries() async throws {
        try await filled()
        try runSQL(database, "UPDATE entry SET size = size + 1")
        let verification = try await CacheManager.verify(at: folder.store, isFull: true, maximumFindings: 3)
        #expect(verification.findings.count == 3 && verification.findingCount == 44 + 21)
        let finding = try #require(verification.findings.first)
        #expect(finding.redactedURI == "https://api.example/0" && finding.shortID?.count == 16)
    }

    @Test func listsDatabasesThatWereSetAside() async throws {
        let store = try await openStore(folder.store, clock: clock)
        try store.setAsideForTesting()
        try await store.close()
        let verification = try await CacheManager.verify(at: folder.store, isFull: true)
        #expect(verification.isWhole)
        #expect(verification.setAside.map(\.name) == ["0001.sqlite"] && verification.databaseName == "0002.sqlite")
    }

    @Test(arguments: ["schema-1", "schema-2"])
    func olderSchemasHaveNoFindings(_ name: String) async throws {
        let copy = folder.path + "/copy"
        try copyFolder(
            "/\(#filePath.split(separator: "/").dropLast(3).joined(separator: "/"))/Fixtures/stores/" + name,
            to: copy
        )
        let verification = try await CacheManager.verify(at: copy, isFull: true)
        #expect(verification.findings == [])
        #expect(verification.entries == 4)
    }

    @Test func folderWithoutAStoreIsAnError() async throws {
        #expect(await code { _ = try await CacheManager.verify(at: folder.store) } == .notAStore)
        #expect(await code { _ = try await CacheManager.verify(at: folder.path) } == .notAStore)
        #expect(TemporaryFolder.names(folder.path).isEmpty)
    }

    @Test func busyWriterCausesNoFindings() async throws {
        let store = try await openStore(folder.store, clock: clock, budget: 32 << 20)
        let flag = Flag()
        let clock = clock
        try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in 0..<3 {
                group.addTask {
                    var round = 0
                    while !flag.isUp {
                        round += 1
                        flag.count()
                        let key = try cacheKey("/\((worker * 7 + round * 13) % 40)")
                        switch round % 9 {
                        case 0:
                            try await store.responses.invalidate(.key(key), keepingForOffline: false, at: clock.now())
                        case 1: try await store.setObject(round, forKey: "\(round % 5)")
                        case 2: try await store.removeObject(forKey: "\((round + 1) % 5)")
                        case 3: try await store.store(draft(key, at: clock.now()), [pattern(700_000)])
                        case 4 where round % 4 == 0: try await store.removeResponses(tagged: "t\(round % 3)")
                        default:
                            try await store.store(
                                draft(key, at: clock.now(), tags: ["t\(round % 3)", "t\(round % 4)"]),
                                [pattern(round % 100_000)]
                            )
                        }
                    }
                }
            }
            group.addTask {
                defer { flag.raise() }
                var round = 0
                while round < 12 || flag.counted < 400 {
                    round += 1
                    let verification = try await CacheManager.verify(at: store.folder, isFull: round % 4 != 0)
                    #expect(verification.findings == [])
                }
            }
            try await group.waitForAll()
        }
        #expect(try await store.statistics().logBytes < 16 << 20)
        try await store.close()
    }
}

/// A flag for tasks that run beside each other.
private final class Flag: Sendable {
    private let state = Atomic(false)
    private let counter = Atomic(0)

    var isUp: Bool { state.load(ordering: .acquiring) }

    var counted: Int { counter.load(ordering: .relaxed) }

    func count() { counter.add(1, ordering: .relaxed) }
    func raise() { state.store(true, ordering: .releasing) }
}
