import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import NIOCore
import Testing

/// No change by a rule shows one user's response to another.
@Suite(.timeLimit(.minutes(20))) struct RulesAttackTests {
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

    // MARK: Principals

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

    @Test func sessionIsNotInKey() async throws {
        let fixture = perSession()
        let key = try #require(fixture.engine.key(for: fixture.request(url, [.cookie: "session=topsecret"])))
        #expect(!String(decoding: key.bytes, as: UTF8.self).contains("topsecret"))
        #expect(!"\(key)".contains("topsecret"))
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

    // MARK: Shared caches

    @Test func ignoringPrivateDoesNotShareCredentialedResponses() async throws {
        let fixture = EngineFixture(
            kind: .shared,
            rules: TestRules {
                $0.overrides.ignoredDirectives = [.private, .noStore]
                $0.overrides.lifetime = 60
                $0.ignoredFields = [.authorization, .cookie]
            }
        )
        fixture.transport.script(
            url,
            .ok("authorized", fields: [.cacheControl: "private"]),
            .ok("cookie", fields: [.cacheControl: "private", .setCookie: "a=1"]),
            .ok("plain", fields: [.cacheControl: "private, no-store"])
        )
        try await fixture.get(url, [.authorization: "Bearer x"])
        try await fixture.get()
        #expect(fixture.memory.all.isEmpty)
        try await fixture.get()
        #expect(fixture.memory.all.count == 1, "what the rule says of 'private' and 'no-store' counts for the rest")
        #expect(try await fixture.get().text == "plain")
    }

    // MARK: Ignored parameters

    @Test func unsafeRequestInvalidatesDespiteIgnoredParameter() async throws {
        let fixture = EngineFixture(
            rules: TestRules {
                $0.target.ignoredParameters = ["session"]
                $0.target.droppedParameters = ["utm"]
                $0.target.sortsParameters = true
            }
        )
        let sent = "\(url)?a=1&b=2&session=1"
        fixture.transport.script(sent, .fresh("one"), .fresh("two"))
        fixture.transport.script("\(url)?a=1&b=2&session=9", .status(.noContent))
        try await fixture.get("\(url)?session=1&b=2&utm=x&a=1")
        try await fixture.get("\(url)?b=2&session=9&a=1&utm=y", method: .post)
        #expect(fixture.memory.all.map(\.head.isInvalidated) == [true])
        #expect(try await fixture.get(sent).text == "two")
    }

    @Test func locationIsInvalidatedUnderItsKey() async throws {
        let fixture = EngineFixture(
            rules: TestRules {
                [
                    reading = RequestRules.with { $0.target.ignoredParameters = ["session"] },
                    writing = RequestRules.none
                ] request in
                request.method == .get ? reading : writing
            }
        )
        fixture.transport.script("\(url)/item?session=1", .fresh("one"))
        fixture.transport.script(url, .status(.created, fields: [.location: "/feed/item?session=2"]))
        try await fixture.get("\(url)/item?session=1")
        try await fixture.get(method: .post)
        #expect(fixture.memory.all.map(\.head.isInvalidated) == [true])
    }

    @Test(arguments: [
        "session=1;callback=evil", "session=1%26callback=evil", "session=1%3Bcallback=evil", "?session=1",
    ])
    func parameterThatMayHoldAnotherIsKeyed(query: String) async throws {
        let fixture = EngineFixture(rules: TestRules { $0.target.ignoredParameters = ["session"] })
        fixture.transport.script("\(url)?\(query)", .fresh("evil"))
        fixture.transport.script("\(url)?session=1", .fresh("good"))
        try await fixture.get("\(url)?\(query)")
        #expect(try await fixture.get("\(url)?session=1").text == "good")
    }

    @Test func requestsUnderDifferentRulesShareNoFetch() async throws {
        let gate = Gate()
        let fixture = EngineFixture(
            kind: .shared,
            rules: TestRules {
                [
                    lax = RequestRules.with {
                        $0.target.ignoredParameters = ["lax"]
                        $0.overrides.ignoredDirectives = [.private]
                    },
                    strict = RequestRules.with { $0.target.ignoredParameters = ["strict"] }
                ] request in
                request.path?.contains("lax") == true ? lax : strict
            }
        )
        let personal = ScriptedTransport.Reply.ok(
            "1",
            fields: [.cacheControl: "private, max-age=60"],
            beforeHead: gate
        )
        fixture.transport.script("\(url)?lax", personal)
        fixture.transport.script("\(url)?strict", .fresh("2", beforeHead: gate))
        async let first = fixture.get("\(url)?lax")
        await fixture.transport.waitForRequests(1)
        async let second = fixture.get("\(url)?strict")
        await fixture.transport.waitForRequests(2)
        gate.open()
        #expect(try await first.text == "1")
        #expect(try await second.text == "2")
    }

    // MARK: Secrets

    @Test func fieldSetForOriginIsInNoError() async throws {
        let fixture = EngineFixture(
            rules: TestRules { $0.requestFields.set = [.authorization: "Bearer topsecret"] }
        )
        fixture.transport.script(url, .failure(.connect))
        let error = await #expect(throws: ExchangeError.self) { try await fixture.get() }
        #expect(error.map { !"\($0) \($0.message)".contains("topsecret") } == true)
    }

    @Test func settingsShowNoValuesWhenPrinted() throws {
        var settings = ExchangeSettings()
        settings.requestFields = FieldEdits(removed: [.cookie], set: [.authorization: "Bearer topsecret"])
        var dumped = ""
        dump(settings, to: &dumped)
        let fixture = EngineFixture(rules: TestRules { $0.requestFields = settings.requestFields })
        let prepared = try #require(fixture.engine.prepare(fixture.request(url)))
        for text in ["\(settings)", String(reflecting: settings), dumped, "\(prepared)", "\(prepared.changes)"] {
            #expect(!text.contains("topsecret"))
        }
        #expect("\(settings)".contains("remove: cookie; set: authorization"))
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
