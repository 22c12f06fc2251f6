import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import NIOCore
import Testing

/// Each setting of a rule takes effect in an exchange.
@Suite(.timeLimit(.minutes(20))) struct RulesTests {
    private let url = EngineFixture.url
    private static let cookie = "session=abc"

    private func fixture(
        _ kind: CacheKind = .private,
        mode: OfflineMode = .automatic,
        options: (inout EngineOptions) -> Void = { _ in },
        _ change: (inout ExchangeSettings) -> Void
    ) -> EngineFixture {
        EngineFixture(kind: kind, mode: mode, rules: TestRules(change), options: options)
    }

    // MARK: Before a response is known

    @Test func bypassNeitherStoresNorServesStored() async throws {
        let fixture = fixture { $0.isBypassed = true }
        fixture.transport.script(url, .fresh("one"), .fresh("two"))
        try await fixture.get()
        let second = try await fixture.get()
        #expect(second.text == "two")
        #expect(second.response.outcome.forward == .bypass)
        #expect(fixture.memory.all.isEmpty)
    }

    @Test func unlistedMethodIsForwarded() async throws {
        let fixture = fixture { $0.methods = [.post] }
        fixture.transport.script(url, .fresh("one"))
        try await fixture.get()
        #expect(fixture.memory.all.isEmpty)
    }

    @Test func droppedAndSortedParametersAreNeitherKeyedNorSent() async throws {
        let fixture = fixture {
            $0.target.droppedParameters = ["utm_*"]
            $0.target.sortsParameters = true
        }
        fixture.transport.script("\(url)?a=1&b=2", .fresh("one"))
        try await fixture.get("\(url)?utm_source=x&b=2&a=1")
        let second = try await fixture.get("\(url)?b=2&utm_medium=y&a=1")
        #expect(second.response.outcome.isHit && second.text == "one")
        #expect(fixture.transport.requests.map(\.path) == ["/feed?a=1&b=2"])
    }

    @Test func ignoredParametersAreSentAndNotKeyedNorStored() async throws {
        let fixture = fixture { $0.target.ignoredParameters = ["session"] }
        fixture.transport.script("\(url)?session=1&q=x", .fresh("one"))
        try await fixture.get("\(url)?session=1&q=x")
        let second = try await fixture.get("\(url)?q=x&session=2")
        #expect(second.response.outcome.isHit && second.text == "one")
        #expect(fixture.transport.requests.map(\.path) == ["/feed?session=1&q=x"])
        #expect(fixture.memory.all.map { $0.key.components.target.query } == ["q=x"])
    }

    @Test func ignoredFieldsSelectNoVariant() async throws {
        let fixture = fixture { $0.ignoredFields = [.userAgent] }
        fixture.transport.script(
            url,
            .ok("one", fields: [.cacheControl: "max-age=60", .vary: "User-Agent, Accept-Language"]),
            .ok("zwei", fields: [.cacheControl: "max-age=60", .vary: "User-Agent, Accept-Language"])
        )
        try await fixture.get(url, [.userAgent: "a", .acceptLanguage: "en"])
        let second = try await fixture.get(url, [.userAgent: "b", .acceptLanguage: "en"])
        #expect(second.response.outcome.isHit && second.text == "one")
        #expect(fixture.memory.all.map { $0.head.selectingFields.contains(.userAgent) } == [false])
        let third = try await fixture.get(url, [.userAgent: "a", .acceptLanguage: "de"])
        #expect(third.text == "zwei", "another field still does")
        #expect(fixture.transport.requests.map { $0.headerFields[.userAgent] } == ["a", "a"], "it is sent")
    }

    @Test func ignoredCookiesMakeNoPrincipal() async throws {
        let fixture = fixture(.shared) { $0.ignoredFields = [.cookie] }
        fixture.transport.script(url, .fresh("one"))
        try await fixture.get(url, [.cookie: "a=1"])
        let second = try await fixture.get(url, [.cookie: "a=2"])
        #expect(second.response.outcome.isHit)
        #expect(fixture.transport.requests.map { $0.headerFields[.cookie] } == ["a=1"])
    }

    @Test func acceptEncodingIsNormalized() async throws {
        let fixture = fixture { $0.normalizesAcceptEncoding = true }
        fixture.transport.script(url, .ok("one", fields: [.cacheControl: "max-age=60", .vary: "Accept-Encoding"]))
        try await fixture.get(url, [.acceptEncoding: "gzip;q=1.0, br, deflate"])
        let second = try await fixture.get(url, [.acceptEncoding: "br;q=0.5,gzip"])
        #expect(second.response.outcome.isHit)
        #expect(fixture.transport.requests.map { $0.headerFields[.acceptEncoding] } == ["br, gzip"])
    }

    @Test func fieldRemovedForOriginIsNotKeyed() async throws {
        let fixture = fixture(.shared) { $0.requestFields.removed = [.cookie] }
        fixture.transport.script(url, .fresh("one"))
        try await fixture.get(url, [.cookie: "a=1"])
        let second = try await fixture.get(url, [.cookie: "a=2"])
        #expect(second.response.outcome.isHit, "everybody's")
        let third = try await fixture.get()
        #expect(third.response.outcome.isHit)
        #expect(fixture.transport.requests.map { $0.headerFields[.cookie] } == [nil])
    }

    @Test func fieldSetForOriginIsSentAndIsNoCredential() async throws {
        let fixture = fixture(.shared) { $0.requestFields.set = [.authorization: "Bearer operators"] }
        fixture.transport.script(url, .ok("one", fields: [.cacheControl: "max-age=60", .vary: "Authorization"]))
        try await fixture.get(url, [.authorization: "Bearer clients"])
        let second = try await fixture.get()
        #expect(second.response.outcome.isHit)
        #expect(
            fixture.transport.requests.map { $0.headerFields[fields: .authorization].map(\.value) } == [
                ["Bearer operators"]
            ]
        )
        let stored = try #require(fixture.memory.all.first)
        #expect(stored.key == stored.key.inPartition(.common))
        #expect(!"\(stored)".contains("operators"), "it is not stored")
    }

    @Test func fieldSetForOriginIsInEveryRequest() async throws {
        let fixture = fixture { $0.requestFields.set = [.from: "secret"] }
        fixture.transport.script(
            url,
            .fresh("one", 0, etag: "\"1\""),
            .status(.notModified, fields: [.cacheControl: "max-age=0, stale-while-revalidate=60"]),
            .status(.notModified),
            .status(.noContent)
        )
        try await fixture.get()
        try await fixture.get()
        fixture.clock.advance(by: .seconds(1))
        try await fixture.get()
        await fixture.transport.waitForRequests(3)
        await fixture.untilIdle()
        try await fixture.get(method: .delete)
        #expect(fixture.transport.requests.map { $0.headerFields[.from] } == Array(repeating: "secret", count: 4))
    }

    @Test func ruleNarrowsEnginesMode() async throws {
        let fixture = fixture { $0.mode = .offline }
        #expect(await fixture.failure() == .offlineMiss)
        #expect(fixture.transport.requests.isEmpty)
        let online = self.fixture(mode: .offline) { $0.mode = .online }
        #expect(await online.failure() == .offlineMiss)
        #expect(online.transport.requests.isEmpty, "it never widens it")
    }

    @Test func rulesHardTimeoutApplies() async throws {
        let gate = Gate()
        let fixture = fixture { $0.hardTimeout = .value(.seconds(3)) }
        fixture.transport.script(url, .fresh("late", beforeHead: gate))
        async let code = fixture.failure()
        await fixture.sleeper.sleepers(atLeast: 1)
        fixture.sleeper.advance(by: .seconds(3))
        #expect(await code == .originUnreachable)
        gate.open()
    }

    @Test func rulesSoftTimeoutApplies() async throws {
        let gate = Gate()
        let fixture = fixture { $0.softTimeout = .value(.seconds(1)) }
        fixture.transport.script(url, .fresh("one", 1), .fresh("two", beforeHead: gate))
        try await fixture.get()
        fixture.clock.advance(by: .seconds(2))
        async let result = fixture.get()
        await fixture.sleeper.sleepers(atLeast: 1)
        fixture.sleeper.advance(by: .seconds(1))
        #expect(try await result.response.outcome.detail == .slow)
        gate.open()
        await fixture.untilIdle()
    }

    @Test func withoutBreakerOriginIsAskedEachTime() async throws {
        let fixture = fixture(options: { $0.failureThrottle = .zero }) { $0.usesBreaker = false }
        fixture.transport.script(url, .failure(.connect), .failure(.connect), .fresh("back"))
        #expect(await fixture.failure() == .originUnreachable)
        #expect(await fixture.failure() == .originUnreachable)
        #expect(try await fixture.get().text == "back")
    }

    // MARK: Content

    private func post(_ fixture: EngineFixture, _ json: String) async throws -> (text: String, response: CacheResponse)
    {
        var request = try fixture.request(url, [.contentType: "application/json"], method: .post)
        request.body = .buffer(ByteBuffer(string: json))
        let response = try await fixture.engine.respond(to: request)
        return (String(buffer: try await response.body.collect(upTo: 1 << 20)), response)
    }

    @Test func graphQLQueryIsKeyedByContent() async throws {
        let fixture = fixture { $0.keyedContent = .graphQL }
        fixture.transport.script(url, .fresh("a"), .fresh("b"))
        _ = try await post(fixture, #"{"query":"{ a }"}"#)
        let again = try await post(fixture, #"{"query":"{ a }"}"#)
        #expect(again.response.outcome.isHit && again.text == "a")
        #expect(try await post(fixture, #"{"query":"{ b }"}"#).text == "b")
    }

    @Test func mutationIsForwardedAndInvalidates() async throws {
        let fixture = fixture {
            $0.keyedContent = .graphQL
            $0.overrides.lifetime = 60
        }
        fixture.transport.script(url, .fresh("read"), .fresh("done"), .fresh("read again"))
        _ = try await post(fixture, #"{"query":"query { a }"}"#)
        let mutation = try await post(fixture, #"{"query":"mutation { a }"}"#)
        #expect(mutation.response.outcome.forward == .method)
        #expect(fixture.memory.all.count == 1)
        #expect(try await post(fixture, #"{"query":"query { a }"}"#).text == "read again")
    }

    @Test func ruleCanKeyAnyPOSTContent() async throws {
        let fixture = fixture {
            $0.keyedContent = .any
            $0.overrides.lifetime = 60
        }
        fixture.transport.script(url, .ok("a"))
        _ = try await post(fixture, "1")
        #expect(try await post(fixture, "1").response.outcome.isHit)
    }

    // MARK: With a response

    @Test func fieldsSetByRuleReachClientsButNotStore() async throws {
        let gate = Gate()
        let fixture = fixture {
            $0.responseFields = FieldEdits(removed: [.server], set: [.from: "holdfast"])
        }
        fixture.transport.script(
            url,
            .ok(
                "one",
                fields: [.cacheControl: "max-age=60", .server: "secret", .eTag: "\"1\"", .contentLength: "3"],
                beforeHead: gate
            )
        )
        async let leader = fixture.get()
        await fixture.transport.waitForRequests(1)
        async let follower = fixture.get()
        gate.open()
        var responses = [try await leader.response, try await follower.response]
        responses.append(try await fixture.get().response)
        responses.append(try await fixture.get(url, [.ifNoneMatch: "\"1\""]).response)
        #expect(responses.map(\.head.status) == [.ok, .ok, .ok, .notModified])
        for response in responses {
            #expect(response.head.headerFields[.from] == "holdfast")
            #expect(response.head.headerFields[.server] == nil)
        }
        let stored = try #require(fixture.memory.all.first)
        #expect(stored.head.fields[.server] == "secret")
        #expect(stored.head.fields[.from] == nil)
    }

    @Test func noRuleRemovesFramingFields() async throws {
        let fixture = fixture {
            $0.responseFields = FieldEdits(removed: [.contentLength], set: [.contentLength: "1"])
        }
        fixture.transport.script(url, .ok("one", fields: [.contentLength: "3"]))
        #expect(try await fixture.get().response.head.headerFields[.contentLength] == "3")
    }

    @Test func tagsOfRulePurge() async throws {
        let fixture = EngineFixture(
            rules: TestRules { [rules = RequestRules.with("image/png") { $0.tags = ["images"] }] _ in rules }
        )
        fixture.transport.script(
            url,
            .ok("png", fields: [.contentType: "image/png; q=1", .cacheControl: "max-age=60"])
        )
        fixture.transport.script(
            "\(url)/2",
            .ok("txt", fields: [.contentType: "text/plain", .cacheControl: "max-age=60"])
        )
        try await fixture.get()
        try await fixture.get("\(url)/2")
        _ = try await fixture.memory.invalidate(.tag("images"), keepingForOffline: false, at: fixture.clock.now())
        #expect(fixture.memory.all.map { $0.key.components.target.path } == ["/feed/2"])
    }

    @Test func pinOfRuleStays() async throws {
        let fixture = fixture { $0.isPinned = true }
        fixture.transport.script(url, .fresh("one", 1, etag: "\"1\""), .status(.notModified), .fresh("two", 1))
        for _ in 0..<3 {
            try await fixture.get()
            fixture.clock.advance(by: .seconds(2))
            #expect(fixture.memory.all.map { fixture.memory.isPinned($0) } == [true])
        }
    }

    @Test(arguments: [true, false]) func bodiesOutsideTheLimitsAreNotStored(isAnnounced: Bool) async throws {
        let fixture = fixture {
            $0.minimumBodyLength = 2
            $0.maximumBodyLength = 4
        }
        for (index, text) in ["a", "ab", "abcd", "abcde"].enumerated() {
            var fields: HTTPFields = [.cacheControl: "max-age=60"]
            if isAnnounced { fields[.contentLength] = "\(text.utf8.count)" }
            fixture.transport.script("\(url)/\(index)", .ok(text, fields: fields))
            #expect(try await fixture.get("\(url)/\(index)").text == text)
        }
        #expect(fixture.memory.all.map(\.bodyLength).sorted() == [2, 4])
    }

    @Test func guardOfRuleKeepsContentType() async throws {
        let fixture = EngineFixture(
            rules: TestRules {
                [rules = RequestRules.with("application/json") { $0.goodDataGuard = .value(GoodDataGuard()) }] _ in
                rules
            }
        )
        fixture.transport.script(
            url,
            .ok("[]", fields: [.contentType: "application/json", .cacheControl: "max-age=1"]),
            .ok("<html>", fields: [.contentType: "text/html"])
        )
        try await fixture.get()
        fixture.clock.advance(by: .seconds(2))
        let result = try await fixture.get()
        #expect(result.text == "[]")
        #expect(result.response.outcome.detail == .guarded)
    }

    @Test func ruleCanSwitchGuardOff() async throws {
        let fixture = fixture(options: { $0.goodDataGuard = GoodDataGuard() }) { $0.goodDataGuard = .off }
        fixture.transport.script(
            url,
            .ok("[]", fields: [.contentType: "application/json", .cacheControl: "max-age=1"]),
            .ok("<html>", fields: [.contentType: "text/html", .cacheControl: "max-age=1"])
        )
        try await fixture.get()
        fixture.clock.advance(by: .seconds(2))
        #expect(try await fixture.get().text == "<html>")
    }

    @Test(arguments: [true, false]) func ruleSwitchesEagerRefresh(isOn: Bool) async throws {
        let fixture = fixture(options: { $0.eagerRefresh = isOn ? nil : 0.5 }) {
            $0.eagerRefresh = isOn ? .value(0.5) : .off
        }
        fixture.transport.script(url, .fresh("one", 10), .fresh("two", 10))
        try await fixture.get()
        fixture.clock.advance(by: .seconds(6))
        #expect(try await fixture.get().text == "one")
        if isOn { try await fixture.untilStored("two") }
        await fixture.untilIdle()
        #expect(fixture.transport.requests.count == (isOn ? 2 : 1))
    }

    @Test func rulesLifetimeAppliesToStoredResponses() async throws {
        let fixture = fixture { $0.overrides.lifetime = 100 }
        fixture.transport.script(url, .ok("one", fields: [.cacheControl: "max-age=1"]))
        try await fixture.get()
        fixture.clock.advance(by: .seconds(99))
        let result = try await fixture.get()
        #expect(result.response.outcome.isHit)
        #expect(result.response.outcome.timeToLive == 1)
        #expect(result.response.head.headerFields[.cacheControl] == "max-age=1", "it stays as it came")
    }

    // MARK: Staleness

    @Test func staleResponseBeyondLimitIsNotServedOffline() async throws {
        let fixture = fixture { $0.overrides.maximumStalenessOffline = 10 }
        fixture.transport.script(url, .fresh("one", 1))
        try await fixture.get()
        fixture.engine.mode = .offline
        fixture.clock.advance(by: .seconds(11))
        #expect(try await fixture.get().text == "one")
        fixture.clock.advance(by: .seconds(1))
        let error = await #expect(throws: ExchangeError.self) { try await fixture.get() }
        #expect(error?.code == .staleForbidden)
        #expect(error?.status == 504)
        #expect(error?.message.contains("stale.offline") == true)
    }

    @Test func normalLimitAppliesIfOriginIsUnreachable() async throws {
        let fixture = fixture(options: { $0.failureThrottle = .zero }) {
            $0.overrides.maximumStalenessUnreachable = 10
            $0.usesBreaker = false
        }
        fixture.transport.script(url, .fresh("one", 1), .failure(.connect), .failure(.connect))
        try await fixture.get()
        fixture.clock.advance(by: .seconds(11))
        #expect(try await fixture.get().text == "one")
        fixture.clock.advance(by: .seconds(1))
        let error = await #expect(throws: ExchangeError.self) { try await fixture.get() }
        #expect(error?.message.contains("stale.unreachable") == true)
    }

    @Test func liftedMustRevalidateServesOfflineWithDetail() async throws {
        let fixture = fixture { $0.overrides.directivesIgnoredWhenStale = [.mustRevalidate] }
        fixture.transport.script(
            url,
            .ok("one", fields: [.cacheControl: "max-age=1, must-revalidate", .eTag: "\"1\""]),
            .status(.notModified),
            .failure(.connect)
        )
        try await fixture.get()
        fixture.clock.advance(by: .seconds(2))
        #expect(try await fixture.get().response.isValidated, "it is validated while the origin can be reached")
        fixture.clock.advance(by: .seconds(2))
        let away = try await fixture.get()
        #expect(away.text == "one")
        #expect(away.response.outcome.detail == .despite("must-revalidate"))
        fixture.engine.mode = .offline
        let offline = try await fixture.get()
        #expect(offline.response.head.status == .ok)
        #expect(offline.response.outcome.cacheStatus() == "holdfast; hit; ttl=-1; detail=despite-must-revalidate")
    }

    @Test func preferStoredValidatesLiftedDirectiveFirst() async throws {
        let fixture = fixture(mode: .preferStored) { $0.overrides.directivesIgnoredWhenStale = [.mustRevalidate] }
        fixture.transport.script(
            url,
            .ok("one", fields: [.cacheControl: "max-age=1, must-revalidate", .eTag: "\"1\""]),
            .status(.notModified)
        )
        try await fixture.get()
        fixture.clock.advance(by: .seconds(2))
        #expect(try await fixture.get().response.isValidated)
    }

    @Test func ruleAllowsStaleOnError() async throws {
        let fixture = fixture { $0.overrides.staleIfError = 60 }
        fixture.transport.script(url, .fresh("one", 1), .status(.internalServerError))
        try await fixture.get()
        fixture.clock.advance(by: .seconds(2))
        let result = try await fixture.get()
        #expect(result.text == "one")
        #expect(result.response.outcome.detail == .staleIfError)
    }

    // MARK: Changes

    @Test func changesAreReported() throws {
        let fixture = fixture {
            $0.target.droppedParameters = ["utm_*"]
            $0.target.sortsParameters = true
            $0.target.ignoredParameters = ["session"]
            $0.requestFields = FieldEdits(removed: [.referer], set: [.from: "secret"])
            $0.ignoredFields = [.userAgent]
            $0.normalizesAcceptEncoding = true
        }
        let request = try fixture.request(
            "\(url)?utm_id=1&session=2&q=3",
            [.referer: "x", .userAgent: "y", .acceptEncoding: "gzip;q=1"]
        )
        let prepared = try #require(fixture.engine.prepare(request))
        #expect(prepared.presentedTarget.query == "utm_id=1&session=2&q=3")
        #expect(prepared.target.query == "q=3&session=2")
        #expect(prepared.keyedTarget.query == "q=3")
        #expect(
            prepared.changes == [
                .droppedParameter("utm_id"), .sortedParameters, .ignoredParameter("session"), .removedField(.referer),
                .setField(.from), .ignoredField(.userAgent), .normalizedAcceptEncoding("gzip"),
            ]
        )
        #expect(!"\(prepared.request)".contains("secret"))
        #expect(fixture.engine.key(for: request) == prepared.key)
    }

    @Test func withoutRulesNothingIsChanged() throws {
        let fixture = EngineFixture()
        let request = try fixture.request("\(url)?b&a&&", [.cookie: Self.cookie])
        let prepared = try #require(fixture.engine.prepare(request))
        #expect(prepared.changes.isEmpty)
        #expect(prepared.presented.head == prepared.request.head)
        #expect(prepared.keyedTarget == prepared.presentedTarget)
    }

    @Test func principalFieldIsNotStoredThoughVaryNamesIt() async throws {
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

    @Test func principalOfTheCallerIsKnownIfARuleIdentifiesAnother() async throws {
        let name = try #require(HTTPField.Name("X-User"))
        let fixture = fixture(.private) { $0.principal = .field(name) }
        let keys = try ["ada", "bob", nil].map { principal in
            let request = try fixture.request(url, [name: "carol"], principal: principal)
            return try #require(fixture.engine.key(for: request))
        }
        #expect(keys.map { KeyOwner($0)?.name } == ["ada", "bob", nil])
        #expect(Set(keys).count == 3)
    }

    @Test(arguments: [true, false]) func bypassingPOSTInvalidatesWhateverItsContent(
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
}
