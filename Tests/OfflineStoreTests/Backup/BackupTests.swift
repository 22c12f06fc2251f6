import FaultWorkload
import HTTPCache
import HTTPCacheSemantics
import HoldfastMigrations
import NIOCore
import StoreFiles
import Synchronization
import TestSupport
import Testing

@testable import OfflineStore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A backup is the store at one moment, and appears as a whole or not at all.
@Suite(.timeLimit(.minutes(20))) struct BackupTests {
    let folder: TemporaryFolder
    let clock = ManualClock()
    var database: String { folder.store + "/0001.sqlite" }
    var new: String { folder.path + "/new" }

    init() throws { folder = try TemporaryFolder() }

    /// The length of response `index`'s body: empty, small, or two chunks.
    private static func length(_ index: Int) -> Int { index % 12 == 11 ? 70_000 + index : index % 100 * 37 }

    private func put(_ index: Int, in store: CacheManager, tags: [String] = []) async throws {
        let draft = draft(try cacheKey("/\(index)"), at: clock.now(), tags: tags)
        let stored = try await store.store(draft, [pattern(Self.length(index), seed: UInt64(index))])
        try #require(stored != nil)
    }

    /// Makes a closed store.
    private func fill(_ count: Int = 24) async throws {
        let store = try await openStore(folder.store, clock: clock)
        for index in 0..<count { try await put(index, in: store, tags: index % 4 == 0 ? ["all"] : []) }
        for index in 0..<6 {
            try await store.setObject("value \(index)", forKey: "n\(index)", expiry: .after(.seconds(60)))
        }
        try await store.responses.invalidate(.key(try cacheKey("/1")), keepingForOffline: true, at: clock.now())
        try await store.close()
    }

    /// Returns the indexes of the responses in a store, each with whether it is invalidated, after
    /// comparing their bodies.
    private func contents(_ path: String, count: Int = 24) async throws -> [Int: Bool] {
        let store = try await openReadOnly(path, clock: clock)
        var contents: [Int: Bool] = [:]
        for index in 0..<count {
            guard let response = try await store.responses.lookup(try cacheKey("/\(index)")).first else { continue }
            contents[index] = response.head.isInvalidated
            let body = try await store.responses.openBody(of: response)?.collect(upTo: 1 << 20)
            #expect(body == pattern(Self.length(index), seed: UInt64(index)), "/\(index)")
        }
        try await store.close()
        return contents
    }

    /// Makes a store of a finished copy.
    private func publish(_ copy: DatabaseCopy, _ path: String) throws {
        let content = try copy.finish()
        let store = StoreFolder(path: path)
        try SequenceSidecar(path: store.sidecarPath).write(content.sequence)
        try store.setCurrent(1)
    }

    private func beginCopy(_ path: String) throws -> DatabaseCopy {
        try makeFolder(path)
        return try DatabaseCopy(
            of: database,
            .locks,
            version: Migrations.latestVersion,
            to: StoreFolder(path: path).databasePath(1)
        )
    }

    // MARK: Content

    @Test func copiesEverythingAndChangesNothing() async throws {
        try await fill()
        _ = try NodeFile(StoreFolder(path: folder.store)).make()
        let before = try fingerprint(folder.store) { !$0.hasSuffix("-shm") && !$0.hasSuffix("-wal") }
        let backup = try await CacheManager.backUp(folder.store, to: new)
        #expect(try fingerprint(folder.store) { !$0.hasSuffix("-shm") && !$0.hasSuffix("-wal") } == before)
        #expect(backup.responses == 24 && backup.objects == 6 && backup.hasInvalidations)
        #expect(backup.databaseName == "0001.sqlite" && backup.databaseBytes == fileSize(new + "/0001.sqlite"))
        // Neither an identity in a fleet, nor anything of the copying.
        #expect(TemporaryFolder.names(new) == ["0001.sqlite", "CURRENT", "sequence"])
        #expect(TemporaryFolder.names(folder.path) == ["new", "store"])
        #expect(fileMode(new) == 0o700)
        for name in TemporaryFolder.names(new) { #expect(fileMode(new + "/" + name) == 0o600, "\(name)") }

        #expect(try await CacheManager.verify(at: new, isFull: true).findings == [])
        #expect(DatabaseAudit.findings(new + "/0001.sqlite").isEmpty)
        #expect(try await contents(new) == contents(folder.store))
        let store = try await openStore(new, clock: clock)
        #expect(store.responses.invalidationSequence.number == backup.invalidationSequence)
        #expect(try await store.object(String.self, forKey: "n3") == "value 3")
        try await store.removeResponses(tagged: "all")
        #expect(try await store.responses.lookup(cacheKey("/4")).isEmpty)
        try await put(30, in: store)
        try await store.close()
        #expect(try await CacheManager.verify(at: new, isFull: true).findings.filter { $0.kind != .size } == [])
    }

    @Test func schemaIsThatOfTheStore() async throws {
        try await fill(1)
        _ = try await CacheManager.backUp(folder.store, to: new)
        for query in [
            "PRAGMA user_version", "PRAGMA application_id", "PRAGMA auto_vacuum", "PRAGMA page_size",
            "SELECT count(*) FROM sqlite_master", "SELECT sum(length(sql)) FROM sqlite_master",
        ] {
            #expect(try queryInteger(new + "/0001.sqlite", query) == queryInteger(database, query), "\(query)")
        }
    }

    @Test(arguments: FrozenStoreTests.versions)
    func olderSchemasAreCopiedAndNotMigrated(_ version: Int) async throws {
        let here = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        try copyFolder("/\(here)/Fixtures/stores/schema-\(version)", to: folder.store)
        let backup = try await CacheManager.backUp(folder.store, to: new)
        #expect(backup.schemaVersion == version && backup.responses == 3 && backup.objects == 1)
        #expect(try queryInteger(database, "PRAGMA user_version") == version)
        let findings = try await CacheManager.verify(at: folder.store, isFull: true).findings
        #expect(try await CacheManager.verify(at: new, isFull: true).findings == findings)
        let store = try await openStore(new, clock: clock)
        #expect(try await store.text(of: try cacheKey("/plain")) == "from schema \(version)")
        #expect(try await store.object([String].self, forKey: "names") == ["a", "b"])
        try await store.close()
    }

    @Test func laterDatabaseKeepsItsNumber() async throws {
        let store = try await openStore(folder.store, clock: clock)
        try store.setAsideForTesting()
        try await put(3, in: store)
        let backup = try await CacheManager.backUp(folder.store, to: new)
        #expect(backup.databaseName == "0002.sqlite")
        #expect(TemporaryFolder.names(new) == ["0002.sqlite", "CURRENT", "sequence"])
        #expect(try await Set(contents(new).keys) == [3])
        try await store.close()
    }

    // MARK: While a process writes

    /// One task stores responses in order. After each fifth it invalidates an earlier one. So every
    /// moment has a prefix of them, with the marks that belong to it.
    @Test func liveStoreIsCopiedAsOfOneMoment() async throws {
        let store = try await openStore(folder.store, clock: clock, budget: 1 << 30)
        let load = OrderedLoad(limit: 2000)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for index in 0..<load.limit where !load.isOver.load(ordering: .acquiring) {
                    try await put(index, in: store)
                    if index % 5 == 4 {
                        let key = try cacheKey("/\(index - 3)")
                        try await store.responses.invalidate(.key(key), keepingForOffline: true, at: clock.now())
                    }
                    load.note(index + 1)
                }
            }
            group.addTask {
                defer { load.isOver.store(true, ordering: .releasing) }
                await load.waitUntilItHasBegun()
                for round in 0..<4 {
                    let atLeast = load.count.load(ordering: .acquiring)
                    let path = folder.path + "/backup\(round)"
                    _ = try await CacheManager.backUp(folder.store, to: path)
                    #expect(try await CacheManager.verify(at: path, isFull: true).findings == [])
                    try await checkPrefix(path, atLeast: atLeast, atMost: load.limit)
                }
            }
            try await group.waitForAll()
        }
        try await store.close()
    }

    private func checkPrefix(_ path: String, atLeast: Int, atMost: Int) async throws {
        let found = try await contents(path, count: atMost)
        let count = found.count
        #expect(Set(found.keys) == Set(0..<count) && count >= atLeast, "\(count), and \(atLeast) before")
        for (index, isMarked) in found where index % 5 == 1 {
            // Invalidated after 'index + 3' was stored, and before 'index + 4' was.
            if index + 4 < count { #expect(isMarked, "\(index) of \(count)") }
            if index + 3 >= count { #expect(!isMarked, "\(index) of \(count)") }
        }
        #expect(!found.contains { $0.key % 5 != 1 && $0.value })
    }

    /// Its first chunks are copied before its last ones are there, and its number is lower than
    /// those of bodies that were copied.
    @Test func bodyThatIsFinishedDuringTheBackupIsWhole() async throws {
        let store = try await openStore(folder.store, clock: clock)
        let key = try cacheKey("/late")
        let number = store.responses.invalidationSequence
        let writer = try #require(
            try await store.responses.beginWrite(draft(key, at: clock.now()), fencingNumber: number)
        )
        let body = pattern(7 << 20, seed: 3)
        try await writer.append(try #require(body.getSlice(at: 0, length: 5 << 20)))
        for index in 0..<24 { try await put(index, in: store) }

        let copy = try beginCopy(new)
        #expect(try copy.copyBodies() > 4 << 20)
        try await writer.append(try #require(body.getSlice(at: 5 << 20, length: 2 << 20)))
        #expect(try await writer.finish() != nil)
        try copy.copyEntries()
        try publish(copy, new)
        try await store.close()

        let restored = try await openReadOnly(new, clock: clock)
        let response = try #require(try await restored.responses.lookup(key).first)
        #expect(try await restored.responses.openBody(of: response)?.collect(upTo: 8 << 20) == body)
        try await restored.close()
        #expect(try await contents(new).count == 24)
        #expect(try await CacheManager.verify(at: new, isFull: true).findings == [])
    }

    @Test func bodyThatIsUnfinishedIsLeftOut() async throws {
        let store = try await openStore(folder.store, clock: clock)
        let number = store.responses.invalidationSequence
        let writer = try #require(
            try await store.responses.beginWrite(draft(try cacheKey("/late"), at: clock.now()), fencingNumber: number)
        )
        try await writer.append(pattern(5 << 20))
        try await put(3, in: store)
        let backup = try await CacheManager.backUp(folder.store, to: new)
        await writer.abandon()
        try await store.close()
        #expect(backup.responses == 1 && backup.databaseBytes < 1 << 20)
        #expect(DatabaseAudit.findings(new + "/0001.sqlite").isEmpty)
        #expect(try queryInteger(new + "/0001.sqlite", "SELECT count(*) FROM garbage") == 0)
    }

    @Test func bodyThatIsRemovedDuringTheBackupLeavesNoTrace() async throws {
        let store = try await openStore(folder.store, clock: clock)
        for index in 0..<24 { try await put(index, in: store) }
        let key = try cacheKey("/gone")
        try await store.store(draft(key, at: clock.now()), "a body to be forgotten")
        for index in 24..<48 { try await put(index, in: store) }
        let copy = try beginCopy(new)
        _ = try copy.copyBodies()
        let text = Array("to be forgotten".utf8)
        #expect(try readFile(new + "/0001.sqlite").contains(text))
        try await store.removeResponse(for: key)
        try copy.copyEntries()
        try publish(copy, new)
        try await store.close()
        #expect(try !readFile(new + "/0001.sqlite").contains(text))
        #expect(DatabaseAudit.findings(new + "/0001.sqlite").isEmpty)
        #expect(try await contents(new, count: 48).count == 48)
    }

    /// Otherwise the write-ahead log would grow, and the writer would stop storing.
    @Test func noSnapshotIsHeldBetweenReads() async throws {
        try await fill(2 * Int(DatabaseCopy.chunksPerRead) + 40)
        let copy = try beginCopy(new)
        let limits = try StoreLimits(CacheManager.Configuration())
        var pauses = 0
        _ = try copy.copyBodies {
            pauses += 1
            try DatabaseOpening.withWriter(path: database, limits: limits) { connection in
                try connection.run("UPDATE store SET log_floor = log_floor")
                let isBusy = try connection.integer("PRAGMA wal_checkpoint(TRUNCATE)")
                #expect(isBusy == 0)
            }
        }
        #expect(pauses >= 3)
    }

    /// Sizes are in units of what the snapshot may copy.
    @Test(
        arguments: [
            ([1], 1), ([0, 9], 1), ([100, 10, 1, 50], 3),
            // The writer is as fast as the copy.
            ([10, 10, 5], 2), ([10, 20, 5], 2),
            ([100, 90, 80, 70, 60, 50, 40, 30, 20, 10], BackupRounds.limit),
        ] as [([Int64], Int)]
    )
    func roundsEndWhenLittleIsLeftOrTheWriterIsAsFast(_ sizes: [Int64], _ expected: Int) {
        var rounds = BackupRounds()
        var count = 0
        for size in sizes {
            count += 1
            if !rounds.isAnotherDue(after: size * BackupRounds.enough) { break }
        }
        #expect(count == expected)
    }

    // MARK: Invalidations

    @Test func unknownInvalidationsStayUnknown() async throws {
        try await fill()
        let sidecar = folder.store + "/sequence"
        try SequenceSidecar(path: sidecar).write(999)
        let ahead = try await CacheManager.backUp(folder.store, to: new)
        #expect(!ahead.hasInvalidations)
        #expect(try SequenceSidecar.read(path: new + "/sequence") == 999)
        try StoreFolder(path: folder.store).remove(sidecar)
        let missing = try await CacheManager.backUp(folder.store, to: folder.path + "/other")
        #expect(!missing.hasInvalidations)
        #expect(TemporaryFolder.names(folder.path + "/other") == ["0001.sqlite", "CURRENT"])
        for path in [new, folder.path + "/other"] {
            try await openStore(path, clock: clock).close()
            #expect(try await contents(path).allSatisfy(\.value), "\(path)")
        }
    }

    // MARK: Failures

    private func expectNoBackup(_ names: [String] = ["store"], sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(TemporaryFolder.names(folder.path) == names, sourceLocation: sourceLocation)
    }

    @Test func placesThatAreNotEmptyOrInsideTheStoreAreRejected() async throws {
        try await fill(2)
        try makeFolder(new)
        try writeFile(new + "/photo", [1])
        try writeFile(folder.path + "/file", [1])
        let inside = ["/store/backup", "/store/../store/backup", "/store/a/b"]
        for path in ["/new", "/file", "/store"] + inside {
            let code = await code { _ = try await CacheManager.backUp(folder.store, to: folder.path + path) }
            #expect(code == .invalidConfiguration, "\(path)")
        }
        expectNoBackup(["file", "new", "store"])
        #expect(TemporaryFolder.names(new) == ["photo"])
        #expect(!TemporaryFolder.names(folder.store).contains { $0.contains("unfinished") || $0 == "a" })
        #expect(await code { _ = try await CacheManager.backUp(new, to: folder.path + "/x") } == .notAStore)
        #expect(await code { _ = try await CacheManager.backUp("", to: new) } == .invalidConfiguration)
        let absent = folder.path + "/none"
        let text = await message { _ = try await CacheManager.backUp(absent, to: folder.path + "/x") }
        #expect(text.contains("'\(absent)' is not a store: it does not exist."), "\(text)")
    }

    @Test func emptyFolderBecomesTheBackup() async throws {
        try await fill(2)
        try makeFolder(new)
        _ = try await CacheManager.backUp(folder.store, to: new + "/")
        #expect(TemporaryFolder.names(new) == ["0001.sqlite", "CURRENT", "sequence"])
        expectNoBackup(["new", "store"])
    }

    @Test func interruptedBackupIsRemoved() async throws {
        try await fill(2)
        let unfinished = new + ".unfinished"
        try makeFolder(unfinished)
        for name in ["backup.lock", "copying", "copying-journal", "0001.sqlite", "sequence", "CURRENT.new"] {
            try writeFile(unfinished + "/" + name, [1, 2, 3])
        }
        let events = Mutex<[StoreBackup.Progress]>([])
        let backup = try await CacheManager.backUp(folder.store, to: new) { event in
            events.withLock { $0.append(event) }
        }
        #expect(events.withLock { $0.first } == .removedUnfinished(unfinished))
        #expect(backup.responses == 2)
        expectNoBackup(["new", "store"])
    }

    @Test(arguments: [["photo"], ["backup.lock", "photo"], ["0001.sqlite", "CURRENT", "sequence"], ["copying"]])
    func folderThatNoBackupLeftIsKept(_ names: [String]) async throws {
        try await fill(2)
        let unfinished = new + ".unfinished"
        try makeFolder(unfinished)
        for name in names { try writeFile(unfinished + "/" + name, [1]) }
        let message = await message { _ = try await CacheManager.backUp(folder.store, to: new) }
        #expect(message.contains("'\(unfinished)'") && message.contains("Nothing was changed"))
        #expect(TemporaryFolder.names(unfinished) == names.sorted())
        expectNoBackup(["new.unfinished", "store"])
    }

    @Test func linkInPlaceOfTheUnfinishedFolderIsNotFollowed() async throws {
        try await fill(2)
        let other = folder.path + "/other"
        try makeFolder(other)
        try writeFile(other + "/backup.lock", [1])
        try writeFile(other + "/0001.sqlite", [1])
        try #require(symlink(other, new + ".unfinished") == 0)
        #expect(await code { _ = try await CacheManager.backUp(folder.store, to: new) } == .io)
        #expect(TemporaryFolder.names(other) == ["0001.sqlite", "backup.lock"])
    }

    @Test func secondBackupToTheSameFolderIsRejected() async throws {
        try await fill(2)
        let other = try BackupFolder(for: StoreFolder(path: new))
        let message = await message { _ = try await CacheManager.backUp(folder.store, to: new) }
        #expect(message.contains("'\(new)' is already being made by this process"), "\(message)")
        #expect(TemporaryFolder.names(other.unfinished.path) == ["backup.lock"])
        other.discard()
        #expect(try await CacheManager.backUp(folder.store, to: new).responses == 2)
    }

    @Test func diskWithoutSpaceIsNoticedFirst() async throws {
        try await fill(2)
        let backup = Backup(
            source: StoreFolder(path: folder.store),
            target: StoreFolder(path: new),
            progress: { _ in },
            freeBytes: { _ in 1000 }
        )
        let message = await message { _ = try backup.run() }
        #expect(message.contains("has 1000 free") && message.contains("Nothing was changed"), "\(message)")
        expectNoBackup()
    }

    @Test(arguments: ["replaced", "migrated", "canceled"])
    func changedDatabaseOrCancellationEndsTheBackup(_ change: String) async throws {
        try await fill(2)
        let task = Task {
            try await CacheManager.backUp(folder.store, to: new) { _ in
                let path = database
                switch change {
                case "replaced": _ = rename(path, folder.store + "/moved.sqlite")
                case "migrated": _ = try? runSQL(path, "PRAGMA user_version = 4")
                default: withUnsafeCurrentTask { task in task?.cancel() }
                }
            }
        }
        do {
            _ = try await task.value
            Issue.record("a backup was made")
        } catch let error as StoreError {
            #expect(error.code == .busy && change != "canceled", "\(error)")
        } catch {
            #expect(error is CancellationError && change == "canceled", "\(error)")
        }
        expectNoBackup()
    }

    @Test func damagedDatabaseIsReportedWithTheWayOut() async throws {
        try await fill()
        try writeFile(database, [UInt8](repeating: 0, count: Int(fileSize(database)) - 8192), at: 8192)
        let message = await message { _ = try await CacheManager.backUp(folder.store, to: new) }
        #expect(message.contains("'\(folder.store)' is damaged") && message.contains("cache-dump recover"))
        expectNoBackup()
    }

    @Test func newerSchemaIsRejected() async throws {
        try await fill(2)
        try runSQL(database, "PRAGMA user_version = 99")
        #expect(await code { _ = try await CacheManager.backUp(folder.store, to: new) } == .newerSchema)
        expectNoBackup()
    }
}

/// Responses that one task stores in order.
private final class OrderedLoad: Sendable {
    let limit: Int
    /// How many are stored.
    let count = Atomic(0)
    /// Whether no more are needed.
    let isOver = Atomic(false)
    private let begun: AsyncStream<Void>
    private let begin: AsyncStream<Void>.Continuation

    init(limit: Int) {
        self.limit = limit
        (begun, begin) = AsyncStream.makeStream(of: Void.self)
    }

    func note(_ stored: Int) {
        count.store(stored, ordering: .releasing)
        if stored >= 100 { begin.finish() }
    }

    func waitUntilItHasBegun() async { for await _ in begun {} }
}
