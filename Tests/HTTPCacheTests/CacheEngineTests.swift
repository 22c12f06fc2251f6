import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import NIOCore
import Testing

@Suite(.timeLimit(.minutes(20))) struct CacheEngineTests {
    @Test func servesFreshResponseWithoutOrigin() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(EngineFixture.url, .fresh("one"))
        let first = try await fixture.get()
        fixture.clock.advance(by: .seconds(10))
        let second = try await fixture.get()
        #expect(first.text == "one" && second.text == "one")
        #expect(first.response.source == .network && first.response.outcome.isStored)
        #expect(first.response.outcome.forward == .uriMiss)
        #expect(second.response.source == .store && second.response.outcome.isHit)
        #expect(second.response.outcome.timeToLive == 50 && second.response.age == .seconds(10))
        #expect(second.response.head.headerFields[.age] == "10")
        #expect(fixture.transport.requests.count == 1)
    }

    @Test func staleResponseIsValidatedAndFreshened() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(
            EngineFixture.url,
            .fresh("one", etag: "\"1\""),
            .status(.notModified, fields: [.eTag: "\"1\"", .cacheControl: "max-age=100", .contentLanguage: "added"])
        )
        try await fixture.get()
        fixture.clock.advance(by: .seconds(61))
        let validated = try await fixture.get()
        #expect(validated.text == "one" && validated.response.isValidated && validated.response.source == .network)
        #expect(fixture.transport.requests.last?.headerFields[.ifNoneMatch] == "\"1\"")
        #expect(validated.response.outcome.forwardStatus == 304 && validated.response.outcome.forward == .stale)
        fixture.clock.advance(by: .seconds(99))
        let hit = try await fixture.get()
        #expect(hit.response.outcome.isHit && hit.response.head.headerFields[.contentLanguage] == "added")
        #expect(fixture.transport.requests.count == 2)
    }

    @Test func mismatched304IsFetchedAgainWithoutValidators() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(
            EngineFixture.url,
            .fresh("one", 0, etag: "\"1\""),
            .status(.notModified, fields: [.eTag: "\"2\""]),
            .fresh("two", etag: "\"2\"")
        )
        try await fixture.get()
        #expect(try await fixture.get().text == "two")
        #expect(fixture.transport.requests.last?.headerFields.contains(.ifNoneMatch) == false)
    }

    @Test(arguments: [TransportError.Code.connect, .nameResolution, .timeout, .connectionClosed, .tls])
    func servesStaleWhenOriginIsUnreachable(code: TransportError.Code) async throws {
        let fixture = EngineFixture()
        fixture.transport.script(EngineFixture.url, .fresh("one"), .failure(code))
        try await fixture.get()
        fixture.clock.advance(by: .seconds(60 * 60 * 24 * 365))
        let offline = try await fixture.get()
        #expect(offline.text == "one" && offline.response.isStale && offline.response.source == .store)
        #expect(
            offline.response.outcome.cacheStatus()
                == "holdfast; hit; ttl=-\(60 * 60 * 24 * 365 - 60); detail=unreachable"
        )
    }

    @Test func otherFailuresAreNotHidden() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(EngineFixture.url, .fresh("one", 0), .failure(.protocolViolation))
        try await fixture.get()
        #expect(await fixture.failure() == .transportFailed)
    }

    @Test(arguments: ["max-age=1, must-revalidate", "no-cache, max-age=1"])
    func offlineModeObeysDirectivesAgainstStaleUse(cacheControl: String) async throws {
        let fixture = EngineFixture()
        fixture.transport.script(
            EngineFixture.url,
            .ok("one", fields: [.cacheControl: cacheControl]),
            .failure(.connect)
        )
        try await fixture.get()
        fixture.clock.advance(by: .seconds(2))
        #expect(await fixture.failure() == .staleForbidden)
        fixture.engine.mode = .offline
        #expect(await fixture.failure() == .staleForbidden)
    }

    @Test func offlineModeOpensNoSocketAndMissesAtOnce() async throws {
        let fixture = EngineFixture(mode: .offline)
        for preference in [CacheRequest.Preference.standard, .storedFirst, .storedOnly, .networkFirst, .networkOnly] {
            #expect(await fixture.failure(preference: preference) == .offlineMiss)
        }
        await #expect(throws: ExchangeError.self) { try await fixture.get(method: .post) }
        #expect(fixture.transport.requests.isEmpty)
    }

    @Test func offlineModeServesStoredResponseHoweverStale() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(EngineFixture.url, .fresh("one"))
        try await fixture.get()
        fixture.engine.mode = .offline
        let fresh = try await fixture.get(preference: .networkFirst)
        #expect(fresh.text == "one" && fresh.response.outcome.detail == nil)
        fixture.clock.advance(by: .seconds(3660))
        let stale = try await fixture.get()
        #expect(stale.response.outcome.cacheStatus() == "holdfast; hit; ttl=-3600; detail=offline")
        #expect(fixture.transport.requests.count == 1)
    }

    @Test func preferStoredForwardsOnlyMisses() async throws {
        let fixture = EngineFixture(mode: .preferStored)
        fixture.transport.script(EngineFixture.url, .fresh("one", 0))
        #expect(try await fixture.get().text == "one")
        fixture.clock.advance(by: .seconds(1000))
        let stored = try await fixture.get()
        #expect(stored.text == "one" && stored.response.isStale && stored.response.source == .store)
        #expect(fixture.transport.requests.count == 1)
    }

    @Test func preferenceSelectsStoreOrOrigin() async throws {
        let fixture = EngineFixture()
        let responses = ["one", "two", "three"].map { ScriptedTransport.Reply.fresh($0, 10) }
        fixture.transport.script(
            EngineFixture.url,
            responses[0],
            responses[1],
            responses[2],
            .failure(.connect),
            .failure(.connect)
        )
        #expect(await fixture.failure(preference: .storedOnly) == .offlineMiss)
        #expect(try await fixture.get(preference: .storedFirst).text == "one")
        #expect(try await fixture.get(preference: .networkFirst).text == "two")
        #expect(try await fixture.get(preference: .networkOnly).text == "three")
        fixture.clock.advance(by: .seconds(100))
        #expect(try await fixture.get(preference: .storedFirst).text == "three")
        #expect(try await fixture.get(preference: .storedOnly).text == "three")
        #expect(try await fixture.get(preference: .networkFirst).text == "three")
        #expect(await fixture.failure(preference: .networkOnly) == .originUnreachable)
        #expect(fixture.transport.requests.count == 5)
    }

    @Test func onlyIfCachedNeverForwards() async throws {
        let fixture = EngineFixture()
        #expect(await fixture.failure(EngineFixture.url, [.cacheControl: "only-if-cached"]) == .offlineMiss)
        #expect(fixture.transport.requests.isEmpty)
    }

    @Test(arguments: ["no-store", "max-age=60, no-store"])
    func noStoreIsNotStored(cacheControl: String) async throws {
        let fixture = EngineFixture()
        fixture.transport.script(
            EngineFixture.url,
            .ok("one", fields: [.cacheControl: cacheControl]),
            .failure(.connect)
        )
        try await fixture.get()
        #expect(fixture.memory.all.isEmpty)
        #expect(await fixture.failure() == .originUnreachable)
    }

    @Test func errorNeverReplacesStoredSuccess() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(
            EngineFixture.url,
            .fresh("good", 1),
            .status(.init(code: 503), "bad", fields: [.cacheControl: "max-age=60"]),
            .failure(.connect)
        )
        try await fixture.get()
        fixture.clock.advance(by: .seconds(2))
        #expect(try await fixture.get().response.head.status.code == 503)
        #expect(try await fixture.get().text == "good")
    }

    @Test func staleIfErrorReplacesServerError() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(
            EngineFixture.url,
            .ok("good", fields: [.cacheControl: "max-age=1, stale-if-error=60"]),
            .status(.internalServerError, "bad"),
            .status(.internalServerError, "bad")
        )
        try await fixture.get()
        fixture.clock.advance(by: .seconds(30))
        let stale = try await fixture.get()
        #expect(stale.text == "good" && stale.response.outcome.detail == .staleIfError && stale.response.isStale)
        fixture.clock.advance(by: .seconds(60))
        #expect(try await fixture.get().text == "bad")
    }

    @Test func truncatedBodyIsNeverStored() async throws {
        let fixture = EngineFixture()
        let broken = ScriptedTransport.Reply(
            head: HTTPResponse(status: .ok, headerFields: [.cacheControl: "max-age=60"]),
            chunks: [ByteBuffer(string: "half")],
            ending: .brokenOff(TransportError(code: .connectionClosed, message: "gone"))
        )
        let short = ScriptedTransport.Reply.ok("half", fields: [.cacheControl: "max-age=60", .contentLength: "8"])
        fixture.transport.script(EngineFixture.url, broken, short)
        await #expect(throws: TransportError.self) { try await fixture.get() }
        await #expect(throws: BodyStreamError.truncated(expected: 8, received: 4)) { try await fixture.get() }
        #expect(fixture.memory.all.isEmpty)
    }

    private func cut(_ control: String, _ code: TransportError.Code) -> ScriptedTransport.Reply {
        ScriptedTransport.Reply(
            head: HTTPResponse(status: .ok, headerFields: [.cacheControl: control]),
            chunks: [ByteBuffer(string: "half")],
            ending: .brokenOff(TransportError(code: code, message: "gone"))
        )
    }

    /// Mutants: `cut-content-is-no-failure`, `cut-content-has-no-reason`.
    @Test(arguments: ["max-age=60", "no-store"], [TransportError.Code.connectionClosed, .timeout, .protocolViolation])
    func cutContentIsAFailureOfItsOriginAndNoOutage(_ control: String, _ code: TransportError.Code) async throws {
        let fixture = EngineFixture()
        fixture.transport.script(EngineFixture.url, cut(control, code), cut(control, code), cut(control, code))
        for _ in 0..<3 {
            let response = try await fixture.engine.respond(to: fixture.request())
            await #expect(throws: TransportError.self) { try await response.body.collect(upTo: 100) }
            await fixture.untilIdle()
            #expect(response.lateRefusal?.refusal == (control == "no-store" ? nil : .cutShort))
            let condition = try #require(fixture.engine.origins.conditions.first)
            #expect(condition.reachability == .reachable && condition.lastFailure?.cause.message == "gone")
        }
    }

    @Test func contentThatNoClientWantsIsNoFailure() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(EngineFixture.url, cut("max-age=60", .cancelled))
        let response = try await fixture.engine.respond(to: fixture.request())
        await #expect(throws: TransportError.self) { try await response.body.collect(upTo: 100) }
        await fixture.untilIdle()
        #expect(response.lateRefusal?.refusal == nil)
        #expect(fixture.engine.origins.conditions.allSatisfy { $0.lastFailure == nil })
    }

    @Test(arguments: FaultyResponseStore.Operation.allCases)
    func failingStoreNeverFailsAResponse(operation: FaultyResponseStore.Operation) async throws {
        let fixture = EngineFixture()
        fixture.store.fail([operation])
        fixture.transport.script(
            EngineFixture.url,
            .fresh("one", 0, etag: "\"1\""),
            .fresh("one", 0, etag: "\"1\""),
            .fresh("one", 0),
            .fresh("one", 0)
        )
        #expect(try await fixture.get().text == "one")
        #expect(try await fixture.get().text == "one")
        fixture.transport.script("https://a.example/other", .status(.noContent))
        #expect(try await fixture.get("https://a.example/other", method: .post).response.head.status == .noContent)
    }

    /// The head has already said that it is stored.
    ///
    /// Mutants: `failed-append-has-no-reason`, `failed-commit-has-no-reason`.
    @Test(arguments: [FaultyResponseStore.Operation.append, .finish])
    func aBodyThatTheStoreLosesHasAReason(operation: FaultyResponseStore.Operation) async throws {
        let fixture = EngineFixture()
        fixture.store.fail([operation])
        fixture.transport.script(EngineFixture.url, .fresh("one"))
        let response = try await fixture.engine.respond(to: fixture.request())
        _ = try await response.body.collect(upTo: 100)
        await fixture.untilIdle()
        #expect(response.outcome.isStored && response.outcome.notStored == nil)
        #expect(response.lateRefusal?.refusal == .store)
        fixture.store.fail([])
        fixture.transport.script(EngineFixture.url, .fresh("two"))
        let next = try await fixture.engine.respond(to: fixture.request())
        _ = try await next.body.collect(upTo: 100)
        await fixture.untilIdle()
        #expect(next.outcome.isStored && next.lateRefusal?.refusal == nil)
    }

    @Test func missingBodyIsFetchedAgain() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(EngineFixture.url, .fresh("one", etag: "\"1\""), .fresh("two"))
        try await fixture.get()
        fixture.store.fail([.openBody])
        #expect(try await fixture.get().text == "two")
        #expect(fixture.transport.requests.last?.headerFields.contains(.ifNoneMatch) == false)
    }

    @Test(arguments: [HTTPRequest.Method.post, .put, .delete, .patch, HTTPRequest.Method("PURR") ?? .post])
    func successOfUnsafeMethodInvalidates(method: HTTPRequest.Method) async throws {
        let fixture = EngineFixture()
        fixture.transport.script(
            EngineFixture.url,
            .fresh("one"),
            .status(.noContent),
            .fresh("two"),
            .failure(.connect)
        )
        try await fixture.get()
        try await fixture.get(method: method)
        #expect(try await fixture.get().text == "two")
    }

    @Test func errorOfUnsafeMethodInvalidatesNothing() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(EngineFixture.url, .fresh("one"), .status(.badRequest))
        try await fixture.get()
        try await fixture.get(method: .post)
        #expect(try await fixture.get().response.outcome.isHit)
    }

    /// A purge, not an unsafe method: a response that an unsafe method invalidated is not served
    /// (``UnsafeInvalidationTests``).
    @Test func softPurgeKeepsResponseForOfflineUse() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(EngineFixture.url, .fresh("one"), .failure(.connect))
        try await fixture.get()
        try await fixture.engine.invalidate(fixture.request(), keepingForOffline: true)
        let offline = try await fixture.get()
        #expect(offline.text == "one" && offline.response.isStale)
    }

    @Test func storedGetAnswersHeadWithoutBody() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(EngineFixture.url, .status(.ok, fields: [.cacheControl: "max-age=60"]), .fresh("one"))
        try await fixture.get(method: .head)
        #expect(fixture.memory.all.isEmpty)
        try await fixture.get()
        let head = try await fixture.get(method: .head)
        #expect(head.text.isEmpty && head.response.outcome.isHit)
    }

    @Test func storedResponseAnswersConditionalRequest() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(EngineFixture.url, .fresh("one", etag: "\"1\""))
        try await fixture.get()
        let unchanged = try await fixture.get(EngineFixture.url, [.ifNoneMatch: "W/\"1\""])
        #expect(unchanged.response.head.status == .notModified && unchanged.text.isEmpty)
        #expect(try await fixture.get(EngineFixture.url, [.ifNoneMatch: "\"2\""]).text == "one")
    }

    @Test func variantsAreKeptApart() async throws {
        let fixture = EngineFixture()
        let fields: HTTPFields = [.cacheControl: "max-age=60", .vary: "Accept-Language"]
        fixture.transport.script(EngineFixture.url, .ok("hello", fields: fields), .ok("hallo", fields: fields))
        #expect(try await fixture.get(EngineFixture.url, [.acceptLanguage: "en"]).text == "hello")
        let german = try await fixture.get(EngineFixture.url, [.acceptLanguage: "de"])
        #expect(german.text == "hallo" && german.response.outcome.forward == .varyMiss)
        #expect(try await fixture.get(EngineFixture.url, [.acceptLanguage: "en"]).text == "hello")
        #expect(fixture.transport.requests.count == 2)
    }

    @Test func requestWithoutTargetIsRejected() async throws {
        let fixture = EngineFixture()
        let head = HTTPRequest(method: .get, scheme: "ftp", authority: "a.example", path: "/")
        await #expect(throws: ExchangeError.self) { try await fixture.engine.respond(to: CacheRequest(head: head)) }
    }

    @Test func callersExpiryReplacesTheResponses() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(EngineFixture.url, .ok("one", fields: [.cacheControl: "no-cache"]), .failure(.connect))
        var request = try fixture.request()
        request.storage = .expiring(.after(.seconds(100)))
        _ = try await fixture.engine.respond(to: request).body.collect(upTo: 10)
        fixture.clock.advance(by: .seconds(99))
        #expect(try await fixture.engine.respond(to: request).outcome.isHit)
        fixture.clock.advance(by: .seconds(2))
        #expect(try await fixture.engine.respond(to: request).isStale)
    }

    @Test(arguments: [301, 302, 303, 307, 308], [true, false])
    func callersExpiryAppliesToRedirectsThatAreFollowed(status: Int, isFollowed: Bool) async throws {
        let fixture = EngineFixture()
        let redirect = ScriptedTransport.Reply.status(.init(code: status), fields: [.location: "/b"])
        fixture.transport.script(EngineFixture.url, redirect, redirect)
        var request = try fixture.request()
        request.storage = .expiring(.after(.seconds(100)))
        request.followsRedirects = isFollowed
        for _ in 0..<2 {
            let response = try await fixture.engine.respond(to: request)
            #expect(response.head.status.code == status)
            _ = try await response.body.collect(upTo: 10)
        }
        #expect(fixture.transport.requests.count == (isFollowed ? 1 : 2))
    }

    @Test func postIsStoredByContentIfCallerOptsIn() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(EngineFixture.url, .ok("a"), .ok("b"))
        func ask(_ content: String) async throws -> String {
            var request = try fixture.request(method: .post)
            request.body = .buffer(ByteBuffer(string: content))
            request.keysContent = true
            request.storage = .expiring(.never)
            return String(buffer: try await fixture.engine.respond(to: request).body.collect(upTo: 10))
        }
        #expect(try await ask("query a") == "a")
        #expect(try await ask("query b") == "b")
        #expect(try await ask("query a") == "a")
        #expect(fixture.transport.requests.count == 2)
    }
}
