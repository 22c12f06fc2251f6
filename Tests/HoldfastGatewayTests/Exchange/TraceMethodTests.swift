import HTTPCache
import HTTPTypes
import HoldfastConfiguration
import HoldfastGateway
import Testing

/// docs/attacks.md, 81. An origin that returns each request as its content, as TRACE asks for, and
/// a rule that gives the origin a secret of the operator's.
///
/// Mutants: TRACE is forwarded unless the configuration says no; only TRACE in this spelling is
/// known.
@Suite(.timeLimit(.minutes(20)))
struct TraceMethodTests {
    private static let methods = ["TRACE", "trace", "Trace", "TRACK", "track"]
    private static let echo: @Sendable (RawOrigin.Request) -> RawOrigin.Step = { request in
        .response(
            "HTTP/1.1 200 OK\r\nContent-Type: message/http\r\nContent-Length: \(request.head.count)\r\n\r\n"
                + request.text
        )
    }

    private func withGateway(
        configure: (inout GatewayConfiguration) -> Void = { _ in },
        _ body: (RunningGateway, RawOrigin) async throws -> Void
    ) async throws {
        var settings = ExchangeSettings()
        settings.requestFields.set = [try #require(HTTPField.Name("X-Origin-Key")): "s3cret"]
        let rules = FixedRules(settings)
        try await RawOrigin.with(respond: Self.echo) { origin in
            try await RunningGateway.with(origin: origin.url, rules: rules, configure: configure) {
                try await body($0, origin)
            }
        }
    }

    /// The status and the content of a request's response, over HTTP/1.1 and HTTP/2.
    private func both(_ gateway: RunningGateway, _ method: String, _ fields: [(String, String)] = []) async throws
        -> [(status: Int, allow: String?, text: String)]
    {
        let lines = fields.map { "\($0.0): \($0.1)\r\n" }.joined()
        let first = try await gateway.send("\(method) /a HTTP/1.1\r\nHost: g\r\n\(lines)\r\n")
        return try await RawClient.with(port: gateway.port) { raw in
            let client = FrameClient(raw)
            try await client.send(FrameClient.beginning())
            try await client.send(FrameClient.request(method, "/a", on: 1, fields: fields, endsStream: true))
            let second = try #require(try await client.responses([1])[1])
            return [(first.status, first["Allow"], first.text), (second.status, second["allow"], second.text)]
        }
    }

    @Test(arguments: methods) func traceGets405WithAllowedMethodsAndReachesNoOrigin(_ method: String) async throws {
        try await withGateway(configure: { $0.trustedClients = [AddressRange("127.0.0.1")].compactMap(\.self) }) {
            gateway,
            origin in
            for fields in [[], [("max-forwards", "0")], [("max-forwards", "7")]] {
                for response in try await both(gateway, method, fields) {
                    #expect(response.status == 405 && !response.text.contains("s3cret"), "\(response)")
                    #expect(response.text.contains("urn:holdfast:problem:method-not-allowed"))
                    let allowed = try #require(response.allow).split(separator: ", ")
                    #expect(allowed.contains("OPTIONS") && !allowed.contains("TRACE"))
                }
            }
            #expect(origin.connectionCount == 0)
            let options = try await gateway.send("OPTIONS * HTTP/1.1\r\nHost: g\r\n\r\n")
            #expect(options["Allow"]?.contains("TRACE") == false)
            // The connection continues, also behind content.
            try await RawClient.with(port: gateway.port) { client in
                try await client.send("\(method) /a HTTP/1.1\r\nHost: g\r\nContent-Length: 5\r\n\r\nGET /")
                #expect(try await client.response().status == 405)
                try await client.send("GET /next HTTP/1.1\r\nHost: g\r\n\r\n")
                #expect(try await client.response().text.contains("X-Origin-Key: s3cret"))
            }
        }
    }

    @Test(arguments: methods, [false, true])
    func forwardedTraceHasNoSecret(_ method: String, isTrusted: Bool) async throws {
        let file = try Configuration(yaml: "version: 1\nclients: {trace: forward}\nroutes: [{origin: \"http://a\"}]")
        #expect(try GatewayConfiguration(file).forwardsTrace)
        try await withGateway(configure: {
            $0.forwardsTrace = true
            if isTrusted { $0.trustedClients = [AddressRange("127.0.0.1")].compactMap(\.self) }
        }) { gateway, origin in
            let fields = [("authorization", "Basic x"), ("cookie", "a=b"), ("x-api-key", "k"), ("x-seen", "1")]
            for response in try await both(gateway, method, fields) {
                let text = response.text.lowercased()
                #expect(response.status == 200 && text.contains("x-seen: 1"))
                for secret in ["s3cret", "authorization", "cookie", "x-api-key"] { #expect(!text.contains(secret)) }
            }
            let options = try await gateway.send("OPTIONS * HTTP/1.1\r\nHost: g\r\n\r\n")
            #expect(options["Allow"]?.contains("TRACE") == true)
        }
    }

    private static let counts: [(given: String, sent: String)] = [
        ("7", "6"), ("1", "0"), ("007", "6"), ("2147483648", "2147483647"), ("2147483649", "2147483647"),
        ("99999999999999999999999", "2147483647"), ("-1", "-1"), ("x", "x"), ("", ""),
    ]

    /// RFC 9110 §7.6.2.
    @Test(arguments: ["TRACE", "OPTIONS"])
    func decrementsMaxForwardsToWhatTheGatewayKnowsAtMost(method: String) async throws {
        try await withGateway(configure: { $0.forwardsTrace = true }) { gateway, origin in
            for (number, sample) in Self.counts.enumerated() {
                _ = try await both(gateway, method, [("max-forwards", sample.given)])
                let sent = origin.requests.dropFirst(2 * number).map { $0.values("Max-Forwards") }
                #expect(sent == [[sample.sent], [sample.sent]])
            }
            for response in try await both(gateway, method, [("max-forwards", "00")]) {
                #expect(response.status == (method == "OPTIONS" ? 204 : 501))
            }
            #expect(origin.requests.count == 2 * Self.counts.count)
        }
    }
}
