import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Testing

/// Sessions that a rule identifies by a cookie: none sees the response of another.
///
/// docs/attacks.md, 24, 26.
@Suite(.timeLimit(.minutes(20))) struct SessionAttackTests {
    private let url = EngineFixture.url

    private func perSession(
        _ kind: CacheKind = .shared,
        _ change: (inout ExchangeSettings) -> Void = { _ in }
    ) -> EngineFixture {
        EngineFixture(
            kind: kind,
            rules: TestRules {
                $0.principal = .cookie("session")
                change(&$0)
            }
        )
    }

    @Test func sessionsResponseNeverAnswersAnother() async throws {
        let fixture = perSession()
        fixture.transport.script(
            url,
            .ok("a", fields: [.cacheControl: "private, max-age=60"]),
            .ok("b", fields: [.cacheControl: "public, max-age=60"]),
            .ok("everybody", fields: [.cacheControl: "max-age=60"])
        )
        #expect(try await fixture.get(url, [.cookie: "x=1; session=a"]).text == "a")
        #expect(try await fixture.get(url, [.cookie: "session=b"]).text == "b")
        #expect(try await fixture.get().text == "everybody", "a 'public' one of a session is that session's")
        let again = try await fixture.get(url, [.cookie: "session=a; y=2"])
        #expect(again.text == "a" && again.response.outcome.isHit, "other cookies make no difference")
        #expect(try await fixture.get(url, [.cookie: "session=b"]).text == "b")
        #expect(Set(fixture.memory.all.map(\.key)).count == 3)
    }

    @Test func sessionDoesNotSeeSharedResponses() async throws {
        let fixture = perSession()
        fixture.transport.script(
            url,
            .ok("everybody", fields: [.cacheControl: "public, max-age=60"]),
            .ok("a", fields: [.cacheControl: "max-age=60"])
        )
        try await fixture.get()
        #expect(try await fixture.get(url, [.cookie: "session=a"]).text == "a")
        fixture.engine.mode = .offline
        #expect(await fixture.failure(url, [.cookie: "session=c"]) == .offlineMiss)
    }

    @Test(arguments: ["other=1", "session=", "xsession=a", "session", "Session=a"])
    func requestWithoutCookieIsHandledAsUsual(cookie: String) async throws {
        let fixture = perSession()
        fixture.transport.script(url, .ok("private", fields: [.cacheControl: "private, max-age=60"]))
        try await fixture.get(url, [.cookie: cookie])
        #expect(fixture.memory.all.isEmpty)
    }

    @Test func repeatedCookieIdentifiesNoOtherSession() async throws {
        let fixture = perSession()
        fixture.transport.script(url, .fresh("a"), .fresh("both"), .fresh("in two lines"))
        try await fixture.get(url, [.cookie: "session=a"])
        #expect(try await fixture.get(url, [.cookie: "session=a; session=b"]).text == "both")
        let lines = HTTPFields([
            HTTPField(name: .cookie, value: "session=b"), HTTPField(name: .cookie, value: "session=a"),
        ])
        #expect(try await fixture.get(url, lines).text == "in two lines")
    }

    @Test func sessionIsIdentifiedThoughCookieIsNotSent() async throws {
        let fixture = perSession { $0.requestFields.removed = [.cookie] }
        fixture.transport.script(url, .fresh("a"), .fresh("b"))
        try await fixture.get(url, [.cookie: "session=a"])
        #expect(try await fixture.get(url, [.cookie: "session=b"]).text == "b")
        #expect(fixture.transport.requests.allSatisfy { !$0.headerFields.contains(.cookie) })
    }

    @Test func concurrentSessionsShareNoFetch() async throws {
        let gate = Gate()
        let fixture = perSession()
        fixture.transport.script(url, .fresh("1", beforeHead: gate), .fresh("2", beforeHead: gate))
        async let first = fixture.get(url, [.cookie: "session=a"])
        async let second = fixture.get(url, [.cookie: "session=b"])
        await fixture.transport.waitForRequests(2)
        gate.open()
        let responses = [try await first.text, try await second.text]
        #expect(Set(responses) == ["1", "2"])
    }

    @Test func probeHasKeyOfFailedRequest() async throws {
        let fixture = EngineFixture(
            rules: TestRules {
                $0.principal = .cookie("session")
                $0.requestFields = FieldEdits(removed: [.cookie], set: [.from: "set"])
            }
        )
        fixture.transport.script(url, .failure(.connect), .fresh("back"))
        #expect(await fixture.failure(url, [.cookie: "session=a"]) == .originUnreachable)
        await fixture.sleeper.sleepers(atLeast: 1)
        fixture.sleeper.advance(by: .seconds(1))
        await fixture.transport.waitForRequests(2)
        await fixture.untilIdle()
        let result = try await fixture.get(url, [.cookie: "session=a"])
        #expect(result.text == "back" && result.response.outcome.isHit)
        #expect(fixture.transport.requests.map { $0.headerFields[.from] } == ["set", "set"])
    }
}
