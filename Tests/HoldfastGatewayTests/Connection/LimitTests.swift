import HTTPCache
import HoldfastConfiguration
import Testing

@testable import HoldfastGateway

@Suite(.timeLimit(.minutes(20))) struct LimitTests {
    /// Sends a request that exceeds a limit by one, and expects the response that the page states.
    private func expect(
        _ name: String,
        _ request: String,
        configure: (inout GatewayConfiguration) -> Void
    ) async throws {
        let limit = try StatedLimit.named(name)
        try await RawOrigin.with([.ok("never")]) { origin in
            try await RunningGateway.with(origin: origin.url, configure: configure) { gateway in
                let response = try await gateway.send(request)
                #expect(response.status == limit.status)
                #expect(response.text.contains("\"urn:holdfast:problem:\(limit.code ?? "?")\""), "\(response.text)")
                #expect(response["Cache-Status"]?.hasSuffix("detail=\(limit.detail ?? "?")") == true)
                #expect(origin.requests.isEmpty)
            }
        }
    }

    private static let post = "POST / HTTP/1.1\r\nHost: g\r\n"

    @Test func responseNamesTheLimitThatRequestExceeds() async throws {
        let long = String(repeating: "a", count: 300)
        try await expect("request line", "GET /\(long) HTTP/1.1\r\nHost: g\r\n\r\n") {
            $0.messageLimits.startLine = 200
        }
        try await expect("field lines", "GET / HTTP/1.1\r\nHost: g\r\nX: \(long)\r\n\r\n") {
            $0.messageLimits.fieldBlock = 200
        }
        try await expect("number of field lines", "GET / HTTP/1.1\r\nHost: g\r\nX: 1\r\nX: 2\r\n\r\n") {
            $0.messageLimits.fieldCount = 2
        }
        try await expect("request content", Self.post + "Content-Length: 11\r\n\r\nhello world") {
            $0.contentLimit = 10
        }
        try await expect(
            "request content",
            Self.post + "Transfer-Encoding: chunked\r\n\r\nb\r\nhello world\r\n0\r\n\r\n"
        ) { $0.contentLimit = 10 }
        try await expect("chunk line", Self.post + "Transfer-Encoding: chunked\r\n\r\n1;\(long)\r\na\r\n0\r\n\r\n") {
            $0.messageLimits.chunkLine = 200
        }
        try await expect(
            "chunk extensions",
            Self.post + "Transfer-Encoding: chunked\r\n\r\n1;\(long)\r\na\r\n0\r\n\r\n"
        ) { $0.messageLimits.chunkExtensions = 200 }
        try await expect("trailers", Self.post + "Transfer-Encoding: chunked\r\n\r\n0\r\nX: \(long)\r\n\r\n") {
            $0.messageLimits.trailers = 200
        }
    }

    private func expect(_ response: RawResponse, _ name: String) throws {
        let limit = try StatedLimit.named(name)
        #expect(response.status == limit.status)
        #expect(response.text.contains("\"urn:holdfast:problem:\(limit.code ?? "?")\""), "\(response.text)")
        if let detail = limit.detail { #expect(response["Cache-Status"]?.hasSuffix("detail=\(detail)") == true) }
    }

    @Test func responseNamesTheLimitThatOriginExceeds() async throws {
        let flood = String(repeating: "HTTP/1.1 103 Hint\r\n\r\n", count: 17)
        try await RawOrigin.with([.response(flood)]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                // HTTP/1.0 gets no interim responses.
                let response = try await gateway.send("GET / HTTP/1.0\r\n\r\n")
                try expect(response, "interim responses")
            }
        }
        var options = EngineOptions()
        options.hardTimeout = .passing(200)
        try await RawOrigin.with([.silence]) { origin in
            try await RunningGateway.with(origin: origin.url, options: options) { gateway in
                let response = try await gateway.get("/")
                try expect(response, "time to an origin's response head")
            }
        }
    }

    @Test func responseNamesTheLimitThatSlowHeadExceeds() async throws {
        try await RawOrigin.with { origin in
            try await RunningGateway.with(
                origin: origin.url,
                configure: { $0.timeouts.head = .passing(100) }
            ) { gateway in
                let response = try await gateway.send("GET / HTTP/1.1\r\n")
                try expect(response, "time to a request head")
            }
        }
    }

    @Test func contentUpToTheLimitPasses() async throws {
        try await RawOrigin.with([.ok("a"), .ok("b")]) { origin in
            try await RunningGateway.with(origin: origin.url, configure: { $0.contentLimit = 11 }) { gateway in
                let answer1 = try await gateway.send(Self.post + "Content-Length: 11\r\n\r\nhello world")
                #expect(answer1.text == "a")
                let chunked = Self.post + "Transfer-Encoding: chunked\r\n\r\nb\r\nhello world\r\n0\r\n\r\n"
                let answer2 = try await gateway.send(chunked)
                #expect(answer2.text == "b")
                #expect(origin.requests.map(\.contentText) == ["hello world", "b\r\nhello world\r\n0\r\n\r\n"])
            }
        }
    }

    /// docs/attacks.md, 43. Trusted clients have no such limit.
    @Test(arguments: [false, true]) func excessConnectionOfUntrustedClientGets503(isTrusted: Bool) async throws {
        let limit = try StatedLimit.named("connections per client")
        try await RawOrigin.with([.ok("x", fields: "Cache-Control: max-age=60\r\n")]) { origin in
            try await RunningGateway.with(
                origin: origin.url,
                configure: {
                    $0.maximumConnectionsPerClient = 1
                    if isTrusted { $0.trustedClients = [AddressRange("127.0.0.0/8")].compactMap(\.self) }
                }
            ) { gateway in
                try await RawClient.with(port: gateway.port) { first in
                    try await first.send("GET / HTTP/1.1\r\nHost: g\r\n\r\n")
                    #expect(try await first.response().text == "x")
                    try await RawClient.with(port: gateway.port) { second in
                        // A connection too many gets its response before it sends a request.
                        if isTrusted { try await second.send("GET / HTTP/1.1\r\nHost: g\r\n\r\n") }
                        let response = try await second.response()
                        #expect(response.status == (isTrusted ? 200 : limit.status))
                        if !isTrusted {
                            #expect(response.text.contains("problem:\(limit.code ?? "?")\""))
                            #expect(response["Retry-After"] == "1")
                        }
                    }
                    // The first connection continues.
                    try await first.send("GET / HTTP/1.1\r\nHost: g\r\n\r\n")
                    #expect(try await first.response().text == "x")
                }
            }
        }
    }
}
