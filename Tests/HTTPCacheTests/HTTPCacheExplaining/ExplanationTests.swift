import HTTPCache
import HTTPCacheExplaining
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import NIOCore
import Testing

@Suite(.timeLimit(.minutes(20))) struct ExplanationTests {
    @Test func verdictNamesDecidingReason() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(EngineFixture.url, .fresh("one", 300, etag: "\"1\""))
        let miss = try await fixture.engine.explain(fixture.request())
        #expect(miss.now.summary == "Would be forwarded to the origin: nothing is stored for this target.")
        try await fixture.get()
        fixture.clock.advance(by: .seconds(100))
        let hit = try await fixture.engine.explain(fixture.request())
        #expect(hit.now.summary == "Would be served from the store: fresh for another 3 m 20 s (max-age=300).")
        #expect(hit.now.status == 200 && hit.now.isHit && hit.now.timeToLive == 200)
        let end = try #require(hit.changes.first)
        #expect(end.ending == "freshness" && end.at == fixture.clock.now().adding(.seconds(200)))
        #expect(end.now?.answer == .validated && end.now?.reason == .stale)
        let later = try await fixture.engine.explain(fixture.request(), at: fixture.clock.now().adding(.seconds(260)))
        #expect(
            later.now.summary
                == "Would be validated with the origin: the stored response has been stale for 1 m (max-age=300)."
        )
        #expect(fixture.transport.requests.count == 1)
    }

    @Test func timeBeforeTheResponseArrivedHasNoResponse() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(EngineFixture.url, .fresh("one", 300, etag: "\"1\""))
        try await fixture.get()
        let arrival = fixture.clock.now()
        let earlier = try await fixture.engine.explain(fixture.request(), at: arrival.adding(.seconds(-5400)))
        #expect(earlier.now.answer == .forwarded && earlier.variants.isEmpty)
        #expect(
            earlier.now.summary
                == "Would be forwarded to the origin: nothing was stored for this target yet: the stored response arrived 1 h 30 m later."
        )
        #expect(try await fixture.engine.explain(fixture.request(), at: arrival).now.isHit)
    }

    @Test func arithmeticHasNumbersOfRFC() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(
            EngineFixture.url,
            .ok("one", fields: [.cacheControl: "max-age=60", .age: "7", .date: "Thu, 01 Jan 2026 00:00:00 GMT"])
        )
        try await fixture.get()
        fixture.clock.advance(by: .seconds(20))
        let freshness = try #require(try await fixture.engine.explain(fixture.request()).freshness)
        #expect(freshness.ageValue == 7000 && freshness.correctedInitialAge == 7000)
        #expect(freshness.residentTime == 20_000 && freshness.currentAge == 27_000)
        #expect(freshness.freshnessLifetime == 60_000 && freshness.lifetimeSource == "maxAge" && freshness.isFresh)
        #expect(freshness.lifetimeFields.map(\.value) == ["max-age=60"])
    }

    @Test func differencesAreNamedWithoutSecrets() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(
            EngineFixture.url,
            .ok("one", fields: [.cacheControl: "max-age=60", .vary: "Accept-Language, Cookie"])
        )
        try await fixture.get(EngineFixture.url, [.acceptLanguage: "de", .cookie: "sid=hunter2"], principal: "me")
        let explanation = try await fixture.engine.explain(
            fixture.request(EngineFixture.url, [.acceptLanguage: "en", .cookie: "sid=hunter3"], principal: "me")
        )
        #expect(explanation.now.reason == .varyMiss)
        let variant = try #require(explanation.variants.first)
        #expect(!variant.isMatching && variant.differences.map(\.name) == ["accept-language", "cookie"])
        #expect(variant.differences.first?.stored == "de" && variant.differences.first?.presented == "en")
        #expect(!"\(explanation)".contains("hunter") && !"\(explanation)".contains("sid"))
    }

    @Test func openBreakerIsExplainedAndKeepsItsTrial() async throws {
        let fixture = EngineFixture { $0.failureThrottle = .zero }
        fixture.transport.script(EngineFixture.url, .fresh("one"), .failure(.connect))
        try await fixture.get()
        fixture.clock.advance(by: .seconds(90))
        try await fixture.get()
        let stored = try await fixture.engine.explain(fixture.request())
        #expect(stored.origin?.isOriginUnreachable == true && stored.now.reason == .breakerOpen && stored.now.isHit)
        let other = "https://a.example/other"
        fixture.transport.script(other, .failure(.connect))
        // However often it is explained, the one trial request may still be sent.
        for _ in 0..<3 {
            let trial = try await fixture.engine.explain(fixture.request(other))
            #expect(trial.now.answer == .forwarded)
        }
        #expect(await fixture.failure(other) == .originUnreachable)
        let refused = try await fixture.engine.explain(fixture.request(other))
        #expect(refused.now.answer == .refused && refused.now.status == 504)
        #expect(await fixture.failure(other) == .originUnreachable)
        #expect(fixture.transport.requests.filter { $0.path == "/other" }.count == 1)
        await fixture.engine.shutDown()
    }

    @Test func onlyIfCachedInAnOutageIsExplained() async throws {
        let fixture = EngineFixture { $0.failureThrottle = .zero }
        let only: HTTPFields = [.cacheControl: "only-if-cached"]
        fixture.transport.script(EngineFixture.url, .fresh("one"), .failure(.connect))
        try await fixture.get()
        fixture.clock.advance(by: .seconds(90))
        let before = try await fixture.engine.explain(fixture.request(EngineFixture.url, only))
        #expect(before.now.answer == .refused && before.unreachable.answer == .refused)
        try await fixture.get()
        let after = try await fixture.engine.explain(fixture.request(EngineFixture.url, only))
        #expect(after.now.reason == .breakerOpen && after.now.isHit)
        #expect(try await fixture.get(EngineFixture.url, only).response.outcome.cacheStatus() == after.now.cacheStatus)
        await fixture.engine.shutDown()
    }

    @Test func recentFailureIsExplainedWhileRemembered() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(
            EngineFixture.url,
            .ok("one", fields: [.cacheControl: "max-age=60, stale-if-error=600"]),
            .status(.serviceUnavailable)
        )
        try await fixture.get()
        fixture.clock.advance(by: .seconds(61))
        try await fixture.get()
        let explanation = try await fixture.engine.explain(fixture.request())
        #expect(explanation.now.reason == .recentFailure && explanation.origin?.recentFailure == "503")
        #expect(explanation.changes.first?.ending == "failure-throttle")
        #expect(try await fixture.get().response.outcome.isHit)
        let later = fixture.clock.now().adding(.seconds(1))
        #expect(try await fixture.engine.explain(fixture.request(), at: later).now.reason == .stale)
    }

    @Test func missingBodyIsReportedAndNotServed() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(EngineFixture.url, .fresh("one"))
        try await fixture.get()
        fixture.store.fail([.openBody])
        let explanation = try await fixture.engine.explain(fixture.request())
        #expect(explanation.variants.first?.isBodyGone == true && explanation.now.answer == .forwarded)
        #expect(explanation.unreachable.answer == .refused && explanation.offline.answer == .refused)
    }

    @Test func unreadableStoreIsReported() async throws {
        let fixture = EngineFixture()
        fixture.store.fail([.lookup])
        let explanation = try await fixture.engine.explain(fixture.request())
        #expect(!explanation.isStoreReadable && explanation.now.reason == .uriMiss)
    }

    @Test func invalidTargetIsRejected() async throws {
        let fixture = EngineFixture()
        let request = CacheRequest(head: HTTPRequest(method: .get, scheme: "ftp", authority: "a.example", path: "/"))
        await #expect(throws: ExchangeError.self) { try await fixture.engine.explain(request) }
    }
}
