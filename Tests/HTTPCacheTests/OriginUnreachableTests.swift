import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Testing

/// An origin that is away costs nothing, and its return is found. DESIGN: the offline contract
@Suite struct OriginUnreachableTests {
    private let url = EngineFixture.url
    private let other = "https://a.example/other"

    /// Stored for a minute, an hour ago.
    private func stale(_ fixture: EngineFixture, _ url: String = EngineFixture.url) async throws {
        fixture.transport.script(url, .fresh("old", etag: "\"1\""))
        try await fixture.get(url)
        fixture.clock.advance(by: .seconds(3600))
    }

    @Test func afterTheFirstFailureNobodyAsksAgain() async throws {
        let fixture = EngineFixture()
        try await stale(fixture)
        fixture.transport.script(url, .failure(.connect))
        let first = try await fixture.get()
        fixture.clock.advance(by: .seconds(60))
        let second = try await fixture.get()
        #expect(first.text == "old")
        #expect(second.text == "old")
        #expect(second.response.outcome.cacheStatus() == "holdfast; hit; ttl=-3600; detail=offline")
        #expect(fixture.transport.requests.count == 2)
    }

    /// An offline miss has one status, whoever found out; 502 is for an origin that was there.
    @Test(arguments: [
        (TransportError.Code.connect, 504), (.nameResolution, 504), (.connectTimeout, 504), (.timeout, 504),
        (.connectionClosed, 502), (.tls, 502), (.protocolViolation, 502),
    ])
    func whoFindsTheOriginGoneIsToldWhatThoseBehindAreTold(code: TransportError.Code, status: Int) async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, .failure(code))
        #expect(await refusal(fixture, url)?.status == status)
        if [.connect, .nameResolution, .connectTimeout].contains(code) {
            // One of these is tried, between two probes.
            fixture.transport.script(other, .failure(code))
            for _ in 0..<3 {
                #expect(await refusal(fixture, other)?.status == status)
            }
        }
    }

    private func refusal(_ fixture: EngineFixture, _ url: String) async -> ExchangeError? {
        do {
            try await fixture.get(url)
            return nil
        } catch {
            return error as? ExchangeError
        }
    }

    @Test func inModeOnlineEveryRequestAsks() async throws {
        let fixture = EngineFixture(mode: .online)
        try await stale(fixture)
        fixture.transport.script(url, .failure(.connect), .failure(.connect))
        try await fixture.get()
        fixture.clock.advance(by: .seconds(60))
        try await fixture.get()
        #expect(fixture.transport.requests.count == 3)
    }

    @Test func theProbeRenewsWhatFailedAndClosesTheBreaker() async throws {
        let fixture = EngineFixture()
        try await stale(fixture)
        fixture.transport.script(url, .failure(.connect), .fresh("new"))
        try await fixture.get()
        await fixture.sleeper.sleepers(atLeast: 1)
        fixture.sleeper.advance(by: .milliseconds(500))
        await fixture.transport.waitForRequests(3)
        try await fixture.untilStored("new")
        let after = try await fixture.get()
        #expect(after.text == "new")
        #expect(after.response.outcome.isHit)
    }

    @Test func probesGoOnEverMoreRarely() async throws {
        let fixture = EngineFixture()
        try await stale(fixture)
        fixture.transport.script(url, .failure(.connect), .failure(.connect), .failure(.connect), .fresh("new"))
        try await fixture.get()
        for (number, delay) in [500, 1000, 2000].enumerated() {
            await fixture.sleeper.sleepers(atLeast: 1)
            fixture.sleeper.advance(by: .milliseconds(delay - 1))
            #expect(fixture.transport.requests.count == 2 + number)
            fixture.sleeper.advance(by: .milliseconds(1))
            await fixture.transport.waitForRequests(3 + number)
        }
        try await fixture.untilStored("new")
    }

    @Test func inModeOfflineNoProbeOpensASocket() async throws {
        let fixture = EngineFixture()
        try await stale(fixture)
        fixture.transport.script(url, .failure(.connect))
        try await fixture.get()
        fixture.engine.mode = .offline
        await fixture.sleeper.sleepers(atLeast: 1)
        fixture.sleeper.advance(by: .seconds(1))
        await fixture.sleeper.sleepers(atLeast: 1)
        #expect(fixture.transport.requests.count == 2)
    }

    @Test func aMissIsTriedOnceAndRefusedAtOnceAfterwards() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, .failure(.connect))
        fixture.transport.script(other, .failure(.connect))
        #expect(await fixture.failure(url) == .originUnreachable)
        #expect(await fixture.failure(other) == .originUnreachable)
        #expect(await fixture.failure(other) == .originUnreachable)
        #expect(await fixture.failure(url) == .originUnreachable)
        #expect(fixture.transport.requests.count == 2)
        #expect(fixture.transport.unscripted.isEmpty)
    }

    @Test func aMissThatIsAnsweredClosesTheBreaker() async throws {
        let fixture = EngineFixture()
        try await stale(fixture)
        fixture.transport.script(url, .failure(.connect), .fresh("new"))
        fixture.transport.script(other, .fresh("other"))
        try await fixture.get()
        let found = try await fixture.get(other)
        #expect(found.text == "other")
        fixture.clock.advance(by: .seconds(2))
        let again = try await fixture.get()
        #expect(again.text == "new")
    }

    @Test func anOriginThatHangsUpOnOneResourceIsNotAwayForAll() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, .failure(.connectionClosed), .failure(.connectionClosed))
        fixture.transport.script(other, .fresh("other"))
        #expect(await fixture.failure(url) == .originUnreachable)
        #expect(await fixture.failure(url) == .originUnreachable)
        let found = try await fixture.get(other)
        #expect(found.text == "other")
    }

    @Test func oneOriginsAbsenceIsNotAnothers() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, .failure(.connect))
        fixture.transport.script("https://b.example/", .fresh("b"))
        #expect(await fixture.failure(url) == .originUnreachable)
        let found = try await fixture.get("https://b.example/")
        #expect(found.text == "b")
    }

    @Test func unsafeRequestsAreAlwaysTried() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, .failure(.connect), .status(.ok, "done"))
        #expect(await fixture.failure(url) == .originUnreachable)
        let posted = try await fixture.get(url, method: .post)
        #expect(posted.text == "done")
    }

    /// Mutant: `throttle.note` left out in `Fetcher.fetch`: three requests.
    @Test func aServerErrorIsNotAskedForAgainAtOnceWhereAStoredResponseStandsIn() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(
            url,
            .ok("old", fields: [.cacheControl: "max-age=60, stale-if-error=86400"]),
            .status(.internalServerError),
            .fresh("new")
        )
        try await fixture.get()
        fixture.clock.advance(by: .seconds(3600))
        let first = try await fixture.get()
        let second = try await fixture.get()
        #expect(first.text == "old")
        #expect(second.text == "old")
        #expect(second.response.outcome.detail == .staleIfError)
        #expect(fixture.transport.requests.count == 2)
        fixture.clock.advance(by: .seconds(1))
        let third = try await fixture.get()
        #expect(third.text == "new")
    }
}
