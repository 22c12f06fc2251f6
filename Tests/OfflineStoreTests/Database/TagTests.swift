import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import NIOCore
import OfflineStore
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(20))) struct TagTests {
    let folder: TemporaryFolder
    let clock = ManualClock()
    var path: String { folder.store + "/0001.sqlite" }

    init() throws { folder = try TemporaryFolder() }

    private func isMarked(_ name: String, in store: CacheManager) async throws -> Bool? {
        try await store.responses.lookup(try cacheKey(name)).first?.head.isInvalidated
    }

    private func count(_ table: String) throws -> Int64 { try queryInteger(path, "SELECT count(*) FROM \(table)") }

    @Test func tagIsInvalidatedAloneAndInAllPartitions() async throws {
        let store = try await openStore(folder.store, clock: clock)
        try await store.store(draft(try cacheKey("/a"), at: clock.now(), tags: ["feed", "user-1"]), "a")
        let alice = try cacheKey("/a", partition: .principal("alice"))
        try await store.store(draft(alice, at: clock.now(), tags: ["feed"]), "alice")
        try await store.store(draft(try cacheKey("/b"), at: clock.now(), tags: ["user-1"]), "b")
        try await store.store(draft(try cacheKey("/c"), at: clock.now()), "c")
        let before = store.responses.invalidationSequence
        try await store.invalidateResponses(tagged: "feed")
        #expect(store.responses.invalidationSequence > before)
        #expect(try await isMarked("/a", in: store) == true)
        #expect(try await store.responses.lookup(alice).map(\.head.isInvalidated) == [true])
        #expect(try await store.text(of: alice) == "alice")
        #expect(try await isMarked("/b", in: store) == false)
        #expect(try await isMarked("/c", in: store) == false)
        try await store.removeResponses(tagged: "user-1")
        #expect(try await isMarked("/a", in: store) == nil)
        #expect(try await isMarked("/b", in: store) == nil)
        #expect(try await store.text(of: alice) == "alice")
        #expect(try await store.statistics().responses == 2)
        #expect(try await store.statistics().invalidated == 1)
        try await store.close()
    }

    @Test func laterResponsesAreNotAffected() async throws {
        let store = try await openStore(folder.store, clock: clock)
        for isSoft in [true, false] {
            try await store.store(draft(try cacheKey("/a"), at: clock.now(), tags: ["t"]), "old")
            try await store.responses.invalidate(.tag("t"), keepingForOffline: isSoft, at: clock.now())
            try await store.store(draft(try cacheKey("/a"), at: clock.now(), tags: ["t"]), "new")
            #expect(try await isMarked("/a", in: store) == false)
            try await store.settle()
            #expect(try await isMarked("/a", in: store) == false)
            #expect(try await store.text(of: try cacheKey("/a")) == "new")
        }
        try await store.close()
    }

    @Test(arguments: [true, false])
    func earlierFillWithTheTagIsNotStored(_ isSoft: Bool) async throws {
        let store = try await openStore(folder.store, clock: clock)
        let fencingNumber = store.responses.invalidationSequence
        // No entry has the tag yet: only the log knows it.
        try await store.responses.invalidate(.tag("t"), keepingForOffline: isSoft, at: clock.now())
        func fill(_ tags: [String]) async throws -> StoredResponse? {
            try await store.store(
                draft(try cacheKey("/x"), at: clock.now(), tags: tags),
                "x",
                fencingNumber: fencingNumber
            )
        }
        #expect(try await fill(["s", "t"]) == nil)
        #expect(try await fill(["s"]) != nil)
        #expect(try await fill([]) != nil)
        try await store.close()
    }

    @Test func freshenReplacesTagsAndChecksOldAndNewOnes() async throws {
        let store = try await openStore(folder.store, clock: clock)
        let old = try #require(
            try await store.store(draft(try cacheKey("/x"), at: clock.now(), tags: ["a", "b"]), "x")
        )
        let entry = try #require(
            try await store.entries(for: try TargetURI("https://api.example/x")).first
        )
        func freshen(_ tags: [String], _ fencingNumber: InvalidationSequence) async throws -> StoredResponse? {
            try await store.responses.freshen(
                old,
                with: renewed(old, at: clock.now(), tags: tags),
                fencingNumber: fencingNumber
            )
        }
        let fencingNumber = store.responses.invalidationSequence
        try await store.invalidateResponses(tagged: "b")
        #expect(try await freshen(["c"], fencingNumber) == nil, "it had 'b'")
        try await store.invalidateResponses(tagged: "c")
        #expect(try await freshen(["c"], InvalidationSequence(1)) == nil, "it gets 'c'")
        #expect(try await store.tags(of: entry) == ["a", "b"])
        #expect(try await isMarked("/x", in: store) == true)

        #expect(try await freshen(["c", "c"], store.responses.invalidationSequence) != nil)
        #expect(try await isMarked("/x", in: store) == false)
        #expect(try await store.tags(of: entry) == ["c"])
        try await store.invalidateResponses(tagged: "a")
        #expect(try await isMarked("/x", in: store) == false)
        try await store.invalidateResponses(tagged: "c")
        #expect(try await isMarked("/x", in: store) == true)
        try await store.close()
    }

    @Test func responseRemovedByItsTagIsNotFreshened() async throws {
        let store = try await openStore(folder.store, clock: clock)
        let old = try #require(try await store.store(draft(try cacheKey("/x"), at: clock.now(), tags: ["t"]), "x"))
        try await store.responses.invalidate(.tag("t"), keepingForOffline: false, at: clock.now())
        let freshened = try await store.responses.freshen(
            old,
            with: renewed(old, at: clock.now(), tags: ["t"]),
            fencingNumber: store.responses.invalidationSequence
        )
        #expect(freshened == nil)
        #expect(try await store.responses.lookup(try cacheKey("/x")).isEmpty)
        try await store.close()
    }

    @Test func tooManyTagsAreDeclined() async throws {
        let store = try await openStore(folder.store, clock: clock)
        let many = (0..<64).map { "tag-\($0)" }
        let long = String(repeating: "x", count: 1024)
        func isStored(_ tags: [String]) async throws -> Bool {
            try await store.store(draft(try cacheKey("/x"), at: clock.now(), tags: tags), "x") != nil
        }
        #expect(try await isStored(many))
        #expect(try await isStored(many + ["one more"]) == false)
        #expect(try await isStored([long]))
        #expect(try await isStored([long + "x"]) == false)
        #expect(try await isStored(["", "\u{0}", "é"]))
        try await store.invalidateResponses(tagged: "\u{0}")
        #expect(try await isMarked("/x", in: store) == true)
        let key = try cacheKey("/x")
        #expect(
            await code {
                try await store.setResponse(RawResponse(status: .ok), for: key, expiry: .never, tags: [long + "x"])
            }
                == .invalidTag
        )
        try await store.setResponse(RawResponse(status: .ok), for: key, expiry: .never, tags: ["mine"])
        try await store.removeResponses(tagged: "mine")
        #expect(try await store.response(for: key) == nil)
        try await store.close()
    }

    @Test func tagsWithEqualHashesAreDistinct() async throws {
        let store = try await openStore(folder.store, clock: clock) { $0.keyHash = { _ in 5 } }
        for name in ["a", "b", "c"] {
            try await store.store(draft(try cacheKey("/" + name), at: clock.now(), tags: [name]), name)
        }
        try await store.invalidateResponses(tagged: "b")
        try await store.removeResponses(tagged: "c")
        #expect(try await isMarked("/a", in: store) == false)
        #expect(try await isMarked("/b", in: store) == true)
        #expect(try await isMarked("/c", in: store) == nil)
        try await store.close()
    }

    // MARK: No growth

    @Test func tagIsRemovedWithItsLastEntry() async throws {
        let store = try await openStore(folder.store, clock: clock)
        for round in 0..<40 {
            let tags = ["all", "round-\(round)", "by-key-\(round % 3)"]
            try await store.store(draft(try cacheKey("/\(round % 4)"), at: clock.now(), tags: tags), "x")
            try await store.invalidateResponses(tagged: "round-\(round)")
            try await store.invalidateResponses(tagged: "nobody-\(round)")
        }
        try await store.settle()
        #expect(try count("entry") == 4)
        #expect(try count("entry_tag") == 12)
        #expect(try count("tag") == 1 + 4 + 3)
        #expect(try count("tag_invalidation") == 0)
        _ = try await store.removeResponse(for: try cacheKey("/0"))
        #expect(try count("entry_tag") == 9)
        try await store.removeAllResponses()
        #expect(try count("entry_tag") == 0 && count("tag") == 0)
        try await store.close()
    }

    @Test func evictionRemovesTags() async throws {
        let store = try await openStore(folder.store, clock: clock, budget: 8 << 20)
        for index in 0..<60 {
            let tags = (0..<4).map { "tag-\(index)-\($0)" }
            try await store.store(draft(try cacheKey("/\(index)"), at: clock.now(), tags: tags), [pattern(400_000)])
        }
        try await store.settle()
        let entries = try count("entry")
        #expect(entries > 0 && entries < 60)
        #expect(try count("entry_tag") == 4 * entries)
        #expect(try count("tag") == 4 * entries)
        try await store.close()
    }

    @Test func tagNamesCountAgainstTheBudget() async throws {
        let budget: Int64 = 8 << 20
        let store = try await openStore(folder.store, clock: clock, budget: budget)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<256 {
                let tags = (0..<64).map { "\(index)-\($0)-" + String(repeating: "x", count: 1000) }
                let draft = draft(try cacheKey("/\(index)"), at: clock.now(), tags: tags)
                group.addTask { try await store.store(draft, "x") }
            }
            for try await _ in group {
                let size = TemporaryFolder.names(folder.store).reduce(0) {
                    $0 + max(0, fileSize(folder.store + "/" + $1))
                }
                #expect(size <= budget)
            }
        }
        try await store.close()
    }

    // MARK: Many entries, crashes, other processes

    /// Puts an invalidation into the database as it is before the sweep begins, and opens the store
    /// again.
    private func withPending(_ marked: Int64, _ removed: Int64, sequence: Int64) throws {
        try runSQL(
            path,
            """
            UPDATE store SET sequence = \(sequence);
            INSERT INTO tag_invalidation SELECT id, \(marked), \(removed) FROM tag WHERE name = CAST('t' AS BLOB);
            """
        )
    }

    @Test(arguments: [true, false])
    func invalidationIsInForceBeforeTheSweep(_ isSoft: Bool) async throws {
        let store = try await openStore(folder.store, clock: clock)
        try await store.store(draft(try cacheKey("/a"), at: clock.now(), tags: ["t"]), "a")
        try await store.store(draft(try cacheKey("/b"), at: clock.now(), tags: ["u"]), "b")
        try await store.close()
        try withPending(isSoft ? 1 : 0, isSoft ? 0 : 1, sequence: 1)
        // No process sweeps for one that reads alone.
        let reader = try await openReadOnly(folder.store, clock: clock)
        #expect(try await isMarked("/a", in: reader) == (isSoft ? true : nil))
        #expect(try await isMarked("/b", in: reader) == false)
        var seen: [Int64] = []
        for try await entry in reader.entries() where !entry.isInvalidated { seen.append(entry.id) }
        #expect(seen.count == 1)
        let listed = try await reader.entries(for: try TargetURI("https://api.example/a"))
        #expect(listed.map(\.isInvalidated) == (isSoft ? [true] : []))
        try await reader.close()
        #expect(try count("tag_invalidation") == 1)

        // The next process that writes finishes it.
        let writer = try await openStore(folder.store, clock: clock)
        #expect(try await isMarked("/a", in: writer) == (isSoft ? true : nil))
        try await writer.settle()
        #expect(try await isMarked("/a", in: writer) == (isSoft ? true : nil))
        #expect(try count("tag_invalidation") == 0)
        #expect(try count("entry WHERE is_invalidated = 0") == 1)
        #expect(try count("entry") == (isSoft ? 2 : 1))
        try await writer.close()
    }

    @Test(arguments: [true, false])
    func crashDuringTheSweepLosesNothing(_ isSoft: Bool) async throws {
        let store = try await openStore(folder.store, clock: clock, budget: 256 << 20)
        let entries = 3000
        try await fill(store, entries)
        // Copies of the files during the sweep: what a process killed at that moment leaves.
        let before = store.responses.invalidationSequence.number
        try await store.responses.invalidate(.tag("t"), keepingForOffline: isSoft, at: clock.now())
        let copies = try (0..<4).map { number in
            let copy = folder.path + "/copy\(number)"
            // Nothing is written while it is copied. Otherwise the parts of the copy would be of
            // different moments, which no crash leaves.
            try withWriterStopped(path) { try copyFolder(folder.store, to: copy) }
            return copy
        }
        try await store.settle()
        try await store.close()
        for copy in copies {
            let crashed = try await openStore(copy, clock: clock, budget: 256 << 20)
            #expect(crashed.responses.invalidationSequence.number > before)
            for index in [0, 1, entries / 2, entries - 1] {
                let found = try await isMarked("/\(index)", in: crashed)
                #expect(found == (isSoft ? true : nil), "entry \(index)")
            }
            try await crashed.settle()
            #expect(try await isMarked("/other", in: crashed) == false)
            #expect(try await crashed.statistics().responses == (isSoft ? entries + 1 : 1))
            #expect(try await crashed.statistics().invalidated == (isSoft ? entries : 0))
            try await crashed.close()
        }
    }

    @Test func thousandsUnderATagAreInvalidAtOnceAndMarkedLater() async throws {
        let store = try await openStore(folder.store, clock: clock, budget: 256 << 20)
        try await fill(store, 8000)
        try await store.responses.invalidate(.tag("t"), keepingForOffline: true, at: clock.now())
        for index in stride(from: 7999, to: 0, by: -500) {
            #expect(try await isMarked("/\(index)", in: store) == true, "\(index)")
        }
        try await store.settle()
        #expect(try await store.statistics().invalidated == 8000)
        #expect(try count("tag_invalidation") == 0)
        try await store.close()
    }

    private func fill(_ store: CacheManager, _ count: Int) async throws {
        let now = clock.now()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<count {
                let draft = draft(try cacheKey("/\(index)"), at: now, tags: ["t", "shard-\(index % 7)"])
                group.addTask { try await store.store(draft, "x") }
                if index >= 64 { try await group.next() }
            }
            try await group.waitForAll()
        }
        try await store.store(draft(try cacheKey("/other"), at: now, tags: ["u"]), "x")
    }

    /// An entry that is freshened during the sweep is judged by its new number, and a second
    /// invalidation finds it again.
    @Test func secondInvalidationReachesEntriesAlreadySwept() async throws {
        let store = try await openStore(folder.store, clock: clock)
        try await fill(store, 2000)
        let first = try #require(try await store.responses.lookup(try cacheKey("/0")).first)
        for round in 0..<20 {
            try await store.responses.invalidate(.tag("t"), keepingForOffline: true, at: clock.now())
            let freshened = try await store.responses.freshen(
                first,
                with: renewed(first, at: clock.now(), tags: ["t"]),
                fencingNumber: store.responses.invalidationSequence
            )
            #expect(freshened != nil)
            #expect(try await isMarked("/0", in: store) == false, "round \(round)")
            try await store.responses.invalidate(.tag("t"), keepingForOffline: true, at: clock.now())
            #expect(try await isMarked("/0", in: store) == true, "round \(round)")
        }
        try await store.settle()
        #expect(try await isMarked("/0", in: store) == true)
        #expect(try await store.statistics().invalidated == 2000)
        try await store.close()
    }
}
