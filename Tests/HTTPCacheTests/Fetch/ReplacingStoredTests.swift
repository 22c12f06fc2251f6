import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Testing

/// The responses that may replace a stored one, and the order in which they do.
@Suite(.timeLimit(.minutes(20))) struct ReplacingStoredTests {
    private let url = EngineFixture.url

    /// Mutant: only a success of the same variant keeps an error out.
    @Test func errorForAllVariantsDoesNotHideSuccess() async throws {
        let fixture = EngineFixture()
        let fields: HTTPFields = [.cacheControl: "max-age=600", .vary: "Accept-Language"]
        fixture.transport.script(
            url,
            .ok("hello", fields: fields),
            .status(.notFound, fields: [.cacheControl: "max-age=60"])
        )
        try await fixture.get(url, [.acceptLanguage: "en"])
        fixture.clock.advance(by: .seconds(1))
        try await fixture.get(url, [.acceptLanguage: "xx"])
        let english = try await fixture.get(url, [.acceptLanguage: "en"])
        #expect(english.text == "hello")
        #expect(english.response.outcome.isHit)
    }

    /// Mutant: a 304 claims nothing, so that an earlier response is stored after it.
    @Test func olderResponseDoesNotReplaceConfirmedOne() async throws {
        let fixture = EngineFixture()
        let gate = Gate()
        fixture.transport.script(
            url,
            .fresh("one", etag: "\"1\""),
            .fresh("old", etag: "\"0\"", beforeEnd: gate),
            .status(.notModified, fields: [.eTag: "\"1\""])
        )
        try await fixture.get()
        fixture.clock.advance(by: .seconds(61))
        let slow = try await fixture.engine.respond(to: fixture.request(url, [.ifNoneMatch: "\"x\""]))
        let confirmed = try await fixture.get()
        #expect(confirmed.text == "one")
        gate.open()
        _ = try await slow.body.collect(upTo: 100)
        await fixture.untilIdle()
        let after = try await fixture.get(preference: .storedOnly)
        #expect(after.text == "one")
    }

    /// Mutant: a part claims its key as a whole response does.
    @Test func storedPartDoesNotKeepWholeOut() async throws {
        let fixture = EngineFixture()
        let gate = Gate()
        let fields: HTTPFields = [.eTag: "\"1\"", .cacheControl: "max-age=60", .contentRange: "bytes 0-1/5"]
        fixture.transport.script(url, .fresh("hello", etag: "\"1\"", beforeEnd: gate))
        fixture.transport.script(url, .status(.partialContent, "he", fields: fields))
        let whole = try await fixture.engine.respond(to: fixture.request())
        try await fixture.get(url, [.range: "bytes=0-1"])
        gate.open()
        _ = try await whole.body.collect(upTo: 100)
        await fixture.untilIdle()
        let stored = try await fixture.get(preference: .storedOnly)
        #expect(stored.text == "hello")
    }

    @Test func fieldPrivateInStoredResponseIsNotTakenFrom304() async throws {
        let fixture = EngineFixture(kind: .shared)
        let user = try #require(HTTPField.Name("X-User"))
        let stored: HTTPFields = [.cacheControl: "private=\"x-user\", max-age=10", .eTag: "\"1\"", user: "ann"]
        fixture.transport.script(
            EngineFixture.url,
            .ok("one", fields: stored),
            .status(.notModified, fields: [.eTag: "\"1\"", user: "bob"])
        )
        try await fixture.get()
        fixture.clock.advance(by: .seconds(20))
        try await fixture.get()
        let hit = try await fixture.get().response
        #expect(hit.outcome.isHit)
        #expect(hit.head.headerFields[user] == nil)
    }

    @Test func errorReplacesNothingIfLookupFailed() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(
            EngineFixture.url,
            .fresh("one"),
            .status(.notFound, "gone", fields: [.cacheControl: "max-age=60"])
        )
        try await fixture.get()
        fixture.store.fail([.lookup])
        let second = try await fixture.get()
        #expect(second.response.head.status == .notFound)
        fixture.store.fail([])
        let third = try await fixture.get()
        #expect(third.text == "one")
    }

    @Test func errorDoesNotReplaceSuccessStoredMeanwhile() async throws {
        let fixture = EngineFixture()
        let (success, failure) = (Gate(), Gate())
        fixture.transport.script(
            EngineFixture.url,
            .fresh("one", beforeHead: success),
            ScriptedTransport.Reply(
                head: HTTPResponse(status: .notFound, headerFields: [.cacheControl: "max-age=60"]),
                beforeHead: failure
            )
        )
        // It has a condition, so it does not share the other's fetch.
        async let first = fixture.get(EngineFixture.url, [.ifNoneMatch: "\"old\""])
        await fixture.transport.waitForRequests(1)
        async let second = fixture.get()
        await fixture.transport.waitForRequests(2)
        success.open()
        _ = try await first
        failure.open()
        _ = try await second
        let third = try await fixture.get()
        #expect(third.text == "one")
    }
}
