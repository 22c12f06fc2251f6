import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Testing

@testable import HTTPCache

/// Responses that are stored only after some uses: ``ExchangeSettings/leastUses``.
@Suite(.timeLimit(.minutes(20))) struct LeastUsesTests {
    private let url = EngineFixture.url

    private func fixture(_ uses: Int, isPinned: Bool = false) -> EngineFixture {
        let rules = RequestRules.with {
            $0.leastUses = uses
            $0.isPinned = isPinned
        }
        let fixture = EngineFixture(rules: TestRules { (_: HTTPRequest) in rules })
        fixture.transport.script(url, repeating: .fresh("text"))
        return fixture
    }

    @Test(arguments: 1...4) func responseIsStoredAtTheNthUse(uses: Int) async throws {
        let fixture = fixture(uses)
        for use in 1...uses {
            let (text, response) = try await fixture.get()
            #expect(text == "text", "every client gets the response")
            #expect(response.outcome.isStored == (use == uses), "use \(use)")
            #expect(response.outcome.notStored == (use == uses ? nil : .fewUses), "use \(use)")
        }
        let (text, hit) = try await fixture.get()
        #expect(text == "text" && hit.source == .store)
        #expect(fixture.transport.requests.count == uses)
    }

    @Test func usesOfAnotherURLDoNotCount() async throws {
        let fixture = fixture(2)
        fixture.transport.script(url + "/other", repeating: .fresh("other"))
        #expect(try await fixture.get().response.outcome.notStored == .fewUses)
        #expect(try await fixture.get(url + "/other").response.outcome.notStored == .fewUses)
        #expect(fixture.memory.all.isEmpty)
    }

    /// Clients that wait for the first response get it, and count.
    @Test func clientsThatWaitGetTheResponse() async throws {
        let fixture = EngineFixture(rules: TestRules { $0.leastUses = 2 })
        let gate = Gate()
        fixture.transport.script(url, repeating: .fresh("text", beforeHead: gate))
        let texts = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<30 { group.addTask { try await fixture.get().text } }
            await fixture.transport.waitForRequests(1)
            gate.open()
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(texts == Array(repeating: "text", count: 30))
        _ = try await fixture.get()
        #expect(try await fixture.get().response.source == .store)
    }

    @Test func pinnedResponseIsStoredAtOnce() async throws {
        let fixture = fixture(5, isPinned: true)
        #expect(try await fixture.get().response.outcome.isStored)
    }

    /// A refresh asks for a response so that it is stored.
    @Test func refreshIsStoredAtOnce() async throws {
        let fixture = fixture(5)
        #expect(try await refresh(fixture).outcome.isStored)
    }

    private func refresh(_ fixture: EngineFixture) async throws -> CacheResponse {
        var request = try fixture.request()
        request.client = .refreshes
        let response = try await fixture.engine.respond(to: request)
        for try await _ in response.body {}
        return response
    }

    /// Otherwise, an offline copy would become older with each of these responses.
    @Test func responseThatReplacesAnotherIsStoredAtOnce() async throws {
        let fixture = fixture(2)
        _ = try await refresh(fixture)
        fixture.clock.advance(by: .seconds(61))
        let response = try await fixture.get().response
        #expect(response.outcome.isStored && response.outcome.notStored == nil)
    }

    @Test(arguments: [true, false]) func recordingIsStoredAtOnce(isAsRecorded: Bool) {
        var settings = ExchangeSettings()
        settings.leastUses = 5
        JobSettings(keysContent: true, isAsRecorded: isAsRecorded).apply(to: &settings)
        #expect(settings.leastUses == 1)
    }

    // MARK: Counting

    private func key(_ number: Int) throws -> StoreKey {
        StoreKey(partition: .common, method: .get, target: try TargetURI("https://a.example/\(number)"))
    }

    @Test func usesAddUp() throws {
        var counts = UseCounts()
        let (one, two) = (try key(1), try key(2))
        let sums = [counts.add(1, to: one), counts.add(3, to: one), counts.add(1, to: two)]
        #expect(sums == [1, 4, 1])
        let many = [counts.add(.max, to: one), counts.add(.max, to: one)]
        #expect(many.allSatisfy { $0 > 100 })
    }

    @Test func floodOfKeysForgetsOldOnesAndIsBounded() throws {
        var counts = UseCounts()
        _ = counts.add(1, to: try key(-1))
        for number in 0..<3 * UseCounts.limit { _ = counts.add(1, to: try key(number)) }
        #expect(counts.count <= 2 * UseCounts.limit)
        let uses = [counts.add(1, to: try key(3 * UseCounts.limit - 1)), counts.add(1, to: try key(-1))]
        #expect(uses == [2, 1])
    }
}
