import Holdfast
import HoldfastTesting
import Synchronization
import Testing

/// The page "Short forms".
@Suite(.timeLimit(.minutes(20))) struct ShortFormsPageTests {
    typealias Feed = GettingStartedTests.Feed
    typealias GetFeed = GettingStartedTests.GetFeed
    private typealias Moments = GettingStartedTests.Moments

    private struct Draft: Codable, Sendable { var title: String }

    private actor Screen {
        var events: [String] = []
        func show(_ feed: Feed) { events.append("\(feed.moments.count)") }
        func report(_ error: HoldfastError) { events.append("\(error.code)") }
    }

    final class FeedScreen: Sendable {
        private let subscriptions = SubscriptionBag()

        func open(_ client: CachingClient) {
            client.startWith(GetFeed(userID: "harbour")).subscribe(owner: self) { screen, emission in
                screen.show(emission.value)
            }.store(in: subscriptions)
        }

        func close() { subscriptions.cancelAll() }

        func show(_ feed: Feed) { print(feed.moments.count) }
    }

    private final class SeparateScreen: Sendable {
        private let subscriptions = SubscriptionBag()

        func open(_ client: CachingClient) {
            client.onCache(GetFeed(userID: "harbour"), owner: self) { screen, stored in
                screen.show(stored.value)
            }.request(owner: self) { screen, fresh in
                screen.show(fresh.value)
            }.store(in: subscriptions)
        }

        private func show(_ feed: Feed) { print(feed.moments.count) }
    }

    private static let reply = ScriptedTransport.Reply.ok(
        GettingStartedTests.content,
        fields: [.cacheControl: "max-age=60"]
    )

    @Sendable private func show(_ feed: Feed) {}

    /// Not run: it opens a folder in the current directory.
    private func open() async throws {
        let client = try await CachingClient.open(store: "feed.store")
        for try await emission in client.startWith("https://api.example.com/feed", as: Feed.self) {
            print(emission.source, emission.value.moments.count)
        }
    }

    final class Router<Route: Endpoint>: Sendable {
        private let routes: ScopedClient<Route, Route.Response>
        private let bag = SubscriptionBag()

        init(_ client: CachingClient) { routes = client.of(Route.self) }

        func request(
            _ route: Route,
            _ completion: @escaping @Sendable (Result<Emission<Route.Response>, HoldfastError>) -> Void
        ) {
            routes.call(route).results(completion).store(in: bag)
        }

        func cancel() { bag.cancelAll() }
    }

    @Test func requestsNeedNoType() async throws {
        try await withTestClient { test in
            let (client, text, draft) = (test.client, "low tide", Draft(title: "Low tide"))
            test.transport.script("https://api.example.com/search?q=low%20tide", Self.reply)
            test.transport.script("https://api.example.com/moments", method: .post, .ok(""))
            let found = try await client.get(
                "https://api.example.com/search",
                as: Feed.self,
                query: ["q": "\(text)"]
            )
            try await client.post("https://api.example.com/moments", draft)
            var search = AdHocRequest<Feed>("https://api.example.com/search", query: ["q": "\(text)"])
            search.storage = .expiring(.after(.seconds(600)))
            let feed = try await client.fetch(search).value
            #expect(found.value.moments.count == 1 && feed.moments.count == 1)
        }
    }

    @Test func mutationWithoutContentNeedsNoType() async throws {
        try await withTestClient(.init(environment: .production)) { test in
            let (client, id) = (test.client, "a/b")
            test.transport.script("https://api.example.com/moments/a%2Fb/like", method: .put, .status(.noContent))
            let path: URLPath = "/moments/\(id)/like"
            _ = try await client.fetch(AdHocRequest<NoContent>(path.text, method: .put))
            #expect(test.transport.requests.count == 1)
        }
    }

    @Test func oneDotListsAnAPI() async throws {
        try await withTestClient(.init(environment: .production)) { test in
            let client = test.client
            test.transport.script(GettingStartedTests.url, repeating: Self.reply)
            let moments = client.of(Moments.self)
            for try await emission in moments.as(Feed.self).startWith(.feed(of: "harbour")) {
                print(emission.value.moments.count)
            }
            let feeds = Moments.feed(of: "harbour").on(client).request().map(Feed.self)
            #expect(await feeds.recorded().values.map(\.moments.count) == [1])
            try await CachingClient.$current.withValue(client) {
                let feed = try await GetFeed(userID: "harbour").cache.fetch().value
                show(feed)
            }
        }
    }

    @Test func callbacksAreKeptAndMaySuspend() async throws {
        try await withTestClient(.init(environment: .production)) { test in
            let (client, screen) = (test.client, Screen())
            test.transport.script(GettingStartedTests.url, repeating: Self.reply)
            let feedScreen = FeedScreen()
            feedScreen.open(client)
            SeparateScreen().open(client)
            feedScreen.close()
            let feed = client.startWith(GetFeed(userID: "harbour"))
            let subscription = feed.subscribe(owner: screen) { screen, emission in
                await screen.show(emission.value)
            } onError: { screen, error in
                await screen.report(error)
            }
            await subscription.finished()
            let events = await screen.events
            #expect(events.last == "1" && !events.isEmpty)
        }
    }

    @Test func routerRequestsAndCancels() async throws {
        try await withTestClient(.init(environment: .production)) { test in
            test.transport.script(GettingStartedTests.url, Self.reply, .ok("", beforeHead: Gate()))
            let router = Router<GetFeed>(test.client)
            let results = Mutex(0)
            router.request(GetFeed(userID: "harbour")) { _ in results.withLock { $0 += 1 } }
            while results.withLock({ $0 }) < 1, !Task.isCancelled { await Task.yield() }
            router.request(GetFeed(userID: "harbour")) { result in
                if (try? result.get())?.source == .network { Issue.record("A cancelled request called back.") }
            }
            await test.transport.waitForRequests(2)
            router.cancel()
        }
    }
}
