import Holdfast
import HoldfastTesting
import Testing

extension ServerEnvironment {
    static let production = ServerEnvironment("production", baseURL: "https://api.example.com")
    static let staging = ServerEnvironment("staging", baseURL: "https://staging.example.com")
}

/// The page "Getting started".
@Suite(.timeLimit(.minutes(20))) struct GettingStartedTests {
    struct Feed: Decodable, Sendable {
        struct Moment: Decodable, Sendable { let id: String, title: String? }
        let moments: [Moment]
    }

    struct GetFeed: Endpoint {
        typealias Response = Feed
        let userID: String
        var path: String { "/moments" }
        var task: HTTPTask { .query(["userID": userID]) }
    }

    enum Moments: Endpoint {
        case feed(of: String)
        case like(String)

        var path: URLPath {
            switch self {
            case .feed: "/moments"
            case .like(let id): "/moments/\(id)/like"
            }
        }
        var method: HTTPRequest.Method {
            switch self {
            case .feed: .get
            case .like: .put
            }
        }
        var task: HTTPTask {
            switch self {
            case .feed(let userID): .query(["userID": userID])
            case .like: .plain
            }
        }
        var invalidates: [StoreInvalidation] {
            switch self {
            case .feed: []
            case .like: [.prefix("https://api.example.com/moments")]
            }
        }
    }

    static let url = "https://api.example.com/moments?userID=harbour"
    static let content = #"{"moments": [{"id": "1", "title": "Low tide"}]}"#

    /// Not run: it opens a folder in the current directory.
    private func open() async throws {
        let client = try await CachingClient.open(
            store: "feed.store",
            configuration: .init(environment: .production, retry: RetryPlan())
        )
        try await client.close()
    }

    @MainActor final class FeedScreen {
        private let subscriptions = SubscriptionBag()
        private(set) var feed: Feed?

        func open(_ client: CachingClient) {
            client.startWith(GetFeed(userID: "harbour")).subscribeOnMainActor(owner: self) { screen, emission in
                screen.feed = emission.value
            } onError: { screen, error in
                print(error)
            }.store(in: subscriptions)
        }
    }

    /// Not run either.
    private func overview() async throws {
        let client = try await CachingClient.open(store: "feed.store")
        for try await emission in client.startWith(GetFeed(userID: "harbour")) {
            print(emission.source, emission.value.moments.count, emission.isStale ? "stale" : "fresh")
        }
    }

    @Test func callsOfThePageWork() async throws {
        try await withTestClient(.init(environment: .production)) { test in
            let client = test.client
            test.transport.script(Self.url, repeating: .ok(Self.content, fields: [.cacheControl: "max-age=60"]))
            let feed = try await client.fetch(GetFeed(userID: "harbour")).value
            #expect(feed.moments.map(\.title) == ["Low tide"])
            for try await emission in client.startWith(
                GetFeed(userID: "harbour"),
                ifNetworkFails: .endingQuietly
            ) {
                show(emission.value, isOld: emission.isStale)
            }
            let screen = FeedScreen()
            await screen.open(client)
            await test.transport.waitForRequests(3)
            while await screen.feed == nil, !Task.isCancelled { await Task.yield() }
            try await CachingClient.$current.withValue(client) {
                let emission = try await GetFeed(userID: "harbour").cache.fetch()
                show(emission.value, isOld: emission.isStale)
            }
            #expect(test.transport.requests.count == 3)
        }
    }

    /// Runs the block of the page that catches errors, and returns the functions that it called.
    private func handleErrors(of client: CachingClient) async -> [String] {
        let called = Events()
        func show(_ feed: Feed, isOld: Bool) { called.append("show") }
        func showOffline() { called.append("showOffline") }
        func report(_ error: HoldfastError) { called.append("report") }
        do throws(HoldfastError) {
            let emission = try await client.fetch(GetFeed(userID: "harbour"))
            show(emission.value, isOld: emission.isStale)
        } catch let error where error.code == .originUnreachable || error.code == .offlineMiss {
            // Nothing is stored, and the origin is unreachable or the mode forbids network use.
            showOffline()
        } catch {
            report(error)
        }
        return called.all
    }

    @Test func outageWithoutAStoredValueIsCaught() async throws {
        try await withTestClient(.init(environment: .production)) { test async throws in
            test.transport.script(Self.url, .status(.notFound))
            #expect(await handleErrors(of: test.client) == ["report"])
            test.transport.isReachable = false
            #expect(await handleErrors(of: test.client) == ["showOffline"])
            test.client.mode = .offline
            #expect(await handleErrors(of: test.client) == ["showOffline"])
        }
    }

    @Test func likeInvalidatesTheFeed() async throws {
        try await withTestClient(.init(environment: .production)) { test in
            test.transport.script(Self.url, repeating: .ok(Self.content, fields: [.cacheControl: "max-age=60"]))
            test.transport.script("https://api.example.com/moments/1/like", .status(.noContent))
            _ = try await test.client.fetch(Moments.feed(of: "harbour"))
            _ = try await test.client.fetch(Moments.like("1"), as: NoContent.self)
            let stored = try await test.client.stored(Moments.feed(of: "harbour"))
            #expect(stored?.isStale == true)
        }
    }
}

private func show(_ feed: GettingStartedTests.Feed, isOld: Bool) {}
