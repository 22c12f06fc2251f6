import Foundation
import Holdfast
import HoldfastTesting
import SampleOrigin
import Testing

@Suite(.timeLimit(.minutes(20))) struct OnCacheTests {
    @Test func storedValueGoesToItsOwnClosure() async throws {
        try await ClientFixture.run { fixture in
            let events = Events()
            func request() -> EmissionStream<Feed> {
                fixture.client.onCache(fixture.feed) { events.append("stored \($0.source.rawValue)") }.request()
            }
            for try await fresh in request() { events.append("fresh \(fresh.source.rawValue)") }
            #expect(events.all == ["fresh network"])
            for try await fresh in request() { events.append("fresh \(fresh.isUnchanged)") }
            #expect(events.all == ["fresh network", "stored store", "fresh true"])
        }
    }

    @Test func closureRunsWhenTheRequestStarts() async throws {
        try await ClientFixture.run { fixture in
            _ = try await fixture.client.fetch(fixture.feed)
            let events = Events()
            let built = fixture.client.onCache(fixture.feed) { _ in events.append("stored") }
            for _ in 0..<100 { await Task.yield() }
            #expect(events.all.isEmpty && fixture.origin.requestCount == 1)
            _ = await built.request().collected()
            #expect(events.all == ["stored"])
        }
    }

    @Test func callbacksRunInOrderOnTheExecutor() async throws {
        try await ClientFixture.run { fixture in
            _ = try await fixture.client.fetch(fixture.feed)
            let events = Events()
            let queue = DispatchQueue(label: "callbacks")
            let subscription = fixture.client.onCache(fixture.feed) { _ in
                dispatchPrecondition(condition: .onQueue(queue))
                events.append("stored")
            }.request(
                on: .queue(queue),
                onNext: { _ in
                    dispatchPrecondition(condition: .onQueue(queue))
                    events.append("fresh")
                },
                onError: { events.append("\($0.code)") },
                onCompleted: { events.append("completed") }
            )
            await subscription.finished()
            #expect(events.all == ["stored", "fresh", "completed"])
        }
    }

    /// With trailing closures, as the documentation shows it.
    @Test func trailingClosuresReadAsASentence() async throws {
        try await ClientFixture.run { fixture in
            let events = Events()
            _ = try await fixture.client.fetch(fixture.feed)
            let subscription = fixture.client.onCache(fixture.feed) { stored in
                events.append(stored.source.rawValue)
            }.request { fresh in
                events.append(fresh.source.rawValue)
            }
            await subscription.finished()
            #expect(events.all == ["store", "network"])
        }
    }

    @MainActor final class Screen {
        var shown: [String] = []
    }

    @Test @MainActor func callbacksOnTheMainActorMayUseItsState() async throws {
        try await ClientFixture.run { fixture in
            let screen = Screen()
            _ = try await fixture.client.fetch(fixture.feed)
            let subscription = fixture.client.startWith(fixture.feed).subscribeOnMainActor(
                onNext: { screen.shown.append($0.source.rawValue) },
                onCompleted: { screen.shown.append("completed") }
            )
            await subscription.finished()
            let shown = screen.shown
            #expect(shown == ["store", "network", "completed"])
        }
    }

    @Test func storedValueComesOffline() async throws {
        try await ClientFixture.run { fixture in
            _ = try await fixture.client.fetch(fixture.feed)
            await fixture.origin.stop()
            let events = Events()
            let byFailure = fixture.client.onCache(fixture.feed) { _ in events.append("stored") }.request(
                onNext: { _ in events.append("fresh") },
                onError: { events.append("\($0.code)") },
                onCompleted: { events.append("completed") }
            )
            await byFailure.finished()
            #expect(events.all == ["stored", "originUnreachable"])
            fixture.client.mode = .offline
            let declared = fixture.client.onCache(fixture.feed) { _ in events.append("stored") }.request(
                onNext: { _ in events.append("fresh") },
                onError: { events.append("\($0.code)") },
                onCompleted: { events.append("completed") }
            )
            await declared.finished()
            #expect(events.all.dropFirst(2) == ["stored", "completed"])
        }
    }

    @Test func graphQLOverPOSTIsStoredByContentWithALifetime() async throws {
        struct Query: Endpoint {
            typealias Response = String
            var baseURL: String
            var path: String { "/graphql" }
            var method: HTTPRequest.Method { .post }
            var task: HTTPTask {
                .json([
                    "query":
                        "query getMomentsDetailsByUserID($userID: ID!) { getMomentsDetailsByUserID(userID: $userID) { moments { id likes } } }",
                    "operationName": "getMomentsDetailsByUserID", "variables": ["userID": user],
                ])
            }
            var user: String
            var storage: CacheRequest.Storage { .expiring(.after(.seconds(60))) }
        }
        try await ClientFixture.run { fixture in
            let harbour = Query(baseURL: fixture.origin.baseURL, user: "harbour")
            let tides = Query(baseURL: fixture.origin.baseURL, user: "tides")
            let first = try await fixture.client.fetch(harbour)
            #expect(first.value.contains("harbour-1"))
            #expect(try await fixture.client.fetch(tides).value.contains("tides-1"))
            #expect(try await fixture.client.fetch(harbour).source == .store)
            #expect(fixture.origin.requestCount == 2)
            await fixture.origin.stop()
            fixture.clock.advance(by: .seconds(600))
            let offline = try await fixture.client.fetch(harbour)
            #expect(offline.isStale && offline.value == first.value)
        }
    }
}
