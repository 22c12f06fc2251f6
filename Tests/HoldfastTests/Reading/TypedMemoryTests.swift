import Foundation
import Holdfast
import HoldfastTesting
import SampleOrigin
import Testing

@Suite(.timeLimit(.minutes(20))) struct TypedMemoryTests {
    @Test func storedResponseIsDecodedOnceForEachType() async throws {
        let decoder = CountingDecoder()
        try await ClientFixture.run(.init(decoder: decoder)) { fixture in
            let first = try await fixture.client.fetch(fixture.feed)
            #expect(decoder.count == 1)
            for _ in 0..<5 {
                let stored = try await fixture.client.fetch(fixture.feed)
                #expect(stored.source == .store && stored.value == first.value)
            }
            #expect(decoder.count == 2)
            struct Part: Decodable, Sendable { var userDetails: Feed.User }
            for _ in 0..<3 { _ = try await fixture.client.fetch(fixture.feed, as: Part.self) }
            #expect(decoder.count == 3)
            // A 304 brings another head for the same body.
            fixture.clock.advance(by: .seconds(61))
            #expect(try await fixture.client.fetch(fixture.feed).outcome.forwardStatus == 304)
            #expect(try await fixture.client.fetch(fixture.feed).value == first.value)
            #expect(decoder.count == 3)
        }
    }

    @Test func undecodableTypeLeavesBytesAndOtherTypesAlone() async throws {
        let decoder = CountingDecoder()
        try await ClientFixture.run(.init(decoder: decoder)) { fixture in
            let first = try await fixture.client.fetch(fixture.feed)
            await fixture.origin.stop()
            struct Other: Decodable, Sendable { var nothingOfTheKind: Int }
            let none = try await fixture.client.stored(fixture.feed, as: Other.self)
            #expect(none == nil)
            #expect(try await fixture.client.stored(fixture.feed)?.value == first.value)
        }
    }

    @Test func clientsDoNotShareDecodedValues() async throws {
        let decoder = CountingDecoder()
        try await ClientFixture.run(.init(decoder: decoder)) { fixture in
            _ = try await fixture.client.fetch(fixture.feed)
            _ = try await fixture.client.fetch(fixture.feed)
            let other = CountingDecoder()
            let client = CachingClient(
                store: fixture.client.store,
                transport: FailingTransport(),
                configuration: .init(decoder: other),
                clock: fixture.clock
            )
            for _ in 0..<2 { _ = try await client.stored(fixture.feed) }
            #expect(other.count == 1)
        }
    }
}

/// Sends nothing.
private struct FailingTransport: Transport {
    func send(_ request: TransportRequest) async throws -> TransportResponse {
        throw TransportError(code: .connect, message: "nothing is sent here")
    }
}
