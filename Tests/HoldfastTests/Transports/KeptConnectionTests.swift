import Foundation
import Holdfast
import SampleOrigin
import Testing

/// A connection that closes before any byte of a response, seen from a client.
@Suite(.timeLimit(.minutes(20))) struct KeptConnectionTests {
    private struct Change: Endpoint {
        var baseURL: String
        var method: HTTPRequest.Method = .put
        var isMutation = true
        var isIdempotent = false
        var path: String { "/echo" }
    }

    @Test func defaultRequestSurvivesAConnectionThatCloses() async throws {
        try await ClientFixture.run { fixture in
            fixture.origin.force(.hangUp)
            _ = try await fixture.client.fetch(fixture.get("/echo"))
            #expect(fixture.origin.requestCount == 2)
        }
    }

    /// Twenty failures would open the breaker.
    @Test func breakerDoesNotCountRepeatedRequests() async throws {
        try await ClientFixture.run { fixture in
            for number in 0..<20 {
                fixture.origin.force(.hangUp)
                let emission = try await fixture.client.fetch(fixture.get("/echo?\(number)"), .networkOnly)
                #expect(emission.source == .network)
            }
            #expect(fixture.origin.requestCount == 40)
        }
    }

    @Test func policyDoesNotCountRepeatedRequests() async throws {
        var configuration = CachingClient.Configuration()
        configuration.retry = RetryPlan(limit: 1, delay: .zero)
        try await ClientFixture.run(configuration) { fixture in
            fixture.origin.force(.hangUp, times: 3)
            _ = try await fixture.client.fetch(fixture.get("/echo"))
            #expect(fixture.origin.requestCount == 4)
        }
    }

    @Test(
        arguments: [
            (.put, true, false, 1), (.put, true, true, 2), (.post, true, true, 2), (.post, true, false, 1),
            (.get, true, false, 1),
        ] as [(HTTPRequest.Method, Bool, Bool, Int)]
    )
    func endpointDecidesWhetherItIsRepeated(
        _ method: HTTPRequest.Method,
        _ isMutation: Bool,
        _ isIdempotent: Bool,
        _ count: Int
    ) async throws {
        try await ClientFixture.run { fixture in
            fixture.origin.force(.hangUp)
            let change = Change(
                baseURL: fixture.origin.baseURL,
                method: method,
                isMutation: isMutation,
                isIdempotent: isIdempotent
            )
            let emission = try? await fixture.client.fetch(change, as: NoContent.self)
            #expect((emission != nil) == (count == 2))
            #expect(fixture.origin.requestCount == count)
        }
    }
}
