import Holdfast
import HoldfastTesting
import MomentsExample
import SampleOrigin
import Testing

/// The same repository over real sockets, with an origin that the test stops.
@Suite(.timeLimit(.minutes(20)))
struct MomentsOverSocketsTests {
    private func run(
        _ api: MomentsAPI,
        _ body: (RunningOrigin, ManualClock, MomentsRepository) async throws -> Void
    ) async throws {
        try await MomentsFixture.withFolder { folder in
            let clock = ManualClock()
            try await SampleOrigin.withOrigin(OriginConfiguration(date: { clock.now().milliseconds / 1000 })) {
                origin in
                let client = try await CachingClient.open(
                    store: folder,
                    configuration: .init(environment: ServerEnvironment("sample", baseURL: origin.baseURL)),
                    clock: clock,
                    logger: MomentsFixture.silent
                )
                let repository = MomentsRepository(session: client, toggles: api.toggles)
                let ending: Result<Void, any Error>
                do { ending = .success(try await body(origin, clock, repository)) } catch { ending = .failure(error) }
                try await client.close()
                try ending.get()
            }
        }
    }

    @Test(arguments: MomentsAPI.allCases)
    func feedIsServedAfterTheOriginStops(api: MomentsAPI) async throws {
        try await run(api) { origin, clock, repository in
            let fetched = try await repository.feed(of: "harbour").all()
            #expect(fetched.map(\.source) == [.network])
            await origin.stop()
            clock.advance(by: .seconds(600))
            let kept = try await repository.feed(of: "harbour").all()
            #expect(kept.map(\.source) == [.store] && kept[0].isStale)
            #expect(kept[0].value == fetched[0].value && kept[0].value.moments.count == 10)
        }
    }

    @Test(arguments: MomentsAPI.allCases)
    func nextFeedShowsALike(api: MomentsAPI) async throws {
        try await run(api) { _, _, repository in
            let before = try await repository.currentFeed(of: "harbour").value
            #expect(before.moments[3].isLiked == false)
            let liked = try await repository.setLiked(true, momentID: before.moments[3].id)
            #expect(liked.isLiked == true)
            let after = try await repository.currentFeed(of: "harbour")
            #expect(after.source == .network && after.value.moments[3].isLiked == true)
            try await repository.setLiked(false, momentID: before.moments[3].id)
            #expect(try await repository.currentFeed(of: "harbour").value == before)
        }
    }

    @Test(arguments: MomentsAPI.allCases)
    func likeWithoutTheOriginIsAnErrorAndChangesNothing(api: MomentsAPI) async throws {
        try await run(api) { origin, _, repository in
            let before = try await repository.currentFeed(of: "harbour").value
            let count = origin.requestCount
            await origin.stop()
            let code = try await failure { try await repository.setLiked(true, momentID: before.moments[3].id) }
            #expect(code == .originUnreachable)
            let after = try await repository.currentFeed(of: "harbour")
            #expect(after.source == .store && !after.isStale && after.value == before)
            #expect(origin.requestCount == count)
        }
    }
}
