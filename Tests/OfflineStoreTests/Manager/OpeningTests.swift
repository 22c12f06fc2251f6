import HTTPCache
import HTTPCacheSemantics
import HoldfastMigrations
import TestSupport
import Testing

@testable import OfflineStore
@testable import StoreFiles

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

@Suite(.timeLimit(.minutes(20))) struct OpeningTests {
    let folder: TemporaryFolder
    let clock = ManualClock()

    init() throws { folder = try TemporaryFolder() }

    @Test func storeIsCreatedForItsOwnerAlone() async throws {
        let path = folder.path + "/a/b/store"
        let store = try await openStore(path, clock: clock)
        try await store.store(draft(try cacheKey("/x"), at: clock.now()), "x")
        try await store.responses.invalidate(.all, keepingForOffline: true, at: clock.now())
        #expect(fileMode(path) == 0o700)
        let names = TemporaryFolder.names(path)
        #expect(Set(names) == ["0001.sqlite", "0001.sqlite-shm", "0001.sqlite-wal", "CURRENT", "lock", "sequence"])
        for name in names { #expect(fileMode(path + "/" + name) == 0o600, "\(name)") }
        #expect(String(decoding: try readFile(path + "/CURRENT"), as: UTF8.self) == "0001.sqlite\n")
        try await store.close()
        #expect(fileSize(path + "/0001.sqlite-wal") == 0)
    }

    @Test func emptyFolderBecomesAStore() async throws {
        mkdir(folder.store, 0o755)
        let store = try await openStore(folder.store, clock: clock)
        #expect(fileMode(folder.store) == 0o700)
        try await store.close()
    }

    @Test func databaseHasItsPageSizeVacuumModeAndVersions() async throws {
        try await openStore(folder.store, clock: clock).close()
        let path = folder.store + "/0001.sqlite"
        #expect(try queryInteger(path, "PRAGMA page_size") == 8192)
        #expect(try queryInteger(path, "PRAGMA auto_vacuum") == 2)
        #expect(try queryInteger(path, "PRAGMA application_id") == Int64(Migrations.applicationID))
        #expect(try queryInteger(path, "PRAGMA user_version") == Int64(Migrations.latestVersion))
    }

    @Test func storedEntriesSurviveReopening() async throws {
        let key = try cacheKey("/x")
        var secret: [UInt8] = []
        do {
            let store = try await openStore(folder.store, clock: clock)
            try await store.store(draft(key, at: clock.now()), "x")
            try await store.setObject(1, forKey: "n")
            secret = store.credentialSecret
            try await store.close()
        }
        #expect(secret.count >= 32 && Set(secret).count > 8)
        let store = try await openStore(folder.store, clock: clock)
        #expect(try await store.text(of: key) == "x")
        #expect(try await store.object(Int.self, forKey: "n") == 1)
        #expect(store.credentialSecret == secret)
        try await store.close()
    }

    @Test func storeDroppedWithoutClosingReleasesItsFolder() async throws {
        do {
            let store = try await openStore(folder.store, clock: clock)
            try await store.setObject(1, forKey: "n")
        }
        let store = try await openStore(folder.store, clock: clock)
        #expect(try await store.object(Int.self, forKey: "n") == 1)
        try await store.close()
    }

    @Test func closingTwiceSucceedsAndLaterCallsFail() async throws {
        let store = try await openStore(folder.store, clock: clock)
        try await store.close()
        try await store.close()
        #expect(await code { try await store.setObject(1, forKey: "n") } == .closed)
        #expect(await code { _ = try await store.object(Int.self, forKey: "n") } == .closed)
        #expect(await code { _ = try await store.responses.lookup(try cacheKey("/x")) } == .closed)
        #expect(await code { _ = try await store.statistics() } == .closed)
        #expect(await code { try await store.removeAll() } == .closed)
    }

    @Test func secondWriterIsRejectedWithTheHoldersName() async throws {
        let store = try await openStore(folder.store, clock: clock)
        let text = await message { _ = try await openStore(folder.store, clock: clock) }
        #expect(await code { _ = try await openStore(folder.store, clock: clock) } == .inUse)
        #expect(text.contains("\(getpid())") && text.contains("'\(folder.store)'"))
        #expect(text.contains("Close the other one first") && !text.contains("Stop that process"))
        try await store.setObject(1, forKey: "n")
        try await store.close()
        try await openStore(folder.store, clock: clock).close()
    }

    @Test func folderWithOtherFilesIsRejectedUntouched() async throws {
        mkdir(folder.store, 0o755)
        try writeFile(folder.store + "/notes.txt", Array("mine".utf8))
        let before = try fingerprint(folder.store)
        #expect(await code { _ = try await openStore(folder.store, clock: clock) } == .notAStore)
        #expect(await code { _ = try await openReadOnly(folder.store, clock: clock) } == .notAStore)
        #expect(try fingerprint(folder.store) == before)
        #expect(fileMode(folder.store) == 0o755)
    }

    @Test func fileInsteadOfAFolderIsRejectedUntouched() async throws {
        try writeFile(folder.store, Array("a text".utf8))
        #expect(await code { _ = try await openStore(folder.store, clock: clock) } == .notAStore)
        #expect(await message { _ = try await openStore(folder.store, clock: clock) }.contains("'\(folder.store)'"))
        #expect(try readFile(folder.store) == Array("a text".utf8))
    }

    /// For reading, and for writing if the folder may belong to someone else. Mutant: the file is
    /// not named.
    @Test func missingCurrentIsNamedWithItsContent() async throws {
        try await openStore(folder.store, clock: clock).close()
        #expect(unlink(folder.store + "/CURRENT") == 0)
        let words = "'\(folder.store)' is not a store: 'CURRENT' is missing; write '0001.sqlite' to it."
        #expect(await message { _ = try await openReadOnly(folder.store, clock: clock) }.contains(words))
        let backup = folder.path + "/backup"
        #expect(await message { _ = try await CacheManager.backUp(folder.store, to: backup) }.contains(words))
        try writeFile(folder.store + "/notes.txt", Array("mine".utf8))
        #expect(await message { _ = try await openStore(folder.store, clock: clock) }.contains(words))
        try writeFile(folder.store + "/CURRENT", Array("0001.sqlite\n".utf8))
        try await openReadOnly(folder.store, clock: clock).close()
    }

    @Test func fileInAStoreNamesTheStore() async throws {
        try await openStore(folder.store, clock: clock).close()
        let file = folder.store + "/0001.sqlite"
        let text = await message { _ = try await openReadOnly(file, clock: clock) }
        #expect(text.contains("it is a file, not a folder; use its folder, '\(folder.store)'."), "\(text)")
        let configuration = folder.path + "/gateway.yaml"
        try writeFile(configuration, Array("version: 1".utf8))
        let other = await message { _ = try await openReadOnly(configuration, clock: clock) }
        #expect(other.contains("its 'store.path' names the folder"), "\(other)")
    }

    @Test(arguments: ["MANIFEST-000001\n", "../0001.sqlite\n", "", "1.sqlite\n"])
    func invalidCurrentFileIsRejectedUntouched(_ current: String) async throws {
        mkdir(folder.store, 0o700)
        try writeFile(folder.store + "/CURRENT", Array(current.utf8))
        let before = try fingerprint(folder.store)
        #expect(await code { _ = try await openStore(folder.store, clock: clock) } == .notAStore)
        #expect(try fingerprint(folder.store) == before)
    }

    @Test(arguments: [true, false])
    func foreignDatabaseIsRejectedUntouched(_ isNamed: Bool) async throws {
        mkdir(folder.store, 0o700)
        try runSQL(
            folder.store + "/0001.sqlite",
            "PRAGMA application_id = 1; CREATE TABLE t (x); INSERT INTO t VALUES (1)"
        )
        if isNamed { try writeFile(folder.store + "/CURRENT", Array("0001.sqlite\n".utf8)) }
        let before = try fingerprint(folder.store)
        #expect(await code { _ = try await openStore(folder.store, clock: clock) } == .foreignDatabase)
        #expect(try fingerprint(folder.store) == before)
    }

    @Test func fileThatIsNotADatabaseIsRejectedUntouched() async throws {
        mkdir(folder.store, 0o700)
        try writeFile(folder.store + "/0001.sqlite", Array("a letter".utf8))
        let before = try fingerprint(folder.store)
        #expect(await code { _ = try await openStore(folder.store, clock: clock) } == .notAStore)
        #expect(await code { _ = try await openReadOnly(folder.store, clock: clock) } == .notAStore)
        #expect(await message { _ = try await openStore(folder.store, clock: clock) }.contains("0001.sqlite"))
        #expect(try fingerprint(folder.store) == before)
    }

    @Test func newerSchemaIsRejectedUntouched() async throws {
        try await openStore(folder.store, clock: clock).close()
        try runSQL(folder.store + "/0001.sqlite", "PRAGMA user_version = 99; PRAGMA wal_checkpoint(TRUNCATE)")
        let before = try fingerprint(folder.store) { !$0.hasSuffix("-shm") }
        #expect(await code { _ = try await openStore(folder.store, clock: clock) } == .newerSchema)
        #expect(await code { _ = try await openReadOnly(folder.store, clock: clock) } == .newerSchema)
        #expect(await message { _ = try await openStore(folder.store, clock: clock) }.contains("99"))
        #expect(try fingerprint(folder.store) { !$0.hasSuffix("-shm") } == before)
    }

    @Test func newerSchemaInTheLogIsRejected() async throws {
        let store = try await openStore(folder.store, clock: clock)
        try runSQL(folder.store + "/0001.sqlite", "PRAGMA user_version = 99")
        let copy = folder.path + "/copy"
        try copyFolder(folder.store, to: copy)
        try await store.close()
        #expect(await code { _ = try await openStore(copy, clock: clock) } == .newerSchema)
        #expect(await code { _ = try await openReadOnly(copy, clock: clock) } == .newerSchema)
    }

    @Test func folderThatCannotBeCreatedIsAClearError() async throws {
        let path = "/proc/holdfast/store"
        let code = await code { _ = try await openStore(path, clock: clock) }
        #expect(code == .unwritable || code == .io)
        #expect(await message { _ = try await openStore(path, clock: clock) }.contains("'/proc"))
    }

    @Test(.enabled(if: getuid() != 0, "root may write anywhere"))
    func unwritableFolderIsAClearError() async throws {
        mkdir(folder.store, 0o500)
        #expect(await code { _ = try await openStore(folder.store, clock: clock) } == .unwritable)
    }

    @Test func settingsOutOfRangeAreRejected() async throws {
        #expect(
            await code { _ = try await openStore(folder.store, clock: clock, budget: 1000) } == .invalidConfiguration
        )
        #expect(
            await code { _ = try await openStore(folder.store, clock: clock) { $0.readerCount = 0 } }
                == .invalidConfiguration
        )
        #expect(TemporaryFolder.names(folder.path).isEmpty)
    }

    /// Creating a store can be interrupted at any point before `CURRENT` exists.
    @Test func interruptedCreationIsRestarted() async throws {
        mkdir(folder.store, 0o700)
        try writeFile(folder.store + "/lock", [])
        try writeFile(folder.store + "/0001.sqlite", [])
        try writeFile(folder.store + "/CURRENT.new", Array("0001".utf8))
        let store = try await openStore(folder.store, clock: clock)
        try await store.setObject(1, forKey: "n")
        // The empty database never held anything, so nothing is set aside.
        #expect(try await store.statistics().databaseName == "0001.sqlite")
        #expect(try await store.statistics().setAside.isEmpty)
        try await store.close()
    }

    /// A process that may write in the folder may remove the file. A new file of that name is a
    /// different file to the kernel.
    @Test func removedLockFileAdmitsNoSecondWriter() async throws {
        let store = try await openStore(folder.store, clock: clock)
        unlink(folder.store + "/lock")
        #expect(await code { _ = try await openStore(folder.store, clock: clock) } == .inUse)
        unlink(folder.store + "/lock")
        try writeFile(folder.store + "/lock", [])
        #expect(await code { _ = try await openStore(folder.store, clock: clock) } == .inUse)
        try await store.setObject(1, forKey: "n")
        try await store.close()
        let again = try await openStore(folder.store, clock: clock)
        #expect(try await again.object(Int.self, forKey: "n") == 1)
        try await again.close()
    }

    @Test(arguments: [0o777, 0o770, 0o755, 0o1777] as [mode_t])
    func folderOpenToOthersIsRestricted(mode: mode_t) async throws {
        var store = try await openStore(folder.store, clock: clock)
        try await store.setObject(1, forKey: "n")
        try await store.close()
        #expect(chmod(folder.store, mode) == 0)
        store = try await openStore(folder.store, clock: clock)
        #expect(fileMode(folder.store) == 0o700)
        #expect(try await store.object(Int.self, forKey: "n") == 1)
        try await store.close()
    }

    /// This process cannot restrict the folder. It is rejected if every user may write there,
    /// because they could replace the database.
    @Test(arguments: [(0o777, false), (0o757, false), (0o775, true), (0o755, true)] as [(mode_t, Bool)])
    func worldWritableFolderOfAnotherUserIsRejected(mode: mode_t, isTaken: Bool) throws {
        #expect(mkdir(folder.store, mode) == 0 && chmod(folder.store, mode) == 0)
        let status = try #require(try FileStatus(path: folder.store))
        let refused = SystemFailure("restrict the folder", folder.store, number: EPERM)
        let objection = StoreOpening.objection(to: status, of: StoreFolder(path: folder.store), refused)
        #expect((objection == nil) == isTaken)
        guard let error = objection as? StoreError else { return }
        #expect(error.code == .unwritable && error.message.contains("mode 0\(String(mode, radix: 8))"))
        let other = SystemFailure("restrict the folder", folder.store, number: EIO)
        #expect(StoreOpening.objection(to: status, of: StoreFolder(path: folder.store), other) is SystemFailure)
    }

    @Test func lostCurrentFileIsCreatedAgain() async throws {
        let store = try await openStore(folder.store, clock: clock)
        try await store.setObject(1, forKey: "n")
        try await store.close()
        unlink(folder.store + "/CURRENT")
        let again = try await openStore(folder.store, clock: clock)
        #expect(try await again.object(Int.self, forKey: "n") == 1)
        try await again.close()
    }
}

@Suite(.timeLimit(.minutes(20))) struct SchemaTests {
    /// Released steps are frozen. A change of the schema is a new file.
    @Test(arguments: [
        ("V001__store", 10_225_777_037_920_993_147), ("V002__tags", 6_731_857_290_421_569_900),
        ("V003__sweeps", 14_917_343_767_749_325_490), ("V004__causes", 17_495_505_146_469_493_276),
        ("V005__shared", 124_488_745_855_665_868),
    ])
    func releasedStepsDoNotChange(_ name: String, _ checksum: UInt64) throws {
        let step = try #require(Migrations.all.first { $0.name == name })
        #expect(XXHash64.hash(Array(step.sql.utf8)) == checksum)
    }

    @Test func stepsAreNumberedWithoutGaps() {
        #expect(Migrations.all.map(\.version) == Array(1...Int32(Migrations.all.count)))
        #expect(Migrations.all.allSatisfy { $0.name.hasPrefix("V00\($0.version)__") })
    }

    @Test func applicationIdentifierIsFrozen() {
        #expect(Migrations.applicationID == 0x4846_5354)
    }
}
