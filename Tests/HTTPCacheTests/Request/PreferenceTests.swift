import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import NIOCore
import Testing

/// The stored response is served at once, and the origin is asked in the background.
@Suite(.timeLimit(.minutes(20))) struct StaleWhileRevalidatePreferenceTests {
    private let url = EngineFixture.url

    private func stale(_ replies: ScriptedTransport.Reply..., mode: OfflineMode = .automatic) async throws
        -> EngineFixture
    {
        let fixture = EngineFixture(mode: mode)
        fixture.transport.script(url, .fresh("old", etag: "\"1\""))
        for reply in replies { fixture.transport.script(url, reply) }
        try await fixture.get()
        fixture.clock.advance(by: .seconds(100_000))
        return fixture
    }

    @Test func staleResponseIsServedAtOnceAndRenewed() async throws {
        let gate = Gate()
        let fixture = try await stale(.fresh("new", beforeHead: gate))
        for _ in 0..<20 {
            let result = try await fixture.get(preference: .staleWhileRevalidate)
            #expect(result.text == "old")
            #expect(result.response.isStale && result.response.outcome.detail == .staleWhileRevalidate)
        }
        gate.open()
        try await fixture.untilStored("new")
        #expect(fixture.transport.requests.count == 2)
        #expect(fixture.transport.requests.last?.headerFields[.ifNoneMatch] == "\"1\"")
        #expect(try await fixture.get(preference: .staleWhileRevalidate).text == "new")
    }

    @Test func freshResponseIsNotRenewed() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, .fresh("fresh"))
        try await fixture.get()
        let result = try await fixture.get(preference: .staleWhileRevalidate)
        #expect(result.response.outcome.detail == nil)
        await fixture.untilIdle()
        #expect(fixture.transport.requests.count == 1)
    }

    @Test func missGoesToNetwork() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, .fresh("new"))
        #expect(try await fixture.get(preference: .staleWhileRevalidate).text == "new")
    }

    @Test func directiveAgainstStaleUseValidatesFirst() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(
            url,
            .ok("old", fields: [.cacheControl: "max-age=60, must-revalidate"]),
            .fresh("new")
        )
        try await fixture.get()
        fixture.clock.advance(by: .seconds(61))
        #expect(try await fixture.get(preference: .staleWhileRevalidate).text == "new")
    }

    @Test func invalidatedResponseIsServedAndRenewed() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, .fresh("old"), .fresh("new"))
        try await fixture.get()
        try await fixture.engine.invalidate(fixture.request(), keepingForOffline: true)
        #expect(try await fixture.get(preference: .staleWhileRevalidate).text == "old")
        try await fixture.untilStored("new")
    }

    @Test(arguments: [OfflineMode.preferStored, .offline])
    func stricterModesSendNothing(mode: OfflineMode) async throws {
        let fixture = try await stale()
        fixture.engine.mode = mode
        #expect(try await fixture.get(preference: .staleWhileRevalidate).text == "old")
        await fixture.untilIdle()
        #expect(fixture.transport.requests.count == 1)
    }

    @Test func unreachableOriginIsNotAsked() async throws {
        let fixture = try await stale(.failure(.connect))
        #expect(try await fixture.get().text == "old")
        fixture.clock.advance(by: .seconds(10))
        #expect(try await fixture.get(preference: .staleWhileRevalidate).text == "old")
        #expect(fixture.transport.requests.count == 2)
        await fixture.engine.shutDown()
    }
}

