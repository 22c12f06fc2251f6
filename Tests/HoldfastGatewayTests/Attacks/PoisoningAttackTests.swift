import Testing

/// Requests that name another host than the one that is keyed, over sockets. docs/attacks.md has
/// the mutant of each number.
@Suite(.timeLimit(.minutes(20))) struct PoisoningAttackTests {
    /// 42: No request chooses another host than the origin's.
    @Test(
        arguments: [
            "GET http://evil.example/a HTTP/1.1\r\nHost: evil.example", "GET /a HTTP/1.1\r\nHost: evil.example:1",
            "GET //evil.example/a HTTP/1.1\r\nHost: g", "GET /a HTTP/1.1\r\nHost: g\r\nX-Forwarded-Host: evil.example",
            "GET /a HTTP/1.1\r\nHost: g\r\nForwarded: host=evil.example",
        ]
    )
    func noRequestChoosesAnotherHost(request: String) async throws {
        try await RawOrigin.with([.ok("here")]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                let answer1 = try await gateway.send(request + "\r\n\r\n")
                #expect(answer1.text == "here")
                #expect(origin.requests.map { $0.values("Host") } == [[origin.authority]])
                #expect(origin.requests.first?.text.contains("evil.example\r\n") == false)
            }
        }
    }
}
