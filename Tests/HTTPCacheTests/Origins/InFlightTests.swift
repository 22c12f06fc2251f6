import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Synchronization
import Testing

/// The limit on requests under way to one origin, and watchers of the store.
@Suite(.timeLimit(.minutes(20))) struct InFlightTests {
    private let url = EngineFixture.url

    @Test func requestsBeyondLimitWait() async throws {
        let fixture = EngineFixture { $0.inFlightLimit = 2 }
        let gate = Gate()
        for number in 0..<5 {
            fixture.transport.script("https://a.example/\(number)", .fresh("\(number)", beforeHead: gate))
        }
        try await withThrowingTaskGroup(of: String.self) { group in
            for number in 0..<5 { group.addTask { try await fixture.get("https://a.example/\(number)").text } }
            await fixture.transport.waitForRequests(2)
            #expect(fixture.transport.requests.count == 2)
            gate.open()
            var found: Set<String> = []
            for try await text in group { found.insert(text) }
            #expect(found == ["0", "1", "2", "3", "4"])
        }
    }

    @Test func requestBeyondWaitingLimitIsRejectedWith503() async throws {
        let fixture = EngineFixture {
            $0.inFlightLimit = 1
            $0.waitingLimit = 0
        }
        let gate = Gate()
        fixture.transport.script("https://a.example/1", .fresh("1", beforeHead: gate))
        async let first = fixture.get("https://a.example/1")
        await fixture.transport.waitForRequests(1)
        let refused = await #expect(throws: ExchangeError.self) { try await fixture.get("https://a.example/2") }
        #expect(refused?.code == .overloaded)
        #expect(refused?.status == 503)
        gate.open()
        let result = try await first
        #expect(result.text == "1")
    }

    @Test func originsHaveSeparateLimits() async throws {
        let fixture = EngineFixture {
            $0.inFlightLimit = 1
            $0.waitingLimit = 0
        }
        let gate = Gate()
        fixture.transport.script("https://a.example/1", .fresh("1", beforeHead: gate))
        fixture.transport.script("https://b.example/1", .fresh("2"))
        async let first = fixture.get("https://a.example/1")
        await fixture.transport.waitForRequests(1)
        let other = try await fixture.get("https://b.example/1")
        #expect(other.text == "2")
        gate.open()
        _ = try await first
    }

    @Test func cancelledWaiterLeavesItsPermit() async throws {
        let fixture = EngineFixture { $0.inFlightLimit = 1 }
        let gate = Gate()
        fixture.transport.script("https://a.example/1", .fresh("1", beforeHead: gate))
        fixture.transport.script("https://a.example/3", .fresh("3"))
        async let first = fixture.get("https://a.example/1")
        await fixture.transport.waitForRequests(1)
        let second = Task { try await fixture.get("https://a.example/2") }
        while fixture.engine.inFlightFetchCount < 2, !Task.isCancelled { await Task.yield() }
        second.cancel()
        await #expect(throws: CancellationError.self) { try await second.value }
        gate.open()
        _ = try await first
        let third = try await fixture.get("https://a.example/3")
        #expect(third.text == "3")
        #expect(fixture.transport.unscripted.isEmpty)
    }

    @Test func listenerSeesEveryChangeToItsTarget() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(EngineFixture.url, .fresh("one", etag: "\"1\""), .status(.notModified), .status(.ok))
        fixture.transport.script("https://a.example/other", .fresh("other"))
        let changes = fixture.engine.changes(for: try fixture.request())
        try await fixture.get("https://a.example/other")
        try await fixture.get()
        fixture.clock.advance(by: .seconds(61))
        try await fixture.get()
        try await fixture.get(method: .delete)
        var seen: [StoreChange.Kind] = []
        for await change in changes {
            seen.append(change.kind)
            if seen.count == 3 { break }
        }
        #expect(seen == [.stored, .freshened, .invalidated])
    }

    /// Mutant: `enter` without a limit in time: the second caller waits as long as the first one's
    /// body takes.
    @Test func waitForPlaceEndsAtHardTimeout() async throws {
        let fixture = EngineFixture {
            $0.inFlightLimit = 1
            $0.hardTimeout = .seconds(10)
        }
        let gate = Gate()
        fixture.transport.script(url, .fresh("one", beforeEnd: gate))
        let first = try await fixture.engine.respond(to: fixture.request())
        let second = Task { await fixture.failure("https://a.example/2") }
        await fixture.sleeper.sleepers(atLeast: 1)
        fixture.sleeper.advance(by: .seconds(10))
        #expect(await second.value == .overloaded)
        gate.open()
        // It was read throughout: without a reader it would give up its place.
        _ = try await first.body.collect(upTo: 100)
        await fixture.untilIdle()
        fixture.transport.script("https://a.example/3", .fresh("three"))
        let third = try await fixture.get("https://a.example/3")
        #expect(third.text == "three")
    }

    /// Mutant: `originFailed` rejects with every error of the engine's own.
    @Test func staleIfErrorAppliesToOverload() async throws {
        let fixture = EngineFixture {
            $0.inFlightLimit = 1
            $0.waitingLimit = 0
        }
        let gate = Gate()
        fixture.transport.script(url, .ok("old", fields: [.cacheControl: "max-age=60, stale-if-error=600"]))
        fixture.transport.script("https://a.example/2", .fresh("two", beforeEnd: gate))
        try await fixture.get()
        fixture.clock.advance(by: .seconds(61))
        _ = try await fixture.engine.respond(to: fixture.request("https://a.example/2"))
        let stale = try await fixture.get()
        gate.open()
        #expect(stale.text == "old")
        #expect(stale.response.outcome.cacheStatus() == "holdfast; hit; ttl=-1; detail=overloaded")
    }

    @Test func shutDownEndsWaitForOrigin() async throws {
        let fixture = EngineFixture { $0.inFlightLimit = 1 }
        let gate = Gate()
        fixture.transport.script(EngineFixture.url, .fresh("one", beforeHead: gate))
        async let first = fixture.failure()
        await fixture.transport.waitForRequests(1)
        let change = try fixture.request("https://a.example/other", method: .delete)
        let second = Task { () -> ExchangeError.Code? in
            do {
                _ = try await fixture.engine.respond(to: change)
                return nil
            } catch {
                return (error as? ExchangeError)?.code
            }
        }
        for _ in 0..<100 { await Task.yield() }
        await fixture.engine.shutDown()
        gate.open()
        let codes = await (first, second.value)
        #expect(codes.0 == .shutDown)
        #expect(codes.1 == .shutDown)
    }
}
