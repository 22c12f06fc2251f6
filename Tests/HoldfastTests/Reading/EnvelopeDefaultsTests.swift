import Holdfast
import HoldfastTesting
import Testing

@testable import Holdfast

/// One default message and code for a whole client, through its public interface.
@Suite(.timeLimit(.minutes(20))) struct EnvelopeDefaultsTests {
    struct Moment: Decodable, Sendable, Equatable { var id: Int }

    @Test func clientSetsDefaultsOnce() async throws {
        let envelope = Envelope(missingCode: 800, missingMessage: "The server is busy.")
        let busy = EnvelopeResult(isSuccess: false, code: 800, message: "The server is busy.")
        try await ScriptedClient.run(.init(envelope: envelope)) { fixture in
            fixture.transport.script(ScriptedClient.url + "/x", repeating: .ok("{}"))
            let client = fixture.client
            func failure(_ body: () async throws -> Void) async -> EnvelopeResult? {
                do { try await body() } catch { return (error as? HoldfastError)?.envelope }
                return nil
            }
            let endpoint = fixture.get("/x")
            #expect(await failure { _ = try await client.fetch(endpoint, as: Moment.self) } == busy)
            let root = client.call(endpoint, as: RootModel<Moment>.self).validate()
            #expect(await failure { _ = try await root.fetch() } == busy)
            let result = try await client.fetch(endpoint, as: EnvelopeResult.self).value
            #expect(result == busy)
            #expect(try await client.fetch(endpoint, as: RootModel<[Moment]>.self).value.result == busy)
            // A call or an endpoint may override them.
            let other = client.call(endpoint, as: EnvelopeResult.self).with {
                $0.envelope = .custom(Envelope(missingMessage: "No reason."))
            }
            let own = EnvelopeResult(isSuccess: false, code: .null, message: "No reason.")
            #expect(try await other.fetch().value == own)
        }
    }
}
