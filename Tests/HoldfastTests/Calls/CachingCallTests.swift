import Foundation
import Holdfast
import HoldfastTesting
import SampleOrigin
import Testing

/// Calls that start at an endpoint: `cache`, `onCache`, and the steps of a call.
@Suite(.timeLimit(.minutes(20))) struct CachingCallTests {
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

    // One client serves many endpoint enums. A request starts from the endpoint itself.
    @Test func oneClientServesManyEnumsAndRequestsStartAtTheEndpoint() async throws {
        try await run(.fresh(Self.ada)) { fixture in
            fixture.script("/weather", .fresh("fine"))
            let user = try await GitHub.user("ada").map(User.self).fetch().value
            let weather = try await Weather.today.call.fetch().value
            #expect(user == User(id: 1, name: "Ada") && weather == "fine")
        }
    }

    // `endpoint.cache.request()` emits the stored response and then the network's; `map` applies to
    // both.
    @Test func cacheEmitsTheStoredThenTheNetworkValueAndMapAppliesToBoth() async throws {
        try await run(.fresh(Self.ada), .fresh(Self.renamed)) { _ in
            let call = GitHub.user("ada").cache.map(User.self)
            _ = await call.request().collected()
            let both = await call.request().collected()
            #expect(both.emissions.map(\.value.name) == ["Ada", "Ada L."] && both.failure == nil)
            #expect(both.emissions.map(\.source) == [.store, .network])
        }
    }

    // A call without `cache` uses no store; a call without `map` decodes no model.
    @Test func eachStepCanBeLeftOutAlone() async throws {
        try await run(.fresh(Self.ada), .fresh(Self.ada), .fresh(Self.ada), .fresh(Self.renamed)) { _ in
            _ = try await GitHub.user("ada").cache.fetch()
            let withoutCache = await GitHub.user("ada").map(User.self).request().collected().emissions
            #expect(withoutCache.map(\.source) == [.network])
            let withoutMap = await GitHub.user("ada").cache.request().collected().emissions
            #expect(withoutMap.map(\.value) == [Data(Self.ada.utf8), Data(Self.ada.utf8)])
            let withoutBoth = await GitHub.user("ada").request().collected().emissions
            #expect(withoutBoth.map(\.value) == [Data(Self.renamed.utf8)])
            // A call without `cache` stored nothing either.
            let stored = try await GitHub.user("ada").cache.map(User.self).stored()
            #expect(stored?.value.name == "Ada")
        }
    }

    // `endpoint.onCache(Model.self) { … }.request()` passes the stored object to its own closure
    // and then emits one value of the network, which is stored.
    @Test func onCacheSeparatesTheStoredFromTheNetworkValue() async throws {
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
            let stored = try await GitHub.user("ada").cache.map(User.self).stored()
            #expect(stored?.value.name == "Ada L.")
        }
    }

    // Show the stored value first; replace it when the network responds; load the stored value when
    // the network fails.
    @Test func storedValueIsShownReplacedAndKeptWhenTheNetworkFails() async throws {
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

    // Chained requests.
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

    // The same request within a short time is not sent again.
    @Test func sameRequestWithinTheWindowIsIgnored() async throws {
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

    // A request is cancelled when its owner is released.
    @Test func requestEndsWithItsOwner() async throws {
        final class Screen {
            private let subscription: StreamSubscription
            init(_ request: OnCache<Feed>, _ events: Events) {
                subscription = request.request { _ in events.append("called") }
            }
        }
        try await ClientFixture.run { fixture in
            let (gate, events) = (OriginGate(), Events())
            fixture.origin.force(.hold(gate))
            var screen: Screen? = Screen(fixture.client.onCache(fixture.feed) { _ in events.append("stored") }, events)
            while fixture.origin.requestCount == 0, !Task.isCancelled { await Task.yield() }
            _ = screen
            screen = nil
            await fixture.origin.waitUntilCancelled()
            #expect(events.all.isEmpty)
            gate.open()
        }
    }
}
