import Foundation
import Holdfast
import HoldfastTesting
import Synchronization
import TestSupport
import Testing

/// The page "The store".
@Suite(.timeLimit(.minutes(20))) struct TheStorePageTests {
    typealias GetFeed = GettingStartedTests.GetFeed
    private struct Draft: Codable, Equatable, Sendable { var text: String }

    private func withFolder(_ body: (String) async throws -> Void) async throws {
        try await TemporaryFolder.with { try await body($0.path + "/store") }
    }

    @Test func objectsAndBatchesAreStored() async throws {
        let draft = Draft(text: "Dear")
        try await withFolder { folder in
            let store = try await CacheManager.open(at: folder)
            try await store.setObject(draft, forKey: "draft/7", expiry: .after(.seconds(3600)))
            let live: Draft? = try await store.object(forKey: "draft/7")
            let any: StoredObject<Draft>? = try await store.storedObject(forKey: "draft/7")
            #expect(live == draft && any?.value == draft)
            try await store.setObjects(["draft/8": draft, "draft/9": draft])
            let names = ["draft/8", "draft/9", "draft/10"]
            let drafts: [Draft?] = try await store.objects(forKeys: names)
            let missing = zip(names, drafts).filter { $0.1 == nil }.map(\.0)
            #expect(missing == ["draft/10"])
            try await store.close()
        }
    }

    private struct User: Codable, Sendable { let id: String, name: String }

    private struct GetUsers: Endpoint {
        typealias Response = [User]
        let ids: [String]
        let path = "/users"
        var task: HTTPTask { .query(["ids": ids.joined(separator: ",")]) }
    }

    @Test func itemsOfOneResponseAreStoredSeparately() async throws {
        try await withTestClient(.init(environment: .production)) { test in
            let client = test.client
            test.transport.script(
                "https://api.example.com/users?ids=7%2C8",
                .ok(#"[{"id": "7", "name": "Ada"}]"#)
            )
            let users = ObjectBatch<String, User>(key: { "user/\($0)" }, expiry: .after(.hours(1))) { ids in
                GetUsers(ids: ids)
            } values: { users in
                Dictionary(users.map { ($0.id, $0) }) { $1 }
            }
            let batch = try await client.fetch(["7", "8"], of: users)
            print(batch["7"]?.name ?? "unknown", batch.missing, batch.failure?.message ?? "")
            #expect(batch["7"]?.name == "Ada" && batch.missing == ["8"] && batch.failure == nil)

            test.clock.advance(by: .hours(2))
            test.transport.isReachable = false
            let offline = try await client.fetch(["7", "8"], of: users)
            #expect(offline.items["7"]?.isStale == true && offline.failure?.code == .originUnreachable)
            #expect(try await client.store.object(User.self, forKey: "user/7") == nil)
            #expect(try await client.store.storedObject(User.self, forKey: "user/7")?.value.name == "Ada")
        }
    }

    @Test func configurationAndPurgesWork() async throws {
        try await withFolder { folder in
            var configuration = CacheManager.Configuration(budget: 512 << 20)
            configuration.evictionOrder = .keepingOfflineCopies
            configuration.quotas = [.tag("thumbnails", bytes: 64 << 20), .everyOrigin(bytes: 128 << 20)]
            let store = try await CacheManager.open(at: folder, configuration: configuration)
            try await store.invalidateResponses(tagged: "feed")
            try await store.invalidateResponses(withPrefix: TargetPrefix("https://api.example.com/v1/"))
            try await store.removeExpired()
            let statistics = try await store.statistics()
            print(statistics.responses, statistics.objects, statistics.evictedEntries)
            #expect(statistics.invalidationSequence == 2)
            try await store.close()
        }
    }

    @Test func changesAreObserved() async throws {
        try await withFolder { folder in
            let store = try await CacheManager.open(at: folder)
            let reloads = Mutex(0)
            @Sendable func reload() async { reloads.withLock { $0 += 1 } }
            let changes = store.changes(of: .tag("feed"))
            try await store.invalidateResponses(tagged: "feed")
            try await store.close()
            for await _ in changes { await reload() }
            #expect(reloads.withLock { $0 } == 1)
            for await _ in store.changes(of: .tag("feed")) { await reload() }
        }
    }

    @Test func objectIsObserved() async throws {
        try await withFolder { folder in
            let store = try await CacheManager.open(at: folder)
            try await store.setObject(Draft(text: "Dear"), forKey: "draft/7")
            let shown = Events()
            @Sendable func show(_ draft: Draft?) { shown.append(draft?.text ?? "none") }
            let watching = Task {
                for try await draft in store.changes(ofObject: "draft/7", as: Draft.self) {
                    show(draft?.value)
                }
            }
            while shown.all.isEmpty, !Task.isCancelled { await Task.yield() }
            try await store.removeObject(forKey: "draft/7")
            while shown.all.count < 2, !Task.isCancelled { await Task.yield() }
            try await store.close()
            try await watching.value
            #expect(shown.all == ["Dear", "none"])
        }
    }

    /// Shows the first stored value and the values that the writing process stores afterwards.
    @Test func workersFollowTheWriter() async throws {
        try await withFolder { folder in
            let writer = try await CacheManager.open(at: folder)
            let transport = ScriptedTransport()
            let configuration = CachingClient.Configuration(environment: .production)
            let filling = CachingClient(store: writer, transport: transport, configuration: configuration)
            let fields: HTTPFields = [.cacheControl: "max-age=60"]
            transport.script(GettingStartedTests.url, repeating: .ok(GettingStartedTests.content, fields: fields))
            _ = try await filling.fetch(GetFeed(userID: "harbour"))
            let (shown, showing) = AsyncStream.makeStream(of: Int.self)
            let work = Task {
                let show: (GettingStartedTests.Feed) -> Void = { showing.yield($0.moments.count) }
                let shared = try await CacheManager.openReadOnly(at: folder)
                let worker = CachingClient(store: shared, transport: transport, configuration: configuration)
                let call = worker.call(GetFeed(userID: "harbour")).with { $0.followsStore = true }
                for try await emission in call.request() { show(emission.value) }
            }
            var iterator = shown.makeAsyncIterator()
            #expect(await iterator.next() != nil)
            work.cancel()
            try? await work.value
            try await filling.close()
            try await writer.close()
        }
    }
}
