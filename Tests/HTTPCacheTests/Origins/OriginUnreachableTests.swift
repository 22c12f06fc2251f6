import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Logging
import TestSupport
import Testing

/// An unreachable origin costs nothing, and its return is found. docs/architecture.md, "The offline
/// contract"
@Suite(.timeLimit(.minutes(20))) struct OriginUnreachableTests {
    private let url = EngineFixture.url
    private let other = "https://a.example/other"

    /// Stores a response with a lifetime of a minute, an hour ago.
    private func stale(_ fixture: EngineFixture, _ url: String = EngineFixture.url) async throws {
        fixture.transport.script(url, .fresh("old", etag: "\"1\""))
        try await fixture.get(url)
        fixture.clock.advance(by: .seconds(3600))
    }

    @Test func firstFailureStopsFurtherRequests() async throws {
        let fixture = EngineFixture()
        try await stale(fixture)
        fixture.transport.script(url, .failure(.connect))
        let first = try await fixture.get()
        fixture.clock.advance(by: .seconds(60))
        let second = try await fixture.get()
        #expect(first.text == "old")
        #expect(second.text == "old")
        #expect(second.response.outcome.cacheStatus() == "holdfast; hit; ttl=-3600; detail=unreachable")
        #expect(fixture.transport.requests.count == 2)
    }

    /// RFC 9111 §5.2.1.7: such a request gets a stored response, as it does without the directive.
    /// Mutant: `only-if-cached-fails-in-an-outage`.
    @Test func onlyIfCachedServesStaleInAnOutage() async throws {
        let fixture = EngineFixture()
        let only: HTTPFields = [.cacheControl: "only-if-cached"]
        try await stale(fixture)
        // The origin may be reachable, so the stored response needs validation.
        #expect(await fixture.failure(url, only) == .offlineMiss)
        fixture.transport.script(url, .failure(.connect))
        try await fixture.get()
        fixture.clock.advance(by: .seconds(60))
        let served = try await fixture.get(url, only)
        #expect(served.text == "old")
        #expect(served.response.outcome.cacheStatus() == "holdfast; hit; ttl=-3600; detail=unreachable")
        #expect(await fixture.failure(other, only) == .offlineMiss)
        #expect(fixture.transport.requests.count == 2)
    }

    @Test func onlyIfCachedIsToldWhatForbidsStaleUse() async throws {
        let fixture = EngineFixture()
        let only: HTTPFields = [.cacheControl: "only-if-cached"]
        let fields: HTTPFields = [.cacheControl: "max-age=60, must-revalidate"]
        fixture.transport.script(url, .ok("old", fields: fields), .failure(.connect))
        try await fixture.get()
        fixture.clock.advance(by: .seconds(3600))
        let reachable = await refusal(fixture, url, only)
        #expect(reachable?.code == .offlineMiss && reachable?.outcome.cacheStatus() == "holdfast")
        #expect(reachable?.message.contains("'only-if-cached' forbids") == true, "\(String(describing: reachable))")
        #expect(await fixture.failure(url) == .staleForbidden)
        fixture.clock.advance(by: .seconds(60))
        let unreachable = await refusal(fixture, url, only)
        #expect(unreachable?.code == .staleForbidden && unreachable?.forbiddenBy == "must-revalidate")
        #expect(fixture.transport.requests.count == 2)
    }

    /// An offline miss has the same status for the first caller and for later ones; 502 is for an
    /// origin that responded.
    @Test(arguments: [
        (TransportError.Code.connect, 504), (.nameResolution, 504), (.connectTimeout, 504), (.timeout, 504),
        (.connectionClosed, 502), (.tls, 502), (.protocolViolation, 502),
    ])
    func firstAndLaterCallersGetSameError(code: TransportError.Code, status: Int) async throws {
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

    private func refusal(_ fixture: EngineFixture, _ url: String, _ fields: HTTPFields = [:]) async -> ExchangeError? {
        do {
            try await fixture.get(url, fields)
            return nil
        } catch {
            return error as? ExchangeError
        }
    }

    @Test func onlineModeSendsEveryRequest() async throws {
        let fixture = EngineFixture(mode: .online)
        try await stale(fixture)
        fixture.transport.script(url, .failure(.connect), .failure(.connect))
        try await fixture.get()
        fixture.clock.advance(by: .seconds(60))
        try await fixture.get()
        #expect(fixture.transport.requests.count == 3)
    }

    @Test func probeRenewsFailedTargetAndClosesBreaker() async throws {
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

    @Test func probesBackOff() async throws {
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

    @Test func offlineModeSendsNoProbe() async throws {
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

    /// The origin accepts connections and answers nothing, so another target is probed at once, but
    /// nothing may be requested there.
    ///
    /// Mutant: `forbidden-probe-is-repeated-at-once`.
    @Test func probeThatTheModeForbidsWaits() async throws {
        struct NoProbes: TargetModes {
            func mode(for target: TargetURI) -> OfflineMode? { target.path.count < 12 ? .offline : nil }
        }
        let fixture = EngineFixture()
        fixture.engine.targetModes = NoProbes()
        for name in ["first", "second", "third"] {
            let url = "https://a.example/content/\(name)"
            fixture.transport.script(url, .failure(.connectionClosed))
            #expect(await fixture.failure(url) == .originUnreachable)
        }
        await fixture.sleeper.sleepers(atLeast: 1)
        #expect(fixture.transport.requests.count == 3)
        // The next attempt waits too.
        fixture.sleeper.advance(by: .seconds(1))
        await fixture.sleeper.sleepers(atLeast: 1)
        fixture.engine.targetModes = nil
        fixture.transport.script("https://a.example/", .fresh("root"))
        fixture.sleeper.advance(by: .seconds(1))
        await fixture.transport.waitForRequests(4)
    }

    @Test func missIsTriedOnceThenRejectedAtOnce() async throws {
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

    @Test func successfulMissClosesBreaker() async throws {
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

    @Test func hangUpOnOneTargetLeavesOriginReachable() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, .failure(.connectionClosed), .failure(.connectionClosed))
        fixture.transport.script(other, .fresh("other"))
        #expect(await fixture.failure(url) == .originUnreachable)
        #expect(await fixture.failure(url) == .originUnreachable)
        let found = try await fixture.get(other)
        #expect(found.text == "other")
    }

    @Test func unreachableOriginLeavesOthersReachable() async throws {
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
    @Test func servedServerErrorIsNotFetchedAgainAtOnce() async throws {
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

    /// RFC 9211 §2: a response that was not forwarded has no `fwd`. Mutant: `alternativeToAsking`
    /// gives the outcome of a forwarded request.
    @Test func throttledResponseIsReportedAsHit() async throws {
        let fixture = EngineFixture()
        let fields: HTTPFields = [.cacheControl: "max-age=60, stale-if-error=86400"]
        fixture.transport.script(url, .ok("old", fields: fields), .status(.internalServerError))
        try await fixture.get()
        fixture.clock.advance(by: .seconds(70))
        let asked = try await fixture.get()
        let throttled = try await fixture.get()
        #expect(asked.response.outcome.forwardStatus == 500)
        #expect(throttled.response.outcome.cacheStatus() == "holdfast; hit; ttl=-10; detail=stale-if-error")
    }

    /// The response ends the probing. Mutant: a probe's in-flight fetch does not continue when its
    /// caller leaves.
    @Test func probeResponseIsStoredInSlowStore() async throws {
        let (transport, store, sleeper) = (ScriptedTransport(), SlowStore(), ManualDurationClock())
        var options = EngineOptions()
        options.hardTimeout = nil
        let engine = CacheEngine(
            store: store,
            transport: transport,
            credentialSecret: [UInt8](repeating: 7, count: 32),
            options: options,
            parts: .init(clock: ManualClock(), sleeper: sleeper, jitter: { 1 }),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        transport.script(url, .failure(.connect), .fresh("new"))
        let request = try EngineFixture().request()
        await #expect(throws: ExchangeError.self) { try await engine.respond(to: request) }
        await sleeper.sleepers(atLeast: 1)
        sleeper.advance(by: .seconds(1))
        await transport.waitForRequests(2)
        // The prober left long before the store is ready.
        for _ in 0..<1000 { await Task.yield() }
        store.gate.open()
        while engine.inFlightFetchCount > 0, !Task.isCancelled { await Task.yield() }
        #expect(store.base.all.count == 1)
    }
}

/// A store that begins to write when its gate opens.
private final class SlowStore: ForwardingStore {
    let base = InMemoryResponseStore()
    let gate = Gate()

    func beginWrite(_ draft: ResponseDraft, fencingNumber: InvalidationSequence) async throws -> (
        any StoredResponseWriter
    )? {
        try await gate.wait()
        return try await base.beginWrite(draft, fencingNumber: fencingNumber)
    }
}
