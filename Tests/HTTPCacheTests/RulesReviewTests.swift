import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import NIOCore
import Synchronization
import Testing

@testable import HTTPCache

/// What rules promise, at their edges.
@Suite struct RulesReviewTests {
    private let url = EngineFixture.url

    private func fixture(
        _ kind: CacheKind = .private,
        mode: OfflineMode = .automatic,
        _ change: (inout ExchangeSettings) -> Void
    ) -> EngineFixture {
        EngineFixture(kind: kind, mode: mode, rules: TestRules(change))
    }

    @Test func whatTellsPrincipalsIsNotStoredThoughVaryNamesIt() async throws {
        let name = try #require(HTTPField.Name("X-User"))
        let fixture = fixture(.shared) { $0.principal = .field(name) }
        fixture.transport.script(
            url,
            .ok("hers", fields: [.cacheControl: "max-age=60", .vary: "X-User"]),
            .ok("his", fields: [.cacheControl: "max-age=60", .vary: "X-User"])
        )
        try await fixture.get(url, [name: "alice-alone"])
        let stored = try #require(fixture.memory.all.first)
        #expect(!"\(stored.head.selectingFields)".contains("alice-alone"))
        #expect(try await fixture.get(url, [name: "bob"]).text == "his")
        let again = try await fixture.get(url, [name: "alice-alone"])
        #expect(again.text == "hers" && again.response.outcome.isHit)
        #expect(fixture.transport.requests.map { $0.headerFields[name] } == ["alice-alone", "bob"])
    }

    @Test(arguments: [("deflate, gzip", "deflate", false), ("deflate, gzip", "gzip", true), ("dcb, br", "dcb", false)])
    func aCodingThatTheOneSpellingDoesNotNameIsNotFiledUnderIt(
        accepted: String,
        coding: String,
        isMoved: Bool
    ) async throws {
        let before = EngineFixture()
        before.transport.script(
            url,
            .ok("x", fields: [.cacheControl: "max-age=60", .vary: "Accept-Encoding", .contentEncoding: coding])
        )
        try await before.get(url, [.acceptEncoding: accepted])
        let stored = try #require(before.memory.all.first)
        let filing = try #require(
            StoredFiling(
                stored,
                rules: TestRules { $0.normalizesAcceptEncoding = true },
                policy: CachePolicy(kind: .private)
            )
        )
        let normalized = try #require(AcceptEncoding.normalized([.acceptEncoding: accepted]))
        #expect((filing.head.selectingFields[.acceptEncoding] == normalized) == isMoved)
    }

    @Test(arguments: [true, false]) func whileRevalidateDoesNotGoBeyondTheBudgetWhereNoOriginIsAsked(
        isDeclared: Bool
    ) async throws {
        let fixture = fixture {
            if isDeclared {
                $0.overrides.maximumStalenessOffline = 10
            } else {
                $0.overrides.maximumStaleness = 10
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

    @Test func anOldErrorIsNotServedWhileItIsRenewedBecauseARuleAllowsThat() async throws {
        let fixture = fixture {
            $0.overrides.errorLifetime = 30
            $0.overrides.staleWhileRevalidate = 3600
        }
        fixture.transport.script(url, .status(.notFound), .fresh("there"))
        #expect(try await fixture.get().response.head.status == .notFound)
        fixture.clock.advance(by: .seconds(31))
        #expect(try await fixture.get().text == "there")
    }

    @Test func anOldErrorIsNoAnswerOfflineThoughItsOriginAllowsRenewingIt() async throws {
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

    @Test func interimResponsesAreWithoutWhatClientsAreNotToSee() throws {
        let fixture = fixture {
            $0.responseFields.removed = [.server]
            $0.responseFields.set = [.from: "holdfast"]
        }
        let told = Mutex<[HTTPFields]>([])
        var request = try fixture.request()
        request.onInformational = { interim in told.withLock { $0.append(interim.headerFields) } }
        let prepared = try #require(fixture.engine.prepare(request))
        let fields: HTTPFields = [.server: "x", .from: "y", .location: "</a>"]
        prepared.sending().onInformational?(HTTPResponse(status: .earlyHints, headerFields: fields))
        #expect(told.withLock { $0 } == [[.location: "</a>"]])
    }

    @Test func itIsToldThatNoCacheDidNotCountForAFreshResponse() async throws {
        let fixture = fixture { $0.overrides.staleDespite = [.noCache] }
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

    @Test(arguments: [true, false]) func aPOSTThatGoesPastTheStoreInvalidatesWhateverItsContent(
        isBypassed: Bool
    ) async throws {
        let bypassing = RequestRules.with {
            $0.keyedContent = .any
            $0.isBypassed = isBypassed
            if !isBypassed { $0.methods = [.get] }
        }
        let fixture = EngineFixture(rules: TestRules { $0.method == .post ? bypassing : .none })
        fixture.transport.script(url, .fresh("one"), .status(.noContent), .fresh("two"))
        try await fixture.get()
        try await fixture.get(method: .post)
        #expect(try await fixture.get().text == "two")
    }

    @Test func aStoredStatusThatIsNotStoredAnyMoreAnswersNothing() async throws {
        let fixture = EngineFixture(rules: TestRules { $0.overrides.statuses = [200] })
        let before = EngineFixture()
        before.transport.script(url, .status(.notFound, fields: [.cacheControl: "max-age=60"]))
        try await before.get()
        let stored = try #require(before.memory.all.first)
        let filing = try #require(
            StoredFiling(
                stored,
                rules: TestRules { $0.overrides.statuses = [200] },
                policy: CachePolicy(kind: .private)
            )
        )
        let prepared = try #require(fixture.engine.prepare(try fixture.request()))
        var machine = ExchangeMachine(prepared, now: before.clock.now())
        #expect(filing.isPassedBy)
        if case .serve = machine.lookedUp([stored]) { Issue.record("it is served") }
    }
}
