import Foundation
import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics
import Logging
import OfflineStore
import TestSupport
import Testing

/// A store that is deleted or replaced while a process has it open.
@Suite(.timeLimit(.minutes(20))) struct DeletedStoreTests {
    private let folder: TemporaryFolder
    private let clock = ManualClock()
    private let log = CapturedLog()

    init() throws { folder = try TemporaryFolder() }

    private func with(_ body: (CacheManager) async throws -> Void) async throws {
        let store = try await CacheManager.open(at: folder.store, clock: clock, logger: log.logger(.error))
        try await store.store(draft(try cacheKey("/old"), at: clock.now()), "old")
        try await store.settle()
        try await body(store)
        try await store.close()
    }

    /// The store works, and everything in it is durable: another opening finds it.
    private func expectNew(_ store: CacheManager, named name: String, secret: [UInt8], after sequence: Int64)
        async throws
    {
        let (database, old) = try await (store.statistics().databaseName, store.text(of: cacheKey("/old")))
        #expect(database == name && old == nil)
        #expect(store.credentialSecret == secret && store.responses.invalidationSequence.number >= sequence)
        try await store.store(draft(try cacheKey("/new"), at: clock.now()), "new")
        let new = try await store.text(of: cacheKey("/new"))
        #expect(new == "new")
        let attributes = try FileManager.default.attributesOfItem(atPath: folder.store)
        #expect(attributes[.posixPermissions] as? Int == 0o700)
        // No other process can write.
        let inUse = await code { _ = try await openStore(folder.store, clock: clock) }
        #expect(inUse == .inUse)
        try await store.close()
        let again = try await openStore(folder.store, clock: clock)
        let kept = try await again.text(of: cacheKey("/new"))
        #expect(kept == "new" && again.credentialSecret == secret)
        #expect(again.responses.invalidationSequence.number >= sequence)
        try await again.close()
    }

    /// Mutants: the database is not compared; its number is used again; the sequence begins anew.
    @Test(arguments: ["database", "everything in the folder", "folder", "folder, and an empty one is there"])
    func deletedStoreIsMadeAnew(_ what: String) async throws {
        try await with { store in
            try await store.responses.invalidate(.all, keepingForOffline: true, at: clock.now())
            let (secret, sequence) = (store.credentialSecret, store.responses.invalidationSequence.number)
            switch what {
            case "database": try FileManager.default.removeItem(atPath: folder.store + "/0001.sqlite")
            case "everything in the folder":
                for name in try FileManager.default.contentsOfDirectory(atPath: folder.store) {
                    try FileManager.default.removeItem(atPath: folder.store + "/" + name)
                }
            default: try FileManager.default.removeItem(atPath: folder.store)
            }
            if what.hasSuffix("is there") {
                try FileManager.default.createDirectory(atPath: folder.store, withIntermediateDirectories: false)
                chmod(folder.store, 0o700)
            }
            await store.checkFiles()
            #expect(log.lines.count == 1 && log.lines[0].contains("deleted"), "\(log.lines)")
            let lost = try await store.statistics().lostDatabases
            #expect(lost == 1)
            try await expectNew(store, named: "0002.sqlite", secret: secret, after: sequence)
        }
    }

    /// Mutant: a folder with content is written to.
    @Test func folderWithContentIsLeftAloneAndReportedOnce() async throws {
        try await with { store in
            let moved = folder.store + ".moved"
            try FileManager.default.moveItem(atPath: folder.store, toPath: moved)
            try FileManager.default.createDirectory(atPath: folder.store, withIntermediateDirectories: false)
            try Data("notes".utf8).write(to: URL(fileURLWithPath: folder.store + "/notes.txt"))
            for _ in 0..<3 { await store.checkFiles() }
            #expect(log.lines.count == 1 && log.lines[0].contains("restart to use it"), "\(log.lines)")
            let names = try FileManager.default.contentsOfDirectory(atPath: folder.store)
            #expect(names == ["notes.txt"])
            // The moved store stays in use.
            let old = try await store.text(of: cacheKey("/old"))
            #expect(old == "old")
            try FileManager.default.removeItem(atPath: folder.store)
            try FileManager.default.moveItem(atPath: moved, toPath: folder.store)
            await store.checkFiles()
            let name = try await store.statistics().databaseName
            #expect(name == "0001.sqlite" && log.lines.count == 1)
        }
    }

    /// Mutants: the other store is not locked; it stays locked when it is gone.
    @Test func storeAtTheSamePathIsLocked() async throws {
        let other = folder.store + ".other"
        try await openStore(other, clock: clock).close()
        try await with { store in
            let moved = folder.store + ".moved"
            try FileManager.default.moveItem(atPath: folder.store, toPath: moved)
            try FileManager.default.moveItem(atPath: other, toPath: folder.store)
            for _ in 0..<3 { await store.checkFiles() }
            let inUse = await code { _ = try await openStore(folder.store, clock: clock) }
            let (condition, old) = try await (store.storeCondition(), store.text(of: cacheKey("/old")))
            #expect(inUse == .inUse && condition == .replaced && old == "old")
            try FileManager.default.moveItem(atPath: folder.store, toPath: other)
            try FileManager.default.moveItem(atPath: moved, toPath: folder.store)
            await store.checkFiles()
            let again = await store.storeCondition()
            #expect(again == .usable && log.lines.count == 1)
            try await openStore(other, clock: clock).close()
        }
    }

    /// Another process that already uses the other store keeps it.
    @Test func storeOfAnotherProcessIsLeftAlone() async throws {
        let path = folder.store + ".other"
        let other = try await openStore(path, clock: clock)
        try await with { store in
            try FileManager.default.moveItem(atPath: folder.store, toPath: folder.store + ".moved")
            try FileManager.default.moveItem(atPath: path, toPath: folder.store)
            for _ in 0..<3 { await store.checkFiles() }
            #expect(log.lines.count == 1)
            try await other.close()
            await store.checkFiles()
            let inUse = await code { _ = try await openStore(folder.store, clock: clock) }
            #expect(inUse == .inUse)
        }
        try await openStore(folder.store, clock: clock).close()
    }

    @Test func unchangedStoreStaysInUse() async throws {
        try await with { store in
            for _ in 0..<3 { await store.checkFiles() }
            let (name, old) = try await (store.statistics().databaseName, store.text(of: cacheKey("/old")))
            #expect(name == "0001.sqlite" && old == "old" && log.lines.isEmpty)
        }
    }

    /// Thirty tasks read and write while the folder is deleted; each response is what was stored.
    @Test func deletionUnderLoadServesNothingWrong() async throws {
        try await with { store in
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for number in 0..<30 {
                    tasks.addTask {
                        for round in 0..<20 {
                            let key = try cacheKey("/\(number)")
                            // A write may fail while the store is renewed.
                            _ = try? await store.store(draft(key, at: clock.now()), "\(number)-\(round)")
                            let text = try? await store.text(of: key)
                            #expect(text?.hasPrefix("\(number)-") ?? true)
                        }
                    }
                }
                tasks.addTask {
                    try FileManager.default.removeItem(atPath: folder.store)
                    await store.checkFiles()
                }
                try await tasks.waitForAll()
            }
            await store.checkFiles()
            try await store.store(draft(try cacheKey("/new"), at: clock.now()), "new")
            let new = try await store.text(of: cacheKey("/new"))
            #expect(new == "new")
        }
    }
}
