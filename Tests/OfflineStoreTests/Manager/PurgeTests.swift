import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import NIOCore
import Synchronization
import TestSupport
import Testing

@testable import OfflineStore
@testable import StoreFiles

/// Invalidations of many responses: by prefix, and all.
@Suite(.timeLimit(.minutes(20))) struct PurgeTests {
    let folder: TemporaryFolder
    let clock = ManualClock()
    var path: String { folder.store + "/0001.sqlite" }

    init() throws { folder = try TemporaryFolder() }

    /// The purges of what ``fill(_:_:)`` stores.
    enum Purge: String, CaseIterable, CustomTestStringConvertible {
        case softPrefix, hardPrefix, softAll, hardAll

        var isSoft: Bool { self == .softPrefix || self == .softAll }
        var isPrefix: Bool { self == .softPrefix || self == .hardPrefix }
        var testDescription: String { rawValue }

        func scope() throws -> InvalidationScope {
            isPrefix ? .prefix(try TargetPrefix("https://api.example/p/")) : .all
        }
        /// The state of the purged responses in a look-up.
        var mark: Bool? { isSoft ? true : nil }
    }

    private func isMarked(_ name: String, in store: CacheManager) async throws -> Bool? {
        try await store.responses.lookup(try cacheKey(name)).first?.head.isInvalidated
    }

    private func count(_ rest: String) throws -> Int64 { try queryInteger(path, "SELECT count(*) FROM \(rest)") }

    /// Stores responses under `/p/`, one at `/other`, and an object.
    private func fill(_ store: CacheManager, _ count: Int) async throws {
        let now = clock.now()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<count {
                let draft = draft(try cacheKey("/p/\(index)"), at: now, tags: ["shard-\(index % 7)"])
                group.addTask { try await store.store(draft, "x") }
                if index >= 64 { try await group.next() }
            }
            try await group.waitForAll()
        }
        try await store.store(draft(try cacheKey("/other"), at: now), "other")
        try await store.setObject(1, forKey: "n")
    }

    /// Runs `body` on a store with that many responses for each kind of purge, filled once.
    private func forEachPurge(
        _ count: Int,
        _ body: (Purge, CacheManager, _ path: String) async throws -> Void
    ) async throws {
        let template = folder.path + "/template"
        let store = try await openStore(template, clock: clock, budget: 256 << 20)
        try await fill(store, count)
        try await store.close()
        for purge in Purge.allCases {
            let path = folder.path + "/" + purge.rawValue
            try copyFolder(template, to: path)
            let store = try await openStore(path, clock: clock, budget: 256 << 20)
            // Its sweep at opening is over.
            try await store.settle()
            try await body(purge, store, path)
            try await store.close()
        }
    }

    private func purge(_ purge: Purge, _ store: CacheManager) async throws {
        try await store.responses.invalidate(try purge.scope(), keepingForOffline: purge.isSoft, at: clock.now())
    }

    // MARK: Scope

    @Test func everyCallInvalidatesItsScope() async throws {
        let store = try await openStore(folder.store, clock: clock)
        let target = try TargetURI("https://api.example/p/1")
        let prefix = try TargetPrefix("https://api.example/p/")
        let calls: [(name: String, isSoft: Bool, concerned: [String], call: () async throws -> Void)] = [
            ("target", true, ["/p/1"], { try await store.invalidateResponses(for: target) }),
            ("target", false, ["/p/1"], { try await store.removeResponses(for: target) }),
            ("prefix", true, ["/p/1", "/p/2"], { try await store.invalidateResponses(withPrefix: prefix) }),
            ("prefix", false, ["/p/1", "/p/2"], { try await store.removeResponses(withPrefix: prefix) }),
            ("tag", true, ["/p/2"], { try await store.invalidateResponses(tagged: "t") }),
            ("tag", false, ["/p/2"], { try await store.removeResponses(tagged: "t") }),
            ("all", true, ["/p/1", "/p/2", "/q"], { try await store.invalidateAllResponses() }),
            ("all", false, ["/p/1", "/p/2", "/q"], { try await store.removeAllResponses() }),
        ]
        try await store.setObject(1, forKey: "n")
        for (name, isSoft, concerned, call) in calls {
            for path in ["/p/1", "/p/2", "/q"] {
                for partition in [StoreKey.Partition.common, .principal("alice")] {
                    let tags = path == "/p/2" ? ["t"] : []
                    try await store.store(
                        draft(try cacheKey(path, partition: partition), at: clock.now(), tags: tags),
                        "x"
                    )
                }
            }
            let fencingNumber = store.responses.invalidationSequence
            try await call()
            #expect(store.responses.invalidationSequence.number == fencingNumber.number + 1, "\(name)")
            for path in ["/p/1", "/p/2", "/q"] {
                let expected: Bool? = concerned.contains(path) ? (isSoft ? true : nil) : false
                for partition in [StoreKey.Partition.common, .principal("alice")] {
                    let found = try await store.responses.lookup(try cacheKey(path, partition: partition))
                    #expect(found.first?.head.isInvalidated == expected, "\(name) \(isSoft) \(path)")
                }
            }
            let late = try await store.store(
                draft(try cacheKey(concerned[0]), at: clock.now(), tags: ["t"]),
                "x",
                fencingNumber: fencingNumber
            )
            #expect(late == nil, "\(name): an in-flight fetch that began before was stored")
            #expect(try await store.object(Int.self, forKey: "n") == 1)
        }
        try await store.close()
    }

    @Test(arguments: [true, false])
    func prefixRejectsEarlierFillsOfItsOrigin(_ isSoft: Bool) async throws {
        let store = try await openStore(folder.store, clock: clock)
        let fencingNumber = store.responses.invalidationSequence
        try await purge(isSoft ? .softPrefix : .hardPrefix, store)
        // The sweep has nothing to do, so the prefix itself is forgotten; the log is not.
        try await store.settle()
        #expect(try count("prefix_invalidation") == 0)
        #expect(
            try await store.store(draft(try cacheKey("/p/x"), at: clock.now()), "x", fencingNumber: fencingNumber)
                == nil
        )
        for uri in ["https://api.example:444/p/x", "http://api.example/p/x", "https://b.example/p/x"] {
            let key = StoreKey(target: try TargetURI(uri))
            #expect(
                try await store.store(draft(key, at: clock.now()), "x", fencingNumber: fencingNumber) != nil,
                "\(uri)"
            )
        }
        #expect(try await store.store(draft(try cacheKey("/p/x"), at: clock.now()), "x") != nil)
        #expect(try await isMarked("/p/x", in: store) == false)
        try await store.close()
    }

    @Test func objectWithAResponseLikeKeyIsNotPurged() async throws {
        let store = try await openStore(folder.store, clock: clock)
        let key = StoreKey(target: try TargetURI("http://a.example/p/1"))
        let text = try #require(String(validating: key.bytes, as: UTF8.self))
        try await store.setObject(1, forKey: text)
        try await store.removeResponses(withPrefix: try TargetPrefix("http://a.example/p/"))
        try await store.removeAllResponses()
        #expect(try await store.object(Int.self, forKey: text) == 1)
        try await store.close()
    }

    @Test(arguments: [true, false])
    func entriesWithOneHashAreToldApart(_ isSoft: Bool) async throws {
        let store = try await openStore(folder.store, clock: clock) { $0.keyHash = { _ in 5 } }
        for name in ["/p/a", "/p", "/q/a"] { try await store.store(draft(try cacheKey(name), at: clock.now()), name) }
        try await purge(isSoft ? .softPrefix : .hardPrefix, store)
        #expect(try await isMarked("/p/a", in: store) == (isSoft ? true : nil))
        #expect(try await isMarked("/p", in: store) == false)
        #expect(try await isMarked("/q/a", in: store) == false)
        try await store.close()
    }

    // MARK: Before the sweep

    /// An operation that purges sees the same as others, before any sweep.
    @Test func purgeIsInForceWithinItsTransaction() async throws {
        for purge in [Purge.hardPrefix, .hardAll] {
            let path = folder.path + "/" + purge.rawValue
            let store = try await openStore(path, clock: clock)
            let old = try #require(try await store.store(draft(try cacheKey("/p/x"), at: clock.now()), "x"))
            let entry = try #require(try await store.entries(for: old.key.components.target).first)
            #expect(try await store.setPinned(true, entry))
            let renewal = ResponseEntry(
                draft: renewed(old, at: clock.now()),
                state: try store.core.database().state
            )
            let (scope, now) = (try purge.scope(), clock.now())
            let (isThere, isFreshened, count) = try await store.core.write { context in
                _ = try context.invalidate(scope, keepingForOffline: false, at: now)
                let place = EntryRows(id: old.id, bodyID: old.bodyID, bodyLength: old.bodyLength)
                return (
                    try context.exists(old.id),
                    try context.freshen(
                        place,
                        with: renewal.draft(id: old.id, bodyID: old.bodyID, bodyLength: old.bodyLength)
                    ),
                    try context.countResponses(of: old.key)
                )
            }
            #expect(!isThere && !isFreshened && count == 0)
            try await store.close()
        }
    }

    /// The purged entry has the highest number, so the sweep reaches it last.
    @Test func replacementOfAPurgedEntryIsNotPinned() async throws {
        let store = try await openStore(folder.store, clock: clock, budget: 256 << 20)
        try await fill(store, 3000)
        for purge in [Purge.hardPrefix, .hardAll] {
            try await store.store(draft(try cacheKey("/p/last"), at: clock.now()), "old")
            let entry = try #require(try await store.entries(for: try TargetURI("https://api.example/p/last")).first)
            #expect(try await store.setPinned(true, entry))
            try await self.purge(purge, store)
            #expect(try await store.setPinned(true, entry) == false)
            try await store.store(draft(try cacheKey("/p/last"), at: clock.now()), "new")
            try await store.settle()
            #expect(try await store.text(of: try cacheKey("/p/last")) == "new")
            #expect(try await store.statistics().pinned == 0)
        }
        try await store.close()
    }

    @Test func removedObjectIsGoneAndItsPinIsNotInherited() async throws {
        let store = try await openStore(folder.store, clock: clock)
        try await store.setObject(1, forKey: "n")
        #expect(try await store.setPinned(true, try #require(try await store.entry(forObjectKey: "n"))))
        let now = clock.now()
        let pinned = try await store.core.write { context in
            try context.removeEverything(at: now)
            let id = try context.newID()
            let hash = context.state.hash(Array("n".utf8), .objectKey)
            let head = ObjectHeadCodec.content(of: ObjectHead(contentType: "a/b", typeName: "T"))
            let draft = EntryDraft(
                id: id,
                kind: .object,
                keyHash: hash,
                key: Array("n".utf8),
                variant: [],
                targetHash: nil,
                invalidation: nil,
                isUsableStale: true,
                storedAt: 0,
                expiresAt: .max,
                bodyLength: 0,
                head: HeadBinding(entryID: id, keyHash: hash, bodyID: id, bodyLength: 0).sealing(head)
            )
            try context.insert(draft)
            return try context.connection.integer("SELECT sum(is_pinned) FROM entry")
        }
        #expect(pinned == 0)
        #expect(try await store.objectData(forKey: "n")?.value == [])
        try await store.core.write { try $0.removeEverything(at: now) }
        #expect(try await store.objectData(forKey: "n") == nil)
        #expect(try await store.removeObject(forKey: "n") == false)
        try await store.settle()
        #expect(try count("entry") == 0)
        try await store.close()
    }

    /// Puts an invalidation into the database as it is before the sweep begins.
    private func withPending(_ purge: Purge, in path: String, sequence: Int64) throws {
        let effect =
            switch purge {
            case .softAll: "UPDATE store SET response_floor = \(sequence)"
            case .hardAll: "UPDATE store SET response_removed = \(sequence)"
            case .softPrefix, .hardPrefix:
                """
                INSERT INTO prefix_invalidation VALUES
                    (\(sequence), x'\(hex(try TargetPrefix("https://api.example/p/").canonicalBytes))', \(purge.isSoft ? 0 : 1))
                """
            }
        try runSQL(path, "UPDATE store SET sequence = \(sequence); \(effect)")
    }

    private func hex(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    @Test(arguments: Purge.allCases)
    func purgeIsInForceBeforeTheSweep(_ purge: Purge) async throws {
        let store = try await openStore(folder.store, clock: clock)
        try await fill(store, 3)
        try await store.close()
        try withPending(purge, in: path, sequence: 1)
        let other: Bool? = purge.isPrefix ? false : purge.mark
        let left = (purge.isSoft ? 3 : 0) + (other == nil ? 0 : 1)
        let invalidated = (purge.isSoft ? 3 : 0) + (other == true ? 1 : 0)
        // No process sweeps for one that reads alone.
        let reader = try await openReadOnly(folder.store, clock: clock)
        #expect(try await isMarked("/p/1", in: reader) == purge.mark)
        #expect(try await isMarked("/other", in: reader) == other)
        var listed: [Bool] = []
        for try await entry in reader.entries(.response) { listed.append(entry.isInvalidated) }
        #expect(listed.count == left && listed.filter { $0 }.count == invalidated)
        #expect(
            try await reader.entries(for: try TargetURI("https://api.example/p/1")).map(\.isInvalidated)
                == (purge.isSoft ? [true] : [])
        )
        var statistics = try await reader.statistics()
        #expect(statistics.responses == left && statistics.invalidated == invalidated && statistics.objects == 1)
        #expect(statistics.expired == invalidated && statistics.usableStale == invalidated)
        #expect(try await reader.object(Int.self, forKey: "n") == 1)
        try await reader.close()

        // The next process that writes finishes it.
        let writer = try await openStore(folder.store, clock: clock)
        #expect(try await isMarked("/p/1", in: writer) == purge.mark)
        try await writer.settle()
        #expect(try await isMarked("/p/1", in: writer) == purge.mark)
        #expect(try await isMarked("/other", in: writer) == other)
        statistics = try await writer.statistics()
        #expect(statistics.responses == left && statistics.invalidated == invalidated && statistics.objects == 1)
        #expect(try count("entry") == Int64(left + 1))
        #expect(try count("prefix_invalidation") == 0)
        #expect(try count("store WHERE response_removed + object_removed > 0") == 0)
        try await writer.close()
    }

    @Test func readOnlyProcessSeesThePurgeAtOnce() async throws {
        try await forEachPurge(3000) { purge, store, path in
            let reader = try await openReadOnly(path, clock: clock)
            #expect(try await isMarked("/p/2999", in: reader) == false)
            try await self.purge(purge, store)
            for index in stride(from: 2999, through: 0, by: -333) {
                #expect(try await isMarked("/p/\(index)", in: reader) == purge.mark, "\(purge) \(index)")
            }
            let statistics = try await reader.statistics()
            #expect(statistics.invalidated == (purge.isSoft ? 3000 : 0) + (purge == .softAll ? 1 : 0))
            #expect(statistics.responses == (purge.isSoft ? 3001 : purge.isPrefix ? 1 : 0))
            try await store.settle()
            #expect(try await isMarked("/p/0", in: reader) == purge.mark)
            #expect(try await isMarked("/other", in: reader) == (purge.isPrefix ? false : purge.mark))
            try await reader.close()
        }
    }

    @Test func crashDuringTheSweepLosesNothing() async throws {
        let entries = 3000
        try await forEachPurge(entries) { purge, store, path in
            let before = store.responses.invalidationSequence.number
            try await self.purge(purge, store)
            try await store.store(draft(try cacheKey("/p/later"), at: clock.now()), "later")
            let copies = try (0..<3).map { number in
                let copy = path + "-copy\(number)"
                try withWriterStopped(path + "/0001.sqlite") { try copyFolder(path, to: copy) }
                return copy
            }
            try await store.settle()
            for copy in copies {
                let crashed = try await openStore(copy, clock: clock, budget: 256 << 20)
                #expect(crashed.responses.invalidationSequence.number == before + 1)
                for index in [0, 1, entries / 2, entries - 1] {
                    #expect(try await isMarked("/p/\(index)", in: crashed) == purge.mark, "\(purge) \(index)")
                }
                try await crashed.settle()
                let other: Bool? = purge.isPrefix ? false : purge.mark
                #expect(try await isMarked("/p/\(entries - 1)", in: crashed) == purge.mark)
                #expect(try await isMarked("/other", in: crashed) == other)
                #expect(try await isMarked("/p/later", in: crashed) == false)
                #expect(try await crashed.object(Int.self, forKey: "n") == 1)
                let left = (purge.isSoft ? entries : 0) + (other == nil ? 0 : 1) + 1
                #expect(try await crashed.statistics().responses == left)
                try await crashed.close()
            }
        }
    }

    // MARK: The sweep

    @Test func lookupNeverReturnsAPurgedResponseAsValid() async throws {
        let entries = 10_000
        try await forEachPurge(entries) { purge, store, _ in
            let progress = Progress()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for task in 0..<2 {
                    group.addTask {
                        var generator = SeededGenerator(seed: UInt64(task))
                        while !progress.isDone.load(ordering: .acquiring) {
                            let wasPurged = progress.isPurged.load(ordering: .acquiring)
                            let index = Int.random(in: 0..<entries, using: &generator)
                            let mark = try await isMarked("/p/\(index)", in: store)
                            #expect(!wasPurged || mark == purge.mark, "\(purge) \(index)")
                            if wasPurged { progress.lookups.add(1, ordering: .relaxed) }
                            // A look-up does not suspend, and threads are few.
                            await Task.yield()
                        }
                    }
                }
                group.addTask {
                    try await self.purge(purge, store)
                    progress.isPurged.store(true, ordering: .releasing)
                    try await store.settle()
                    while progress.lookups.load(ordering: .relaxed) < 200, !Task.isCancelled { await Task.yield() }
                    progress.isDone.store(true, ordering: .releasing)
                }
                try await group.waitForAll()
            }
            let left = purge.isSoft ? entries + 1 : purge.isPrefix ? 1 : 0
            #expect(try await store.statistics().responses == left)
        }
    }

    @Test(arguments: [Purge.softPrefix, .hardPrefix, .hardAll])
    func sweepStepIsBounded(_ purge: Purge) async throws {
        let store = try await openStore(folder.store, clock: clock)
        try await fill(store, 100)
        let (scope, now) = (try purge.scope(), clock.now())
        let left = try await store.core.write { context in
            _ = try context.invalidate(scope, keepingForOffline: purge.isSoft, at: now)
            var left: [Int64] = []
            for _ in 0..<3 {
                _ = try context.sweepEntries(atMost: 10)
                let condition = purge.isSoft ? "is_invalidated = 0" : "1"
                left.append(
                    try context.connection.integer("SELECT count(*) FROM entry WHERE kind = 0 AND \(condition)") ?? -1
                )
            }
            return left
        }
        #expect(left == [91, 81, 71])
        try await store.settle()
        #expect(try await store.statistics().responses == (purge.isSoft ? 101 : purge.isPrefix ? 1 : 0))
        #expect(try count("tag") == (purge.isSoft ? 7 : 0))
        try await store.close()
    }

    /// Two rounds: the second invalidation comes when the sweep for the first has passed some
    /// entries.
    @Test func invalidationDuringTheSweepGetsItsOwnRound() async throws {
        let store = try await openStore(folder.store, clock: clock)
        for index in 0..<40 {
            for folder in ["/p/", "/q/"] {
                try await store.store(draft(try cacheKey("\(folder)\(index)"), at: clock.now()), "x")
            }
        }
        let (q, p) = (try TargetPrefix("https://api.example/q/"), try TargetPrefix("https://api.example/p/"))
        let now = clock.now()
        let (marked, pending) = try await store.core.write { context in
            _ = try context.invalidate(.prefix(p), keepingForOffline: true, at: now)
            _ = try context.sweepEntries(atMost: 10)
            _ = try context.invalidate(.prefix(q), keepingForOffline: true, at: now)
            for _ in 0..<7 { _ = try context.sweepEntries(atMost: 10) }
            return (
                try context.connection.integer("SELECT count(*) FROM entry WHERE is_invalidated = 1"),
                try context.connection.integer("SELECT count(*) FROM prefix_invalidation")
            )
        }
        // The first round is over, and the entries that it had passed are not forgotten.
        #expect(marked == 71 && pending == 1)
        try await store.settle()
        #expect(try count("entry WHERE is_invalidated = 1") == 80)
        #expect(try count("prefix_invalidation") == 0)
        try await store.close()
    }

    @Test func logStaysSmallWhileALargeStoreIsCleared() async throws {
        let store = try await openStore(folder.store, clock: clock, budget: 16 << 20) { $0.securelyDeletes = true }
        let body = pattern(5000)
        for index in 0..<1000 { try await store.store(draft(try cacheKey("/\(index)"), at: clock.now()), [body]) }
        #expect(try await store.statistics().responses == 1000)
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
                try await store.removeAll()
                progress.isDone.store(true, ordering: .releasing)
            }
            try await group.waitForAll()
        }
        #expect(progress.largest.load(ordering: .relaxed) <= limits.log)
        #expect(try await store.statistics().responses == 0)
        #expect(fileSize(path) < 3 << 20)
        try await store.close()
    }

    @Test func removedEntriesAreDeletedBeforeAnyEviction() async throws {
        let store = try await openStore(folder.store, clock: clock, budget: 16 << 20)
        // The least recently used of all.
        for index in 0..<10 { try await store.setObject(String(repeating: "x", count: 50_000), forKey: "\(index)") }
        for index in 0..<110 {
            try await store.store(draft(try cacheKey("/\(index)"), at: clock.now()), [pattern(100_000)])
        }
        #expect(try await store.statistics().objects == 10)
        let writer = try #require(try store.core.database().writer)
        let now = clock.now()
        // In one transaction, so that no sweep comes in between.
        try writer.withConnection { connection in
            let context = WriteContext(connection: connection, state: writer.database, memory: writer.memory)
            try writer.transaction(connection) {
                _ = try context.invalidate(.all, keepingForOffline: false, at: now)
            }
            context.applyCommit()
            let job = WriteJob(bytes: 6 << 20, isDurable: false, operation: { _ in }, completion: { _ in })
            #expect(writer.makeRoom(for: [job], connection).count == 1)
        }
        #expect(try count("entry WHERE kind = 0") < 80)
        #expect(try await store.statistics().objects == 10)
        try await store.close()
    }

    @Test func markingEverythingLeavesPendingRemovalsInForce() async throws {
        let store = try await openStore(folder.store, clock: clock)
        try await fill(store, 3)
        let (prefix, now) = (try Purge.hardPrefix.scope(), clock.now())
        try await store.core.write { context in
            _ = try context.invalidate(prefix, keepingForOffline: false, at: now)
            _ = try context.invalidate(.all, keepingForOffline: true, at: now)
        }
        #expect(try await isMarked("/p/1", in: store) == nil)
        try await store.settle()
        #expect(try await isMarked("/p/1", in: store) == nil)
        #expect(try await isMarked("/other", in: store) == true)
        try await store.close()
    }

    /// Look-ups check for unfinished invalidations only while there may be some.
    @Test func lookupsCheckOnlyWhileAnInvalidationIsUnfinished() async throws {
        let store = try await openStore(folder.store, clock: clock)
        try await fill(store, 3)
        let state = try store.core.database().state
        let now = clock.now()
        for scope in [try Purge.softPrefix.scope(), .tag("shard-1")] {
            try await store.settle()
            let asked = state.mayHavePending.load(ordering: .acquiring)
            #expect(!asked)
            let isAsking = try await store.core.write { context in
                _ = try context.invalidate(scope, keepingForOffline: true, at: now)
                return context.state.mayHavePending.load(ordering: .acquiring)
            }
            #expect(isAsking)
        }
        try await store.close()
        let reader = try await openReadOnly(folder.store, clock: clock)
        _ = try await isMarked("/p/1", in: reader)
        let asks = try reader.core.database().state.mayHavePending.load(ordering: .acquiring)
        #expect(asks)
        try await reader.close()
    }

    @Test func removedEntriesAreNotCountedAsExpired() async throws {
        let store = try await openStore(folder.store, clock: clock)
        for path in ["/p/a", "/p/b", "/q"] {
            try await store.store(draft(try cacheKey(path), at: clock.now(), isUsableStale: false), "x")
        }
        try await purge(.softPrefix, store)
        #expect(try await store.removeExpired().responses == 2)
        clock.advance(by: .seconds(3600))
        try await purge(.hardAll, store)
        #expect(try await store.removeExpired(includingOfflineUsable: true) == RemovalSummary())
        #expect(try count("entry") == 0)
        try await store.close()
    }

    // MARK: Limits

    private func prefixes(_ range: Range<Int>) throws -> [InvalidationScope] {
        try range.map { .prefix(try TargetPrefix("https://api.example/\($0)/")) }
    }

    @Test func prefixBeyondTheLimitInvalidatesEverything() async throws {
        let store = try await openStore(folder.store, clock: clock)
        try await fill(store, 3)
        let scopes = try prefixes(0..<PendingInvalidation.limit + 1)
        let now = clock.now()
        let (done, pending) = try await store.core.write { context in
            let done = try scopes.map { try context.invalidate($0, keepingForOffline: true, at: now).scope }
            return (done, try context.connection.integer("SELECT count(*) FROM prefix_invalidation"))
        }
        #expect(done.dropLast() == scopes.dropLast() && done.last == .all)
        #expect(pending == 0)
        #expect(try await isMarked("/p/1", in: store) == true)
        #expect(try await store.text(of: try cacheKey("/p/1")) == "x")
        try await store.close()
    }

    @Test func removalsBeyondTheLimitWaitAndRemoveNothingElse() async throws {
        let store = try await openStore(folder.store, clock: clock)
        try await fill(store, 3)
        let scopes = try prefixes(0..<PendingInvalidation.limit)
        let one = InvalidationScope.prefix(try TargetPrefix("https://api.example/p/1"))
        let now = clock.now()
        let error = await code {
            try await store.core.write { context in
                for scope in scopes { _ = try context.invalidate(scope, keepingForOffline: false, at: now) }
                _ = try context.invalidate(one, keepingForOffline: false, at: now)
            }
        }
        #expect(error == .busy)
        #expect(store.responses.invalidationSequence.number == 0)
        // One that includes others replaces them.
        let number = try await store.core.write { context in
            for scope in scopes { _ = try context.invalidate(scope, keepingForOffline: false, at: now) }
            let whole = InvalidationScope.prefix(try TargetPrefix("https://api.example/"))
            _ = try context.invalidate(whole, keepingForOffline: true, at: now)
            _ = try context.invalidate(whole, keepingForOffline: false, at: now)
            return try context.connection.integer("SELECT count(*) FROM prefix_invalidation")
        }
        #expect(number == 1)
        #expect(try await store.statistics().responses == 0)
        try await fill(store, 3)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<200 {
                let prefix = try TargetPrefix("https://api.example/\(index)/")
                group.addTask { try await store.removeResponses(withPrefix: prefix) }
            }
            try await group.waitForAll()
        }
        #expect(try await store.statistics().responses == 4)
        try await store.close()
    }

    // MARK: Older schemas

    @Test(arguments: [1, 2])
    func olderSchemaIsReadAndShowsPurgesOnceMigrated(_ version: Int) async throws {
        let here = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        try copyFolder("/\(here)/Fixtures/stores/schema-\(version)", to: folder.store)
        let reader = try await openReadOnly(folder.store, clock: clock)
        #expect(try await reader.text(of: try cacheKey("/plain")) == "from schema \(version)")
        #expect(try await isMarked("/marked", in: reader) == true)
        let before = try await reader.statistics()
        #expect(before.responses == 3 && before.invalidated == 1 && before.objects == 1)
        #expect(try queryInteger(path, "PRAGMA user_version") == Int64(version))

        let writer = try await openStore(folder.store, clock: clock)
        try await writer.settle()
        #expect(try await writer.text(of: try cacheKey("/plain")) == "from schema \(version)")
        try await writer.close()
        #expect(try await reader.text(of: try cacheKey("/plain")) == "from schema \(version)")
        let prefix = hex(try TargetPrefix("https://api.example/pl").canonicalBytes)
        try runSQL(path, "UPDATE store SET sequence = 7; INSERT INTO prefix_invalidation VALUES (7, x'\(prefix)', 0)")
        #expect(try await isMarked("/plain", in: reader) == true)
        #expect(try await isMarked("/large", in: reader) == false)
        try runSQL(path, "UPDATE store SET sequence = 8, response_removed = 8, object_removed = 8")
        #expect(try await isMarked("/plain", in: reader) == nil)
        #expect(try await reader.storedObject([String].self, forKey: "names") == nil)
        let after = try await reader.statistics()
        #expect(after.responses == 0 && after.objects == 0)
        try await reader.close()
    }
}

/// State that the tasks of a test share.
private final class Progress: Sendable {
    let isPurged = Atomic(false)
    let isDone = Atomic(false)
    let lookups = Atomic(0)
    let largest = Atomic(Int64(0))
}
