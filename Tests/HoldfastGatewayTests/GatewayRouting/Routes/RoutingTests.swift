import HTTPCache
import HoldfastGateway
import Testing

/// docs/attacks.md, 42.
@Suite(.timeLimit(.minutes(20)))
struct RoutingTests {
    private static let fresh = "Cache-Control: max-age=60\r\n"

    /// A gateway in front of two origins.
    private func withTwo(
        _ routes: (RawOrigin, RawOrigin) throws -> [GatewayRoute],
        _ body: (RunningGateway, RawOrigin, RawOrigin) async throws -> Void
    ) async throws {
        try await RawOrigin.with { one in
            try await RawOrigin.with { two in
                let routes = try GatewayRoutes(routes(one, two))
                try await RunningGateway.with(origin: one.url, configure: { $0.routes = routes }) { gateway in
                    try await body(gateway, one, two)
                    #expect(one.unscripted == 0 && two.unscripted == 0)
                }
            }
        }
    }

    private func byHost(_ one: RawOrigin, _ two: RawOrigin) throws -> [GatewayRoute] {
        [
            try GatewayRoute(host: "one.local", path: "/v1", origin: GatewayOrigin(one.url + "/api")),
            try GatewayRoute(host: "two.local", origin: GatewayOrigin(two.url)),
        ]
    }

    @Test func eachHostHasItsOriginPathAndStoredResponses() async throws {
        try await withTwo(byHost) { gateway, one, two in
            one.script(.ok("one", fields: Self.fresh))
            two.script(.ok("two", fields: Self.fresh))
            for _ in 0..<2 {
                let first = try await gateway.send("GET /v1/a?b HTTP/1.1\r\nHost: One.Local:80\r\n\r\n")
                #expect(first.text == "one")
                let second = try await gateway.send("GET http://two.local/v1/a?b HTTP/1.1\r\nHost: one.local\r\n\r\n")
                #expect(second.text == "two")
            }
            #expect(one.requests.map(\.line) == ["GET /api/a?b HTTP/1.1"])
            #expect(two.requests.map(\.line) == ["GET /v1/a?b HTTP/1.1"])
            #expect(one.requests.map { $0.values("Host") } == [[one.authority]])
        }
    }

    /// The request is not forwarded.
    @Test(arguments: [
        ("GET /x HTTP/1.1\r\nHost: one.local\r\n\r\n", "'one.local'"),
        ("GET http://one.local/x HTTP/1.1\r\nHost: else.local\r\n\r\n", "'one.local'"),
        ("GET /v1/x HTTP/1.0\r\n\r\n", "without a host"),
        ("POST /x?token=hunter2 HTTP/1.1\r\nHost: one.local\r\nContent-Length: 5\r\n\r\nhello", "'one.local'"),
    ])
    func requestThatMatchesNoRouteGets404ThatNamesTheHost(request: String, named: String) async throws {
        try await withTwo(byHost) { gateway, one, two in
            let response = try await gateway.send(request)
            #expect(response.status == 404)
            #expect(response["Content-Type"] == "application/problem+json")
            #expect(response["Cache-Status"] == "holdfast; detail=no-route")
            #expect(response.text.contains("urn:holdfast:problem:no-route") && response.text.contains(named))
            #expect(!response.text.contains("hunter2"))
            #expect(one.connectionCount == 0 && two.connectionCount == 0)
        }
    }

    /// The request is not forwarded.
    @Test(arguments: [
        "GET /v1/x HTTP/1.1\r\nHost: else.local\r\n\r\n",
        "GET http://else.local/v1/x HTTP/1.1\r\nHost: one.local\r\n\r\n",
        "POST /v1/x?token=hunter2 HTTP/1.1\r\nHost: else.local\r\nContent-Length: 5\r\n\r\nhello",
    ])
    func requestForUnknownHostGets421ThatDoesNotNameIt(request: String) async throws {
        try await withTwo(byHost) { gateway, one, two in
            let response = try await gateway.send(request)
            #expect(response.status == 421)
            #expect(response["Content-Type"] == "application/problem+json")
            #expect(response["Cache-Status"] == "holdfast; detail=unknown-host")
            #expect(response.text.contains("urn:holdfast:problem:unknown-host"))
            #expect(!response.text.contains("else.local") && !response.text.contains("hunter2"))
            #expect(one.connectionCount == 0 && two.connectionCount == 0)
        }
    }

