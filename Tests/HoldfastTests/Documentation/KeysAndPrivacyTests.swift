import Holdfast
import HoldfastTesting
import Testing

/// The page "Keys and privacy".
@Suite(.timeLimit(.minutes(20))) struct KeysAndPrivacyTests {
    typealias GetFeed = GettingStartedTests.GetFeed

    struct GetProfile: Endpoint {
        let name: String
        var path: URLPath { "/users/\(name)" }
    }

    struct GetMessages: Endpoint {
        let path = "/messages"
        let principal: String
    }

    @Test func endpointNamesItsPrincipal() async throws {
        try await withTestClient(.init(defaults: .init(principal: "user-4711"), environment: .production)) { test in
            let request = try test.client.request(for: GetMessages(principal: "user-4712"))
            #expect(request.principal == "user-4712")
        }
    }

    @Test func nameInAPathStaysOneSegment() async throws {
        try await withTestClient(.init(environment: .production)) { test in
            test.transport.script("https://api.example.com/users/a%3Fadmin%3Dtrue", .ok("1"))
            _ = try await test.client.fetch(GetProfile(name: "a?admin=true"))
            await expect(.invalidURL) { _ = try await test.client.fetch(GetProfile(name: "../admin")) }
            #expect(test.transport.requests.count == 1)
        }
    }

    @Test func secretsAreSentAndNotShown() async throws {
        let (token, key) = ("a-token", "an-api-key")
        var configuration = CachingClient.Configuration()
        configuration.defaults.principal = "user-4711"
        configuration.defaults.fields[.authorization] = "Bearer \(token)"
        configuration.defaults.parameters = ["api_key": key]
        configuration.defaults.secrets = Secrets(parameters: ["api_key"])
        configuration.environment = .production
        try await withTestClient(configuration) { test in
            let client = test.client
            let first = try client.request(for: GetFeed(userID: "harbour"))
            #expect(first.principal == "user-4711" && first.head.path?.contains(key) == true)
            test.transport.isReachable = false
            do {
                _ = try await client.fetch(GetFeed(userID: "harbour"))
                Issue.record("Nothing was thrown.")
            } catch let error as HoldfastError {
                #expect(!error.message.contains(key) && !error.message.contains(token))
            }
        }
    }
}
