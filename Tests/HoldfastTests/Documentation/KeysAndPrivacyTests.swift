import Foundation
import Holdfast
import HoldfastTesting
import TestSupport
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

    @Test func logOutErasesResponsesAndObjects() async throws {
        let authenticator = try TokenAuthenticator(
            ScriptedTokens(),
            token: AccessToken("a-token"),
            principal: "user-4711"
        )
        try await withTestClient(.init(environment: .production, plugins: [authenticator])) { test in
            let client = test.client
            test.transport.script("https://api.example.com/users/ada", .ok("1", fields: [.cacheControl: "max-age=60"]))
            _ = try await client.fetch(GetProfile(name: "ada"))
            try await client.store.setObject("hers", forKey: "user-4711/draft")
            try await client.store.setObject("his", forKey: "user-4712/draft")
            try await authenticator.signOutAndRemoveResponses()
            try await client.store.removeObjects(withPrefix: "user-4711/")
            var left: [String] = []
            for try await entry in client.store.entries() { left.append(entry.shortID) }
            let his = try #require(try await client.store.entry(forObjectKey: "user-4712/draft"))
            #expect(left == [his.shortID])
        }
    }

    @Test func removedContentIsOverwrittenIfAsked() async throws {
        var storeConfiguration = CacheManager.Configuration()
        storeConfiguration.securelyDeletes = true
        let folder = try TemporaryFolder()
        let store = try await CacheManager.open(at: folder.store, configuration: storeConfiguration)
        try await store.setObject("hers of user-4711", forKey: "user-4711/draft")
        try await store.removeObjects(withPrefix: "user-4711/")
        for name in try FileManager.default.contentsOfDirectory(atPath: folder.store) {
            let bytes = try Data(contentsOf: URL(fileURLWithPath: "\(folder.store)/\(name)"))
            #expect(!bytes.contains(Array("user-4711".utf8)), "\(name)")
        }
        try await store.close()
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
            do throws(HoldfastError) {
                _ = try await client.fetch(GetFeed(userID: "harbour"))
                Issue.record("Nothing was thrown.")
            } catch {
                #expect(!error.message.contains(key) && !error.message.contains(token))
            }
        }
    }
}