    @Test func connectionContinuesAfterRequestThatMatchesNoRoute() async throws {
        try await withTwo(byHost) { gateway, _, two in
            two.script(.ok("two"))
            try await RawClient.with(port: gateway.port) { client in
                try await client.send(
                    "POST / HTTP/1.1\r\nHost: else.local\r\nContent-Length: 5\r\n\r\nhello"
                        + "GET / HTTP/1.1\r\nHost: two.local\r\n\r\n"
                )
                let refused = try await client.response()
                #expect(refused.status == 421)
                let next = try await client.response()
                #expect(next.text == "two")
            }
        }
    }

    @Test func severalHostsOrAnInvalidHostStayErrors() async throws {
        try await withTwo(byHost) { gateway, one, two in
            for fields in ["Host: one.local\r\nHost: two.local\r\n", "Host: one.local, two.local\r\n", ""] {
                let refused = try await gateway.send("GET /v1 HTTP/1.1\r\n\(fields)\r\n")
                #expect(refused.status == 400)
            }
            let asterisk = try await gateway.send("OPTIONS * HTTP/1.1\r\nHost: two.local\r\n\r\n")
            #expect(asterisk.status == 204)
            #expect(one.connectionCount == 0 && two.connectionCount == 0)
        }
    }

    @Test func preservedHostGoesToItsRoutesOriginAndIsKeyed() async throws {
        try await withTwo({ one, two in
            [
                try GatewayRoute(host: "*.tenants.local", origin: GatewayOrigin(one.url), preservesHost: true),
                try GatewayRoute(origin: GatewayOrigin(two.url)),
            ]
        }) { gateway, one, two in
            one.script(.ok("a", fields: Self.fresh), .ok("b", fields: Self.fresh))
            two.script(.ok("c", fields: Self.fresh))
            for host in ["a.tenants.local", "b.tenants.local", "a.tenants.local", "c.local", "d.local"] {
                _ = try await gateway.send("GET / HTTP/1.1\r\nHost: \(host)\r\n\r\n")
            }
            #expect(one.requests.map { $0.values("Host") } == [["a.tenants.local"], ["b.tenants.local"]])
            #expect(two.requests.map { $0.values("Host") } == [[two.authority]])
        }
    }

    /// A client of one route names the other route's origin as its host. The stored responses of
    /// one must not serve the other.
    /// The request is not forwarded.
    @Test func preservedHostOfAnotherRoutesOriginGets421() async throws {
        try await withTwo({ one, two in
            var preserved = try GatewayRoute(origin: GatewayOrigin(one.url), preservesHost: true)
            // Otherwise, the port would be removed.
            preserved.listenerPorts = [UInt16(two.port)]
            return [try GatewayRoute(host: "two.local", origin: GatewayOrigin(two.url)), preserved]
        }) { gateway, one, two in
            let refused = try await gateway.send("GET / HTTP/1.1\r\nHost: \(two.authority)\r\n\r\n")
            #expect(refused.status == 421)
            #expect(refused.text.contains("urn:holdfast:problem:misdirected"))
            #expect(one.connectionCount == 0 && two.connectionCount == 0)
            one.script(.ok("one"))
            let named = try await gateway.send("GET / HTTP/1.1\r\nHost: else.local\r\n\r\n")
            #expect(named.text == "one")
            one.script(.ok("none"))
            let nameless = try await gateway.send("GET / HTTP/1.0\r\n\r\n")
            #expect(nameless.text == "none")
        }
    }

    @Test func locationsLeadBackToTheRoute() async throws {
        try await withTwo(byHost) { gateway, one, _ in
            one.script(
                .response(
                    "HTTP/1.1 302 Found\r\nLocation: \(one.url)/api/b\r\nContent-Location: /api/a\r\nContent-Length: 0\r\n\r\n"
                )
            )
            let response = try await gateway.send("GET /v1/a HTTP/1.1\r\nHost: one.local\r\n\r\n")
            #expect(response["Location"] == "http://one.local/v1/b")
            #expect(response["Content-Location"] == "/v1/a")
        }
    }

    /// Connections to each origin are kept.
    @Test func unreachableOriginAffectsNoOther() async throws {
        try await withTwo(byHost) { gateway, one, two in
            one.script(.ok("x"))
            two.script(.ok("y"), .ok("z"))
            _ = try await gateway.send("GET /v1 HTTP/1.1\r\nHost: one.local\r\n\r\n")
            _ = try await gateway.send("GET /y HTTP/1.1\r\nHost: two.local\r\n\r\n")
            await one.stop()
            let gone = try await gateway.send("GET /v1/b HTTP/1.1\r\nHost: one.local\r\n\r\n")
            #expect(gone.status == 504)
            let there = try await gateway.send("GET /z HTTP/1.1\r\nHost: two.local\r\n\r\n")
            #expect(there.text == "z")
            #expect(two.connectionCount == 1)
        }
    }
}
