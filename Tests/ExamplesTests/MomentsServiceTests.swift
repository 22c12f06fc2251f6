import Foundation
import Holdfast
import HoldfastTesting
import Hummingbird
import HummingbirdTesting
import MomentsExample
import NIOCore
import Testing

@testable import moments_service

/// The service's responses, with a scripted upstream. `CommandLineTests` runs it as a process.
@Suite(.timeLimit(.minutes(20))) struct MomentsServiceTests {
    private struct ServiceResponse {
        let status: Int
        let mediaType: String?
        let body: [String: Any]

        init(_ response: TestResponse) throws {
            status = response.status.code
            mediaType = response.headers[.contentType]
            let content = Data(String(buffer: response.body).utf8)
            body = try #require(try JSONSerialization.jsonObject(with: content) as? [String: Any])
        }
    }

    private func send(
        _ method: HTTPRequest.Method,
        _ path: String,
        _ fixture: MomentsFixture
    ) async throws -> ServiceResponse {
        let application = buildApplication(fixture.repository, logger: MomentsFixture.silent)
        let response = try await application.test(.router) { client in
            try await client.executeRequest(uri: path, method: method, headers: [:], body: nil)
        }
        return try ServiceResponse(response)
    }

    @Test(arguments: MomentsAPI.allCases)
    func feedStatesSourceAgeAndStaleness(api: MomentsAPI) async throws {
        try await MomentsFixture.run(api) { fixture in
            fixture.script(feed: api.feed(), .failure(.connect))
            let fresh = try await send(.get, "/feed/harbour", fixture)
            #expect(fresh.status == 200 && fresh.body["source"] as? String == "network")
            #expect(fresh.body["isStale"] as? Bool == false && (fresh.body["moments"] as? [Any])?.count == 2)
            fixture.clock.advance(by: .seconds(30))
            let stored = try await send(.get, "/feed/harbour", fixture)
            #expect(stored.body["source"] as? String == "store" && stored.body["age"] as? Int == 30)
            #expect(stored.body["isStale"] as? Bool == false)
            fixture.clock.advance(by: .seconds(3570))
            let stale = try await send(.get, "/feed/harbour", fixture)
            #expect(stale.status == 200 && stale.body["isStale"] as? Bool == true)
            #expect(stale.body["age"] as? Int == 3600 && (stale.body["moments"] as? [Any])?.count == 2)
        }
    }

    @Test(arguments: MomentsAPI.allCases)
    func unstoredFeedIsAProblemWhenTheUpstreamIsUnreachable(api: MomentsAPI) async throws {
        try await MomentsFixture.run(api) { fixture in
            fixture.script(feed: .failure(.connect))
            let response = try await send(.get, "/feed/harbour", fixture)
            #expect(response.status == 503 && response.mediaType == "application/problem+json")
            #expect(response.body["code"] as? String == "originUnreachable" && response.body["status"] as? Int == 503)
            let health = try await send(.get, "/health", fixture)
            #expect(health.status == 200 && health.body["status"] as? String == "ok")
        }
    }

    @Test(arguments: MomentsAPI.allCases)
    func likeIsAProblemWhenTheUpstreamIsUnreachable(api: MomentsAPI) async throws {
        try await MomentsFixture.run(api) { fixture in
            fixture.script(like: .failure(.connect))
            let response = try await send(.post, "/moments/harbour-2/like", fixture)
            #expect(response.status == 503 && response.mediaType == "application/problem+json")
            let text = "\(response.body)"
            #expect(!text.contains("moments.example"))
        }
    }

    @Test(arguments: MomentsAPI.allCases)
    func unknownUserIsNotFound(api: MomentsAPI) async throws {
        try await MomentsFixture.run(api) { fixture in
            fixture.script(feed: api.unknownUser())
            let response = try await send(.get, "/feed/harbour", fixture)
            #expect(response.status == 404 && response.mediaType == "application/problem+json")
        }
    }

    @Test(arguments: MomentsAPI.allCases)
    func faultOfTheUpstreamIsABadGateway(api: MomentsAPI) async throws {
        try await MomentsFixture.run(api) { fixture in
            fixture.script(feed: .ok("[]"))
            let response = try await send(.get, "/feed/harbour", fixture)
            #expect(response.status == 502 && response.mediaType == "application/problem+json")
        }
    }

    @Test(arguments: MomentsAPI.allCases)
    func likeReturnsTheMoment(api: MomentsAPI) async throws {
        try await MomentsFixture.run(api) { fixture in
            fixture.script(like: api.liked())
            let response = try await send(.post, "/moments/harbour-2/like", fixture)
            let moment = try #require(response.body["moment"] as? [String: Any])
            #expect(response.status == 200 && moment["isLiked"] as? Bool == true)
            #expect(moment["createdDate"] as? String == "2025-12-02T08:00:00Z")
        }
    }
}
