import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import NIOCore
import Testing

@Suite(.timeLimit(.minutes(20))) struct CollapsingTests {
    private let url = EngineFixture.url

    @Test func concurrentRequestsShareOneFetch() async throws {
        let fixture = EngineFixture()
        let gate = Gate()
        fixture.transport.script(EngineFixture.url, .fresh("one", beforeHead: gate))
        let outcomes = try await withThrowingTaskGroup(of: (String, CacheOutcome).self) { group in
            for _ in 0..<100 {
                group.addTask {
                    let (text, response) = try await fixture.get()
                    return (text, response.outcome)
                }
            }
            await fixture.transport.waitForRequests(1)
            gate.open()
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(outcomes.allSatisfy { $0.0 == "one" })
        #expect(fixture.transport.requests.count == 1)
        #expect(outcomes.filter { $0.1.isStored }.count <= 1)
    }

    @Test func cancelledCallerEndsOnlyItself() async throws {
        let fixture = EngineFixture()
        let gate = Gate()
        fixture.transport.script(EngineFixture.url, .fresh("one", beforeHead: gate))
        let leader = Task { try await fixture.get().text }
        await fixture.transport.waitForRequests(1)
        let follower = Task { try await fixture.get().text }
        // The follower should be in the group when the leader leaves. That cannot be observed from
        // outside, so both orders occur by chance.
        await Task.yield()
        leader.cancel()
        await #expect(throws: CancellationError.self) { try await leader.value }
        gate.open()
        fixture.transport.script(EngineFixture.url, .fresh("one"))
        #expect(try await follower.value == "one")
    }

    @Test func lastCancelledCallerEndsFetch() async throws {
        let fixture = EngineFixture()
        let gate = Gate()
        fixture.transport.script(EngineFixture.url, .fresh("one", beforeHead: gate), .fresh("two"))
        let only = Task { try await fixture.get().text }
        await fixture.transport.waitForRequests(1)
        only.cancel()
        await #expect(throws: CancellationError.self) { try await only.value }
        // The gate stays shut. If the fetch had not been cancelled, the next caller would join it
        // and wait forever.
        #expect(try await fixture.get().text == "two")
    }

    @Test func uncacheableLeaderReleasesOthersInParallel() async throws {
        let fixture = EngineFixture()
        let gate = Gate()
        let others = Gate()
        let fields: HTTPFields = [.cacheControl: "no-store"]
        fixture.transport.script(EngineFixture.url, .ok("0", fields: fields, beforeHead: gate))
        let count = 8
        for index in 1..<count {
            fixture.transport.script(EngineFixture.url, .ok("\(index)", fields: fields, beforeHead: others))
        }
        let tasks = (0..<count).map { _ in Task { try await fixture.get().text } }
        await fixture.transport.waitForRequests(1)
        gate.open()
        // All of them reach the network before any of them has a response: they do not wait for
        // each other.
        await fixture.transport.waitForRequests(count)
        others.open()
        var responses: Set<String> = []
        for task in tasks { responses.insert(try await task.value) }
        #expect(responses.count == count)
    }

    @Test func everyCallerOfFailedFetchFallsBackToStore() async throws {
        let fixture = EngineFixture()
        let gate = Gate()
        fixture.transport.script(EngineFixture.url, .fresh("one", 0), .failure(.connect, beforeHead: gate))
        try await fixture.get()
        fixture.clock.advance(by: .seconds(5))
        let tasks = (0..<10).map { _ in Task { try await fixture.get().text } }
        await fixture.transport.waitForRequests(2)
        for _ in 0..<100 { await Task.yield() }
        fixture.transport.script(EngineFixture.url, .failure(.connect), .failure(.connect), .failure(.connect))
        gate.open()
        for task in tasks { #expect(try await task.value == "one") }
    }

    @Test func followerOfAnotherVariantFetchesItself() async throws {
        let fixture = EngineFixture()
        let gate = Gate()
        let fields: HTTPFields = [.cacheControl: "max-age=60", .vary: "Accept-Language"]
        fixture.transport.script(
            EngineFixture.url,
            .ok("hello", fields: fields, beforeHead: gate),
            .ok("hallo", fields: fields)
        )
        let english = Task { try await fixture.get(EngineFixture.url, [.acceptLanguage: "en"]).text }
        await fixture.transport.waitForRequests(1)
        let german = Task { try await fixture.get(EngineFixture.url, [.acceptLanguage: "de"]).text }
        for _ in 0..<10 { await Task.yield() }
        gate.open()
        #expect(try await english.value == "hello")
        #expect(try await german.value == "hallo")
    }

    @Test func invalidationDuringFillWins() async throws {
        let fixture = EngineFixture()
        let gate = Gate()
        fixture.transport.script(EngineFixture.url, .fresh("old", beforeEnd: gate), .fresh("new"))
        let target = try TargetURI(EngineFixture.url)
        let before = Task { try await fixture.get().text }
        await fixture.transport.waitForRequests(1)
        _ = try await fixture.store.invalidate(.target(target), keepingForOffline: true, at: fixture.clock.now())
        // A caller that comes after the invalidation does not join the earlier in-flight fetch.
        #expect(try await fixture.get().text == "new")
        gate.open()
        #expect(try await before.value == "old")
        #expect(try await fixture.get().text == "new")
        #expect(fixture.memory.all.count == 1)
    }

    @Test func lateCallerReadsBodyFromItsBeginning() async throws {
        let fixture = EngineFixture()
        let gate = Gate()
        fixture.transport.script(EngineFixture.url, .fresh("whole", beforeEnd: gate))
        let first = try await fixture.engine.respond(to: try fixture.request())
        let second = try await fixture.engine.respond(to: try fixture.request())
        #expect(second.outcome.isCollapsed)
        gate.open()
        #expect(String(buffer: try await second.body.collect(upTo: 100)) == "whole")
        #expect(String(buffer: try await first.body.collect(upTo: 100)) == "whole")
    }

    @Test func unreadFillIsStored() async throws {
        let fixture = EngineFixture()
        let gate = Gate()
        fixture.transport.script(EngineFixture.url, .fresh("whole", beforeEnd: gate))
        _ = try await fixture.engine.respond(to: try fixture.request())
        gate.open()
        // It joins the in-flight fetch or finds the stored response. In both cases the origin is
        // asked once.
        #expect(try await fixture.get().text == "whole")
        #expect(fixture.transport.requests.count == 1)
    }

    @Test func shutDownEndsFetchesUnderWay() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(EngineFixture.url, .fresh("one", beforeHead: Gate()))
        let waiting = Task { try await fixture.get().text }
        await fixture.transport.waitForRequests(1)
        await fixture.engine.shutDown()
        await #expect(throws: ExchangeError.self) { try await waiting.value }
        #expect(await fixture.failure() == .shutDown)
    }

    /// Mutant: collapsed callers are given the origin's head as it came.
    @Test(arguments: [(CacheKind.shared, "private=\"x-user\", public"), (.private, "no-cache=\"x-user\"")])
    func collapsedCallersGetNoPrivateFields(kind: CacheKind, directive: String) async throws {
        let fixture = EngineFixture(kind: kind)
        let gate = Gate()
        let name = try #require(HTTPField.Name("X-User"))
        let fields: HTTPFields = [.cacheControl: "max-age=60, " + directive, name: "ann"]
        fixture.transport.script(url, .ok("one", fields: fields, beforeEnd: gate))
        let leader = try await fixture.engine.respond(to: fixture.request())
        fixture.clock.advance(by: .seconds(5))
        let follower = try await fixture.engine.respond(to: fixture.request())
        gate.open()
        #expect(follower.outcome.isCollapsed)
        #expect(leader.head.headerFields[name] == "ann")
        #expect(!follower.head.headerFields.contains(name))
        #expect(follower.head.headerFields[.age] == "5")
    }

    /// RFC 9111 §4: a response that needs validation answers no collapsed request. Mutant: it does.
    @Test func collapsedCallerGetsNoNoCacheResponse() async throws {
        let fixture = EngineFixture(kind: .shared)
        let gate = Gate()
        let fields: HTTPFields = [.cacheControl: "no-cache"]
        fixture.transport.script(url, .ok("token 1", fields: fields, beforeHead: gate), .ok("token 2", fields: fields))
        let first = Task { try await fixture.get().text }
        await fixture.transport.waitForRequests(1)
        let second = Task { try await fixture.get().text }
        for _ in 0..<100 { await Task.yield() }
        gate.open()
        #expect(try await first.value == "token 1")
        #expect(try await second.value == "token 2")
    }
}

/// An in-flight fetch whose head is known is a stored response for later callers. RFC 9111 §4
@Suite(.timeLimit(.minutes(20))) struct LateJoinerTests {
    private let url = EngineFixture.url

    /// Mutant: `ReuseMachine.mayReuse` returns `true`: the second request gets "one".
    @Test(arguments: ["no-cache", "max-age=0"])
    func responseThatNeedsValidationIsNotJoined(cacheControl: String) async throws {
        let fixture = EngineFixture()
        let gate = Gate()
        fixture.transport.script(
            url,
            .ok("one", fields: [.cacheControl: cacheControl, .eTag: "\"1\""], beforeEnd: gate),
            .ok("two", fields: [.cacheControl: cacheControl, .eTag: "\"2\""])
        )
        let first = try await fixture.engine.respond(to: fixture.request())
        let second = try await fixture.get()
        #expect(second.text == "two")
        gate.open()
        let text = String(buffer: try await first.body.collect(upTo: 100))
        #expect(text == "one")
    }

    @Test func noCacheRequestDoesNotJoinEarlierResponse() async throws {
        let fixture = EngineFixture()
        let gate = Gate()
        fixture.transport.script(url, .fresh("one", beforeEnd: gate), .fresh("two"))
        let first = try await fixture.engine.respond(to: fixture.request())
        let second = try await fixture.get(url, [.cacheControl: "no-cache"])
        #expect(second.text == "two")
        gate.open()
        _ = try await first.body.collect(upTo: 100)
    }

    @Test func freshResponseIsJoinedWhileItArrives() async throws {
        let fixture = EngineFixture()
        let gate = Gate()
        fixture.transport.script(url, .fresh("one", beforeEnd: gate))
        let first = try await fixture.engine.respond(to: fixture.request())
        let second = try await fixture.engine.respond(to: fixture.request())
        gate.open()
        #expect(second.outcome.isCollapsed)
        #expect(String(buffer: try await first.body.collect(upTo: 100)) == "one")
        #expect(String(buffer: try await second.body.collect(upTo: 100)) == "one")
        #expect(fixture.transport.requests.count == 1)
    }

    /// Runs a test while a response's body is under way; the origin's next response is "two".
    private func withBodyUnderWay(
        _ seconds: Int,
        _ test: (EngineFixture) async throws -> Void
    ) async throws {
        let fixture = EngineFixture()
        let gate = Gate()
        fixture.transport.script(EngineFixture.url, .fresh("one", seconds, beforeEnd: gate), .fresh("two"))
        let first = try await fixture.engine.respond(to: fixture.request())
        try await test(fixture)
        gate.open()
        let text = String(buffer: try await first.body.collect(upTo: 100))
        #expect(text == "one")
    }

    /// Mutant: the join of an earlier response asks the policy alone.
    @Test(arguments: [CacheRequest.Preference.networkOnly, .networkFirst])
    func networkPreferencesDoNotJoinEarlierResponse(preference: CacheRequest.Preference) async throws {
        let fixture = EngineFixture()
        let gate = Gate()
        fixture.transport.script(url, .fresh("one", beforeEnd: gate), .fresh("two"))
        let first = try await fixture.engine.respond(to: fixture.request())
        let second = try await fixture.get(preference: preference)
        gate.open()
        #expect(second.text == "two")
        _ = try await first.body.collect(upTo: 100)
    }

    @Test func staleBodyUnderWayIsNotJoined() async throws {
        try await withBodyUnderWay(10) { fixture in
            fixture.clock.advance(by: .seconds(20))
            let second = try await fixture.get()
            #expect(second.text == "two")
            #expect(fixture.transport.requests.count == 2)
        }
    }

    @Test(arguments: ["no-cache", "max-age=1", "min-fresh=58"])
    func stricterRequestDoesNotJoinBodyUnderWay(directive: String) async throws {
        try await withBodyUnderWay(60) { fixture in
            fixture.clock.advance(by: .seconds(5))
            let second = try await fixture.get(EngineFixture.url, [.cacheControl: directive])
            #expect(second.text == "two")
        }
    }

    @Test(arguments: [CacheRequest.Preference.networkFirst, .networkOnly])
    func networkPreferencesDoNotJoinBodyUnderWay(preference: CacheRequest.Preference) async throws {
        try await withBodyUnderWay(60) { fixture in
            fixture.clock.advance(by: .seconds(5))
            let second = try await fixture.get(preference: preference)
            #expect(second.text == "two")
        }
    }

    @Test func joinedBodyUnderWayHasItsAge() async throws {
        try await withBodyUnderWay(60) { fixture in
            fixture.clock.advance(by: .seconds(5))
            let second = try await fixture.engine.respond(to: fixture.request())
            #expect(second.outcome.isCollapsed)
            #expect(second.age == .seconds(5))
            #expect(second.head.headerFields[.age] == "5")
            #expect(fixture.transport.requests.count == 1)
        }
    }
}

/// Two variants of one key, fetched side by side.
@Suite(.timeLimit(.minutes(20))) struct VariantFillTests {
    private let url = EngineFixture.url

    /// Mutant: `claimStoring` looks at the key alone: the older one is not stored.
    @Test func olderFetchOfAnotherVariantIsStoredAfterNewerOne() async throws {
        let fixture = EngineFixture()
        let gate = Gate()
        let fields: HTTPFields = [.cacheControl: "max-age=60", .vary: "Accept-Language"]
        fixture.transport.script(
            url,
            .ok("en", fields: fields, beforeEnd: gate),
            .ok("de", fields: fields)
        )
        let first = try await fixture.engine.respond(to: fixture.request(url, [.acceptLanguage: "en"]))
        let second = try await fixture.get(url, [.acceptLanguage: "de"])
        #expect(second.text == "de")
        gate.open()
        _ = try await first.body.collect(upTo: 100)
        await fixture.untilIdle()
        for language in ["en", "de"] {
            let stored = try await fixture.get(url, [.acceptLanguage: language], preference: .storedOnly)
            #expect(stored.text == language)
        }
    }
}
