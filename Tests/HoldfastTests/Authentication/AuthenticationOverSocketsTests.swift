import Foundation
import Holdfast
import HoldfastTesting
import SampleOrigin
import Testing

/// RFC 6749 and RFC 6750 over real connections.
@Suite(.timeLimit(.minutes(20))) struct AuthenticationOverSocketsTests {
    private struct Me: Decodable, Sendable, Equatable { var principal: String, token: Int }

    private struct MeEndpoint: Endpoint {
        typealias Response = Me
        var baseURL: String
        var path: String { "/auth/me" }
    }

    private struct TokenEndpoint: Endpoint {
        struct TokenResponse: Decodable, Sendable {
            var accessToken: String
            var expiresIn: Int

            private enum CodingKeys: String, CodingKey {
                case accessToken = "access_token"
                case expiresIn = "expires_in"
            }
        }
        typealias Response = TokenResponse
        var baseURL: String
        var refreshToken: String
        var path: String { "/auth/token?seconds=600" }
        var method: HTTPRequest.Method { .post }
        var task: HTTPTask {
            .parameters(
                body: ["grant_type": "refresh_token", "refresh_token": .string(refreshToken)],
                bodyEncoder: FormContentEncoder()
            )
        }
    }

    private func authenticator(_ fixture: ClientFixture, _ refreshToken: String = "refresh-harbour") throws
        -> TokenAuthenticator
    {
        let (client, clock) = (fixture.client, fixture.clock)
        let endpoint = TokenEndpoint(baseURL: fixture.origin.baseURL, refreshToken: refreshToken)
        struct Source: TokenSource {
            let client: CachingClient, clock: ManualClock, endpoint: TokenEndpoint
            func token(replacing old: AccessToken?) async throws -> AccessToken {
                do {
                    let response = try await client.fetch(endpoint, .networkOnly).value
                    return AccessToken(
                        response.accessToken,
                        expiresAt: clock.now().adding(.seconds(response.expiresIn))
                    )
                } catch let error where error.status == .badRequest {
                    throw LoginRequired()
                } catch {
                    throw error
                }
            }
        }
        return try TokenAuthenticator(
            Source(client: client, clock: clock, endpoint: endpoint),
            principal: "harbour",
            clock: clock
        )
    }

    @Test func concurrentRequestsShareOneRefresh() async throws {
        try await ClientFixture.run { fixture in
            let authenticator = try authenticator(fixture)
            let call = fixture.client.call(MeEndpoint(baseURL: fixture.origin.baseURL)).with {
                $0.plugins = [authenticator]
            }
            func fetchMany() async throws -> Set<Int> {
                try await withThrowingTaskGroup(of: Int.self) { group in
                    for _ in 0..<10 { group.addTask { try await call.fetch(.networkOnly).value.token } }
                    return try await group.reduce(into: []) { $0.insert($1) }
                }
            }
            let first = try await fetchMany()
            #expect(first == [1] && fixture.origin.tokenRefreshCount == 1)
            // The token expires soon, so it is replaced while other requests still use it. The
            // origin accepts only the newest token.
            fixture.clock.advance(by: .seconds(590))
            let renewed = try await fetchMany()
            #expect(renewed.isSubset(of: [1, 2]))
            fixture.clock.advance(by: .seconds(61))
            let again = try await fetchMany()
            #expect(again == [2] && fixture.origin.tokenRefreshCount == 2)
        }
    }

    @Test func storedResponsesOutliveTokenAndOrigin() async throws {
        try await ClientFixture.run { fixture in
            let authenticator = try authenticator(fixture)
            let call = fixture.client.call(MeEndpoint(baseURL: fixture.origin.baseURL)).with {
                $0.plugins = [authenticator]
            }
            let me = try await call.fetch().value
            fixture.clock.advance(by: .seconds(86_400))
            await fixture.origin.stop()
            let stored = try await call.fetch()
            #expect(stored.value == me && stored.isStale && stored.outcome.detail == .unreachable)
            await expect(.originUnreachable) { _ = try await call.fetch(.networkOnly) }
        }
    }

    @Test func rejectedRefreshTokenRequiresLogin() async throws {
        try await ClientFixture.run { fixture in
            let authenticator = try authenticator(fixture, "refresh-nobody")
            let call = fixture.client.call(MeEndpoint(baseURL: fixture.origin.baseURL)).with {
                $0.plugins = [authenticator]
            }
            for _ in 0..<3 { await expect(.loginRequired) { _ = try await call.fetch() } }
            #expect(fixture.origin.requestCount == 1)
        }
    }
}
