import SampleOrigin
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(20))) struct AuthTests {
    private func refresh(
        _ token: String = "refresh-harbour",
        query: String = "",
        to origin: RunningOrigin
    ) async throws -> ReceivedResponse {
        try await RawClient.send(
            "POST",
            "/auth/token\(query)",
            fields: [("Content-Type", "application/x-www-form-urlencoded")],
            body: "grant_type=refresh_token&refresh_token=\(token)",
            to: origin
        )
    }

    private func me(_ token: String, to origin: RunningOrigin) async throws -> ReceivedResponse {
        try await RawClient.get("/auth/me", fields: [("Authorization", "Bearer \(token)")], to: origin)
    }

    @Test func refreshReturnsNumberedTokenOfPrincipal() async throws {
        try await SampleOrigin.withOrigin { origin in
            let token = try await refresh(to: origin)
            #expect(token.status == 200)
            #expect(token["Cache-Control"] == "no-store")
            #expect(token.text == #"{"access_token":"access-harbour-1","expires_in":3600,"token_type":"Bearer"}"#)
            let response = try await me("access-harbour-1", to: origin)
            #expect(response.status == 200)
            #expect(response["Cache-Control"] == "private, max-age=60")
            #expect(response.text == #"{"principal":"harbour","token":1}"#)
        }
    }

    @Test func acceptsJSONLikeAForm() async throws {
        let response = try await SampleOrigin.withOrigin {
            try await RawClient.send(
                "POST",
                "/auth/token",
                fields: [("Content-Type", "application/json")],
                body: #"{"grant_type":"refresh_token","refresh_token":"refresh-tides"}"#,
                to: $0
            )
        }
        #expect(response.text.contains("access-tides-1"))
    }

    @Test func challengeNamesReasonWithoutValidToken() async throws {
        try await SampleOrigin.withOrigin { origin in
            let none = try await RawClient.get("/auth/me", to: origin)
            #expect(none.status == 401)
            #expect(none["WWW-Authenticate"] == #"Bearer realm="sample-origin""#)
            for token in ["access-harbour-0", "access-harbour-1", "refresh-harbour"] {
                let response = try await me(token, to: origin)
                #expect(response.status == 401)
                #expect(response["WWW-Authenticate"] == #"Bearer realm="sample-origin", error="invalid_token""#)
                #expect(response["Cache-Control"] == "no-store")
            }
        }
    }

    @Test func newTokenInvalidatesOnlyThatUsersLast() async throws {
        try await SampleOrigin.withOrigin { origin in
            _ = try await refresh(to: origin)
            _ = try await refresh("refresh-tides", to: origin)
            _ = try await refresh(to: origin)
            #expect(try await me("access-harbour-1", to: origin).status == 401)
            #expect(try await me("access-harbour-2", to: origin).status == 200)
            #expect(try await me("access-tides-1", to: origin).status == 200)
        }
    }

    @Test func tokenLivesForItsRequests() async throws {
        try await SampleOrigin.withOrigin { origin in
            _ = try await refresh(query: "?requests=2", to: origin)
            var statuses: [Int] = []
            for _ in 0..<3 { statuses.append(try await me("access-harbour-1", to: origin).status) }
            #expect(statuses == [200, 200, 401])
        }
    }

    @Test func tokenLivesForItsSecondsByTheOriginsClock() async throws {
        let now = SharedClock()
        try await SampleOrigin.withOrigin(OriginConfiguration(date: { now.seconds })) { origin in
            let token = try await refresh(query: "?seconds=10", to: origin)
            #expect(token.text.contains(#""expires_in":10"#))
            now.advance(by: 9)
            #expect(try await me("access-harbour-1", to: origin).status == 200)
            now.advance(by: 1)
            #expect(try await me("access-harbour-1", to: origin).status == 401)
        }
    }

    @Test func tokensAreExpiredByATestOrFromOutside() async throws {
        try await SampleOrigin.withOrigin { origin in
            _ = try await refresh(to: origin)
            origin.expireTokens()
            #expect(try await me("access-harbour-1", to: origin).status == 401)
            _ = try await refresh(to: origin)
            #expect(try await me("access-harbour-2", to: origin).status == 200)
            #expect(try await RawClient.send("POST", "/_auth/expire", to: origin).status == 204)
            #expect(try await me("access-harbour-2", to: origin).status == 401)
        }
    }

    @Test func rotationReplacesTheRefreshToken() async throws {
        try await SampleOrigin.withOrigin { origin in
            let first = try await refresh(query: "?rotate=true", to: origin)
            #expect(first.text.contains(#""refresh_token":"refresh-harbour-1""#))
            let reused = try await refresh(to: origin)
            #expect(reused.status == 400)
            #expect(reused.text.contains(#""error":"invalid_grant""#))
            #expect(try await refresh("refresh-harbour-1", to: origin).text.contains("access-harbour-2"))
        }
    }

    @Test func countsRefreshesButNotRejections() async throws {
        try await SampleOrigin.withOrigin { origin in
            _ = try await refresh(to: origin)
            _ = try await refresh("refresh-nobody", to: origin)
            _ = try await refresh(to: origin)
            #expect(origin.tokenRefreshCount == 2)
            #expect(origin.requestCountsByRoute["POST /auth/token"] == 3)
            #expect(try await RawClient.get("/_statistics", to: origin).text.hasPrefix(#"{"refreshes":2,"#))
            origin.reset()
            #expect(origin.tokenRefreshCount == 0)
            #expect(try await me("access-harbour-2", to: origin).status == 401)
        }
    }

    @Test(arguments: [
        ("", "invalid_request"), ("grant_type=refresh_token", "invalid_request"),
        ("grant_type=password&refresh_token=refresh-harbour", "unsupported_grant_type"),
    ])
    func rejectsOtherGrants(body: String, error: String) async throws {
        let response = try await SampleOrigin.withOrigin {
            try await RawClient.send(
                "POST",
                "/auth/token",
                fields: [("Content-Type", "application/x-www-form-urlencoded")],
                body: body,
                to: $0
            )
        }
        #expect(response.status == 400)
        #expect(response.text.contains(#""error":"\#(error)""#))
    }
}

/// A clock that a test moves.
private final class SharedClock: Sendable {
    private let now = Mutex<Int64>(1_000_000)

    var seconds: Int64 { now.withLock { $0 } }

    func advance(by seconds: Int64) {
        now.withLock { $0 += seconds }
    }
}
