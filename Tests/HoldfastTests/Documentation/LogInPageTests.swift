import Foundation
import Holdfast
import HoldfastTesting
import Synchronization
import Testing

/// The page "Log in, and stay logged in".
@Suite(.timeLimit(.minutes(20))) struct LogInPageTests {
    final class Keychain: Sendable {
        private let token = Mutex("refresh-1")
        let accessToken: AccessToken? = nil
        let userID = "user-4711"
        var refreshToken: String {
            get { token.withLock { $0 } }
            set { token.withLock { $0 = newValue } }
        }
    }

    struct Grant: Decodable, Sendable {
        let accessToken: String
        let refreshToken: String
        let expiresAt: Date
    }

    struct Renew: Endpoint {
        typealias Response = Grant
        let refreshToken: String
        let path = "/token"
        var task: HTTPTask { .json(["refreshToken": refreshToken]) }
        var secrets: Secrets { Secrets(parameters: ["refreshToken"]) }
    }

    struct RenewedTokens: TokenSource {
        let client: CachingClient
        let keychain: Keychain

        func token(replacing old: AccessToken?) async throws -> AccessToken {
            do {
                let grant = try await client.fetch(Renew(refreshToken: keychain.refreshToken)).value
                keychain.refreshToken = grant.refreshToken
                return AccessToken(grant.accessToken, expiresAt: Timestamp(grant.expiresAt))
            } catch let error where error.status == .badRequest {
                throw LoginRequired("The refresh token is no longer valid.")
            } catch {
                throw error
            }
        }
    }

    private struct GetMessages: Endpoint {
        typealias Response = String
        let path = "/messages"
    }

    private static let tokens = "https://api.example.com/token"
    private static let messages = "https://api.example.com/messages"
    /// One hour after the beginning of a test.
    private static let grant =
        #"{"accessToken": "token-1", "refreshToken": "refresh-2", "expiresAt": "2026-01-01T01:00:00Z"}"#

    /// Not run: it opens a folder in the current directory.
    private func open(_ keychain: Keychain, showLogIn: @escaping @Sendable () -> Void) async throws {
        let store = try await CacheManager.open(at: "feed.store")
        let transport = HTTPClientTransport()
        let anonymous = CachingClient(
            store: store,
            transport: transport,
            configuration: .init(environment: .production)
        )
        let authenticator = try TokenAuthenticator(
            RenewedTokens(client: anonymous, keychain: keychain),
            token: keychain.accessToken,
            principal: keychain.userID,
            onLoginRequired: { _ in showLogIn() }
        )
        let client = CachingClient(
            store: store,
            transport: transport,
            configuration: .init(environment: .production, plugins: [authenticator])
        )
        try await client.close()
        try await anonymous.close()
        try await transport.shutDown()
        try await store.close()
    }

    /// Runs a test with a client of its own for the token source.
    private func run(
        _ keychain: Keychain,
        _ events: Events = Events(),
        _ body: (TestClient, CachingClient, TokenAuthenticator) async throws -> Void
    ) async throws {
        try await withTestClient(.init(environment: .production)) { test in
            let authenticator = try TokenAuthenticator(
                RenewedTokens(client: test.client, keychain: keychain),
                token: keychain.accessToken,
                principal: keychain.userID,
                clock: test.clock,
                sleeper: test.sleeper,
                onLoginRequired: { _ in events.append("log in") }
            )
            let client = CachingClient(
                store: test.store,
                transport: test.transport,
                configuration: .init(environment: .production, plugins: [authenticator]),
                clock: test.clock,
                sleeper: test.sleeper
            )
            try await body(test, client, authenticator)
            try await client.close()
        }
    }

    @Test func tokenOfThePageIsRenewed() async throws {
        let keychain = Keychain()
        try await run(keychain) { test, client, _ async throws in
            test.transport.script(Self.tokens, .ok(Self.grant))
            test.transport.script(Self.messages, .ok("hers", fields: [.cacheControl: "max-age=60"]))
            #expect(try await client.fetch(GetMessages()).value == "hers")
            #expect(keychain.refreshToken == "refresh-2")
            #expect(test.transport.requests.map { $0.headerFields[.authorization] } == [nil, "Bearer token-1"])
            #expect(test.transport.received[0].text?.contains("refresh-1") == true)
        }
    }

    @Test func storedResponseIsUsedWhileTheSourceIsUnreachable() async throws {
        try await run(Keychain()) { test, client, _ in
            test.transport.script(Self.tokens, .ok(Self.grant))
            test.transport.script(Self.messages, .ok("hers", fields: [.cacheControl: "max-age=60"]))
            _ = try await client.fetch(GetMessages())
            test.clock.advance(by: .seconds(7200))
            test.transport.isReachable = false
            let stored = try await client.fetch(GetMessages())
            #expect(stored.value == "hers" && stored.isStale)
        }
    }

    @Test func revokedRefreshTokenRequiresALogIn() async throws {
        let events = Events()
        let userID = "user-4711"
        try await run(Keychain(), events) { test, client, authenticator async throws in
            test.transport.script(Self.tokens, .status(.badRequest))
            for _ in 1...3 { await expect(.loginRequired) { _ = try await client.fetch(GetMessages()) } }
            while events.all.isEmpty, !Task.isCancelled { await Task.yield() }
            #expect(events.all == ["log in"])
            test.transport.script(Self.messages, .ok("hers"))
            let grant = Grant(accessToken: "token-9", refreshToken: "", expiresAt: .distantFuture)
            authenticator.signIn(AccessToken(grant.accessToken, expiresAt: Timestamp(grant.expiresAt)), as: userID)
            #expect(try await client.fetch(GetMessages()).value == "hers")
            #expect(test.transport.requests.last?.headerFields[.authorization] == "Bearer token-9")
        }
    }

    @Test func applicationStartsWithoutAUser() async throws {
        let keychain = Keychain()
        try await run(keychain) { test, client, authenticator in
            if keychain.accessToken == nil { authenticator.signOut() }
            await expect(.loginRequired) { _ = try await client.fetch(GetMessages()) }
            #expect(test.transport.requests.isEmpty && authenticator.principal == nil)
        }
    }
}
