import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import NIOCore
import TestSupport
import Testing

@testable import OfflineStore

@Suite(.timeLimit(.minutes(20))) struct TagBytesTests {
    @Test func eachTagIsWrittenOnce() {
        var bytes = TagBytes()
        bytes.add(10, to: 2)
        bytes.add(5, to: 1)
        bytes.add(-3, to: 2)
        bytes.add(4, to: 3)
        bytes.add(-4, to: 3)
        let sums = bytes.take()
        #expect(sums.map(\.tagID) == [1, 2] && sums.map(\.bytes) == [5, 7])
        #expect(bytes.isEmpty && bytes.take().isEmpty)
    }

    @Test func reusedTagNumberStartsAtZero() {
        var bytes = TagBytes()
        bytes.add(-10, to: 1)
        bytes.forget(1)
        bytes.add(3, to: 1)
        #expect(bytes.take().map(\.bytes) == [3])
        bytes.add(1, to: 1)
        bytes.forgetAll()
        bytes.add(2, to: 2)
        #expect(bytes.take().map(\.tagID) == [2])
    }

    /// After any operations in any transactions, each tag's bytes are the sum of its entries'
    /// sizes.
    @Test(arguments: [1, 2, 3])
    func sumsAreExactAfterRandomWork(seed: UInt64) async throws {
        let folder = try TemporaryFolder()
        let clock = ManualClock()
        let path = folder.store + "/0001.sqlite"
        let store = try await openStore(folder.store, clock: clock, budget: 8 << 20) {
            $0.maximumVariantsPerKey = 2
            $0.quotas = [.tag("tag-1", bytes: 400_000), .everyOrigin(bytes: 3_000_000)]
        }
        var generator = SeededGenerator(seed: seed)
        for round in 0..<40 {
            // Some at the same time, so that they are in one transaction.
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<12 {
                    let work = Work(&generator)
                    group.addTask { try await work.run(in: store, at: clock.now()) }
                }
                try await group.waitForAll()
            }
            if round % 10 == 9 { try await store.settle() }
            #expect(try wrongTags(path) == 0, "seed \(seed), round \(round)")
        }
        #expect(try queryInteger(path, "SELECT count(*) FROM tag WHERE octets > 0") > 0)
        try await store.removeAll()
        #expect(try wrongTags(path) == 0)
        try await store.close()
    }

    private struct Work {
        var choice: Int
        var key: Int
        var length: Int
        var tags: [String]

        init(_ generator: inout SeededGenerator) {
            choice = Int.random(in: 0..<100, using: &generator)
            key = Int.random(in: 0..<40, using: &generator)
            length = Int.random(in: 0..<5, using: &generator) == 0 ? 100_000 : 3000
            tags = (0..<Int.random(in: 0...4, using: &generator)).map { _ in
                "tag-\(Int.random(in: 0..<8, using: &generator))"
            }
        }

        func run(in store: CacheManager, at now: Timestamp) async throws {
            let cacheKey = try cacheKey("/\(key)")
            switch choice {
            case ..<60:
                let selecting = key % 4 == 0
                let draft = draft(
                    cacheKey,
                    at: now,
                    fields: selecting ? [.vary: "accept"] : [:],
                    selecting: selecting ? [.accept: "\(length)\(tags.count)"] : [:],
                    tags: tags
                )
                _ = await code { try await store.store(draft, [pattern(length)]) }
            case ..<80:
                guard let response = try await store.responses.lookup(cacheKey).first else { return }
                var head = response.head
                head.fields[.contentType] = String(repeating: "x", count: length / 100)
                let renewal = renewed(response, head, at: now.adding(.seconds(60)), tags: tags)
                _ = try await store.responses.freshen(
                    response,
                    with: renewal,
                    fencingNumber: store.responses.invalidationSequence
                )
            case ..<88: try await store.removeResponse(for: cacheKey)
            case ..<92:
                try await store.responses.invalidate(.tag(tags.first ?? "none"), keepingForOffline: false, at: now)
            case ..<96: try await store.invalidateResponses(tagged: tags.first ?? "none")
            case ..<99: try await store.removeExpired(includingOfflineUsable: true)
            default: try await store.responses.invalidate(.all, keepingForOffline: key % 4 > 0, at: now)
            }
        }
    }
}

/// Counts the tags whose bytes are not the sum of their entries' sizes.
func wrongTags(_ path: String) throws -> Int64 {
    try queryInteger(
        path,
        """
        SELECT count(*) FROM tag WHERE octets <> (
            SELECT coalesce(sum(entry.size), 0) FROM entry_tag t JOIN entry ON entry.id = t.entry_id WHERE t.tag_id = tag.id
        )
        """
    )
}
