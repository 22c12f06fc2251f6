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
            while paper.drawn.last?.last != "1" { await Task.yield() }
            let first = paper.drawn.first
            #expect(first == ["Loading"])
            let released = Released(screen: screen)
            screen = nil
            while released.screen != nil { await Task.yield() }
        }
    }
}
