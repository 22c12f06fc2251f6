import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import NIOCore
import OfflineStoreRecovery
import Synchronization
import TestSupport
import Testing

@testable import OfflineStore
@testable import StoreFiles

/// Removing everything of one principal, and all objects whose keys begin with a prefix.
@Suite(.timeLimit(.minutes(20))) struct PrincipalRemovalTests {
    let folder: TemporaryFolder
    let clock = ManualClock()
    var path: String { folder.store + "/0001.sqlite" }
    private static let digest = [UInt8](repeating: 7, count: 32)
    /// Not hers, although some look alike.
    private static let others: [StoreKey.Partition] = [
        .common, .principal("bob"), .principal("ada2"), .principal("ad"), .principal("Ada"), .credentials(digest),
        .credentials(digest, of: "bob"),
    ]

    init() throws { folder = try TemporaryFolder() }

    private func count(_ rest: String) throws -> Int64 { try queryInteger(path, "SELECT count(*) FROM \(rest)") }

    private func hex(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    /// The owners of all stored responses, and the keys of all objects.
    private func stored(_ store: CacheManager) async throws -> (owners: [String?], objects: Set<String>) {
        var (owners, objects): ([String?], Set<String>) = ([], [])
        for try await entry in store.entries() {
            switch entry.key {
            case .response(let key): owners.append(KeyOwner(key)?.name)
            case .object(let key): objects.insert(key)
            default: owners.append("unreadable")
            }
        }
        return (owners, objects)
    }

    private func put(_ path: String, _ partition: StoreKey.Partition, _ store: CacheManager) async throws {
        try await store.store(draft(try cacheKey(path, partition: partition), at: clock.now()), "x")
    }

    private func isThere(_ path: String, _ partition: StoreKey.Partition, _ store: CacheManager) async throws -> Bool {
        try await !store.responses.lookup(try cacheKey(path, partition: partition)).isEmpty
    }

    // MARK: Responses

    @Test func removesEverythingOfOnePrincipalAndNothingElse() async throws {
        let store = try await openStore(folder.store, clock: clock, budget: 256 << 20)
        let hers: [StoreKey.Partition] = [.principal("ada"), .credentials(Self.digest, of: "ada")]
        for partition in hers + Self.others {
            for path in ["/fresh", "/pinned", "/stale", "/large"] {
                var draft = draft(try cacheKey(path, partition: partition), at: clock.now(), tags: ["t"])
                draft.isPinned = path == "/pinned"
                if path == "/stale" { draft.freshUntil = clock.now() }
                try await store.store(draft, [pattern(path == "/large" ? 5 << 20 : 100)])
            }
            let key = try cacheKey("/variants", partition: partition)
            for language in ["en", "de"] {
                let draft = draft(
                    key,
                    at: clock.now(),
                    fields: [.vary: "accept-language"],
                    selecting: [.acceptLanguage: language]
                )
                try await store.store(draft, language)
            }
            let target = try TargetURI("https://api.example/posted")
            let content = StoreKey.Content(type: nil, coding: nil, sha256: Self.digest)
            let posted = StoreKey(partition: partition, method: .post, target: target, content: content)
            try await store.store(draft(posted, at: clock.now()), "x")
            // So that it is in memory.
            for path in ["/fresh", "/variants"] { _ = try await isThere(path, partition, store) }
        }
        try await store.setObject(1, forKey: "ada/1")
        try await store.removeResponses(of: "ada")
        let owners = try await stored(store).owners
        #expect(owners.count == Self.others.count * 7 && !owners.contains("ada"))
        for partition in hers {
            for path in ["/fresh", "/pinned", "/stale", "/large", "/variants"] {
                #expect(try await !isThere(path, partition, store))
                #expect(store.responses.resident(try cacheKey(path, partition: partition)) ?? [] == [])
            }
        }
        for partition in Self.others {
            #expect(try await isThere("/fresh", partition, store))
            #expect(try await store.responses.lookup(try cacheKey("/variants", partition: partition)).count == 2)
        }
        #expect(try await store.object(Int.self, forKey: "ada/1") == 1)
        #expect(try count("prefix_invalidation") == 0)
        try await store.close()
        #expect(try count("entry") == Int64(Self.others.count * 7 + 1))
    }

    @Test func fetchesUnderWayAreStoredForOthersAlone() async throws {
        let store = try await openStore(folder.store, clock: clock, budget: 256 << 20)
        let hers: [StoreKey.Partition] = [.principal("ada"), .credentials(Self.digest, of: "ada")]
        var writers: [(partition: StoreKey.Partition, writer: any StoredResponseWriter)] = []
        for partition in hers + Self.others {
            let draft = draft(try cacheKey("/x", partition: partition), at: clock.now())
            let number = store.responses.invalidationSequence
            let writer = try #require(try await store.responses.beginWrite(draft, fencingNumber: number))
            // Some of it is on disk already.
            try await writer.append(pattern(5 << 20))
            writers.append((partition, writer))
        }
        let before = store.responses.invalidationSequence
        try await store.removeResponses(of: "ada")
        for (partition, writer) in writers {
            let isStored = try await writer.finish() != nil
            #expect(isStored != hers.contains(partition), "\(partition)")
        }
        // A small body, which others could see before its commit.
        for partition in hers + Self.others {
            let draft = draft(try cacheKey("/small", partition: partition), at: clock.now())
            let isStored = try await store.store(draft, "x", fencingNumber: before) != nil
            #expect(isStored != hers.contains(partition), "\(partition)")
        }
        // A writer holds its body.
        writers = []
        try await store.settle()
        let owners = try await stored(store).owners
        #expect(owners.count == Self.others.count * 2 && !owners.contains("ada"))
        #expect(try count("garbage") == 0)
        // She logs in again.
        try await put("/x", .principal("ada"), store)
        #expect(try await isThere("/x", .principal("ada"), store))
        try await store.close()
    }

    @Test func removedResponseIsNotFreshened() async throws {
        let store = try await openStore(folder.store, clock: clock)
        let key = try cacheKey("/x", partition: .principal("ada"))
        let old = try #require(try await store.store(draft(key, at: clock.now()), "x"))
        let number = store.responses.invalidationSequence
        try await store.removeResponses(of: "ada")
        for fencingNumber in [number, store.responses.invalidationSequence] {
            let draft = renewed(old, at: clock.now())
            #expect(try await store.responses.freshen(old, with: draft, fencingNumber: fencingNumber) == nil)
        }
        try await store.close()
    }

    @Test func watchersOfHersAreToldAndOthersAreNot() async throws {
        let store = try await openStore(folder.store, clock: clock)
        var hers = store.changes(of: .key(try cacheKey("/x", partition: .principal("ada")))).makeAsyncIterator()
        var all = store.changes(of: .target(try TargetURI("https://api.example/x"))).makeAsyncIterator()
        var others = store.changes(of: .key(try cacheKey("/x", partition: .principal("bob")))).makeAsyncIterator()
        try await store.removeResponses(of: "ada")
        try await store.removeResponses(of: "bob")
        #expect(await hers.next() == StoreChange(.invalidated, .principal("ada")))
        #expect(await all.next() == StoreChange(.invalidated, .principal("ada")))
        #expect(await others.next() == StoreChange(.invalidated, .principal("bob")))
        try await store.close()
    }

    // MARK: Objects

    @Test func removesObjectsWhoseKeysBeginWithThePrefix() async throws {
        let store = try await openStore(folder.store, clock: clock)
        let (hers, others) = (
            ["ada/", "ada/1", "ada/\u{e9}", "ada//"], ["ada", "ad", "Ada/1", "bob/ada/1", "\u{3}ada/1"]
        )
        for key in hers + others {
            try await store.setObject(key, forKey: key)
            _ = try await store.object(String.self, forKey: key)
        }
        try await store.setObject(String(repeating: "x", count: 3 << 20), forKey: "ada/large")
        // A key whose bytes begin like the prefix is a response's all the same.
        let version = String(decoding: [StoreKey.version], as: UTF8.self)
        try await put("/x", .principal("ada/"), store)
        try await store.removeObjects(withPrefix: version)
        #expect(try await stored(store).objects == Set(hers + others + ["ada/large"]))
        try await store.removeObjects(withPrefix: "ada/")
        let left = try await stored(store)
        #expect(left.objects == Set(others) && left.owners == ["ada/"])
        for key in hers + ["ada/large"] { #expect(try await store.storedObject(String.self, forKey: key) == nil) }
        for key in others { #expect(try await store.object(String.self, forKey: key) == key) }
        try await store.setObject("again", forKey: "ada/1")
        #expect(try await store.object(String.self, forKey: "ada/1") == "again")
        try await store.close()
        #expect(try count("entry") == Int64(others.count + 2))
    }

    @Test func prefixOfObjectsIsCheckedLikeAKey() async throws {
        let store = try await openStore(folder.store, clock: clock)
        try await store.setObject(1, forKey: "n")
        for prefix in ["", String(repeating: "x", count: 4097)] {
            #expect(await code { try await store.removeObjects(withPrefix: prefix) } == .invalidKey)
        }
        #expect(try await store.object(Int.self, forKey: "n") == 1)
        let reader = try await openReadOnly(folder.store, clock: clock)
        #expect(await code { try await reader.removeObjects(withPrefix: "n") } == .readOnly)
        #expect(await code { try await reader.removeResponses(of: "n") } == .readOnly)
        try await reader.close()
        try await store.close()
        #expect(await code { try await store.removeObjects(withPrefix: "n") } == .closed)
        #expect(await code { try await store.removeResponses(of: "n") } == .closed)
    }

    /// Objects that are set in the transaction of the removal, before it or after it.
    @Test func removalOfObjectsTakesItsPlaceInTheOrderOfWrites() async throws {
        let store = try await openStore(folder.store, clock: clock)
        try await store.setObject(0, forKey: "ada/before")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<200 {
                group.addTask {
                    try await store.setObject(index, forKey: "ada/\(index)")
                    try await store.setObject(index, forKey: "bob/\(index)")
                }
                if index % 20 == 10 { group.addTask { try await store.removeObjects(withPrefix: "ada/") } }
            }
            try await group.waitForAll()
        }
        #expect(try await store.object(Int.self, forKey: "ada/before") == nil)
        // Reads and the list of entries agree.
        let listed = try await stored(store).objects
        for index in 0..<200 {
            #expect(try await store.object(Int.self, forKey: "bob/\(index)") == index)
            let found = try await store.object(Int.self, forKey: "ada/\(index)")
            #expect(listed.contains("ada/\(index)") == (found == index))
        }
        try await store.close()
    }

    // MARK: Before the sweep

    /// The rest of removals that a process did not finish, as it is found in the database.
    @Test func removalsAreInForceBeforeTheSweepAndFinishedByTheNextWriter() async throws {
        let store = try await openStore(folder.store, clock: clock)
        for name in ["ada", "bob"] {
            for index in 0..<3 { try await put("/\(index)", .principal(name), store) }
            try await store.setObject(1, forKey: "\(name)/1")
        }
        try await store.close()
        try runSQL(
            path,
            """
            UPDATE store SET sequence = 2; INSERT INTO prefix_invalidation VALUES
                (1, x'\(hex(KeyOwner("ada").canonicalBytes))', 1), (2, x'\(hex(ObjectPrefix(Array("ada/".utf8)).canonicalBytes))', 1)
            """
        )
        func expectHersGone(_ store: CacheManager, _ comment: Comment) async throws {
            #expect(try await !isThere("/1", .principal("ada"), store), comment)
            #expect(try await isThere("/1", .principal("bob"), store), comment)
            #expect(try await store.storedObject(Int.self, forKey: "ada/1") == nil, comment)
            #expect(try await store.object(Int.self, forKey: "bob/1") == 1, comment)
            let left = try await stored(store)
            #expect(left.owners == ["bob", "bob", "bob"] && left.objects == ["bob/1"], comment)
            let statistics = try await store.statistics()
            #expect(statistics.responses == 3 && statistics.objects == 1, comment)
        }
        let reader = try await openReadOnly(folder.store, clock: clock)
        try await expectHersGone(reader, "a process that reads alone")
        try await reader.close()
        let writer = try await openStore(folder.store, clock: clock)
        #expect(try await !writer.removeObject(forKey: "ada/1"))
        try await expectHersGone(writer, "a process that writes")
        try await writer.settle()
        try await expectHersGone(writer, "after the sweep")
        try await writer.close()
        #expect(try count("entry") == 4)
        #expect(try count("prefix_invalidation") == 0)
    }

    @Test func recoveryDoesNotBringBackUnfinishedRemovals() async throws {
        let store = try await openStore(folder.store, clock: clock)
        for name in ["ada", "bob"] {
            try await put("/1", .principal(name), store)
            try await store.setObject(1, forKey: "\(name)/1")
        }
        try await store.close()
        try runSQL(
            path,
            """
            UPDATE store SET sequence = 2; INSERT INTO prefix_invalidation VALUES
                (1, x'\(hex(KeyOwner("ada").canonicalBytes))', 1), (2, x'\(hex(ObjectPrefix(Array("ada/".utf8)).canonicalBytes))', 1)
            """
        )
        _ = try await CacheManager.recover(from: folder.store, to: folder.path + "/new")
        let recovered = try await openStore(folder.path + "/new", clock: clock)
        let left = try await stored(recovered)
        #expect(left.owners == ["bob"] && left.objects == ["bob/1"])
        try await recovered.close()
    }

    @Test func otherProcessSeesTheRemovalAtOnce() async throws {
        let store = try await openStore(folder.store, clock: clock)
        for name in ["ada", "bob"] {
            for index in 0..<50 { try await put("/\(index)", .principal(name), store) }
            try await store.setObject(1, forKey: "\(name)/1")
        }
        let reader = try await openReadOnly(folder.store, clock: clock)
        #expect(try await isThere("/1", .principal("ada"), reader))
        try await store.removeResponses(of: "ada")
        try await store.removeObjects(withPrefix: "ada/")
        let left = try await stored(reader)
        #expect(left.owners == [String?](repeating: "bob", count: 50) && left.objects == ["bob/1"])
        #expect(try await !isThere("/1", .principal("ada"), reader))
        try await reader.close()
        try await store.close()
    }

    /// Removing all responses forgets unfinished removals of responses, and no others.
    @Test func removalOfAllResponsesKeepsUnfinishedRemovalsOfObjects() async throws {
        let store = try await openStore(folder.store, clock: clock)
        try await store.setObject(1, forKey: "ada/1")
        try await store.setObject(1, forKey: "bob/1")
        let now = clock.now()
        let unfinished = try await store.core.write { context in
            try context.removeObjects(ObjectPrefix(Array("ada/".utf8)), at: now)
            _ = try context.invalidate(.principal("ada"), .remove, at: now)
            _ = try context.invalidate(.all, .remove, at: now)
            return try context.connection.integer("SELECT count(*) FROM prefix_invalidation")
        }
        #expect(unfinished == 1)
        #expect(try await store.storedObject(Int.self, forKey: "ada/1") == nil)
        try await store.settle()
        #expect(try await stored(store).objects == ["bob/1"])
        try await store.close()
    }

    @Test func moreRemovalsThanMayBeUnfinishedWaitForTheSweep() async throws {
        let store = try await openStore(folder.store, clock: clock)
        let now = clock.now()
        let failure = await message {
            try await store.core.write { context in
                for index in 0...PendingInvalidation.limit {
                    try context.removeObjects(ObjectPrefix(Array("\(index)/".utf8)), at: now)
                }
            }
        }
        #expect(failure.contains("64 removals by prefix, host or principal are in progress"))
        // The same one again takes no further place.
        try await store.core.write { context in
            for _ in 0...PendingInvalidation.limit { _ = try context.invalidate(.principal("ada"), .remove, at: now) }
        }
        try await put("/x", .principal("other"), store)
        try await store.setObject(1, forKey: "other")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<100 {
                group.addTask { try await store.removeResponses(of: "user-\(index)") }
                group.addTask { try await store.removeObjects(withPrefix: "user-\(index)/") }
            }
            try await group.waitForAll()
        }
        let left = try await stored(store)
        #expect(left.owners == ["other"] && left.objects == ["other"])
        try await store.close()
    }

    // MARK: Many, and their bytes

    /// Half of them are hers. The log stays small, so no transaction has many of them.
    @Test(arguments: [false, true])
    func manyResponsesAreRemovedInSlices(_ isErasing: Bool) async throws {
        let store = try await openStore(folder.store, clock: clock, budget: 64 << 20) {
            $0.securelyDeletes = isErasing
        }
        let count = 10_000
        let response = RawResponse(status: .ok, fields: [:], body: pattern(500))
        for start in stride(from: 0, to: count, by: 500) {
            var batch: [StoreKey: RawResponse] = [:]
            for index in start..<start + 500 {
                for name in ["ada", "bob"] { batch[try cacheKey("/\(index)", partition: .principal(name))] = response }
            }
            try await store.setResponses(batch, expiry: .never)
        }
        #expect(try await store.statistics().responses == 2 * count)
        let limits = try store.core.database().state.limits
        let progress = Progress()
        let log = path + "-wal"
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                while !progress.isDone.load(ordering: .acquiring) {
                    progress.largest.max(fileSize(log), ordering: .relaxed)
                    await Task.yield()
                }
            }
            group.addTask {
                defer { progress.isDone.store(true, ordering: .releasing) }
                try await store.removeResponses(of: "ada")
            }
            try await group.waitForAll()
        }
        #expect(progress.largest.load(ordering: .relaxed) <= limits.log)
        let owners = try await stored(store).owners
        #expect(owners.count == count && owners.allSatisfy { $0 == "bob" })
        try await store.close()
    }

    @Test(arguments: [true, false])
    func noFileHasHerContentIfRemovedContentIsOverwritten(_ isErasing: Bool) async throws {
        let store = try await openStore(folder.store, clock: clock) { $0.securelyDeletes = isErasing }
        for name in ["ada-lovelace", "bob-the-other"] {
            for index in 0..<20 {
                let body = ByteBuffer(string: String(repeating: "the mail of \(name) ", count: index * 500 + 1))
                try await store.store(
                    draft(
                        try cacheKey("/\(index)", partition: .principal(name)),
                        at: clock.now(),
                        fields: [.setCookie: name],
                        tags: ["tag of \(name)"]
                    ),
                    [body]
                )
                try await store.setObject([String](repeating: name, count: index * 500 + 1), forKey: "\(name)/\(index)")
            }
        }
        #expect(try !files(with: "ada-lovelace").isEmpty)
        try await store.removeResponses(of: "ada-lovelace")
        try await store.removeObjects(withPrefix: "ada-lovelace/")
        #expect(try files(with: "ada-lovelace").isEmpty == isErasing)
        #expect(try !files(with: "bob-the-other").isEmpty)
        let left = try await stored(store)
        #expect(left.owners.count == 20 && left.objects.count == 20)
        try await store.close()
        #expect(try files(with: "ada-lovelace").isEmpty || !isErasing)
    }

    private func files(with text: String) throws -> [String] {
        try TemporaryFolder.names(folder.store).filter {
            try readFile(folder.store + "/" + $0).contains(Array(text.utf8))
        }
    }
}

/// State that the tasks of a test share.
private final class Progress: Sendable {
    let isDone = Atomic(false)
    let largest = Atomic(Int64(0))
}
