import Foundation
import Holdfast
import HoldfastTesting
import Hummingbird
import HummingbirdTesting
import MomentsExample
import NIOCore
import Testing

@testable import moments_service

/// The service's answers, on a scripted upstream. `CommandLineTests` runs it as a process.
@Suite("The moments service", .timeLimit(.minutes(20)))
struct MomentsServiceTests {
    private struct Answer {
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
    ) async throws -> Answer {
        let application = buildApplication(fixture.repository, logger: MomentsFixture.silent)
        let response = try await application.test(.router) { client in
            try await client.executeRequest(uri: path, method: method, headers: [:], body: nil)
        }
        return try Answer(response)
    }

    @Test(arguments: MomentsAPI.allCases)
    func theFeedSaysWhereItComesFromHowOldItIsAndWhetherItIsStale(api: MomentsAPI) async throws {
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
    func aFeedThatIsNotStoredIsAProblemWhileTheUpstreamIsAway(api: MomentsAPI) async throws {
        try await MomentsFixture.run(api) { fixture in
            fixture.script(feed: .failure(.connect))
            let answer = try await send(.get, "/feed/harbour", fixture)
            #expect(answer.status == 503 && answer.mediaType == "application/problem+json")
            #expect(answer.body["code"] as? String == "originUnreachable" && answer.body["status"] as? Int == 503)
            let health = try await send(.get, "/health", fixture)
            #expect(health.status == 200 && health.body["status"] as? String == "ok")
        }
    }

    @Test(arguments: MomentsAPI.allCases)
    func aLikeIsAProblemWhileTheUpstreamIsAway(api: MomentsAPI) async throws {
        try await MomentsFixture.run(api) { fixture in
            fixture.script(like: .failure(.connect))
            let answer = try await send(.post, "/moments/harbour-2/like", fixture)
            #expect(answer.status == 503 && answer.mediaType == "application/problem+json")
            let text = "\(answer.body)"
            #expect(!text.contains("moments.example"))
        }
    }

    @Test(arguments: MomentsAPI.allCases)
    func whatTheUpstreamDoesNotKnowIsNotFound(api: MomentsAPI) async throws {
        try await MomentsFixture.run(api) { fixture in
            fixture.script(feed: api.unknownUser())
            let answer = try await send(.get, "/feed/harbour", fixture)
            #expect(answer.status == 404 && answer.mediaType == "application/problem+json")
        }
    }

    @Test(arguments: MomentsAPI.allCases)
    func aFaultOfTheUpstreamIsABadGateway(api: MomentsAPI) async throws {
        try await MomentsFixture.run(api) { fixture in
            fixture.script(feed: .ok("[]"))
            let answer = try await send(.get, "/feed/harbour", fixture)
            #expect(answer.status == 502 && answer.mediaType == "application/problem+json")
        }
    }

    @Test(arguments: MomentsAPI.allCases)
    func aLikeAnswersWithTheMoment(api: MomentsAPI) async throws {
        try await MomentsFixture.run(api) { fixture in
            fixture.script(like: api.liked())
            let answer = try await send(.post, "/moments/harbour-2/like", fixture)
            let moment = try #require(answer.body["moment"] as? [String: Any])
            #expect(answer.status == 200 && moment["isLiked"] as? Bool == true)
            #expect(moment["createdDate"] as? String == "2025-12-02T08:00:00Z")
        }
    }
}
