import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Testing

/// Work that no caller waits for: stale-while-revalidate, eager refresh, soft timeouts.
@Suite(.timeLimit(.minutes(20))) struct BackgroundTests {
    private let url = EngineFixture.url
    private static let swr: HTTPFields = [.cacheControl: "max-age=60, stale-while-revalidate=600", .eTag: "\"1\""]

    @Test func staleWhileRevalidateServesAtOnceAndValidatesLater() async throws {
        let fixture = EngineFixture()
        let gate = Gate()
        fixture.transport.script(url, .ok("old", fields: Self.swr), .fresh("new", beforeHead: gate))
        try await fixture.get()
        fixture.clock.advance(by: .seconds(61))
        // The origin responds only after the caller has its response.
        let stale = try await fixture.get()
        #expect(stale.text == "old")
        #expect(stale.response.outcome.cacheStatus() == "holdfast; hit; ttl=-1; detail=stale-while-revalidate")
        #expect(stale.response.isStale)
        gate.open()
        try await fixture.untilStored("new")
        #expect(fixture.transport.requests.last?.headerFields[.ifNoneMatch] == "\"1\"")
        let after = try await fixture.get()
        #expect(after.text == "new")
    }

    @Test func manyStaleReadersCauseOneValidation() async throws {
        let fixture = EngineFixture()
        let gate = Gate()
        fixture.transport.script(url, .ok("old", fields: Self.swr), .fresh("new", beforeHead: gate))
        try await fixture.get()
        fixture.clock.advance(by: .seconds(61))
        for _ in 0..<50 {
            let stale = try await fixture.get()
            #expect(stale.text == "old")
        }
        gate.open()
        try await fixture.untilStored("new")
        #expect(fixture.transport.requests.count == 2)
    }

    /// The representation may be much longer than the part, and a caller who needs all of it must
    /// not get the part. Mutants: `renewal-of-a-part-fetches-the-whole` and
    /// `renewal-of-a-part-is-joined`.
    @Test(arguments: [false, true]) func renewalOfAPartRequestsOnlyThePart(wholeIsRequested: Bool) async throws {
        let fixture = EngineFixture()
        func part(_ text: String, _ tag: String) -> ScriptedTransport.Reply {
            var fields = Self.swr
            fields[.eTag] = tag
            fields[.contentRange] = "bytes 2-4/10"
            return .status(.partialContent, text, fields: fields)
        }
        let gate = Gate()
        var renewed = part("new", "\"2\"")
        renewed.beforeHead = gate
        fixture.transport.script(url, part("old", "\"1\""), renewed, .fresh("whole"))
        try await fixture.get(url, [.range: "bytes=2-4"])
        fixture.clock.advance(by: .seconds(61))
        for _ in 0..<3 {
            let stale = try await fixture.get(url, [.range: "bytes=3-4"])
            #expect(stale.text == "ld" && stale.response.isStale)
        }
        await fixture.transport.waitForRequests(2)
        let sent = try #require(fixture.transport.requests.last)
        #expect(sent.headerFields[.range] == "bytes=2-4" && sent.headerFields[.ifNoneMatch] == "\"1\"")
        if wholeIsRequested {
            let whole = try await fixture.get()
            #expect(whole.text == "whole" && whole.response.head.status == .ok)
        }
        gate.open()
        await fixture.untilIdle()
        let after = try await fixture.get(url, [.range: "bytes=3-4"])
        #expect(after.text == (wholeIsRequested ? "le" : "ew") && after.response.outcome.isHit)
        #expect(fixture.transport.requests.count == (wholeIsRequested ? 3 : 2))
    }

    /// Otherwise, each stale hit would request it again.
    @Test func renewalInvalidatesAPartThatTheOriginNoLongerHas() async throws {
        let fixture = EngineFixture()
        var fields = Self.swr
        fields[.contentRange] = "bytes 2-4/10"
        let gone = ScriptedTransport.Reply.status(.rangeNotSatisfiable, fields: [.contentRange: "bytes */1"])
        fixture.transport.script(url, .status(.partialContent, "old", fields: fields), gone, gone)
        let range: HTTPFields = [.range: "bytes=2-4"]
        try await fixture.get(url, range)
        fixture.clock.advance(by: .seconds(61))
        let stale = try await fixture.get(url, range)
        #expect(stale.text == "old")
        await fixture.transport.waitForRequests(2)
        await fixture.untilIdle()
        let after = try await fixture.get(url, range)
        #expect(after.response.head.status == .rangeNotSatisfiable)
        #expect(fixture.transport.requests.count == 3)
    }

    @Test func callerWaitsBeyondStaleWhileRevalidateWindow() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, .ok("old", fields: Self.swr), .fresh("new"))
        try await fixture.get()
        fixture.clock.advance(by: .seconds(661))
        let result = try await fixture.get()
        #expect(result.text == "new")
    }

    @Test func offlineModeValidatesNothing() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, .ok("old", fields: Self.swr))
        try await fixture.get()
        fixture.clock.advance(by: .seconds(61))
        fixture.engine.mode = .offline
        let result = try await fixture.get()
        #expect(result.text == "old")
        #expect(fixture.transport.requests.count == 1)
    }

    @Test func failedValidationKeepsResponseAndIsNotRepeatedAtOnce() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, .ok("old", fields: Self.swr), .status(.serviceUnavailable), .fresh("new"))
        try await fixture.get()
        fixture.clock.advance(by: .seconds(61))
        try await fixture.get()
        await fixture.transport.waitForRequests(2)
        await fixture.untilIdle()
        let again = try await fixture.get()
        #expect(again.text == "old")
        #expect(fixture.transport.requests.count == 2)
    }

    @Test func eagerRefreshValidatesBeforeResponseIsStale() async throws {
        let fixture = EngineFixture { $0.eagerRefresh = 0.8 }
        fixture.transport.script(url, .fresh("old", 100), .fresh("new", 100))
        try await fixture.get()
        fixture.clock.advance(by: .seconds(79))
        let early = try await fixture.get()
        #expect(early.text == "old")
        await fixture.untilIdle()
        #expect(fixture.transport.requests.count == 1)
        fixture.clock.advance(by: .seconds(1))
        let eager = try await fixture.get()
        #expect(eager.text == "old")
        #expect(eager.response.outcome.isHit)
        #expect(!eager.response.isStale)
        try await fixture.untilStored("new")
    }

    @Test func immutableResponsesAreNotRefreshedEagerly() async throws {
        let fixture = EngineFixture { $0.eagerRefresh = 0.5 }
        fixture.transport.script(url, .ok("old", fields: [.cacheControl: "max-age=100, immutable"]))
        try await fixture.get()
        fixture.clock.advance(by: .seconds(90))
        try await fixture.get()
        await fixture.untilIdle()
        #expect(fixture.transport.requests.count == 1)
    }

    @Test func softTimeoutServesStoredResponseAndFetchContinues() async throws {
        let fixture = EngineFixture { $0.softTimeout = .milliseconds(200) }
        let gate = Gate()
        fixture.transport.script(url, .fresh("old"), .fresh("new", beforeHead: gate))
        try await fixture.get()
        fixture.clock.advance(by: .seconds(61))
        async let response = fixture.get()
        await fixture.transport.waitForRequests(2)
        await fixture.sleeper.sleepers(atLeast: 1)
        fixture.sleeper.advance(by: .milliseconds(200))
        let slow = try await response
        #expect(slow.text == "old")
        #expect(slow.response.outcome.detail == .slow)
        gate.open()
        try await fixture.untilStored("new")
        #expect(fixture.transport.requests.count == 2)
    }

    @Test func softTimeoutNeedsStoredResponse() async throws {
        let fixture = EngineFixture { $0.softTimeout = .milliseconds(200) }
        let gate = Gate()
        fixture.transport.script(url, .fresh("new", beforeHead: gate))
        async let response = fixture.get()
        await fixture.transport.waitForRequests(1)
        fixture.sleeper.advance(by: .seconds(1))
        gate.open()
        let found = try await response
        #expect(found.text == "new")
    }

    @Test func softTimeoutObeysMustRevalidate() async throws {
        let fixture = EngineFixture { $0.softTimeout = .milliseconds(200) }
        let gate = Gate()
        fixture.transport.script(
            url,
            .ok("old", fields: [.cacheControl: "max-age=60, must-revalidate"]),
            .fresh("new", beforeHead: gate)
        )
        try await fixture.get()
        fixture.clock.advance(by: .seconds(61))
        async let response = fixture.get()
        await fixture.transport.waitForRequests(2)
        fixture.sleeper.advance(by: .seconds(1))
        gate.open()
        let found = try await response
        #expect(found.text == "new")
    }

    @Test func hardTimeoutTreatsOriginAsSilent() async throws {
        let fixture = EngineFixture { $0.hardTimeout = .seconds(5) }
        fixture.transport.script(url, .fresh("old"), .fresh("never", beforeHead: Gate()))
        try await fixture.get()
        fixture.clock.advance(by: .seconds(61))
        async let response = fixture.get()
        await fixture.transport.waitForRequests(2)
        await fixture.sleeper.sleepers(atLeast: 1)
        fixture.sleeper.advance(by: .seconds(5))
        let stale = try await response
        #expect(stale.text == "old")
        #expect(stale.response.outcome.detail == .unreachable)
    }

    @Test func missEndsAtHardTimeout() async throws {
        let fixture = EngineFixture { $0.hardTimeout = .seconds(5) }
        fixture.transport.script(url, .fresh("never", beforeHead: Gate()))
        async let code = fixture.failure()
        await fixture.transport.waitForRequests(1)
        await fixture.sleeper.sleepers(atLeast: 1)
        fixture.sleeper.advance(by: .seconds(5))
        #expect(await code == .originUnreachable)
    }

    /// RFC 9111 §5.2.1.7. Mutant: `refresh` without its question for `only-if-cached`.
    @Test func onlyIfCachedCausesNoRefresh() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, .ok("old", fields: [.cacheControl: "max-age=60, stale-while-revalidate=600"]))
        try await fixture.get()
        fixture.clock.advance(by: .seconds(61))
        let stale = try await fixture.get(url, [.cacheControl: "only-if-cached"])
        await fixture.untilIdle()
        #expect(stale.text == "old")
        #expect(fixture.transport.requests.count == 1)
    }

    @Test func onlyIfCachedStartsNoRefreshWithinWindow() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(
            EngineFixture.url,
            .ok("one", fields: [.cacheControl: "max-age=1, stale-while-revalidate=60"]),
            .fresh("two")
        )
        try await fixture.get()
        fixture.clock.advance(by: .seconds(10))
        let second = try await fixture.get(EngineFixture.url, [.cacheControl: "only-if-cached"])
        #expect(second.text == "one")
        await fixture.untilIdle()
        #expect(fixture.transport.requests.count == 1)
    }
}

/// Background requests carry nothing of the caller's.
@Suite(.timeLimit(.minutes(20))) struct BackgroundRequestTests {
    private let url = EngineFixture.url

    @Test func backgroundRequestOmitsCallersRangeAndConditions() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(
            url,
            .ok("0123456789", fields: [.cacheControl: "max-age=60, stale-while-revalidate=600"]),
            .fresh("new")
        )
        try await fixture.get()
        fixture.clock.advance(by: .seconds(61))
        let part = try await fixture.get(url, [.range: "bytes=0-1", .ifNoneMatch: "\"other\""])
        #expect(part.text == "01")
        try await fixture.untilStored("new")
        let sent = try #require(fixture.transport.requests.last).headerFields
        #expect(sent[.range] == nil)
        #expect(sent[.ifNoneMatch] == nil)
    }
}
