import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import NIOCore
import TestSupport
import Testing

@testable import OfflineStore

/// Random stores, revised at random, compared with the expected place of each response.
@Suite(.timeLimit(.minutes(20))) struct RevisingModelTests {
    let folder: TemporaryFolder
    let clock = ManualClock()
    var path: String { folder.store + "/0001.sqlite" }

    init() throws { folder = try TemporaryFolder() }

    private struct Place: Hashable {
        var key: StoreKey
        var variant: String
    }

    private struct Stored: Equatable {
        var body: ByteBuffer
        var received: Timestamp
        var tags: [String]
        var isInvalidated = false
        var isPinned = false
    }

    private static let paths = 12
    private static let partitions: [StoreKey.Partition] = [.common, .principal("a"), .credentials([1, 2, 3])]

    /// The new target of a response; idempotent, as rules are. Some paths lose their query, some a
    /// parameter, some stay, some move to another host.
    private static func target(_ target: TargetURI, seed: UInt64) throws -> TargetURI {
        var generator = SeededGenerator(
            seed: seed &* 1000 &+ UInt64(target.path.utf8.count) &+ UInt64(target.path.utf8.last ?? 0)
        )
        switch Int.random(in: 0..<4, using: &generator) {
        case 0: return target.ignoring(ParameterNames(["*"]))
        case 1: return target.ignoring(ParameterNames(["s"]))
        case 2: return try TargetURI("https://other.example\(target.requestTarget)")
        default: return target
        }
    }

    @Test(arguments: [1, 2, 3, 4, 5, 6] as [UInt64])
    func everyResponseIsUnderItsExpectedKey(seed: UInt64) async throws {
        var generator = SeededGenerator(seed: seed)
        let isErasing = seed % 2 == 0
        func open() async throws -> CacheManager {
            try await openStore(folder.store, clock: clock) {
                $0.securelyDeletes = isErasing
                $0.quotas = [.tag("tag-1", bytes: 60 << 20), .everyOrigin(bytes: 60 << 20)]
                // Keys that collide.
                if seed % 3 == 0 { $0.keyHash = { UInt64($0.count % 5) } }
            }
        }
        var store = try await open()
        var model: [Place: Stored] = [:]
        for round in 0..<4 {
            for number in 0..<60 { try await put(number, in: store, &model, &generator) }
            try await invalidateSome(in: store, &model, &generator)
            if round == 1 {
                // The sweep has not progressed when the next process begins.
                try await store.close()
                store = try await open()
            }
            let seed = seed &* 100 &+ UInt64(round)
            let revising: CacheManager.Revising = { stored in
                var parts = stored.key.components
                guard let target = try? Self.target(parts.target, seed: seed) else { return nil }
                parts.target = target
                return ResponseRevision(
                    key: StoreKey(
                        partition: parts.partition,
                        method: parts.method,
                        target: target,
                        content: parts.content
                    )
                )
            }
            _ = try await store.reviseResponses(revising)
            model = try Self.revised(model, seed: seed)
            try await compare(model, store, "seed \(seed)")
            let again = try await store.reviseResponses(revising)
            #expect(again.isUnchanged && again.examined == model.count, "seed \(seed)")
            if Bool.random(using: &generator) {
                try await store.close()
                store = try await open()
                try await compare(model, store, "seed \(seed), opened again")
            }
            #expect(try wrongTags(path) == 0)
        }
        try await store.close()
        guard seed % 3 != 0 else { return }
        #expect(try await CacheManager.verify(at: folder.store, isFull: true).findings == [])
    }

    private func put(
        _ number: Int,
        in store: CacheManager,
        _ model: inout [Place: Stored],
        _ generator: inout SeededGenerator
    ) async throws {
        let path = String(repeating: "p", count: 1 + Int.random(in: 0..<Self.paths, using: &generator))
        let query = ["", "?s=\(number)", "?s=\(number)&x=1", "?x=1&y=2"].randomElement(using: &generator) ?? ""
        let target = try TargetURI("https://api.example/\(path)\(query)")
        let partition = Self.partitions.randomElement(using: &generator) ?? .common
        let key = StoreKey(partition: partition, target: target)
        let language = ["de", "en"].randomElement(using: &generator) ?? "de"
        let tags = Set(
            (0..<Int.random(in: 0...3, using: &generator)).map { _ in
                "tag-\(Int.random(in: 0..<5, using: &generator))"
            }
        ).sorted()
        clock.advance(by: .milliseconds(Int.random(in: 1..<9, using: &generator)))
        // Not always in the order in which they are stored.
        let received = clock.now().adding(.seconds(Int.random(in: -50..<50, using: &generator)))
        let body = pattern(
            [0, 100, 3_000, 70_000, 140_000].randomElement(using: &generator) ?? 0,
            seed: generator.next()
        )
        try await store.store(
            draft(
                key,
                at: received,
                fields: [.vary: "accept-language"],
                selecting: [.acceptLanguage: language],
                tags: tags
            ),
            [body]
        )
        let place = Place(key: key, variant: language)
        var stored = Stored(body: body, received: received, tags: tags)
        stored.isPinned = model[place]?.isPinned ?? false
        if Int.random(in: 0..<8, using: &generator) == 0 {
            for entry in try await store.entries(for: target) where entry.key == .response(key) {
                let head = try await store.response(of: entry)?.head
                guard head?.selectingFields[.acceptLanguage] == language else { continue }
                #expect(try await store.setPinned(true, entry))
                stored.isPinned = true
            }
        }
        model[place] = stored
    }

    private func invalidateSome(
        in store: CacheManager,
        _ model: inout [Place: Stored],
        _ generator: inout SeededGenerator
    ) async throws {
        func apply(_ scope: InvalidationScope, _ isConcerned: (Place, Stored) -> Bool) async throws {
            let isKept = Int.random(in: 0..<4, using: &generator) > 0
            try await store.responses.invalidate(scope, keepingForOffline: isKept, at: clock.now())
            for (place, stored) in model where isConcerned(place, stored) {
                if isKept { model[place]?.isInvalidated = true } else { model[place] = nil }
            }
        }
        let tag = "tag-\(Int.random(in: 0..<5, using: &generator))"
        try await apply(.tag(tag)) { $1.tags.contains(tag) }
        let prefix = try TargetPrefix("https://api.example/ppp?s=1")
        try await apply(.prefix(prefix)) { place, _ in prefix.covers(place.key) }
    }

    /// Of responses with the same new place, the one received last stays, pinned if any of them
    /// was.
    private static func revised(_ model: [Place: Stored], seed: UInt64) throws -> [Place: Stored] {
        var revised: [Place: Stored] = [:]
        for (place, stored) in model {
            let parts = place.key.components
            let key = StoreKey(partition: parts.partition, target: try target(parts.target, seed: seed))
            let place = Place(key: key, variant: place.variant)
            guard let other = revised[place] else {
                revised[place] = stored
                continue
            }
            // Equal instants are decided by the order of storing, which the model does not know.
            #expect(other.received != stored.received)
            var newer = other.received > stored.received ? other : stored
            newer.isPinned = other.isPinned || stored.isPinned
            revised[place] = newer
        }
        return revised
    }

    private func compare(_ model: [Place: Stored], _ store: CacheManager, _ comment: String) async throws {
        var count = 0
        for try await entry in store.entries(.response) {
            guard case .response(let key) = entry.key, let response = try await store.response(of: entry) else {
                Issue.record("\(comment): \(entry)")
                continue
            }
            count += 1
            let place = Place(key: key, variant: response.head.selectingFields[.acceptLanguage] ?? "")
            let body = try #require(try await store.body(of: entry))
            let found = Stored(
                body: try await body.collect(upTo: 1 << 20),
                received: response.head.responseTime,
                tags: try await store.tags(of: entry),
                isInvalidated: response.head.isInvalidated,
                isPinned: entry.isPinned
            )
            #expect(model[place] == found, "\(comment): \(key.components.target)")
            let looked = try await store.responses.lookup(key).first { $0.id == entry.id }
            #expect(looked?.head == response.head, "\(comment): \(key.components.target)")
        }
        #expect(count == model.count, "\(comment)")
        // Nothing else is found, in memory or on disk.
        for place in model.keys {
            let found = try await store.responses.lookup(place.key)
            #expect(found.count == model.keys.count { $0.key == place.key }, "\(comment)")
        }
    }
}
