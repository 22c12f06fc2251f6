import Holdfast
import HoldfastTesting
import Logging
import Testing

/// The page "Plugins".
@Suite(.timeLimit(.minutes(20))) struct PluginsPageTests {
    typealias GetFeed = GettingStartedTests.GetFeed

    struct Stopwatch: ObservingPlugin {
        let note: @Sendable (Duration) -> Void

        func didReceive(
            _ result: Result<HTTPResponse, any Error>,
            to request: SentRequest,
            for call: CallInfo,
            after duration: Duration
        ) {
            note(duration)
        }
    }

    struct EmptyWhenOffline: SubstitutingPlugin {
        func substitute(
            for failure: HoldfastError,
            of call: CallInfo
        ) async throws -> ResponseContent? {
            guard call.endpoint is GetFeed, failure.code == .offlineMiss else { return nil }
            return ResponseContent(json: #"{"moments": []}"#)
        }
    }

    @Test func substituteOfThePageIsMarked() async throws {
        let banners = Events()
        let showBanner: (String) -> Void = { banners.append($0) }
        let configuration = CachingClient.Configuration(environment: .production, plugins: [EmptyWhenOffline()])
        try await withTestClient(configuration) { test in
            let client = test.client
            client.mode = .offline
            let emission = try await client.fetch(GetFeed(userID: "harbour"))
            if emission.source == .substitute {
                showBanner("Nothing is known of this feed yet.")
            }
            #expect(emission.value.moments.isEmpty)
        }
        #expect(banners.all == ["Nothing is known of this feed yet."])
    }

    private let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    private static func renew(_ old: String?) async throws -> String { "token" }

    @Test func pluginsOfThePageWork() async throws {
        let renew = Self.renew
        let durations = Events()
        let stopwatch = Stopwatch { durations.append("\($0)") }
        var configuration = CachingClient.Configuration(environment: .production)
        configuration.plugins = [
            FieldsPlugin([.userAgent: "harbour/3.1", .acceptLanguage: "de, en;q=0.5"]),
            NetworkLogger(logger, .init(form: .curl)),
        ]
        let authenticator = try TokenAuthenticator(principal: "user-4711") { old in
            AccessToken(try await renew(old?.value))
        }
        configuration.plugins.append(authenticator)
        try await withTestClient(configuration) { test in
            let client = test.client
            test.transport.script(GettingStartedTests.url, .ok(GettingStartedTests.content))
            let call = client.call(GetFeed(userID: "harbour")).with { $0.plugins = [stopwatch] }
            _ = try await call.fetch()
            let sent = test.transport.requests.map(\.headerFields)
            #expect(sent.map { $0[.userAgent] } == ["harbour/3.1"])
            #expect(sent.map { $0[.authorization] } == ["Bearer token"])
            #expect(durations.all == ["0.0 seconds"])
        }
    }
}
