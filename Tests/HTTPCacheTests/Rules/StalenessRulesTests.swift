import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Testing

/// The limits that rules set on stale use.
@Suite(.timeLimit(.minutes(20))) struct StalenessRulesTests {
    private let url = EngineFixture.url

    private func fixture(
        _ kind: CacheKind = .private,
        mode: OfflineMode = .automatic,
        _ change: (inout ExchangeSettings) -> Void
    ) -> EngineFixture {
        EngineFixture(kind: kind, mode: mode, rules: TestRules(change))
    }

    @Test(arguments: [true, false]) func whileRevalidateDoesNotExceedOfflineLimit(
        isDeclared: Bool
    ) async throws {
        let fixture = fixture {
            if isDeclared {
                $0.overrides.maximumStalenessOffline = 10
            } else {
                $0.overrides.maximumStalenessUnreachable = 10
            }
        }
        fixture.transport.script(
            url,
            .ok("old", fields: [.cacheControl: "max-age=60, stale-while-revalidate=600"]),
            .failure(.connect)
        )
        try await fixture.get()
        fixture.clock.advance(by: .seconds(65))
        if isDeclared { fixture.engine.mode = .offline }
        let preference: CacheRequest.Preference = isDeclared ? .standard : .storedOnly
        #expect(try await fixture.get(preference: preference).text == "old")
        fixture.clock.advance(by: .seconds(60))
        #expect(await fixture.failure(preference: preference) == .staleForbidden)
    }

    @Test func ruledWhileRevalidateServesNoStaleError() async throws {
        let fixture = fixture {
            $0.overrides.errorLifetime = 30
            $0.overrides.staleWhileRevalidate = 3600
        }
        fixture.transport.script(url, .status(.notFound), .fresh("there"))
        #expect(try await fixture.get().response.head.status == .notFound)
        fixture.clock.advance(by: .seconds(31))
        #expect(try await fixture.get().text == "there")
    }

    @Test func staleErrorIsNotServedOffline() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(
            url,
            .status(.notFound, fields: [.cacheControl: "max-age=30, stale-while-revalidate=3600"])
        )
        try await fixture.get()
        fixture.clock.advance(by: .seconds(31))
        fixture.engine.mode = .offline
        #expect(await fixture.failure() != nil)
    }

    @Test func liftedNoCacheOnFreshResponseIsReported() async throws {
        let fixture = fixture { $0.overrides.directivesIgnoredWhenStale = [.noCache] }
        fixture.transport.script(
            url,
            .ok("old", fields: [.cacheControl: "no-cache, max-age=60"]),
            .status(.serviceUnavailable)
        )
        try await fixture.get()
        let again = try await fixture.get()
        #expect(again.text == "old")
        #expect(again.response.outcome.detail == .despite("no-cache"))
    }

    /// The detail is the same in an outage and where the origin responds with an error, now or a
    /// moment ago. The mark tells them apart, for the numbers of outages.
    @Test(arguments: [true, false]) func liftedDirectiveForAnErrorIsNoOutage(isError: Bool) async throws {
        let fixture = fixture {
            $0.overrides.directivesIgnoredWhenStale = [.mustRevalidate]
            $0.overrides.staleIfError = 3600
        }
        fixture.transport.script(
            url,
            .ok("old", fields: [.cacheControl: "must-revalidate, max-age=1"]),
            isError ? .status(.serviceUnavailable) : .failure(.connect),
            isError ? .status(.serviceUnavailable) : .failure(.connect)
        )
        try await fixture.get()
        fixture.clock.advance(by: .seconds(2))
        // The second one follows at once: the engine may answer it without asking the origin again.
        for _ in 0..<2 {
            let served = try await fixture.get()
            #expect(served.text == "old" && served.response.outcome.detail == .despite("must-revalidate"))
            #expect(served.response.outcome.standsInForError == isError)
        }
    }
}
