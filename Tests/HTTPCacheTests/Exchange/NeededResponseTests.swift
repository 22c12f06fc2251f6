import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Testing

/// The store learns which responses were served because nothing else could be:
/// ``ResponseStore/noteNeeded(_:)``.
@Suite(.timeLimit(.minutes(20))) struct NeededResponseTests {
    private let url = EngineFixture.url

    @Test func staleResponseInAnOutageIsNoted() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, .fresh("text"), .failure(.connect))
        _ = try await fixture.get()
        fixture.clock.advance(by: .seconds(61))
        #expect(try await fixture.get().text == "text")
        #expect(fixture.memory.needed == fixture.memory.all.map(\.key))
    }

    @Test func freshAndValidatedResponsesAreNotNoted() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, .fresh("text", etag: "\"1\""), .status(.notModified))
        _ = try await fixture.get()
        _ = try await fixture.get()
        fixture.clock.advance(by: .seconds(61))
        #expect(try await fixture.get().response.isValidated)
        #expect(fixture.memory.needed.isEmpty)
    }
}
