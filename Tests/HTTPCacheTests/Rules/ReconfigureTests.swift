import HTTPCache
import HTTPCacheSemantics
import HoldfastTesting
import Testing

/// Options and rules of a running engine.
@Suite(.timeLimit(.minutes(20))) struct ReconfigureTests {
    private func options(_ change: (inout EngineOptions) -> Void = { _ in }) -> EngineOptions {
        var options = EngineOptions()
        options.hardTimeout = nil
        change(&options)
        return options
    }

    @Test func nextRequestUsesNewRules() async throws {
        let fixture = EngineFixture(kind: .shared)
        fixture.transport.script(EngineFixture.url, .fresh("1"), .fresh("2"), .fresh("3"))
        try await fixture.get()
        #expect(try await fixture.get().response.outcome.isHit)
        let number = fixture.engine.settingsVersion
        fixture.engine.reconfigure(options: options(), rules: TestRules { $0.isBypassed = true })
        #expect(fixture.engine.settingsVersion > number)
        let bypassed = try await fixture.get()
        #expect(bypassed.text == "2" && !bypassed.response.outcome.isHit)
        fixture.engine.reconfigure(options: options(), rules: nil)
        #expect(try await fixture.get().response.outcome.isHit)
    }

    @Test func raisedLimitAdmitsWaitersAtOnce() async throws {
        let fixture = EngineFixture { $0.inFlightLimit = 1 }
        let gate = Gate()
        for number in 0..<3 {
            fixture.transport.script("https://a.example/\(number)", .fresh("\(number)", beforeHead: gate))
        }
        try await withThrowingTaskGroup(of: String.self) { group in
            for number in 0..<3 { group.addTask { try await fixture.get("https://a.example/\(number)").text } }
            await fixture.transport.waitForRequests(1)
            fixture.engine.reconfigure(options: options { $0.inFlightLimit = 3 }, rules: nil)
            await fixture.transport.waitForRequests(3)
            gate.open()
            var found: Set<String> = []
            for try await text in group { found.insert(text) }
            #expect(found == ["0", "1", "2"])
        }
    }

    @Test func loweredLimitAppliesAsRequestsEnd() async throws {
        let fixture = EngineFixture { $0.inFlightLimit = 2 }
        let gates = [Gate(), Gate(), Gate()]
        for number in 0..<3 {
            fixture.transport.script("https://a.example/\(number)", .fresh("\(number)", beforeHead: gates[number]))
        }
        async let first = fixture.get("https://a.example/0")
        await fixture.transport.waitForRequests(1)
        async let second = fixture.get("https://a.example/1")
        await fixture.transport.waitForRequests(2)
        fixture.engine.reconfigure(
            options: options {
                $0.inFlightLimit = 1
                $0.waitingLimit = 0
            },
            rules: nil
        )
        gates[0].open()
        #expect(try await first.text == "0")
        // The only place is still taken.
        let refused = await #expect(throws: ExchangeError.self) { try await fixture.get("https://a.example/2") }
        #expect(refused?.code == .overloaded)
        gates[1].open()
        #expect(try await second.text == "1")
        gates[2].open()
        #expect(try await fixture.get("https://a.example/2").text == "2")
    }
}
