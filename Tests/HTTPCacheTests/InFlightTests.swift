import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Synchronization
import Testing

/// The cap on requests under way to one origin, interim responses, and who watches the store.
@Suite struct InFlightTests {
    @Test func moreRequestsThanTheCapWaitTheirTurn() async throws {
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

    @Test func oneMoreThanMayWaitIsRefusedWith503() async throws {
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
        let answer = try await first
        #expect(answer.text == "1")
    }

    @Test func anotherOriginHasItsOwnCap() async throws {
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

    @Test func aCallerThatGivesUpWaitingLeavesItsPlace() async throws {
        let fixture = EngineFixture { $0.inFlightLimit = 1 }
        let gate = Gate()
        fixture.transport.script("https://a.example/1", .fresh("1", beforeHead: gate))
        fixture.transport.script("https://a.example/3", .fresh("3"))
        async let first = fixture.get("https://a.example/1")
        await fixture.transport.waitForRequests(1)
        let second = Task { try await fixture.get("https://a.example/2") }
        while fixture.engine.fillCount < 2 { await Task.yield() }
        second.cancel()
        await #expect(throws: CancellationError.self) { try await second.value }
        gate.open()
        _ = try await first
        let third = try await fixture.get("https://a.example/3")
        #expect(third.text == "3")
        #expect(fixture.transport.unscripted.isEmpty)
    }

    @Test func aListenerSeesEveryChangeToItsTarget() async throws {
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
}
