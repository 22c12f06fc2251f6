import Holdfast
import HoldfastTesting
import Testing

/// The page "My closure is never called".
@Suite(.timeLimit(.minutes(20))) struct MyClosureIsNeverCalledTests {
    typealias GetFeed = GettingStartedTests.GetFeed

    struct Profile: Decodable, Sendable { let name: String }

    struct GetProfile: Endpoint {
        typealias Response = Profile
        var path: String { "/me" }
        var offlineReads: OfflineReads? { .despiteDirectives }
    }

    struct FindBoats: Endpoint {
        let words: String
        var path: String { "/boats" }
        var task: HTTPTask { .json(["words": "\(words)"]) }
        var storage: CacheRequest.Storage { .expiring(.after(.seconds(600))) }
    }

    private let noStore: HTTPFields = [.cacheControl: "no-store"]

    /// Not run: it opens a folder in the current directory.
    private func open() async throws {
        let client = try await CachingClient.open(
            store: "feed.store",
            configuration: .init(environment: .production, offlineReads: .despiteDirectives)
        )
        try await client.close()
    }

    @Test func emissionStatesWhyNothingIsStored() async throws {
        let printed = Events()
        func print(_ text: String, _ reason: StorageRefusal) { printed.append("\(text) \(reason)") }
        try await withTestClient(.init(environment: .production)) { test in
            let client = test.client
            test.transport.script(GettingStartedTests.url, .ok(GettingStartedTests.content, fields: noStore))
            let emission = try await client.fetch(GetFeed(userID: "harbour"))
            if let reason = emission.notStored {
                print("Not stored:", reason)  // responseNoStore, setCookie, method, …
            }
        }
        #expect(printed.all == ["Not stored: responseNoStore"])
    }

    @Test func oneSettingStoresDespiteDirectives() async throws {
        try await withTestClient(.init(environment: .production)) { test in
            test.transport.script("https://api.example.com/me", .ok(#"{"name": "Ada"}"#, fields: noStore))
            _ = try await test.client.fetch(GetProfile())
            test.client.mode = .offline
            #expect(try await test.client.fetch(GetProfile()).value.name == "Ada")
        }
    }

    @Test func postResponseIsStoredForTheLifetimeOfItsEndpoint() async throws {
        try await withTestClient(.init(environment: .production)) { test in
            test.transport.script("https://api.example.com/boats", .ok("sloop"))
            _ = try await test.client.fetch(FindBoats(words: "sail"))
            test.clock.advance(by: .seconds(599))
            #expect(try await test.client.fetch(FindBoats(words: "sail")).source == .store)
        }
    }

    private final class Screen: Sendable {
        private let subscriptions = SubscriptionBag()
        let shown = Events()

        func open(_ client: CachingClient) {
            client.onCache(GetFeed(userID: "harbour"), owner: self) { screen, stored in
                screen.show(stored.value)
            }.request(owner: self) { screen, fresh in
                screen.show(fresh.value)
            }.store(in: subscriptions)
        }

        private func show(_ feed: GettingStartedTests.Feed) { shown.append("\(feed.moments.count)") }
    }

    @Test func keptSubscriptionGetsBothValues() async throws {
        let screen = Screen()
        try await withTestClient(.init(environment: .production, offlineReads: .despiteDirectives)) { test in
            let client = test.client
            test.transport.script(GettingStartedTests.url, repeating: .ok(GettingStartedTests.content, fields: noStore))
            _ = try await client.fetch(GetFeed(userID: "harbour"))
            screen.open(client)
            while screen.shown.all.count < 2, !Task.isCancelled { await Task.yield() }
        }
        #expect(screen.shown.all == ["1", "1"])
    }
}
