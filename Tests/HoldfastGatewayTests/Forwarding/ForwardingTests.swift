import HTTPCache
import HoldfastConfiguration
import HoldfastGateway
import Testing

/// Forwarding, RFC 9110 §7.6.
@Suite(.timeLimit(.minutes(20)))
struct ForwardingTests {
    @Test(arguments: ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "PROPFIND", "QUERY", "b-r*w'N", "get"])
    func passesAnyMethodExceptTRACE(method: String) async throws {
        try await RawOrigin.with([.ok("x")]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                let response = try await gateway.send("\(method) /m HTTP/1.1\r\nHost: g\r\n\r\n")
                #expect(response.status == 200)
                #expect(response["Cache-Status"]?.hasPrefix("holdfast; fwd=") == true)
                #expect(origin.requests.map(\.line) == ["\(method) /m HTTP/1.1"])
            }
        }
    }

    /// In requests and in responses.
    @Test func passesUnknownFieldsWithTheirCaseAndBytes() async throws {
        let value: [UInt8] = [0x61, 0x80, 0xFF, 0x62]
        let answer = Array("HTTP/1.1 200 OK\r\nX-BaCk: ".utf8) + value + Array("\r\nContent-Length: 0\r\n\r\n".utf8)
        try await RawOrigin.with([.response(answer)]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                try await RawClient.with(port: gateway.port) { client in
                    let request = Array("GET / HTTP/1.1\r\nHost: g\r\nX-OdD: ".utf8) + value + Array("\r\n\r\n".utf8)
                    try await client.send(request)
                    let response = try await client.response()
                    let field = response.fields.first { $0.name == "X-BaCk" }
                    #expect(field?.value == value)
                }
                let wanted = Array("\r\nX-OdD: ".utf8) + value + [0x0D]
                let head = try #require(origin.requests.first?.head)
                let found = head.indices.contains { head[$0...].starts(with: wanted) }
                #expect(found)
            }
        }
    }

    @Test(arguments: ["/%2e%2E/a//b?x=1&&y=%zz", "/a|b{}\"<>\\^`", "/?", "/??a;b", "/%ff%00"])
    func passesTargetsByteForByte(target: String) async throws {
        try await RawOrigin.with([.ok("x")]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                _ = try await gateway.get(target)
                #expect(origin.requests.map(\.line) == ["GET \(target) HTTP/1.1"])
            }
        }
    }

    @Test(arguments: ["200 Fine, thanks", "299 ", "418 I'm a teapot", "599 x", "600 Over", "999 Way out"])
    func passesOddStatusesAndPhrases(status: String) async throws {
        try await RawOrigin.with([.response("HTTP/1.1 \(status)\r\nContent-Length: 2\r\n\r\nok")]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                let response = try await gateway.get("/")
                #expect(response.line == "HTTP/1.1 \(status)")
                #expect(response.text == "ok")
            }
        }
    }

    /// docs/attacks.md, 5, 11. Mutants: a name removed from `FieldRules.isHopByHop` or from the
    /// rows of `RequestFieldTable`.
    @Test func dropsConnectionFieldsAndClaimsAboutTargetAndPath() async throws {
        let dropped = [
            "Connection: X-Nominated", "X-Nominated: 1", "Keep-Alive: timeout=5", "Proxy-Connection: keep-alive",
            "TE: trailers", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA",
            "Proxy-Authorization: Basic eA==",
            "X-Original-URL: /admin", "X-Rewrite-URL: /admin", "X-HTTP-Method-Override: DELETE", "X-Host: evil",
            "X-Forwarded-Host: evil", "X-Forwarded-Scheme: evil", "X-Forwarded-Port: 1", "X-Forwarded-For: 9.9.9.9",
            "X-Forwarded-Proto: evil", "Forwarded: for=9.9.9.9;host=evil", "X-Real-IP: 9.9.9.9",
        ]
        try await RawOrigin.with([.ok("x")]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                _ = try await gateway.get("/", fields: (dropped + ["X-Kept: 1"]).joined(separator: "\r\n") + "\r\n")
                let request = try #require(origin.requests.first)
                for line in dropped {
                    #expect(!request.text.lowercased().contains("\r\n" + line.lowercased() + "\r\n"), "\(line)")
                }
                #expect(!request.text.contains("evil"))
                #expect(request.values("X-Kept") == ["1"])
                #expect(request.values("Host") == [origin.authority])
                #expect(request.values("X-Forwarded-For") == ["127.0.0.1"])
                #expect(request.values("X-Forwarded-Proto") == ["http"])
                #expect(request.values("Forwarded") == ["for=127.0.0.1;proto=http"])
                #expect(request.values("Via").count == 1)
                #expect(request.values("Via").first?.hasPrefix("1.1 holdfast-") == true)
                #expect(request.values("Connection").isEmpty)
            }
        }
    }

    @Test func appendsItsOwnValuesToThoseOfTrustedProxy() async throws {
        let fields =
            "X-Forwarded-For: 9.9.9.9\r\nX-Forwarded-For: 10.0.0.1\r\nX-Forwarded-Proto: https\r\n"
            + "Forwarded: for=9.9.9.9;proto=https\r\nX-Forwarded-Host: evil\r\n"
        try await RawOrigin.with([.ok("x"), .ok("y")]) { origin in
            try await RunningGateway.with(
                origin: origin.url,
                configure: { $0.trustedClients = [AddressRange("127.0.0.0/8")].compactMap(\.self) }
            ) { gateway in
                _ = try await gateway.get("/", fields: fields)
                let request = try #require(origin.requests.first)
                #expect(request.values("X-Forwarded-For") == ["9.9.9.9, 10.0.0.1, 127.0.0.1"])
                #expect(request.values("Forwarded") == ["for=9.9.9.9;proto=https, for=127.0.0.1;proto=http"])
                #expect(request.values("X-Forwarded-Proto") == ["https"])
                #expect(request.values("X-Forwarded-Host").isEmpty)
                _ = try await gateway.get("/b", fields: "X-Forwarded-Proto: evil\r\n")
                #expect(origin.requests.last?.values("X-Forwarded-Proto") == ["http"])
            }
        }
    }

    /// A proxy such as nginx sends only the older fields.
    ///
    /// Mutant: `proxys-protocol-is-the-clients`.
    @Test(
        arguments: [
            ("X-Forwarded-For: 9.9.9.9, 10.0.0.1\r\nX-Forwarded-Proto: https\r\n", "for=9.9.9.9;proto=https, "),
            ("X-Forwarded-For: 2001:db8::1\r\nX-Forwarded-Proto: HTTPS\r\n", #"for="[2001:db8::1]";proto=https, "#),
            ("X-Forwarded-For: evil;host=evil\r\nX-Forwarded-Proto: http\r\n", "for=unknown;proto=http, "),
            ("X-Forwarded-For: 10.0.0.0/8\r\nX-Forwarded-Proto: http\r\n", "for=unknown;proto=http, "),
            ("X-Forwarded-Proto: https\r\n", "for=unknown;proto=https, "),
            ("X-Forwarded-For: 9.9.9.9\r\nX-Forwarded-Proto: https, http\r\n", ""),
            ("X-Forwarded-For: 9.9.9.9\r\n", ""),
        ]
    ) func forwardedStatesTheProtocolOfATrustedProxysClient(_ fields: String, _ element: String) async throws {
        try await RawOrigin.with([.ok("x")]) { origin in
            try await RunningGateway.with(
                origin: origin.url,
                configure: { $0.trustedClients = [AddressRange("127.0.0.0/8")].compactMap(\.self) }
            ) { gateway in
                _ = try await gateway.get("/", fields: fields)
                let request = try #require(origin.requests.first)
                #expect(request.values("Forwarded") == [element + "for=127.0.0.1;proto=http"])
            }
        }
    }

    @Test(arguments: [false, true]) func untrustedClientsSeeOnlyWhetherItWasAHit(isTrusted: Bool) async throws {
        let response = RawOrigin.Step.ok(
            "x",
            fields: "Cache-Control: max-age=60\r\nCache-Status: inner; hit; key=a\r\n"
        )
        try await RawOrigin.with([response]) { origin in
            try await RunningGateway.with(
                origin: origin.url,
                configure: {
                    $0.hidesCacheStatusDetails = true
                    if isTrusted { $0.trustedClients = [AddressRange("127.0.0.1")].compactMap(\.self) }
                }
            ) { gateway in
                let miss = try await gateway.get("/")
                let hit = try await gateway.get("/")
                let refused = try await gateway.send("OPTIONS * HTTP/1.1\r\nHost: g\r\n\r\n")
                if isTrusted {
                    #expect(miss["Cache-Status"] == "inner; hit; key=a, holdfast; fwd=uri-miss; stored")
                    #expect(hit["Cache-Status"] == "inner; hit; key=a, holdfast; hit; ttl=60")
                    #expect(refused["Cache-Status"] == "holdfast; detail=gateway")
                } else {
                    #expect(miss["Cache-Status"] == "holdfast; fwd=miss")
                    #expect(hit["Cache-Status"] == "holdfast; hit")
                    #expect(refused["Cache-Status"] == "holdfast; fwd=miss")
                }
            }
        }
    }

    /// docs/attacks.md, 34. The fields that downstream caches need stay, whatever the origin's
    /// Connection names. Mutant: `isProtected` returns `false`.
    @Test func originsConnectionRemovesNoFieldThatCachingDependsOn() async throws {
        let answer = """
            HTTP/1.1 200 OK\r\nConnection: Vary, ETag, Cache-Control, Set-Cookie, X-Nominated\r\nVary: Accept\r\nETag: "1"\r\n\
            Cache-Control: max-age=60\r\nSet-Cookie: a=b\r\nX-Nominated: 1\r\nContent-Length: 1\r\n\r\nx
            """
        try await RawOrigin.with([.response(answer)]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                let response = try await gateway.get("/")
                #expect(response["Vary"] == "Accept")
                #expect(response["ETag"] == "\"1\"")
                #expect(response["Cache-Control"] == "max-age=60")
                #expect(response["Set-Cookie"] == "a=b")
                #expect(response["X-Nominated"] == nil)
            }
        }
    }

    /// docs/attacks.md, 34. Mutant: `isProtectedInRequests` returns `false`.
    @Test(arguments: [
        "Authorization", "Cookie", "Cache-Control", "Range", "If-None-Match", "If-Modified-Since", "Accept",
    ])
    func clientsConnectionRemovesNoFieldThatKeysOrProtects(name: String) async throws {
        try await RawOrigin.with([.ok("x")]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                let fields = "Connection: \(name), Host, X-Forwarded-For\r\n\(name): value\r\n"
                _ = try await gateway.get("/", fields: fields)
                let request = try #require(origin.requests.first)
                #expect(request.values(name) == ["value"])
                #expect(request.values("Host") == [origin.authority])
                #expect(request.values("X-Forwarded-For") == ["127.0.0.1"])
            }
        }
    }

    /// It adds Via, Date and Cache-Status.
    @Test func dropsOriginsConnectionFieldsAndAddsItsOwn() async throws {
        let fields =
            "Connection: X-Hop, keep-alive\r\nX-Hop: 1\r\nKeep-Alive: timeout=5\r\nVia: 1.0 inner\r\n"
            + "Upgrade: h2c\r\nCache-Status: inner; hit\r\nX-Kept: 1\r\n"
        try await RawOrigin.with([.ok("x", fields: fields)]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                let response = try await gateway.get("/")
                for name in ["X-Hop", "Keep-Alive", "Upgrade", "Connection"] {
                    #expect(response[name] == nil, "\(name)")
                }
                #expect(response["Via"] == "1.0 inner, 1.1 holdfast")
                #expect(response["Cache-Status"]?.hasPrefix("inner; hit, holdfast; fwd=uri-miss") == true)
                #expect(response["Date"] == "Thu, 01 Jan 2026 00:00:00 GMT")
                #expect(response["X-Kept"] == "1")
            }
        }
    }

    @Test func clientsHostIsNeitherSentNorKeyed() async throws {
        try await RawOrigin.with([.ok("x", fields: "Cache-Control: max-age=60\r\n")]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                _ = try await gateway.send("GET /a HTTP/1.1\r\nHost: one\r\n\r\n")
                let second = try await gateway.send("GET http://two/a HTTP/1.1\r\nHost: three\r\n\r\n")
                #expect(second["Cache-Status"]?.contains("hit") == true)
                #expect(origin.requests.map { $0.values("Host") } == [[origin.authority]])
            }
        }
    }

    @Test func preservedHostIsSentAndKeyedAndChoosesNoOtherOrigin() async throws {
        let response = RawOrigin.Step.ok("x", fields: "Cache-Control: max-age=60\r\n")
        try await RawOrigin.with([response, response]) { origin in
            try await RunningGateway.with(
                origin: origin.url,
                configure: { $0.routes = GatewayRoutes(origin: $0.routes.routes[0].origin, preservesHost: true) }
            ) { gateway in
                _ = try await gateway.send("GET /a HTTP/1.1\r\nHost: one.example\r\n\r\n")
                let second = try await gateway.send("GET http://two.example/a HTTP/1.1\r\nHost: one.example\r\n\r\n")
                #expect(second["Cache-Status"]?.contains("fwd=uri-miss") == true)
                #expect(origin.requests.map { $0.values("Host") } == [["one.example"], ["two.example"]])
                #expect(origin.requests.map { $0.values("X-Forwarded-Host") } == [["one.example"], ["two.example"]])
            }
        }
    }

    @Test func putsOriginsPathBeforeEveryTarget() async throws {
        try await RawOrigin.with([.ok("x")]) { origin in
            try await RunningGateway.with(origin: origin.url + "/api/v1/") { gateway in
                _ = try await gateway.get("/a?b")
                #expect(origin.requests.map(\.line) == ["GET /api/v1/a?b HTTP/1.1"])
            }
        }
    }

    @Test func interimResponsesPassToHTTP11ButNotToHTTP10() async throws {
        let response = RawOrigin.Step.response(
            "HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\nConnection: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
        )
        try await RawOrigin.with([response, response]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                try await RawClient.with(port: gateway.port) { client in
                    try await client.send("GET / HTTP/1.1\r\nHost: g\r\n\r\n")
                    let interim = try await client.response()
                    #expect(interim.line == "HTTP/1.1 103 Early Hints")
                    #expect(interim["Link"] == "</a.css>")
                    #expect(interim["Connection"] == nil)
                    let final = try await client.response()
                    #expect(final.text == "ok")
                }
                let old = try await gateway.send("GET /b HTTP/1.0\r\n\r\n")
                #expect(old.status == 200)
            }
        }
    }

    @Test func respondsItselfToOPTIONSForTheServerAndCONNECT() async throws {
        try await RawOrigin.with { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                let options = try await gateway.send("OPTIONS * HTTP/1.1\r\nHost: g\r\n\r\n")
                #expect(options.status == 204)
                #expect(options["Allow"]?.contains("OPTIONS") == true)
                #expect(options["Content-Length"] == nil)
                #expect(options["Cache-Control"] == "no-store")
                #expect(options["Cache-Status"] == "holdfast; detail=gateway")
                let connect = try await gateway.send("CONNECT g:80 HTTP/1.1\r\nHost: g:80\r\n\r\n")
                #expect(connect.status == 501)
                #expect(connect["Connection"] == "close")
                #expect(origin.connectionCount == 0)
            }
        }
    }
}
