import Foundation
import Holdfast
import HoldfastTesting
import Testing

/// The page "Testing your code".
@Suite(.timeLimit(.minutes(20))) struct TestingYourCodeTests {
    typealias Feed = GettingStartedTests.Feed
    typealias GetFeed = GettingStartedTests.GetFeed

    struct Weather: Endpoint {
        var path: String { "/weather" }
        var sampleResponse: SampleResponse? { SampleResponse(json: #"{"wind": 7}"#) }
    }

    @Test func testClientSendsNoRequest() async throws {
        try await withTestClient(.init(environment: .production)) { test in
            test.transport.script(
                "https://api.example.com/moments?userID=harbour",
                .ok(#"{"moments": []}"#)
            )
            let feed = try await test.client.fetch(GetFeed(userID: "harbour"))
            precondition(feed.value.moments.isEmpty)
        }
    }

    @Test func testMovesTheClock() async throws {
        try await withTestClient(.init(environment: .production)) { test in
            test.transport.script(
                "https://api.example.com/moments?userID=harbour",
                .ok(#"{"moments": []}"#, fields: [.cacheControl: "max-age=60"])
            )
            _ = try await test.client.fetch(GetFeed(userID: "harbour"))
            test.clock.advance(by: .seconds(3600))
            test.transport.isReachable = false
            let offline = try await test.client.fetch(GetFeed(userID: "harbour"))
            precondition(offline.isStale && offline.age == .seconds(3600))
        }
    }

    @Test func onlineModeContactsAnOriginThatFailed() async throws {
        try await withTestClient(.init(environment: .production)) { test in
            test.transport.script(
                "https://api.example.com/moments?userID=harbour",
                .ok(#"{"moments": []}"#, fields: [.cacheControl: "max-age=60"])
            )
            _ = try await test.client.fetch(GetFeed(userID: "harbour"))
            test.clock.advance(by: .seconds(3600))
            test.transport.isReachable = false
            _ = try await test.client.fetch(GetFeed(userID: "harbour"))
            // The probe waits on the sleeper, which does not move.
            await test.sleeper.sleepers(atLeast: 1)
            test.transport.isReachable = true
            test.client.mode = .online
            let repeated = try await test.client.fetch(GetFeed(userID: "harbour"))
            #expect(repeated.isStale && test.transport.requests.count == 2)
            test.client.mode = .automatic
            test.clock.advance(by: .seconds(1))
            let unprobed = try await test.client.fetch(GetFeed(userID: "harbour"))
            #expect(unprobed.isStale && test.transport.requests.count == 2)

            test.transport.isReachable = true
            test.transport.script(
                "https://api.example.com/moments?userID=harbour",
                .ok(#"{"moments": []}"#)
            )
            test.client.mode = .online
            test.clock.advance(by: .seconds(1))
            let fresh = try await test.client.fetch(GetFeed(userID: "harbour"))
            precondition(fresh.source == .network)
            #expect(test.transport.requests.count == 3)
        }
    }

    @Test func testEndsThePauseOfARetry() async throws {
        let configuration = CachingClient.Configuration(environment: .production, retry: RetryPlan())
        try await withTestClient(configuration) { test in
            test.transport.script(
                "https://api.example.com/moments?userID=harbour",
                .status(.serviceUnavailable),
                .ok(#"{"moments": []}"#)
            )
            async let feed = test.client.fetch(GetFeed(userID: "harbour"))
            await test.sleeper.sleepers(atLeast: 2)
            test.sleeper.advance(by: .milliseconds(200))
            let retried = try await feed
            precondition(retried.value.moments.isEmpty && test.transport.requests.count == 2)
        }
    }

    @Test func scriptControlsTheNetwork() async throws {
        let clock = ManualDurationClock()
        let transport = ScriptedTransport(sleeper: clock)
        let feed = "https://api.example.com/moments?userID=harbour"
        transport.script(
            feed,
            .ok("[]").delayed(by: .seconds(2)),
            .ok("[1, 2]").truncated(after: 3),
            .notModified()
        )
        transport.script(feed, repeating: .ok("[]"), .failure(.connect))
        transport.script("https://api.example.com/echo", method: .post) { request in
            .ok(request.text ?? "")
        }
        try transport.script(samplesOf: Weather(), environment: .production)
        #expect(transport.requests.isEmpty)
    }

    @Test func sourcesAreChecked() throws {
        let sources = URL(filePath: #filePath).deletingLastPathComponent().path
        let check = try EndpointSourceCheck(folder: sources)
        precondition(check.findings.isEmpty, "\(check.findings)")
        #expect(check.endpoints.contains("TestingYourCodeTests.Weather"))
    }

    @Test func emissionsAreRecorded() async throws {
        try await withTestClient(.init(environment: .production)) { test in
            test.transport.script(
                GettingStartedTests.url,
                repeating: .ok(GettingStartedTests.content, fields: [.cacheControl: "max-age=60"])
            )
            _ = try await test.client.fetch(GetFeed(userID: "harbour"))
            let recorded = await test.client.startWith(GetFeed(userID: "harbour")).recorded()
            precondition(recorded.sources == [.store, .network] && recorded.isComplete)
            let recorder = CallbackRecorder<Feed>()
            await recorder.subscribe(to: test.client.startWith(GetFeed(userID: "harbour"))).finished()
            precondition(recorder.order == ["next store", "next network", "completed"])
        }
    }
}
