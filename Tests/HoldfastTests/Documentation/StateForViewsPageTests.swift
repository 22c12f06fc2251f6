import Holdfast
import HoldfastTesting
import Observation
import Testing

/// The page "State for views".
@Suite(.timeLimit(.minutes(20))) struct StateForViewsPageTests {
    typealias Feed = GettingStartedTests.Feed
    typealias GetFeed = GettingStartedTests.GetFeed

    @MainActor final class FeedScreen {
        private let feed: Query<Feed>

        init(_ client: CachingClient) {
            feed = client.query(GetFeed(userID: "harbour"), every: .seconds(60))
        }

        var lines: [String] {
            guard let value = feed.value else { return [feed.error?.message ?? "Loading"] }
            let state = feed.isOffline ? "Offline, " : feed.isRefreshing ? "Updating, " : ""
            return ["\(state)\(feed.age ?? .zero) old"] + value.moments.map(\.id)
        }

        func draw(_ show: @escaping @MainActor ([String]) -> Void) {
            show(
                withObservationTracking {
                    lines
                } onChange: { [weak self] in
                    Task { await self?.draw(show) }
                }
            )
        }
    }

    @MainActor private final class Paper {
        var drawn: [[String]] = []
    }

    private struct Released {
        weak var screen: FeedScreen?
    }

    @Test @MainActor func screenIsDrawnUntilItIsReleased() async throws {
        try await withTestClient(.init(environment: .production)) { test in
            let content = #"{"moments": [{"id": "1"}]}"#
            test.transport.script(GettingStartedTests.url, .ok(content, fields: [.cacheControl: "max-age=60"]))
            let paper = Paper()
            var screen: FeedScreen? = FeedScreen(test.client)
            screen?.draw { paper.drawn.append($0) }
            while paper.drawn.last?.last != "1", !Task.isCancelled { await Task.yield() }
            let first = paper.drawn.first
            #expect(first == ["Loading"])
            let released = Released(screen: screen)
            screen = nil
            while released.screen != nil, !Task.isCancelled { await Task.yield() }
        }
    }

    private static let content = #"{"moments": [{"id": "1"}]}"#
    private static let fields: HTTPFields = [.cacheControl: "max-age=60"]

    @Test @MainActor func refreshReturnsWhenTheResultIsShown() async throws {
        try await withTestClient(.init(environment: .production)) { test in
            let client = test.client
            test.transport.script(GettingStartedTests.url, repeating: .ok(Self.content, fields: Self.fields))
            let options = QueryOptions(interval: .seconds(60), updatedValues: .shown)
            let feed = Query(client.call(GetFeed(userID: "harbour")), options: options)
            await feed.refresh()
            #expect(feed.value?.moments.count == 1 && !feed.isLoading && !feed.isRefreshing)
        }
    }

    @Test(arguments: [OfflineMode.offline, .preferStored])
    @MainActor func removedValueStaysOnTheScreen(mode: OfflineMode) async throws {
        try await withTestClient(.init(environment: .production)) { test in
            let client = test.client
            test.transport.script(GettingStartedTests.url, repeating: .ok(Self.content, fields: Self.fields))
            _ = try await client.fetch(GetFeed(userID: "harbour"))
            client.mode = mode
            let feed = client.query(GetFeed(userID: "harbour"))
            while feed.value == nil || feed.isLoading, !Task.isCancelled { await Task.yield() }
            try await client.remove(GetFeed(userID: "harbour"))
            #expect(try await client.stored(GetFeed(userID: "harbour")) == nil)
            await feed.refresh()
            let code: HoldfastError.Code? = mode == .offline ? .offlineMiss : nil
            let requests = mode == .offline ? 1 : 2
            #expect(feed.value?.moments.count == 1 && feed.error?.code == code)
            #expect(test.transport.requests.count == requests)
        }
    }
}
