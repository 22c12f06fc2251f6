import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Testing

/// Errors that keep good responses from other clients, against a whole cache.
///
/// docs/attacks.md, 31–33. Mutants are changes of one line; `scripts/mutants` applies them.
@Suite(.timeLimit(.minutes(20))) struct DenialOfServiceAttackTests {
    private let url = EngineFixture.url

    // MARK: 31, 33: errors that a request provokes

    /// Mutant: `StatusRules.needsExplicitFreshness` without one of its codes.
    @Test(arguments: [400, 405, 413, 414, 501], [CacheKind.private, .shared])
    func provokedErrorIsNotStored(status: Int, kind: CacheKind) async throws {
        for value in ["public", "public, max-age=86400", "s-maxage=60, stale-if-error=60"] {
            let fixture = EngineFixture(kind: kind)
            fixture.transport.script(
                url,
                .status(
                    .init(code: status),
                    fields: [.lastModified: "Sun, 01 Mar 2020 12:00:00 GMT", .cacheControl: value]
                ),
                .fresh("good")
            )
            let first = try await fixture.get()
            #expect(first.response.head.status.code == status)
            #expect(fixture.memory.all.isEmpty)
            #expect(try await fixture.get().text == "good")
        }
    }

    /// Mutant: `CachePolicy.lifetime` without the cap.
    @Test(arguments: [400, 405, 413, 414, 501])
    func ruleStoresProvokedErrorForAMinute(status: Int) async throws {
        let fixture = EngineFixture(rules: TestRules { $0.overrides.statuses = [200, status] })
        fixture.transport.script(
            url,
            .status(.init(code: status), fields: [.cacheControl: "max-age=86400, stale-if-error=86400"]),
            .fresh("good")
        )
        try await fixture.get()
        fixture.clock.advance(by: .seconds(59))
        #expect(try await fixture.get().response.head.status.code == status)
        fixture.clock.advance(by: .seconds(2))
        #expect(try await fixture.get().text == "good")
    }

    /// Mutant: `StatusRules.isAboutTheRequest` without 431.
    @Test func status431IsNeverStored() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(
            url,
            .status(.init(code: 431), fields: [.cacheControl: "public, max-age=60"]),
            .fresh("good")
        )
        try await fixture.get()
        #expect(fixture.memory.all.isEmpty)
        #expect(try await fixture.get().text == "good")
    }

    /// Mutant: `PreparedRequest.sending` without its line about ranges.
    @Test func rangeBeyondLimitIsNotForwardedAndErrorNotStored() async throws {
        let many = "bytes=" + (0..<17).map { "\($0 * 2)-\($0 * 2)" }.joined(separator: ",")
        let fixture = EngineFixture(kind: .shared)
        fixture.transport.script(
            url,
            .status(.notFound, fields: [.cacheControl: "max-age=60"]),
            .fresh("whole")
        )
        let fields: HTTPFields = [.range: many, .ifRange: "\"1\""]
        #expect(try await fixture.get(url, fields).response.head.status == .notFound)
        #expect(fixture.memory.all.isEmpty)
        let result = try await fixture.get(url, fields)
        #expect(result.text == "whole" && result.response.head.status == .ok)
        for request in fixture.transport.requests {
            #expect(!request.headerFields.contains(.range) && !request.headerFields.contains(.ifRange))
        }
        // The stored response still answers a range in the caller's own field, if it can.
        #expect(try await fixture.get(url, [.range: "bytes=0-1"]).text == "wh")
    }

    // MARK: 32: an error never overwrites a good stored response

    static let errors = [400, 401, 403, 404, 405, 410, 413, 414, 418, 429, 431, 451, 500, 501, 502, 503, 504, 599]

    /// Mutant: `FetchContext.decide` without `response.status.code >= 400`, and `Fetcher.store`
    /// without `mayReplaceStored`: each guards alone.
    @Test(arguments: errors)
    func errorLeavesStoredResponse(status: Int) async throws {
        let error = ScriptedTransport.Reply.status(
            .init(code: status),
            "error",
            fields: [.cacheControl: "public, max-age=86400", .eTag: "\"e\""]
        )
        for preference in [CacheRequest.Preference.standard, .networkFirst, .networkOnly] {
            for conditions: HTTPFields in [
                [:], [.range: "bytes=0-1"], [.cacheControl: "no-cache"], [.ifNoneMatch: "\"9\""],
            ] {
                let fixture = EngineFixture()
                fixture.transport.script(url, .fresh("good", etag: "\"1\""), error)
                try await fixture.get()
                fixture.clock.advance(by: .seconds(61))
                try await fixture.get(url, conditions, preference: preference)
                await fixture.untilIdle()
                #expect(fixture.transport.requests.count == 2)
                #expect(try await fixture.storedTexts() == ["good"])
                #expect(fixture.memory.all.first?.head.status == .ok)
                // The good response is also served without a network.
                fixture.engine.mode = .offline
                #expect(try await fixture.get().text == "good")
            }
        }
    }

    /// Mutant: as above.
    @Test(arguments: errors)
    func errorInBackgroundLeavesStoredResponse(status: Int) async throws {
        let fixture = EngineFixture()
        fixture.transport.script(
            url,
            .ok("good", fields: [.cacheControl: "max-age=60, stale-while-revalidate=600", .eTag: "\"1\""]),
            .status(.init(code: status), "error", fields: [.cacheControl: "public, max-age=86400"])
        )
        try await fixture.get()
        fixture.clock.advance(by: .seconds(61))
        #expect(try await fixture.get().text == "good")
        await fixture.transport.waitForRequests(2)
        await fixture.untilIdle()
        #expect(try await fixture.storedTexts() == ["good"])
    }

    /// Mutant: as above.
    @Test(arguments: errors)
    func errorOfProbeLeavesStoredResponse(status: Int) async throws {
        let fixture = EngineFixture()
        fixture.transport.script(
            url,
            .fresh("good", etag: "\"1\""),
            .failure(.connect),
            .status(.init(code: status), "error", fields: [.cacheControl: "public, max-age=86400"])
        )
        try await fixture.get()
        fixture.clock.advance(by: .seconds(61))
        #expect(try await fixture.get().text == "good")
        await fixture.sleeper.sleepers(atLeast: 1)
        fixture.sleeper.advance(by: .seconds(1))
        await fixture.transport.waitForRequests(3)
        await fixture.untilIdle()
        #expect(try await fixture.storedTexts() == ["good"])
    }

    /// A caller's own expiry applies only to successes.
    ///
    /// Mutant: `FetchContext.head(of:at:)` sets `explicitExpiry` for any status; or `decide`
    /// without its line about errors.
    @Test(arguments: [404, 500, 503])
    func expiringErrorLeavesStoredResponse(status: Int) async throws {
        let fixture = EngineFixture()
        fixture.transport.script(
            url,
            .ok("good"),
            .status(.init(code: status), "error", fields: [.cacheControl: "max-age=60"])
        )
        var request = try fixture.request()
        request.storage = .expiring(.after(.seconds(60)))
        _ = try await fixture.engine.respond(to: request).wholeText()
        fixture.clock.advance(by: .seconds(61))
        _ = try await fixture.engine.respond(to: request).wholeText()
        #expect(try await fixture.storedTexts() == ["good"])
    }

    /// The error was requested before the good response was stored, and comes after it.
    ///
    /// Mutant: `Fetcher.store` without `mayReplaceStored`.
    @Test func errorOfEarlierRequestLeavesLaterStoredResponse() async throws {
        let fixture = EngineFixture()
        let (early, late) = (Gate(), Gate())
        fixture.transport.script(url, .fresh("good", beforeHead: early))
        async let first = fixture.get()
        await fixture.transport.waitForRequests(1)
        // It has a condition of its own, so it does not share the first fetch.
        var error = ScriptedTransport.Reply.status(.notFound, "error", fields: [.cacheControl: "max-age=86400"])
        error.beforeHead = late
        fixture.transport.script(url, error)
        async let second = fixture.get(url, [.ifNoneMatch: "\"9\""])
        await fixture.transport.waitForRequests(2)
        early.open()
        #expect(try await first.text == "good")
        late.open()
        #expect(try await second.text == "error")
        await fixture.untilIdle()
        #expect(try await fixture.storedTexts() == ["good"])
    }

    /// An error for a caller with other fields (another language, no credentials) does not hide
    /// this caller's good response.
    ///
    /// Mutant: `CachePolicy.selectVariant` does not rank successes before errors.
    @Test(arguments: [[:], [.acceptLanguage: "xx"]] as [HTTPFields])
    func errorOfAnotherClientDoesNotHideStoredResponse(other: HTTPFields) async throws {
        let fixture = EngineFixture()
        var own: HTTPFields = [.acceptLanguage: "en"]
        if other.isEmpty { own = [.authorization: "Bearer alice"] }
        let vary: HTTPFields = other.isEmpty ? [:] : [.vary: "Accept-Language"]
        var good: HTTPFields = [.cacheControl: "max-age=3600"]
        good.append(contentsOf: vary)
        fixture.transport.script(
            url,
            .ok("good", fields: good),
            .status(.notFound, "error", fields: [.cacheControl: "max-age=86400"])
        )
        #expect(try await fixture.get(url, own).text == "good")
        fixture.clock.advance(by: .seconds(1))
        #expect(try await fixture.get(url, other).text == "error")
        #expect(try await fixture.get(url, own).text == "good")
        fixture.clock.advance(by: .seconds(100_000))
        fixture.engine.mode = .offline
        #expect(try await fixture.get(url, own).text == "good")
    }

    /// A change that failed invalidates nothing. RFC 9111 §4.4
    ///
    /// Mutant: `CachePolicy.invalidatedTargets` without its condition on the status.
    @Test(arguments: [400, 403, 404, 500, 503])
    func failedChangeInvalidatesNothing(status: Int) async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, .fresh("good"), .status(.init(code: status), "error"))
        try await fixture.get()
        try await fixture.get(method: .put)
        let result = try await fixture.get()
        #expect(result.text == "good" && result.response.outcome.isHit)
    }
}
