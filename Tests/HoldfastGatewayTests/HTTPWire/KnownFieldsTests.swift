import HTTPTypes
import NIOCore
import Testing

@testable import HTTPWire
@testable import HoldfastGateway

/// Requests with the same fields as the one before them on their connection.
@Suite(.timeLimit(.minutes(20))) struct KnownFieldsTests {
    private static let requests = [
        "GET /a HTTP/1.1\r\nHost: a\r\n\r\n", "GET /b?c HTTP/1.1\r\nHost: a\r\n\r\n",
        "HEAD /a HTTP/1.1\r\nHost: a\r\n\r\n",
        "POST /a HTTP/1.1\r\nHost: a\r\n\r\n", "GET /a HTTP/1.1\r\nHost: b\r\n\r\n",
        "GET /a HTTP/1.0\r\nHost: a\r\n\r\n",
        "GET http://c/d HTTP/1.1\r\nHost: a\r\n\r\n", "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /a HTTP/1.1\r\nHost: a\r\nX: 1\r\n\r\n", "GET /a HTTP/1.1\r\nHost: a\r\nx: 1\r\n\r\n",
        "GET /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", "GET /a HTTP/1.0\r\n\r\n",
        "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nab",
        "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\nab",
        "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
        "POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
        "GET /a HTTP/1.1\r\nHost: a\r\nX: \(String(repeating: "x", count: 2_000))\r\n\r\n",
    ]

    /// Mutants: fields are treated as the same with another version, with another form of the
    /// target, or if only their start is the same.
    @Test(arguments: requests) func requestsDoNotDependOnEarlierOnes(first: String) {
        let before = RequestDecoder.decode(first)
        for second in Self.requests {
            let alone = RequestDecoder.decode(second)
            let whole = RequestDecoder.decode(first + second)
            #expect(whole == before + alone, "\(first) then \(second)")
            let bytes = Array(second.utf8)
            let pieces = [Array(first.utf8)] + [Array(bytes.prefix(20)), Array(bytes.dropFirst(20))]
            let cut = RequestDecoder.decode(pieces)
            #expect(cut == before + alone, "\(first) then \(second)")
        }
    }

    /// Mutant: fields that are never, or always, reported as repeated.
    @Test func repeatedFieldsAreReported() {
        var machine = ConnectionMachine(limits: MessageLimits(), discardLimit: 1000)
        var said: [Bool] = []
        for (target, fields) in [("/a", "X: 1"), ("/b", "X: 1"), ("/c", "X: 2"), ("/d", "X: 2"), ("/d", "x: 2")] {
            _ = machine.receive(ByteBuffer(string: "GET \(target) HTTP/1.1\r\nHost: a\r\n\(fields)\r\n\r\n"))
            guard case .begin(let head, let repeatsFields) = machine.beginRequest() else { continue }
            #expect(head.request.target == target)
            said.append(repeatsFields)
            _ = machine.endResponse(keepingAlive: true)
        }
        #expect(said == [false, true, false, true, false])
    }

    /// Each request is forwarded as if it were the first of its connection. Mutants: another
    /// method's request, or the one before other fields, is treated as the same.
    @Test func everyRequestIsForwardedUnchanged() async throws {
        let requests = [
            ("GET", "/a", "X: 1"), ("GET", "/b", "X: 1"), ("HEAD", "/b", "X: 1"), ("DELETE", "/b", "X: 1"),
            ("GET", "/c", "X: 2"), ("GET", "/d", "X: 1"), ("GET", "/e", "X: 1"),
            ("GET", "/f", "Connection: x-a\r\nX-A: 1"),
            ("GET", "/g", "Connection: x-a\r\nX-A: 1"),
        ]
        let steps = requests.map { method, _, _ in
            RawOrigin.Step.ok(method == "HEAD" ? "" : "x", fields: "Cache-Control: no-store\r\n")
        }
        try await RawOrigin.with(steps + steps) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                try await RawClient.with(port: gateway.port) { client in
                    for (method, target, fields) in requests {
                        try await client.send("\(method) \(target) HTTP/1.1\r\nHost: g\r\n\(fields)\r\n\r\n")
                        let response = try await client.response(isHead: method == "HEAD")
                        #expect(response.status == 200)
                    }
                }
                for (method, target, fields) in requests {
                    _ = try await gateway.send("\(method) \(target) HTTP/1.1\r\nHost: g\r\n\(fields)\r\n\r\n")
                }
                let sent = origin.requests.map(\.text)
                #expect(sent.count == 2 * requests.count)
                #expect(Array(sent.prefix(requests.count)) == Array(sent.suffix(requests.count)))
                #expect(sent.first?.hasPrefix("GET /a HTTP/1.1\r\n") == true)
            }
        }
    }

    /// Mutant: a request made under another configuration is reused.
    @Test func newConfigurationAppliesToTheNextRequest() async throws {
        let response = RawOrigin.Step.ok("x", fields: "Cache-Control: no-store\r\n")
        try await RawOrigin.with([response, response]) { origin in
            var configuration = GatewayConfiguration(origin: try GatewayOrigin(origin.url), port: 0)
            try await RunningGateway.with(origin: origin.url) { gateway in
                try await RawClient.with(port: gateway.port) { client in
                    try await client.send("GET /a HTTP/1.1\r\nHost: g\r\n\r\n")
                    _ = try await client.response()
                    configuration.pseudonym = "renamed"
                    gateway.server.reconfigure(configuration)
                    try await client.send("GET /b HTTP/1.1\r\nHost: g\r\n\r\n")
                    _ = try await client.response()
                }
                #expect(origin.requests.last?.values("Via").first?.hasPrefix("1.1 renamed-") == true)
            }
        }
    }
}
