import SampleOrigin
import Testing

@Suite(.timeLimit(.minutes(20))) struct SlowBodyTests {
    @Test func dripIsAWholeBodyInParts() async throws {
        try await SampleOrigin.withOrigin { origin in
            let chunked = try await RawClient.get("/drip?count=3&size=5&pause=1&chunked=true", to: origin)
            #expect(chunked.content == DeterministicBytes().bytes(0..<15))
            // Three chunks of 5 bytes, each with 5 more around it, and the last one.
            #expect(chunked.body.count == 3 * (5 + 5) + 5)
            let whole = try await RawClient.get("/drip?count=3&size=5&pause=0", to: origin)
            #expect(whole["Content-Length"] == "15")
            #expect(whole.body == DeterministicBytes().bytes(0..<15))
        }
    }

    @Test(arguments: ["count=0", "count=1001", "size=65537", "pause=30001", "count=100&pause=301"])
    func dripIsBounded(query: String) async throws {
        let response = try await SampleOrigin.withOrigin { try await RawClient.get("/drip?\(query)", to: $0) }
        #expect(response.status == 400)
    }

    @Test func gatedBodyWaitsForItsGate() async throws {
        try await SampleOrigin.withOrigin { origin in
            let gate = origin.gate("a")
            let body = try await RawClient.read("/gated/a?before=4&after=6", to: origin, until: [4]) { _ in
                await gate.waitForArrivals(1)
                gate.open()
            }
            #expect(body == DeterministicBytes().bytes(0..<10))
        }
    }

    @Test func gateOpensByRequestToo() async throws {
        try await SampleOrigin.withOrigin { origin in
            let body = try await RawClient.read("/gated/b?before=0&after=6", to: origin, until: [0]) { _ in
                await origin.gate("b").waitForArrivals(1)
                let opened = try await RawClient.send("POST", "/_gates/b", to: origin)
                #expect(opened.status == 204)
                #expect(opened["Content-Length"] == nil)
            }
            #expect(body == DeterministicBytes().bytes(0..<6))
            #expect(origin.requestCount == 1)
            // The name of a forgotten gate is a closed one again.
            let opened = origin.gate("b")
            origin.reset()
            #expect(origin.gate("b") !== opened)
        }
    }

    @Test func heldBodyArrivesStepByStep() async throws {
        try await SampleOrigin.withOrigin { origin in
            let gates = [Gate(), Gate(), Gate()]
            origin.force(.holdBody(every: 4, gates))
            let body = try await RawClient.read("/bytes/20", to: origin, until: [4, 8, 12]) { length in
                let gate = gates[length / 4 - 1]
                await gate.waitForArrivals(1)
                gate.open()
            }
            #expect(body == DeterministicBytes().bytes(0..<20))
        }
    }
}
