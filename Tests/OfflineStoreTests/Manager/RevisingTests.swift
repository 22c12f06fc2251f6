import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import NIOCore
import Synchronization
import TestSupport
import Testing

@testable import OfflineStore

/// Moving responses to other keys.
@Suite(.timeLimit(.minutes(20))) struct RevisingTests {
    let folder: TemporaryFolder
    let clock = ManualClock()
    var path: String { folder.store + "/0001.sqlite" }

    init() throws { folder = try TemporaryFolder() }

    /// Moves to the target without its query.
    private static let withoutQuery: CacheManager.Revising = { stored in
        var parts = stored.key.components
        parts.target = parts.target.ignoring(ParameterNames(["*"]))
        return ResponseRevision(
            key: StoreKey(
                partition: parts.partition,
                method: parts.method,
                target: parts.target,
                content: parts.content
            )
        )
    }

    private func isWhole() async throws -> Bool {
        let verification = try await CacheManager.verify(at: folder.store, isFull: true)
        #expect(verification.findings == [])
        return try wrongTags(path) == 0
    }

    private func rows(with text: String) throws -> Int64 {
        let digits = text.utf8.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
        return try queryInteger(
            path,
            "SELECT count(*) FROM entry WHERE instr(key, x'\(digits)') + instr(variant, x'\(digits)') + instr(head, x'\(digits)') > 0"
        )
    }

    // MARK: One response

    @Test func responseIsFoundOnlyUnderItsNewKeyWithItsBody() async throws {
        let store = try await openStore(folder.store, clock: clock)
        let (old, new) = (try cacheKey("/a?session=7"), try cacheKey("/a"))
        let body = pattern(200_000)
        try await store.store(draft(old, at: clock.now(), tags: ["t"]), [body])
        let before = try #require(try await store.responses.lookup(old).first)
        let reading = try #require(try await store.responses.openBody(of: before))
        let entry = try #require(try await store.entries(for: old.components.target).first)
        let summary = try await store.revise(entry, Self.withoutQuery)
        #expect(summary.examined == 1 && summary.moved == 1 && summary.superseded == 0)
        #expect(try await store.responses.lookup(old) == [])
        let after = try #require(try await store.responses.lookup(new).first)
        #expect(after.id == before.id && after.head == before.head && after.storedAt == before.storedAt)
        #expect(after.content?.freshUntil == before.content?.freshUntil)
        // A reader that began before reads to the end.
        #expect(try await reading.collect(upTo: 1 << 20) == body)
        let again = try #require(try await store.responses.openBody(of: after))
        #expect(try await again.collect(upTo: 1 << 20) == body)
        #expect(try await store.entries(for: new.components.target).count == 1)
        #expect(try await store.entries(for: old.components.target).isEmpty)
        let second = try await store.revise(entry, Self.withoutQuery)
        #expect(second.examined == 1 && second.isUnchanged)
        // A 304 for the former key finds nothing.
        #expect(
            try await store.responses.freshen(
                before,
                with: renewed(before, at: .distantFuture),
                fencingNumber: store.responses.invalidationSequence
            ) == nil
        )
        try await store.invalidateResponses(tagged: "t")
        #expect(try await store.responses.lookup(new).first?.head.isInvalidated == true)
        try await store.close()
        #expect(try await isWhole())
    }

    @Test func revisionReachesMemoryAndWatchers() async throws {
        let store = try await openStore(folder.store, clock: clock)
        let (old, new) = (try cacheKey("/a?b=1"), try cacheKey("/a"))
        try await store.store(draft(old, at: clock.now()), "text")
        #expect(try await store.text(of: old) == "text")
        #expect(store.responses.resident(old)?.count == 1)
        let ofOld = store.changes(of: .key(old))
        let ofNew = store.changes(of: .key(new))
        _ = try await store.reviseResponses(Self.withoutQuery)
        #expect(store.responses.resident(old)?.isEmpty != false)
        #expect(try await store.text(of: new) == "text")
        #expect(try await store.text(of: old) == nil)
        var oldChanges = ofOld.makeAsyncIterator()
        var newChanges = ofNew.makeAsyncIterator()
        #expect(await oldChanges.next()?.kind == .invalidated)
        #expect(await newChanges.next()?.kind == .stored)
        try await store.close()
    }

    @Test func collidingResponsesKeepTheNewestAndAnyPin() async throws {
        let store = try await openStore(folder.store, clock: clock)
        for (name, isNewerLast) in [("/first", true), ("/second", false)] {
            var received = [clock.now(), clock.now().adding(.seconds(5))]
            if !isNewerLast { received.reverse() }
            for (index, instant) in received.enumerated() {
                let text = instant == received.max() ? "newer" : "older"
                try await store.store(draft(try cacheKey("\(name)?n=\(index)"), at: instant), text)
            }
            // The one that is removed is pinned.
            for try await entry in store.entries(.response) {
                guard case .response(let key) = entry.key, key.components.target.path == name else { continue }
                if try await store.text(of: key) == "older" { _ = try await store.setPinned(true, entry) }
            }
        }
        let summary = try await store.reviseResponses(Self.withoutQuery)
        #expect(summary.superseded == 2 && summary.examined == 4)
        for name in ["/first", "/second"] {
            #expect(try await store.text(of: try cacheKey(name)) == "newer")
            let entry = try #require(try await store.entries(for: try cacheKey(name).components.target).first)
            #expect(entry.isPinned)
        }
        #expect(try await store.statistics().responses == 2)
        try await store.close()
        #expect(try await isWhole())
    }

    @Test func damagedResponseYieldsToAnIntactOne() async throws {
        var store = try await openStore(folder.store, clock: clock)
        try await store.store(draft(try cacheKey("/a?n=1"), at: clock.now()), "whole")
        try await store.store(draft(try cacheKey("/a?n=2"), at: clock.now().adding(.seconds(9))), "damaged")
        try await store.store(draft(try cacheKey("/b?secret-value"), at: clock.now()), "unreadable")
        try await store.close()
        try runSQL(path, "UPDATE entry SET is_damaged = 1 WHERE id = (SELECT max(id) - 1 FROM entry)")
        try runSQL(path, "UPDATE entry SET head = zeroblob(length(head)) WHERE id = (SELECT max(id) FROM entry)")
        store = try await openStore(folder.store, clock: clock)
        let summary = try await store.reviseResponses(Self.withoutQuery)
        #expect(summary.superseded == 1 && summary.damaged == 1)
        #expect(try await store.text(of: try cacheKey("/a")) == "whole")
        #expect(try rows(with: "secret-value") == 0)
        try await store.close()
        #expect(try await isWhole())
    }

    @Test func droppedSelectingFieldsMergeVariants() async throws {
        let store = try await openStore(folder.store, clock: clock)
        let key = try cacheKey("/a?x=1")
        for agent in ["agent-one", "agent-two"] {
            for language in ["de", "en"] {
                clock.advance(by: .seconds(1))
                try await store.store(
                    draft(
                        key,
                        at: clock.now(),
                        fields: [.vary: "Accept-Language, User-Agent"],
                        selecting: [.acceptLanguage: language, .userAgent: agent]
                    ),
                    "\(agent) \(language)"
                )
            }
        }
        let moved = try await store.reviseResponses(Self.withoutQuery)
        #expect(moved.moved == 4 && moved.superseded == 0)
        #expect(try await store.responses.lookup(try cacheKey("/a")).count == 4)
        let merged = try await store.reviseResponses {
            var fields = $0.head.selectingFields
            fields[.userAgent] = nil
            return ResponseRevision(key: $0.key, selectingFields: fields)
        }
        #expect(merged.superseded == 2)
        let left = try await store.responses.lookup(try cacheKey("/a"))
        #expect(left.count == 2 && left.allSatisfy { $0.head.selectingFields[.userAgent] == nil })
        #expect(try rows(with: "agent-") == 0)
        try await store.close()
        #expect(try await isWhole())
    }

    @Test func revisionUpdatesTheExpiryIndex() async throws {
        let store = try await openStore(folder.store, clock: clock)
        let key = try cacheKey("/a")
        try await store.store(draft(key, at: clock.now()), "text")
        #expect(try await store.text(of: key) == "text")
        let until = clock.now().adding(.seconds(5))
        let summary = try await store.reviseResponses {
            ResponseRevision(key: $0.key, freshUntil: until, isUsableStale: false)
        }
        #expect(summary.reindexed == 1 && summary.moved == 0)
        #expect(try await store.responses.lookup(key).first?.content?.freshUntil == until)
        let entry = try #require(try await store.entries(for: key.components.target).first)
        #expect(entry.expiresAt == until && !entry.isUsableStale)
        clock.advance(by: .seconds(6))
        #expect(try await store.removeExpired().responses == 1)
        try await store.close()
    }

    // MARK: Invalidations

    /// An invalidation also applies to a response that has another key by then, whether or not its
    /// sweep has progressed.
    @Test(arguments: [true, false])
    func invalidatedResponseStaysInvalidated(isKept: Bool) async throws {
        let store = try await openStore(folder.store, clock: clock)
        let key = try cacheKey("/a?b=1")
        let now = clock.now()
        let scopes: [InvalidationScope] = [
            .prefix(try TargetPrefix("https://api.example/a?b")), .tag("t"), .all, .key(key),
            .target(key.components.target),
        ]
        for scope in scopes {
            try await store.removeAll()
            try await store.store(draft(key, at: now, tags: ["t"]), "text")
            let entry = try #require(try await store.entries(for: key.components.target).first)
            // In one transaction, so that no sweep comes in between.
            let summary = try await store.core.write { context in
                _ = try context.invalidate(scope, keepingForOffline: isKept, at: now)
                return try context.revise(entry.id, Self.withoutQuery).summary
            }
            #expect(summary.moved == (isKept ? 1 : 0), "\(scope)")
            for _ in 0..<2 {
                let found = try await store.responses.lookup(try cacheKey("/a"))
                #expect(found.map(\.head.isInvalidated) == (isKept ? [true] : []), "\(scope)")
                try await store.settle()
            }
        }
        try await store.close()
        #expect(try await isWhole())
    }

    @Test func unfinishedPrefixPurgeSkipsKeysMovedThereLater() async throws {
        let store = try await openStore(folder.store, clock: clock)
        let key = try cacheKey("/a?session=1&b=2")
        let now = clock.now()
        let entry = try await store.store(draft(key, at: now), "text")
        let id = try #require(entry).id
        let prefix = try TargetPrefix("https://api.example/a?b")
        let target = try TargetURI("https://api.example/a?b=2")
        _ = try await store.core.write { context in
            _ = try context.invalidate(.prefix(prefix), keepingForOffline: false, at: now)
            return try context.revise(id) { _ in ResponseRevision(key: StoreKey(target: target)) }
        }
        try await store.settle()
        #expect(try await store.text(of: StoreKey(target: target)) == "text")
        try await store.close()
    }

    @Test func earlierFillIsStoredUnderItsOwnKey() async throws {
        let store = try await openStore(folder.store, clock: clock)
        let old = try cacheKey("/a?b=1")
        try await store.store(draft(old, at: clock.now()), "first")
        let begun = try await store.responses.beginWrite(
            draft(old, at: clock.now()),
            fencingNumber: store.responses.invalidationSequence
        )
        let writer = try #require(begun)
        _ = try await store.reviseResponses(Self.withoutQuery)
        try await writer.append(ByteBuffer(string: "second"))
        #expect(try await writer.finish() != nil)
        #expect(try await store.text(of: old) == "second")
        #expect(try await store.text(of: try cacheKey("/a")) == "first")
        try await store.close()
    }

    // MARK: Remains

    @Test func formerKeyIsInNoRowAndWithSecureDeletionInNoFile() async throws {
        let secret = "0d9ab1f4-session-value"
        let store = try await openStore(folder.store, clock: clock) { $0.securelyDeletes = true }
        for index in 0..<300 {
            let key = try cacheKey("/\(index % 40)?session=\(secret)-\(index)")
            try await store.store(draft(key, at: clock.now(), tags: ["t"]), [pattern(index * 10)])
        }
        #expect(try rows(with: secret) == 300)
        let summary = try await store.reviseResponses(Self.withoutQuery)
        #expect(summary.examined >= 40 && summary.moved + summary.superseded >= 300)
        #expect(try rows(with: secret) == 0)
        for name in TemporaryFolder.names(folder.store) where !name.hasSuffix("-shm") {
            #expect(try readFile(folder.store + "/" + name).firstRange(of: Array(secret.utf8)) == nil, "\(name)")
        }
        #expect(try await store.statistics().responses == 40)
        try await store.close()
        #expect(try await isWhole())
    }

    @Test func fullStoreStaysWithinItsBudgetAndKeepsNearlyAll() async throws {
        let budget = CacheManager.Configuration.minimumBudget
        let store = try await openStore(folder.store, clock: clock, budget: budget)
        for index in 0..<600 {
            try await store.store(draft(try cacheKey("/\(index)?session=\(index)"), at: clock.now()), [pattern(10_000)])
        }
        try await store.settle()
        let before = try await store.statistics().responses
        #expect(before < 600)
        let summary = try await store.reviseResponses(Self.withoutQuery)
        let statistics = try await store.statistics()
        #expect(
            summary.superseded == 0 && statistics.responses > before * 3 / 4,
            "\(statistics.responses) of \(before)"
        )
        #expect(statistics.databaseBytes + statistics.logBytes <= budget)
        try await store.close()
        #expect(try await isWhole())
        #expect(try rows(with: "session") == 0)
    }

    @Test func originQuotaIncludesResponsesMovedToIt() async throws {
        let store = try await openStore(folder.store, clock: clock) { $0.quotas = [.everyOrigin(bytes: 1 << 20)] }
        let (old, new) = (
            StoreKey(target: try TargetURI("http://old.example/a")),
            StoreKey(target: try TargetURI("https://new.example/a"))
        )
        try await store.store(draft(old, at: clock.now(), tags: ["t"]), [pattern(5_000)])
        _ = try await store.reviseResponses { _ in ResponseRevision(key: new) }
        #expect(try queryInteger(path, "SELECT count(*) FROM tag WHERE CAST(name AS TEXT) LIKE '%old.example'") == 0)
        #expect(
            try queryInteger(path, "SELECT octets FROM tag WHERE CAST(name AS TEXT) LIKE '%https://new.example'") > 5000
        )
        try await store.close()
        #expect(try await isWhole())
    }

    @Test func readOnlyStoreIsNotRevised() async throws {
        try await (try await openStore(folder.store, clock: clock)).close()
        let store = try await openReadOnly(folder.store, clock: clock)
        #expect(await code { _ = try await store.reviseResponses(Self.withoutQuery) } == .readOnly)
        try await store.close()
    }
}
