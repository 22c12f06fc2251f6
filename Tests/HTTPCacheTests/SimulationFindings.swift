import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import NIOCore
import Testing

/// What the simulation found, each by itself.
@Suite(.timeLimit(.minutes(20))) struct SimulationFindings {
    /// An answer whose body is still under way, and what else the origin will say.
    private func withBodyUnderWay(
        _ seconds: Int,
        _ test: (EngineFixture) async throws -> Void
    ) async throws {
        let fixture = EngineFixture()
        let gate = Gate()
        fixture.transport.script(EngineFixture.url, .fresh("one", seconds, beforeEnd: gate), .fresh("two"))
        let first = try await fixture.engine.respond(to: fixture.request())
        try await test(fixture)
        gate.open()
        let text = String(buffer: try await first.body.collect(upTo: 100))
        #expect(text == "one")
    }

    @Test func whoComesWhenABodyUnderWayIsStaleAsksAnew() async throws {
        try await withBodyUnderWay(10) { fixture in
            fixture.clock.advance(by: .seconds(20))
            let second = try await fixture.get()
            #expect(second.text == "two")
            #expect(fixture.transport.requests.count == 2)
        }
    }

    @Test(arguments: ["no-cache", "max-age=1", "min-fresh=58"])
    func whoAsksForMoreThanABodyUnderWayAsksAnew(directive: String) async throws {
        try await withBodyUnderWay(60) { fixture in
            fixture.clock.advance(by: .seconds(5))
            let second = try await fixture.get(EngineFixture.url, [.cacheControl: directive])
            #expect(second.text == "two")
        }
    }

    @Test(arguments: [CacheRequest.Preference.networkFirst, .networkOnly])
    func whoWantsTheNetworkDoesNotTakeABodyUnderWay(preference: CacheRequest.Preference) async throws {
        try await withBodyUnderWay(60) { fixture in
            fixture.clock.advance(by: .seconds(5))
            let second = try await fixture.get(preference: preference)
            #expect(second.text == "two")
        }
    }

    @Test func whoJoinsABodyUnderWayIsToldItsAge() async throws {
        try await withBodyUnderWay(60) { fixture in
            fixture.clock.advance(by: .seconds(5))
            let second = try await fixture.engine.respond(to: fixture.request())
            #expect(second.outcome.isCollapsed)
            #expect(second.age == 5000)
            #expect(second.head.headerFields[.age] == "5")
            #expect(fixture.transport.requests.count == 1)
        }
    }

    @Test func whatTheStoredCacheControlCallsPrivateIsNotTakenFromA304WithoutOne() async throws {
        let fixture = EngineFixture(kind: .shared)
        let user = try #require(HTTPField.Name("X-User"))
        let stored: HTTPFields = [.cacheControl: "private=\"x-user\", max-age=10", .eTag: "\"1\"", user: "ann"]
        fixture.transport.script(
            EngineFixture.url,
            .ok("one", fields: stored),
            .status(.notModified, fields: [.eTag: "\"1\"", user: "bob"])
        )
        try await fixture.get()
        fixture.clock.advance(by: .seconds(20))
        try await fixture.get()
        let hit = try await fixture.get().response
        #expect(hit.outcome.isHit)
        #expect(hit.head.headerFields[user] == nil)
    }

    @Test func anErrorTakesNoPlaceInAStoreThatCouldNotBeAsked() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(
            EngineFixture.url,
            .fresh("one"),
            .status(.notFound, "gone", fields: [.cacheControl: "max-age=60"])
        )
        try await fixture.get()
        fixture.store.fail([.lookup])
        let second = try await fixture.get()
        #expect(second.response.head.status == .notFound)
        fixture.store.fail([])
        let third = try await fixture.get()
        #expect(third.text == "one")
    }

    @Test func anErrorTakesNoPlaceOfASuccessThatWasStoredWhileItWasAwaited() async throws {
        let fixture = EngineFixture()
        let (success, failure) = (Gate(), Gate())
        fixture.transport.script(
            EngineFixture.url,
            .fresh("one", beforeHead: success),
            ScriptedTransport.Reply(
                head: HTTPResponse(status: .notFound, headerFields: [.cacheControl: "max-age=60"]),
                beforeHead: failure
            )
        )
        // On its own, because it has a condition; so it does not share the other's fetch.
        async let first = fixture.get(EngineFixture.url, [.ifNoneMatch: "\"old\""])
        await fixture.transport.waitForRequests(1)
        async let second = fixture.get()
        await fixture.transport.waitForRequests(2)
        success.open()
        _ = try await first
        failure.open()
        _ = try await second
        let third = try await fixture.get()
        #expect(third.text == "one")
    }

    @Test func whoAsksTheCacheAloneStartsNoRefresh() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(
            EngineFixture.url,
            .ok("one", fields: [.cacheControl: "max-age=1, stale-while-revalidate=60"]),
            .fresh("two")
        )
        try await fixture.get()
        fixture.clock.advance(by: .seconds(10))
        let second = try await fixture.get(EngineFixture.url, [.cacheControl: "only-if-cached"])
        #expect(second.text == "one")
        await fixture.untilIdle()
        #expect(fixture.transport.requests.count == 1)
    }

    @Test func whoWaitsForAnOriginWhenTheCacheIsShutDownIsToldSo() async throws {
        let fixture = EngineFixture { $0.inFlightLimit = 1 }
        let gate = Gate()
        fixture.transport.script(EngineFixture.url, .fresh("one", beforeHead: gate))
        async let first = fixture.failure()
        await fixture.transport.waitForRequests(1)
        let change = try fixture.request("https://a.example/other", method: .delete)
        let second = Task { () -> ExchangeError.Code? in
            do {
                _ = try await fixture.engine.respond(to: change)
                return nil
            } catch {
                return (error as? ExchangeError)?.code
            }
        }
        for _ in 0..<100 { await Task.yield() }
        await fixture.engine.shutDown()
        gate.open()
        let codes = await (first, second.value)
        #expect(codes.0 == .shutDown)
        #expect(codes.1 == .shutDown)
    }
}
