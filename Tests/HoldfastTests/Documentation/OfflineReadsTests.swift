import Holdfast
import HoldfastTesting
import Synchronization
import Testing

/// The page "Offline reads".
@Suite(.timeLimit(.minutes(20))) struct OfflineReadsTests {
    typealias GetFeed = GettingStartedTests.GetFeed

    struct Timetable: Endpoint {
        var path: String { "/timetable" }
        var rule: RuleSettings? {
            RuleSettings {
                $0.freshness.lifetime = .minutes(5)
                $0.stale.ignore = [.mustRevalidate]
            }
        }
    }

    struct Search: Endpoint {
        let words: String
        var path: String { "/search" }
        var task: HTTPTask { .json(["words": words]) }
        var storage: CacheRequest.Storage { .expiring(.after(.hours(1))) }
    }

    struct NotJSON: Error {}

    @Test func bannerIsShownWhenTheNetworkIsUnreachable() async throws {
        let banners = Mutex<[String]>([])
        let showBanner: (String) -> Void = { text in banners.withLock { $0.append(text) } }
        try await withTestClient(.init(environment: .production)) { test in
            let client = test.client
            test.transport.script(
                GettingStartedTests.url,
                .ok(GettingStartedTests.content, fields: [.cacheControl: "max-age=60"])
            )
            _ = try await client.fetch(GetFeed(userID: "harbour"))
            test.clock.advance(by: .seconds(120))
            test.transport.isReachable = false
            let emission = try await client.fetch(GetFeed(userID: "harbour"))
            if emission.source == .store, emission.isStale {
                showBanner("Offline. Last updated \(emission.age) ago.")
            }
            #expect(banners.withLock { $0 } == ["Offline. Last updated 120.0 seconds ago."])
            client.mode = .offline
            await expect(.offlineMiss) { _ = try await client.fetch(GetFeed(userID: "pier")) }
        }
    }

    @Test func timetablesAndSearchesAreServedOffline() async throws {
        try await withTestClient(.init(environment: .production)) { test in
            let fields: HTTPFields = [.cacheControl: "max-age=0, must-revalidate"]
            test.transport.script("https://api.example.com/timetable", .ok("9:05", fields: fields))
            test.transport.script("https://api.example.com/search", .ok("boats"))
            _ = try await test.client.fetch(Timetable())
            _ = try await test.client.fetch(Search(words: "boats"))
            test.clock.advance(by: .seconds(7200))
            test.client.mode = .offline
            #expect(try await test.client.fetch(Timetable(), as: String.self).value == "9:05")
            #expect(try await test.client.fetch(Search(words: "boats"), as: String.self).value == "boats")
        }
    }

    @Test func forbiddenResponsesAreServedOffline() async throws {
        var configuration = CachingClient.Configuration(environment: .production)
        configuration.offlineReads = .despiteDirectives
        try await withTestClient(configuration) { test in
            let fields: HTTPFields = [.cacheControl: "no-store"]
            test.transport.script("https://api.example.com/search", .ok("boats", fields: fields))
            let endpoint = PathEndpoint(baseURL: "", path: "/search")
            _ = try await test.client.fetch(endpoint)
            test.client.mode = .offline
            #expect(try await test.client.fetch(endpoint).value == "boats")
        }
    }

    @Test func htmlPageDoesNotReplaceAFeed() async throws {
        let banners = Mutex<[String]>([])
        let showBanner: (String) -> Void = { text in banners.withLock { $0.append(text) } }
        try await withTestClient(.init(environment: .production)) { test in
            let client = test.client
            test.transport.script(
                GettingStartedTests.url,
                .ok(GettingStartedTests.content, fields: [.cacheControl: "max-age=60"]),
                .ok("<html>", fields: [.contentType: "text/html", .cacheControl: "max-age=60"])
            )
            _ = try await client.fetch(GetFeed(userID: "harbour"))
            test.clock.advance(by: .seconds(120))
            let fresh = try await client.fetch(GetFeed(userID: "harbour"), .networkFirst)
            if fresh.outcome.detail == .guarded {
                showBanner("The server sent something else. Last updated \(fresh.age) ago.")
            }
            #expect(banners.withLock { $0 } == ["The server sent something else. Last updated 120.0 seconds ago."])
        }
    }

    @Test func contentOtherThanJSONIsRejected() async throws {
        try await withTestClient(.init(environment: .production)) { test in
            test.transport.script(GettingStartedTests.url, .ok("<html>", fields: [.contentType: "text/html"]))
            await expect(.dataFormat) { try await fetchJSON(test.client) }
        }
    }

    private func fetchJSON(_ client: CachingClient) async throws {
        let feed = client.call(GetFeed(userID: "harbour")).validate { content in
            guard content.head.headerFields[.contentType]?.hasPrefix("application/json") == true else {
                throw NotJSON()
            }
        }
        let emission = try await feed.fetch()
        #expect(emission.value.moments.isEmpty)
    }
}
