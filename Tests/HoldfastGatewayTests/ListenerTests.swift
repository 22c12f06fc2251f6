import NIOCore
import Testing

@testable import HoldfastGateway

@Suite("Listeners, one on each loop")
struct ListenerTests {
    /// Mutant: `GatewayServer.listen` without `reserve`: the system would give each of the two some of the connections.
    @Test("A port that another gateway listens on is refused") func refusesSharedPorts() async throws {
        try await RawOrigin.with([]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                let port = gateway.port
                var refusal: (any Error)?
                do {
                    try await RunningGateway.with(origin: origin.url, configure: { $0.port = port }) { _ in }
                } catch {
                    refusal = error
                }
                #expect(refusal is IOError)
            }
        }
    }

    @Test("A port can be listened on again at once") func listensAgain() async throws {
        try await RawOrigin.with([.ok("a"), .ok("b")]) { origin in
            let port = try await RunningGateway.with(origin: origin.url) { gateway in
                let response = try await gateway.get("/a")
                #expect(response.text == "a")
                return gateway.port
            }
            try await RunningGateway.with(origin: origin.url, configure: { $0.port = port }) { gateway in
                #expect(gateway.port == port)
                let response = try await gateway.get("/b")
                #expect(response.text == "b")
            }
        }
    }

    @Test("Every connection is accepted, whichever loop it falls to") func acceptsOnEachLoop() async throws {
        try await RawOrigin.with([.ok("kept", fields: "Cache-Control: max-age=60\r\n")]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                _ = try await gateway.get("/kept")
                for _ in 0..<32 {
                    let response = try await gateway.get("/kept")
                    #expect(response.text == "kept")
                }
                #expect(origin.requests.count == 1)
            }
        }
    }
}
