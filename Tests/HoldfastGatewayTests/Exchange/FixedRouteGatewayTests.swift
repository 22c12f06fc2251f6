import HTTPCache
import HoldfastConfiguration
import HoldfastTesting
import Testing

@testable import HoldfastGateway

/// Routes with `respond`, over sockets.
@Suite(.timeLimit(.minutes(20))) struct FixedRouteGatewayTests {
    private static let fresh: @Sendable (RawOrigin.Request) -> RawOrigin.Step = { _ in
        .ok("origin", fields: "Cache-Control: max-age=60\r\n")
    }

    /// Runs a gateway with routes of a file, in which `ORIGIN` is the origin's URL.
    private func with(
        _ routes: String,
        trusted: [String] = [],
        _ body: (RunningGateway, RawOrigin) async throws -> Void
    ) async throws {
        try await RawOrigin.with(respond: Self.fresh) { origin in
            let yaml = "version: 1\nroutes:\n" + routes.replacing("ORIGIN", with: origin.url)
            var configuration = try GatewayConfiguration(HoldfastConfiguration.Configuration(yaml: yaml))
            configuration.trustedClients = trusted.compactMap { AddressRange($0) }
            try await RunningGateway.with(
                origin: origin.url,
                configure: {
                    $0.routes = configuration.routes
                    $0.fixedRoutes = configuration.fixedRoutes
                    $0.trustedClients = configuration.trustedClients
                },
                configureTransport: { $0.routes = configuration.routes }
            ) { try await body($0, origin) }
        }
    }

    private static let toHTTPS = """
          - {host: shop.example, path: /.well-known/acme-challenge, origin: "ORIGIN/acme"}
          - name: to-https
            host: shop.example
            match: {scheme: http}
            respond: {status: 301, location: "https://www.shop.example{path}{query}"}
          - {host: shop.example, origin: "ORIGIN"}
          - {host: other.example, path: /in, origin: "ORIGIN"}

        """

    private func ask(
        _ kind: EitherClient.Kind,
        _ gateway: RunningGateway,
        _ request: EitherClient.Request
    ) async throws -> EitherClient.Answer {
        try await EitherClient.with(kind, port: gateway.port) { try await $0.ask(request) }
    }

    /// Mutants: `client-names-the-host`, `fixed-answer-is-asked-after-the-cache`,
    /// `order-of-fixed-routes-is-ignored`.
    @Test(arguments: EitherClient.Kind.allCases) func redirectsToTheConfiguredHost(_ kind: EitherClient.Kind)
        async throws
    {
        try await with(Self.toHTTPS) { gateway, origin in
            for method in ["GET", "HEAD", "POST", "TRACE"] {
                for target in ["/", "/a?b=1&c=%20", "//evil.example/x", "/%0d%0aSet-Cookie:%20a=b?%0d%0a"] {
                    var request = EitherClient.Request(method: method, target: target, host: "SHOP.example")
                    if method == "POST" { request.content = "abc" }
                    let answer = try await ask(kind, gateway, request)
                    #expect(answer.status == 301 && answer.text.isEmpty)
                    #expect(answer.field("location") == "https://www.shop.example" + target)
                    #expect(answer.field("content-length") == "0" && answer.field("cache-control") == "no-store")
                    #expect(answer.field("cache-status") == "holdfast; detail=respond")
                    #expect(answer.field("set-cookie") == nil)
                }
            }
            #expect(origin.requests.isEmpty)
            // A route that comes first is not redirected.
            let target = "/.well-known/acme-challenge/x"
            let challenge = try await ask(kind, gateway, .init(target: target, host: "shop.example"))
            #expect(challenge.status == 200 && origin.requests.map(\.line) == ["GET /acme/x HTTP/1.1"])
        }
    }

    /// Mutants: `scheme-of-a-proxy-is-ignored`, `scheme-of-any-client-is-believed`.
    @Test(arguments: EitherClient.Kind.allCases) func proxyStatesTheScheme(_ kind: EitherClient.Kind) async throws {
        for trusted in [["127.0.0.1"], []] {
            try await with(Self.toHTTPS, trusted: trusted) { gateway, origin in
                // Twice and more often, so that the hot table has the response.
                for _ in 0..<4 {
                    for (scheme, status) in [("https", trusted.isEmpty ? 301 : 200), ("http", 301), ("ftp", 301)] {
                        let fields = [(name: "X-Forwarded-Proto", value: scheme)]
                        let request = EitherClient.Request(target: "/a", host: "shop.example", fields: fields)
                        let answer = try await ask(kind, gateway, request)
                        #expect(answer.status == status, "\(scheme)")
                        await gateway.waitForFills(upTo: 0)
                    }
                }
                #expect(origin.requests.count == (trusted.isEmpty ? 0 : 1))
            }
        }
    }

    /// Mutant: `unknown-host-is-echoed`.
    @Test(arguments: EitherClient.Kind.allCases) func unknownHostIsMisdirected(_ kind: EitherClient.Kind) async throws {
        try await with(Self.toHTTPS) { gateway, origin in
            for host in ["evil.example", "www.shop.example", "shop.example.", "evil.example:8080"] {
                let answer = try await ask(kind, gateway, .init(target: "/a", host: host))
                #expect(answer.status == 421 && answer.text.contains("urn:holdfast:problem:unknown-host"))
                #expect(answer.field("location") == nil && !answer.text.contains(host))
                let fields = [(name: "Accept", value: "text/html")]
                let page = try await ask(kind, gateway, .init(target: "/a", host: host, fields: fields))
                #expect(page.status == 421 && page.text.hasPrefix("<!doctype html>") && !page.text.contains(host))
            }
            // The host is known, and the path is not.
            let lost = try await ask(kind, gateway, .init(target: "/a", host: "other.example"))
            #expect(lost.status == 404 && lost.text.contains("urn:holdfast:problem:no-route"))
            #expect(origin.requests.isEmpty)
        }
    }

    @Test(arguments: EitherClient.Kind.allCases) func fixedContent(_ kind: EitherClient.Kind) async throws {
        let routes = """
              - {path: /robots.txt, respond: {status: 200, body: "User-agent: *"}}
              - {path: /gone, respond: {status: 410, body: "<p>Gone", content-type: text/html}}
              - {path: /none, respond: {status: 204}}
              - {match: {field: {user-agent: [bad]}, query: {x: ["1"]}}, respond: {status: 403}}
              - {path: /a, match: {cookie: {"edit_*": ["1"]}}, respond: {status: 307, location: /login}}
              - {origin: "ORIGIN"}

            """
        try await with(routes) { gateway, origin in
            let robots = try await ask(kind, gateway, .init(target: "/robots.txt"))
            #expect(robots.status == 200 && robots.text == "User-agent: *")
            #expect(robots.field("content-type") == "text/plain; charset=utf-8")
            #expect(robots.field("x-content-type-options") == "nosniff")
            let head = try await ask(kind, gateway, .init(method: "HEAD", target: "/robots.txt"))
            #expect(head.text.isEmpty && head.field("content-length") == "13")
            let gone = try await ask(kind, gateway, .init(target: "/gone/a"))
            #expect(gone.status == 410 && gone.field("content-type") == "text/html")
            let none = try await ask(kind, gateway, .init(target: "/none"))
            #expect(none.status == 204 && none.field("content-length") == nil)
            let agent = (name: "User-Agent", value: "bad")
            #expect(try await ask(kind, gateway, .init(target: "/a?x=1", fields: [agent])).status == 403)
            #expect(try await ask(kind, gateway, .init(target: "/a?x=2", fields: [agent])).status == 200)
            let cookie = (name: "Cookie", value: "a=b; edit_7=1")
            let login = try await ask(kind, gateway, .init(target: "/a", fields: [cookie]))
            #expect(login.status == 307 && login.field("location") == "/login")
            #expect(origin.requests.count == 1)
        }
    }

    /// A stored response neither prevents the answer nor gets another client's.
    @Test func conditionsHoldWithStoredResponses() async throws {
        let routes = """
              - {match: {cookie: [preview]}, respond: {status: 403}}
              - {origin: "ORIGIN"}

            """
        try await with(routes) { gateway, origin in
            try await RawClient.onEach(of: 30, port: gateway.port) { client, number in
                for turn in 0..<12 {
                    let isPreview = (number + turn).isMultiple(of: 3)
                    let cookie = isPreview ? "Cookie: preview=1\r\n" : ""
                    try await client.send("GET /a HTTP/1.1\r\nHost: g\r\n\(cookie)\r\n")
                    #expect(try await client.response().status == (isPreview ? 403 : 200))
                }
            }
            #expect(origin.requests.count < 30)
        }
    }

    @Test func webSocketIsRedirected() async throws {
        try await with(Self.toHTTPS) { gateway, origin in
            let handshake =
                "Host: shop.example\r\nConnection: upgrade\r\nUpgrade: websocket\r\n"
                + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
            let response = try await gateway.send("GET /ws HTTP/1.1\r\n" + handshake)
            #expect(response.status == 301 && response["Location"] == "https://www.shop.example/ws")
            #expect(origin.connectionCount == 0)
        }
    }

    @Test func answersAreCounted() async throws {
        try await with(Self.toHTTPS) { gateway, _ in
            let before = await Scrape(gateway)
            for _ in 0..<3 { _ = try await gateway.send("GET / HTTP/1.1\r\nHost: shop.example\r\n\r\n") }
            let after = await Scrape(gateway)
            let name = "http_server_request_duration_seconds"
            #expect(after.count(name) - before.count(name) == 3)
        }
    }

    @Test func answersAreLogged() async throws {
        try await RawOrigin.with(respond: Self.fresh) { origin in
            let yaml = """
                version: 1
                routes:
                  - {name: gone, path: /old, respond: {status: 410, body: "gone"}}
                  - {path: /none, respond: {status: 404}}
                  - {origin: "\(origin.url)"}
                """
            let configuration = try GatewayConfiguration(HoldfastConfiguration.Configuration(yaml: yaml))
            let lines = try await LoggedLine.all(
                of: origin.url,
                configure: { ($0.routes, $0.fixedRoutes) = (configuration.routes, configuration.fixedRoutes) }
            ) { gateway in
                for path in ["/old", "/none", "/other"] { _ = try await gateway.get(path) }
            }
            let statuses = lines.compactMap { $0.number("http.response.status_code") }
            let routes = lines.compactMap { $0["http.route"] }
            #expect(Dictionary(zip(statuses, routes)) { $1 } == [410: "gone", 404: "2", 200: "3"])
        }
    }

    /// A gateway without an origin, such as one that only redirects.
    @Test(arguments: EitherClient.Kind.allCases) func everyRouteMayBeAnsweredHere(_ kind: EitherClient.Kind)
        async throws
    {
        let routes = """
              - {host: shop.example, path: /old, respond: {status: 301, location: "/new"}}
              - {host: shop.example, path: /robots.txt, respond: {status: 200, body: "User-agent: *"}}

            """
        try await with(routes) { gateway, origin in
            let old = try await ask(kind, gateway, .init(target: "/old/a", host: "shop.example"))
            #expect(old.status == 301 && old.field("location") == "/new")
            let robots = try await ask(kind, gateway, .init(target: "/robots.txt", host: "shop.example"))
            #expect(robots.status == 200 && robots.text == "User-agent: *")
            for (host, status) in [("shop.example", 404), ("evil.example", 421)] {
                let lost = try await ask(kind, gateway, .init(target: "/other", host: host))
                #expect(lost.status == status && lost.field("location") == nil)
            }
            #expect(origin.requests.isEmpty)
        }
    }

    @Test func requestCutAtEachByteIsRedirected() async throws {
        try await with(Self.toHTTPS) { gateway, _ in
            let request = Array("GET /a?b HTTP/1.1\r\nHost: shop.example\r\n\r\n".utf8)
            try await RawClient.with(port: gateway.port) { client in
                for cut in request.indices {
                    try await client.send(Array(request[..<cut]))
                    try await client.send(Array(request[cut...]))
                    let response = try await client.response()
                    #expect(response["Location"] == "https://www.shop.example/a?b")
                }
            }
        }
    }
}
