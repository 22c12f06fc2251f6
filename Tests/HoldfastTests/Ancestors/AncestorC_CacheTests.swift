import Foundation
import Holdfast
import HoldfastTesting
import SampleOrigin
import Testing

/// The third ancestor's `cache` and `onCache`, and the wishes it ends with.
@Suite(.timeLimit(.minutes(20))) struct AncestorC_CacheTests {
    private struct User: Codable, Sendable, Equatable {
        var id: Int
        var name: String
    }
    private enum GitHub: Endpoint {
        case user(String)
        var baseURL: String { ScriptedClient.url }
        var path: String {
            switch self {
            case .user(let name): "/users/\(name)"
            }
        }
    }
    private enum Weather: Endpoint {
        case today
        typealias Response = String
        var baseURL: String { ScriptedClient.url }
        var path: String { "/weather" }
    }

    private static let ada = #"{"id":1,"name":"Ada"}"#
    private static let renamed = #"{"id":1,"name":"Ada L."}"#

    private func run(_ replies: ScriptedTransport.Reply..., body: (ScriptedClient) async throws -> Void) async throws {
        try await ScriptedClient.run { fixture in
            for reply in replies { fixture.script("/users/ada", reply) }
            try await CachingClient.$current.withValue(fixture.client) { try await body(fixture) }
        }
    }

    // One provider serves many target enums. A request starts from the target itself.
    @Test func oneClientServesManyEnumsAndARequestStartsFromTheTarget() async throws {
        try await run(.fresh(Self.ada)) { fixture in
            fixture.script("/weather", .fresh("fine"))
            let user = try await GitHub.user("ada").map(User.self).fetch().value
            let weather = try await Weather.today.call.fetch().value
            #expect(user == User(id: 1, name: "Ada") && weather == "fine")
        }
    }

    // `target.cache.request()`: the stored response first, then the network's; `map` applies to
    // both.
    @Test func cacheRequestEmitsTheStoredThenTheNetworksAndMapAppliesToBoth() async throws {
        try await run(.fresh(Self.ada), .fresh(Self.renamed)) { _ in
            let call = GitHub.user("ada").cache.map(User.self)
            _ = await call.request().collected()
            let both = await call.request().collected()
            #expect(both.emissions.map(\.value.name) == ["Ada", "Ada L."] && both.failure == nil)
            #expect(both.emissions.map(\.source) == [.store, .network])
        }
    }

    // Leave out `cache` and there is no cache, leave out `map` and there is no model.
    @Test func eachStepIsRemovedAlone() async throws {
        try await run(.fresh(Self.ada), .fresh(Self.ada), .fresh(Self.ada), .fresh(Self.renamed)) { _ in
            _ = try await GitHub.user("ada").cache.fetch()
            let withoutCache = await GitHub.user("ada").map(User.self).request().collected().emissions
            #expect(withoutCache.map(\.source) == [.network])
            let withoutMap = await GitHub.user("ada").cache.request().collected().emissions
            #expect(withoutMap.map(\.value) == [Data(Self.ada.utf8), Data(Self.ada.utf8)])
            let withoutBoth = await GitHub.user("ada").request().collected().emissions
            #expect(withoutBoth.map(\.value) == [Data(Self.renamed.utf8)])
            // Without `cache` nothing was stored either.
            let stored = try await GitHub.user("ada").cache.map(User.self).fetch(.storedOnly)
            #expect(stored?.value.name == "Ada")
        }
    }

    // `target.onCache(Model.self) { … }.request()`: the stored object apart, then a single from the
    // network, which is stored.
    @Test func onCacheTellsTheStoredFromTheNetworksWhichIsStored() async throws {
        try await run(.fresh(Self.ada), .fresh(Self.renamed)) { fixture in
            let events = Events()
            func request() async {
                await GitHub.user("ada").onCache(User.self) { events.append("stored \($0.value.name)") }.request(
                    onNext: { events.append("fresh \($0.value.name)") },
                    onError: { events.append("\($0.code)") },
                    onCompleted: { events.append("completed") }
                ).finished()
            }
            await request()
            #expect(events.all == ["fresh Ada", "completed"])
            await request()
            #expect(events.all.dropFirst(2) == ["stored Ada", "fresh Ada L.", "completed"])
            let stored = try await GitHub.user("ada").cache.map(User.self).fetch(.storedOnly)
            #expect(stored?.value.name == "Ada L.")
        }
    }

    // The three wishes: show what is stored first; replace it when the network answers; when it
    // fails, load what is stored.
    @Test func theThreeWishes() async throws {
        try await ClientFixture.run { fixture in
            let feed = fixture.feed
            func shown() async -> [String] {
                let both = await fixture.client.startWith(feed, ifNetworkFails: .endingQuietly).collected()
                return both.emissions.map { "\($0.source.rawValue) \($0.value.moments[0].likes)" }
            }
            let likes = try await fixture.client.fetch(feed).value.moments[0].likes
            let like = AnyRequest<NoContent>(
                baseURL: fixture.origin.baseURL,
                path: "/moments/harbour-25/likes",
                method: .post
            )
            _ = try await fixture.client.fetch(like)
            #expect(await shown() == ["store \(likes)", "network \(likes + 1)"])
            fixture.clock.advance(by: .seconds(3600))
            await fixture.origin.stop()
            #expect(await shown() == ["store \(likes + 1)"])
            let single = try await fixture.client.fetch(feed)
            #expect(single.value.moments[0].likes == likes + 1 && single.isStale && single.source == .store)
        }
    }

    // Named as easy: chained requests.
    @Test func requestsAreChained() async throws {
        try await ClientFixture.run { fixture in
            let (client, url) = (fixture.client, fixture.origin.baseURL)
            let chain = fixture.feed.on(client).request().flatMap { feed in
                client.call(AnyRequest<MomentsDetails.Moment>(baseURL: url, path: "/moments/\(feed.moments[1].id)"))
            }
            let emissions = await chain.collected().emissions
            #expect(emissions.map(\.value.id) == ["harbour-24"])
        }
    }

    // Named as easy: ignoring the same request within a short time.
    @Test func theSameRequestWithinAShortTimeIsIgnored() async throws {
        let old: ScriptedTransport.Reply = .ok(Self.ada, fields: [.cacheControl: "max-age=0"])
        try await run(old, old) { fixture in
            let call = GitHub.user("ada").cache.with { $0.reuseWithin = .seconds(10) }
            for _ in 0..<3 {
                _ = try await call.fetch()
                _ = await call.request().collected()
                fixture.clock.advance(by: .seconds(3))
            }
            #expect(fixture.transport.requests.count == 1)
            fixture.clock.advance(by: .seconds(2))
            _ = try await call.fetch()
            #expect(fixture.transport.requests.count == 2)
        }
    }

    // Named as easy: cancellation when the owner goes away.
    @Test func aRequestEndsWithItsOwner() async throws {
        final class Screen {
            private let subscription: Subscription
            init(_ request: OnCache<Feed>, _ events: Events) {
                subscription = request.request { _ in events.append("called") }
            }
        }
        try await ClientFixture.run { fixture in
            let (gate, events) = (OriginGate(), Events())
            fixture.origin.force(.hold(gate))
            var screen: Screen? = Screen(fixture.client.onCache(fixture.feed) { _ in events.append("stored") }, events)
            while fixture.origin.requestCount == 0 { await Task.yield() }
            _ = screen
            screen = nil
            await fixture.origin.waitUntilCancelled()
            #expect(events.all.isEmpty)
            gate.open()
        }
    }
}