/// A request repeated within a chosen time.
@Suite(.timeLimit(.minutes(20))) struct ReuseWithinTests {
    private let url = EngineFixture.url

    private func request(
        _ fixture: EngineFixture,
        _ fields: HTTPFields = [:],
        within limit: Duration = .seconds(30),
        preference: CacheRequest.Preference = .standard
    ) throws -> CacheRequest {
        var request = try fixture.request(url, fields, preference: preference)
        request.reuseWithin = limit
        return request
    }

    private func text(_ fixture: EngineFixture, _ request: CacheRequest) async throws -> String {
        String(buffer: try await fixture.engine.respond(to: request).body.collect(upTo: 1 << 20))
    }

    private func stored(_ directives: String, _ more: HTTPFields = [:]) async throws -> EngineFixture {
        let fixture = EngineFixture()
        var fields = more
        fields[.cacheControl] = directives
        fields[.eTag] = "\"1\""
        fixture.transport.script(url, .ok("old", fields: fields))
        try await fixture.get()
        return fixture
    }

    @Test(arguments: [CacheRequest.Preference.standard, .storedFirst, .staleWhileRevalidate, .networkFirst])
    func recentStaleResponseIsServedWithoutNetwork(preference: CacheRequest.Preference) async throws {
        let fixture = try await stored("max-age=1")
        fixture.clock.advance(by: .seconds(30))
        let response = try await fixture.engine.respond(to: request(fixture, preference: preference))
        #expect(response.isStale && response.outcome.isHit && response.outcome.detail == .recent)
        await fixture.untilIdle()
        #expect(fixture.transport.requests.count == 1)
    }

    @Test func olderResponseAsksOrigin() async throws {
        let fixture = try await stored("max-age=1")
        fixture.transport.script(url, .fresh("new"))
        fixture.clock.advance(by: .milliseconds(30_001))
        #expect(try await text(fixture, request(fixture)) == "new")
    }

    @Test func networkOnlyAsksOrigin() async throws {
        let fixture = try await stored("max-age=60")
        fixture.transport.script(url, .fresh("new"))
        #expect(try await text(fixture, request(fixture, preference: .networkOnly)) == "new")
    }

    @Test func timeCountsFromArrivalNotByAge() async throws {
        let fixture = try await stored("max-age=60", [.age: "1000"])
        fixture.clock.advance(by: .seconds(30))
        #expect(try await text(fixture, request(fixture)) == "old")
        #expect(fixture.transport.requests.count == 1)
    }

    @Test func validationRestartsTime() async throws {
        let fixture = try await stored("max-age=1")
        fixture.transport.script(url, .status(.notModified, fields: [.eTag: "\"1\""]))
        fixture.clock.advance(by: .seconds(40))
        #expect(try await text(fixture, request(fixture)) == "old")
        fixture.clock.advance(by: .seconds(30))
        #expect(try await text(fixture, request(fixture)) == "old")
        #expect(fixture.transport.requests.count == 2)
    }

    @Test(arguments: ["no-cache", "max-age=1, must-revalidate", "max-age=60, no-cache"])
    func forbiddingResponseIsValidated(directives: String) async throws {
        let fixture = try await stored(directives)
        fixture.transport.script(url, .fresh("new"))
        fixture.clock.advance(by: .seconds(5))
        #expect(try await text(fixture, request(fixture)) == "new")
    }

    @Test(arguments: ["no-cache", "max-age=4", "max-age=0", "min-fresh=1"])
    func stricterRequestAsksOrigin(directives: String) async throws {
        let fixture = try await stored("max-age=1")
        fixture.transport.script(url, .fresh("new"))
        fixture.clock.advance(by: .seconds(5))
        #expect(try await text(fixture, request(fixture, [.cacheControl: directives])) == "new")
    }

    @Test func invalidatedResponseIsNotReused() async throws {
        let fixture = try await stored("max-age=60")
        fixture.transport.script(url, .fresh("new"))
        try await fixture.engine.invalidate(fixture.request(), keepingForOffline: true)
        #expect(try await text(fixture, request(fixture)) == "new")
    }

    @Test func clockSetBackMakesNothingRecentForever() async throws {
        let fixture = try await stored("max-age=1")
        fixture.transport.script(url, .fresh("new"))
        fixture.clock.advance(by: .seconds(-3600))
        #expect(try await text(fixture, request(fixture, preference: .networkFirst)) == "new")
    }

    @Test func errorIsNotReused() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(
            url,
            .status(.notFound, "gone", fields: [.cacheControl: "max-age=1"]),
            .fresh("new")
        )
        try await fixture.get()
        fixture.clock.advance(by: .seconds(5))
        #expect(try await text(fixture, request(fixture)) == "new")
    }
}
