import Holdfast
import HoldfastTesting
import Testing

/// The page "Errors of an outage".
@Suite(.timeLimit(.minutes(20))) struct OutagesPageTests {
    typealias GetFeed = GettingStartedTests.GetFeed

    struct LikeMoment: Endpoint {
        typealias Response = NoContent
        let path = "/moments/1/like"
        let method = HTTPRequest.Method.put
    }

    private static let url = GettingStartedTests.url
    private static let content = GettingStartedTests.content

    /// Runs the page's first block, and returns the name of the function that it called.
    private func handleErrors(of client: CachingClient) async throws -> String? {
        let called = Events()
        func show(_ feed: GettingStartedTests.Feed, isOld: Bool) { called.append(isOld ? "showOld" : "show") }
        func showOffline(_ suggestion: String?) { called.append(suggestion == nil ? "none" : "showOffline") }
        func showTryAgain() { called.append("showTryAgain") }
        func showLogIn() { called.append("showLogIn") }
        func report(_ error: HoldfastError) { called.append("report") }
        do {
            let emission = try await client.fetch(GetFeed(userID: "harbour"))
            show(emission.value, isOld: emission.isStale)
        } catch {
            switch error.code {
            case .originUnreachable, .offlineMiss, .staleForbidden: showOffline(error.recoverySuggestion)
            case .overloaded, .timeout, .truncated: showTryAgain()
            case .authenticationFailed, .loginRequired: showLogIn()
            default: report(error)
            }
        }
        return called.all.last
    }

    @Test func errorsOfThePageAreToldApart() async throws {
        try await withTestClient(.init(environment: .production)) { test async throws in
            test.transport.script(
                Self.url,
                .failure(.overloaded),
                .ok(Self.content).truncated(after: 3),
                .failure(.protocolViolation),
                .status(.unauthorized),
                .status(.notFound),
                .ok(Self.content, fields: [.cacheControl: "max-age=60"])
            )
            for name in ["showTryAgain", "showTryAgain", "report", "showLogIn", "report", "show"] {
                #expect(try await handleErrors(of: test.client) == name)
            }
            test.clock.advance(by: .seconds(120))
            test.transport.isReachable = false
            #expect(try await handleErrors(of: test.client) == "showOld")
        }
        try await withTestClient(.init(environment: .production)) { test async throws in
            test.transport.isReachable = false
            #expect(try await handleErrors(of: test.client) == "showOffline")
        }
    }

    @Test func forbiddenStaleResponseIsAnErrorOfFetchAndOfStreams() async throws {
        try await withTestClient(.init(environment: .production)) { test in
            let client = test.client
            let fields: HTTPFields = [.cacheControl: "max-age=60, must-revalidate"]
            test.transport.script(Self.url, .ok(Self.content, fields: fields))
            _ = try await client.fetch(GetFeed(userID: "harbour"))
            test.clock.advance(by: .seconds(120))
            test.transport.isReachable = false
            await expect(.staleForbidden) { _ = try await client.fetch(GetFeed(userID: "harbour")) }
            await expect(.originUnreachable) {
                for try await _ in client.startWith(GetFeed(userID: "harbour"), ifNetworkFails: .endingQuietly) {}
            }
        }
    }

    @Test func failureThatIsNoOutageLeavesTheStoreUnused() async throws {
        try await withTestClient(.init(environment: .production)) { test in
            let client = test.client
            test.transport.script(
                Self.url,
                .ok(Self.content, fields: [.cacheControl: "max-age=60"]),
                .failure(.protocolViolation),
                .status(.serviceUnavailable),
                .ok("<html>", fields: [.contentType: "text/html"])
            )
            _ = try await client.fetch(GetFeed(userID: "harbour"))
            test.clock.advance(by: .seconds(120))
            await expect(.transportFailed) { _ = try await client.fetch(GetFeed(userID: "harbour")) }
            await expect(.status) { _ = try await client.fetch(GetFeed(userID: "harbour")) }
            let guarded = try await client.fetch(GetFeed(userID: "harbour"))
            #expect(guarded.outcome.detail == .guarded)
        }
    }

    @Test func bannerNamesTheAge() async throws {
        let banners = Events()
        let showBanner: (String) -> Void = { banners.append($0) }
        try await withTestClient(.init(environment: .production)) { test in
            let client = test.client
            test.transport.script(Self.url, .ok(Self.content, fields: [.cacheControl: "max-age=60"]))
            _ = try await client.fetch(GetFeed(userID: "harbour"))
            test.clock.advance(by: .seconds(120))
            test.transport.isReachable = false
            let emission = try await client.fetch(GetFeed(userID: "harbour"))
            if emission.outcome.detail == .unreachable {
                showBanner("No connection. Last updated \(emission.age) ago.")
            }
        }
        #expect(banners.all == ["No connection. Last updated 120.0 seconds ago."])
    }

    @Test func mutationFailsInAnOutage() async throws {
        try await withTestClient(.init(environment: .production)) { test in
            test.transport.isReachable = false
            await expect(.originUnreachable) { _ = try await test.client.fetch(LikeMoment()) }
            test.client.mode = .offline
            await expect(.offlineMiss) { _ = try await test.client.fetch(LikeMoment()) }
        }
    }
}
