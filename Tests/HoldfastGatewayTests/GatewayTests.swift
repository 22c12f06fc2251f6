import Testing

@Suite(.timeLimit(.minutes(20))) struct GatewayTests {
    @Test func proxiesAndServesFromTheStore() async throws {
        try await RawOrigin.with([.ok("hello", fields: "Cache-Control: max-age=60\r\n")]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                let first = try await gateway.get("/a?b=c")
                #expect(first.status == 200)
                #expect(first.text == "hello")
                #expect(first["Cache-Status"] == "holdfast; fwd=uri-miss; stored")
                let second = try await gateway.get("/a?b=c")
                #expect(second.text == "hello")
                #expect(second["Cache-Status"] == "holdfast; hit; ttl=60")
                #expect(origin.requests.map(\.line) == ["GET /a?b=c HTTP/1.1"])
            }
        }
    }
}
