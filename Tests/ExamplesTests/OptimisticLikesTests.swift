import Foundation
import Holdfast
import HoldfastTesting
import MomentsExample
import Testing

@Suite(.timeLimit(.minutes(20))) struct OptimisticLikesTests {
    /// Waits for emissions until the first moment is liked, or no longer liked.
    private func show(
        liked isLiked: Bool,
        _ feed: inout EmissionStream<MomentsDetails>.AsyncIterator
    ) async throws -> Emission<MomentsDetails>? {
        while let emission = try await feed.next() {
            if emission.value.moments[0].isLiked == isLiked { return emission }
        }
        return nil
    }

    @Test(arguments: MomentsAPI.allCases)
    func likeShowsBeforeTheServerResponds(api: MomentsAPI) async throws {
        try await MomentsFixture.run(api) { fixture in
            let likes = OptimisticLikes(client: fixture.client, toggles: api.toggles)
            let gate = Gate()
            fixture.script(feed: api.feed())
            var feed = likes.feed(of: "harbour").makeAsyncIterator()
            #expect(try await show(liked: false, &feed)?.source == .network)
            var reply = api.liked()
            reply.beforeHead = gate
            fixture.script(like: reply)
            let liking = Task { try await likes.setLiked(true, momentID: "harbour-2", inFeedOf: "harbour") }
            let shown = try await show(liked: true, &feed)
            #expect(shown?.source == .store && shown?.isStale == true)
            // The content around the moment stays as it arrived.
            #expect(shown?.value.userDetails.name == "Harbour" && shown?.value.moments.count == 2)
            gate.open()
            try await liking.value
            fixture.script(feed: api.feed(isLiked: true))
            let repository = fixture.repository
            #expect(try await repository.currentFeed(of: "harbour").source == .network)
        }
    }

    @Test(arguments: MomentsAPI.allCases)
    func failedLikeIsTakenBack(api: MomentsAPI) async throws {
        try await MomentsFixture.run(api) { fixture in
            let likes = OptimisticLikes(client: fixture.client, toggles: api.toggles)
            let gate = Gate()
            fixture.script(feed: api.feed())
            var feed = likes.feed(of: "harbour").makeAsyncIterator()
            #expect(try await show(liked: false, &feed)?.source == .network)
            var refusal = ScriptedTransport.Reply.status(.serviceUnavailable)
            refusal.beforeHead = gate
            fixture.script(like: refusal)
            let liking = Task { try await likes.setLiked(true, momentID: "harbour-2", inFeedOf: "harbour") }
            let shown = try await show(liked: true, &feed)
            #expect(shown?.source == .store)
            gate.open()
            await #expect(throws: HoldfastError.self) { try await liking.value }
            #expect(try await show(liked: false, &feed)?.source == .store)
            // The origin may have executed the request, so the next feed is fetched.
            fixture.script(feed: api.feed(isLiked: true))
            #expect(try await fixture.repository.currentFeed(of: "harbour").source == .network)
        }
    }
}
