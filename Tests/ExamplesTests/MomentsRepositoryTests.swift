import Foundation
import Holdfast
import HoldfastTesting
import MomentsExample
import Testing

@Suite(.timeLimit(.minutes(20))) struct MomentsRepositoryTests {
    @Test(arguments: MomentsAPI.allCases)
    func feedEmitsTheStoredThenTheNetworkValue(api: MomentsAPI) async throws {
        try await MomentsFixture.run(api) { fixture in
            fixture.script(feed: api.feed(), api.feed(isLiked: true))
            let first = try await fixture.repository.feed(of: "harbour").all()
            #expect(first.map(\.source) == [.network])
            let second = try await fixture.repository.feed(of: "harbour").all()
            #expect(second.map(\.source) == [.store, .network])
            #expect(second.map { $0.value.moments[0].isLiked } == [false, true])
        }
    }

    @Test(arguments: MomentsAPI.allCases)
    func bothAPIsReturnTheSameModel(api: MomentsAPI) async throws {
        try await MomentsFixture.run(api) { fixture in
            fixture.script(feed: api.feed())
            let feed = try await fixture.repository.currentFeed(of: "harbour").value
            #expect(feed.userDetails.name == "Harbour" && feed.userDetails.backgroundImage == "/b")
            #expect(feed.moments.map(\.type) == [.photos, .url])
            #expect(feed.moments[0].photos == ["/1", "/2"] && feed.moments[0].url == nil)
            #expect(feed.moments[1].url == "https://harbour.example/log/1")
            #expect(feed.moments[1].title == nil && feed.moments[1].isLiked == nil)
            #expect(feed.moments[1].createdDate.timeIntervalSince1970 == 1_764_576_000)
        }
    }

    @Test(arguments: MomentsAPI.allCases)
    func storedFeedIsServedMarkedWhenTheNetworkIsUnreachable(api: MomentsAPI) async throws {
        try await MomentsFixture.run(api) { fixture in
            fixture.script(feed: api.feed(), .failure(.connect))
            _ = try await fixture.repository.currentFeed(of: "harbour")
            fixture.clock.advance(by: .seconds(3600))
            let feeds = try await fixture.repository.feed(of: "harbour").all()
            #expect(feeds.map(\.source) == [.store])
            #expect(feeds.first?.isStale == true && feeds.first?.age == .seconds(3600))
        }
    }

    @Test(arguments: MomentsAPI.allCases)
    func feedWithoutStoreAndNetworkIsAnError(api: MomentsAPI) async throws {
        try await MomentsFixture.run(api) { fixture in
            fixture.script(feed: .failure(.connect))
            let code = try await failure { _ = try await fixture.repository.feed(of: "harbour").all() }
            #expect(code == .originUnreachable)
        }
    }

    @Test(arguments: MomentsAPI.allCases)
    func currentFeedIsTheStoredOneWhileItIsFresh(api: MomentsAPI) async throws {
        try await MomentsFixture.run(api) { fixture in
            fixture.script(feed: api.feed(), api.feed())
            var sources: [CacheResponse.Source] = []
            for _ in 0..<2 { sources.append(try await fixture.repository.currentFeed(of: "harbour").source) }
            fixture.clock.advance(by: .seconds(61))
            sources.append(try await fixture.repository.currentFeed(of: "harbour").source)
            #expect(sources == [.network, .store, .network])
        }
    }

    @Test(arguments: MomentsAPI.allCases)
    func noStoredFeedIsFreshAfterALike(api: MomentsAPI) async throws {
        try await MomentsFixture.run(api) { fixture in
            fixture.script(feed: api.feed())
            #expect(try await fixture.repository.currentFeed(of: "harbour").value.moments[0].isLiked == false)
            fixture.script(like: api.liked())
            #expect(try await fixture.repository.setLiked(true, momentID: "harbour-2").isLiked == true)
            fixture.script(feed: api.feed(isLiked: true))
            let next = try await fixture.repository.currentFeed(of: "harbour")
            #expect(next.source == .network && next.value.moments[0].isLiked == true)
            #expect(fixture.transport.requests[1].method == (api == .rest ? .put : .post))
        }
    }

    @Test(arguments: MomentsAPI.allCases)
    func failedLikeIsAnErrorAndChangesNothing(api: MomentsAPI) async throws {
        try await MomentsFixture.run(api) { fixture in
            fixture.script(feed: api.feed())
            let before = try await fixture.repository.currentFeed(of: "harbour").value
            fixture.script(like: .failure(.connect))
            let code = try await failure { try await fixture.repository.setLiked(true, momentID: "harbour-2") }
            #expect(code == .originUnreachable)
            let after = try await fixture.repository.currentFeed(of: "harbour")
            #expect(after.value == before && after.source == .store && !after.isStale)
        }
    }

    @Test func idCannotLeaveItsPathSegment() async throws {
        try await MomentsFixture.run(.rest) { fixture in
            fixture.transport.script(MomentsAPI.origin + "/moments/a%2F%3Fb/like", MomentsAPI.rest.liked())
            try await fixture.repository.setLiked(true, momentID: "a/?b")
        }
    }

    @Test func disabledLikesSendNoRequest() async throws {
        try await MomentsFixture.run(.rest) { fixture in
            let repository = MomentsRepository(session: fixture.client, toggles: FeatureToggles(allowsLikes: false))
            await #expect(throws: FeatureIsOff.self) { try await repository.setLiked(true, momentID: "harbour-2") }
            #expect(fixture.transport.requests.isEmpty)
        }
    }

    /// Sends no change: a session that an app might use for demonstrations.
    private struct ReadOnlySession: MomentsSession {
        struct Refused: Error {}
        let client: CachingClient

        func emissions<Value: Sendable>(of call: Call<Value>) -> EmissionStream<Value> { client.emissions(of: call) }
        func current<Value: Sendable>(_ call: Call<Value>) async throws -> Emission<Value> {
            try await client.current(call)
        }
        func send<Value: Sendable>(_ call: Call<Value>) async throws -> Value { throw Refused() }
    }

    @Test(arguments: MomentsAPI.allCases)
    func sessionCanBeReplaced(api: MomentsAPI) async throws {
        try await MomentsFixture.run(api) { fixture in
            let session = ReadOnlySession(client: fixture.client)
            let repository = MomentsRepository(session: session, toggles: api.toggles)
            fixture.script(feed: api.feed())
            let feeds = try await repository.feed(of: "harbour").all()
            #expect(feeds.map(\.source) == [.network])
            await #expect(throws: ReadOnlySession.Refused.self) {
                try await repository.setLiked(true, momentID: "harbour-2")
            }
        }
    }

    /// A third way to request a feed, unknown to the repository.
    private struct GetMomentsFromAFile: GetMomentsByUserID {
        struct Request: Endpoint {
            typealias Response = MomentsDetails
            let userID: String
            var path: String { "/export/\(userID).json" }
        }

        func call(userID: String) -> Call<MomentsDetails> { Request(userID: userID).call }
    }

    @Test func requestCanBeReplacedWithoutTheRepository() async throws {
        try await MomentsFixture.run(.rest) { fixture in
            let repository = MomentsRepository(
                session: fixture.client,
                getMoments: GetMomentsFromAFile(),
                updateLike: RESTUpdateMomentLike()
            )
            fixture.transport.script(MomentsAPI.origin + "/export/harbour.json", MomentsAPI.rest.feed())
            let feeds = try await repository.feed(of: "harbour").all()
            #expect(feeds.map(\.value.userDetails.id) == ["harbour"])
        }
    }
}
