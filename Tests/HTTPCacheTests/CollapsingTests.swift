import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import NIOCore
import Testing

@Suite(.timeLimit(.minutes(20))) struct CollapsingTests {
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

    @Test func aCallerThatGivesUpEndsOnlyItself() async throws {
        let fixture = EngineFixture()
        let gate = Gate()
        fixture.transport.script(EngineFixture.url, .fresh("one", beforeHead: gate))
        let leader = Task { try await fixture.get().text }
        await fixture.transport.waitForRequests(1)
        let follower = Task { try await fixture.get().text }
        // The follower is in the group when the leader goes: nothing tells from outside, so both
        // orders are tried by chance.
        await Task.yield()
        leader.cancel()
        await #expect(throws: CancellationError.self) { try await leader.value }
        gate.open()
        fixture.transport.script(EngineFixture.url, .fresh("one"))
        #expect(try await follower.value == "one")
    }

    @Test func theLastCallerThatGivesUpEndsTheFetch() async throws {
        let fixture = EngineFixture()
        let gate = Gate()
        fixture.transport.script(EngineFixture.url, .fresh("one", beforeHead: gate), .fresh("two"))
        let only = Task { try await fixture.get().text }
        await fixture.transport.waitForRequests(1)
        only.cancel()
        await #expect(throws: CancellationError.self) { try await only.value }
        // The gate stays shut: had the fetch not been cancelled, the next caller would join it and
        // wait for ever.
        #expect(try await fixture.get().text == "two")
    }

    @Test func anUncacheableLeaderReleasesTheOthersInParallel() async throws {
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
        // All of them are on the wire before any of them is answered: they do not wait for each
        // other.
        await fixture.transport.waitForRequests(count)
        others.open()
        var answers: Set<String> = []
        for task in tasks { answers.insert(try await task.value) }
        #expect(answers.count == count)
    }

    @Test func everyCallerOfAFailedFetchFallsBackToTheStore() async throws {
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

    @Test func aFollowerOfAnotherVariantAsksOnItsOwn() async throws {
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

    @Test func anInvalidationDuringAFillWins() async throws {
        let fixture = EngineFixture()
        let gate = Gate()
        fixture.transport.script(EngineFixture.url, .fresh("old", beforeEnd: gate), .fresh("new"))
        let target = try TargetURI(EngineFixture.url)
        let before = Task { try await fixture.get().text }
        await fixture.transport.waitForRequests(1)
        _ = try await fixture.store.invalidate(.target(target), keepingForOffline: true, at: fixture.clock.now())
        // Who asks after the invalidation does not join the fill from before it.
        #expect(try await fixture.get().text == "new")
        gate.open()
        #expect(try await before.value == "old")
        #expect(try await fixture.get().text == "new")
        #expect(fixture.memory.all.count == 1)
    }

    @Test func whoComesLateReadsABodyUnderWayFromItsBeginning() async throws {
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

    @Test func aFillThatNobodyReadsIsStoredAllTheSame() async throws {
        let fixture = EngineFixture()
        let gate = Gate()
        fixture.transport.script(EngineFixture.url, .fresh("whole", beforeEnd: gate))
        _ = try await fixture.engine.respond(to: try fixture.request())
        gate.open()
        // Joins the fill or finds what it stored; either way the origin is asked once.
        #expect(try await fixture.get().text == "whole")
        #expect(fixture.transport.requests.count == 1)
    }

    @Test func shuttingDownEndsWhatIsUnderWay() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(EngineFixture.url, .fresh("one", beforeHead: Gate()))
        let waiting = Task { try await fixture.get().text }
        await fixture.transport.waitForRequests(1)
        await fixture.engine.shutDown()
        await #expect(throws: ExchangeError.self) { try await waiting.value }
        #expect(await fixture.failure() == .shutDown)
    }
}

/// A fill whose head is there is a stored response to those who come later. RFC 9111 §4
@Suite struct LateJoinerTests {
    private let url = EngineFixture.url

    /// Mutant: `ExchangeMachine.mayReuse` answers `true`: the second request is answered with
    /// "one".
    @Test(arguments: ["no-cache", "max-age=0"])
    func whatMayNotBeReusedIsNotJoined(cacheControl: String) async throws {
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

    @Test func aRequestThatAsksForValidationDoesNotJoinWhatCameBefore() async throws {
        let fixture = EngineFixture()
        let gate = Gate()
        fixture.transport.script(url, .fresh("one", beforeEnd: gate), .fresh("two"))
        let first = try await fixture.engine.respond(to: fixture.request())
        let second = try await fixture.get(url, [.cacheControl: "no-cache"])
        #expect(second.text == "two")
        gate.open()
        _ = try await first.body.collect(upTo: 100)
    }

    @Test func whatIsFreshIsJoinedWhileItArrives() async throws {
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
}

/// Two variants of one key, fetched side by side.
@Suite struct VariantFillTests {
    private let url = EngineFixture.url

    /// Mutant: `claimStoring` looks at the key alone: the older one is not stored.
    @Test func anOlderFetchOfAnotherVariantIsStoredAfterAYoungerOne() async throws {
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
