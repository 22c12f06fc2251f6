import HTTPCache
import HoldfastConfiguration
import HoldfastTesting
import Testing

@testable import HoldfastGateway
@testable import OriginConnections

/// The facts that a running gateway logs, as JSON.
@Suite(.timeLimit(.minutes(20)))
struct AccessLogLineTests {
    /// Runs a gateway, and returns the lines that it has logged in the end.
    private func lines(
        of origin: RawOrigin,
        _ level: Configuration.Log.Access = .all,
        configure: (inout GatewayConfiguration) -> Void = { _ in },
        _ body: (RunningGateway) async throws -> Void
    ) async throws -> [LoggedLine] {
        try await LoggedLine.all(of: origin.url, level, configure: configure, body)
    }

    private static let fresh = "Cache-Control: max-age=60\r\n"

    @Test func logAndMetricsNameOriginAlike() throws {
        let urls = ["https://a.example", "http://b.example:80", "https://c.example:8443/x"]
        var configuration = GatewayConfiguration(origin: try GatewayOrigin(urls[0]))
        configuration.routes = try GatewayRoutes(
            urls.enumerated().map { try GatewayRoute(host: "h\($0).example", origin: try GatewayOrigin($1)) }
        )
        let names = ConfigurationInForce(configuration, instance: 1, labels: RouteLabels()).originNames
        #expect(names == ["https://a.example", "http://b.example", "https://c.example:8443"])
        let labels = OriginTelemetry(OriginPool(limit: 1), configuration.routes).labels
        #expect(names.map(labels.label) == names)
    }

    @Test func onlyLinesOfForwardedRequestsHaveOriginPart() async throws {
        try await RawOrigin.with(respond: { request in
            request.target.hasPrefix("/n")
                ? .ok("no", fields: "Cache-Control: no-store\r\n") : .ok("s", fields: Self.fresh)
        }) { origin in
            let url = origin.url
            let lines = try await lines(of: origin) { gateway in
                _ = try await gateway.get("/s")
                try await RawClient.with(port: gateway.port) { client in
                    for target in ["/s", "/s", "/s", "/s", "/n1", "/n2"] {
                        try await client.send("GET \(target) HTTP/1.1\r\nHost: g\r\n\r\n")
                        #expect(try await client.response().status == 200)
                    }
                }
                #expect(await gateway.server.hotResponseCount() > 0)
                await origin.stop()
                #expect(try await gateway.get("/n3").status == 504)
            }
            try #require(lines.count == 8)
            for line in lines {
                let isHit = line["cache.result"] == "HIT"
                #expect(line["origin"] == (isHit ? nil : url), "\(line)")
                #expect((line.seconds("origin.duration") == nil) == isHit, "\(line)")
                if let whole = line.seconds("duration"), let part = line.seconds("origin.duration") {
                    #expect(part <= whole, "\(line)")
                }
                if let first = line.seconds("duration.first_byte"), let whole = line.seconds("duration") {
                    #expect(first <= whole, "\(line)")
                } else {
                    Issue.record("\(line)")
                }
                let isFetched = !isHit && line["url.path"] != "/n3"
                #expect(line.number("origin.status_code") == (isFetched ? 200 : nil), "\(line)")
                #expect((line.flag("origin.reused") != nil) == isFetched, "\(line)")
            }
            let kept = lines.filter { $0["url.path"] == "/n2" }
            #expect(kept.first?.flag("origin.reused") == true)
            #expect(lines.contains { $0["url.path"] == "/s" && $0.flag("origin.reused") == false })
        }
    }

    @Test func originStatusIsItsOwnAndNotTheClients() async throws {
        let steps: [RawOrigin.Step] = [
            .ok("a", fields: "Cache-Control: no-cache\r\nETag: \"a\"\r\n"),
            .response("HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\n\r\n"),
            .response("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"),
        ]
        try await RawOrigin.with(steps) { origin in
            let lines = try await lines(of: origin) { gateway in
                for (target, status) in [("/a", 200), ("/a", 200), ("/b", 503)] {
                    let response = try await gateway.get(target)
                    #expect(response.status == status)
                }
            }
            #expect(lines.map { $0.number("origin.status_code") } == [200, 304, 503])
            #expect(lines.map { $0.number("http.response.status_code") } == [200, 200, 503])
        }
    }

    /// The head was sent before. Mutant: content that was cut short is logged as stored.
    @Test func contentThatIsCutShortIsNotLoggedAsStored() async throws {
        let cut = "HTTP/1.1 200 OK\r\n\(Self.fresh)Content-Length: 1000\r\n\r\nabc"
        try await RawOrigin.with([.respondAndClose(cut), .ok("whole", fields: Self.fresh)]) { origin in
            let lines = try await lines(of: origin) { gateway in
                try await RawClient.with(port: gateway.port) { client in
                    try await client.send("GET /a HTTP/1.1\r\nHost: g\r\n\r\n")
                    let bytes = await client.readToEnd()
                    #expect(String(decoding: bytes, as: UTF8.self).hasSuffix("abc"))
                }
                let whole = try await gateway.get("/a")
                #expect(whole.status == 200)
            }
            #expect(lines.map { $0.flag("cache.stored") } == [false, true])
            #expect(lines.map { $0["cache.status"] } == ["holdfast; fwd=uri-miss", "holdfast; fwd=uri-miss; stored"])
        }
    }

    @Test(arguments: RawClient.counts) func eachLineHasItsConnectionAndNumber(clients: Int) async throws {
        try await RawOrigin.with(respond: { _ in .ok("s", fields: Self.fresh) }) { origin in
            let lines = try await lines(of: origin) { gateway in
                try await RawClient.onEach(of: clients, port: gateway.port) { client, number in
                    for _ in 0..<6 {
                        try await client.send("GET /\(number) HTTP/1.1\r\nHost: g\r\n\r\n")
                        _ = try await client.response()
                    }
                    try await client.send("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n")
                    #expect(try await client.response().status == 400)
                }
            }
            #expect(lines.count == clients * 7)
            let connections = Dictionary(grouping: lines) { $0.number("connection.id") ?? 0 }
            #expect(connections.count == clients && connections[0] == nil)
            for lines in connections.values {
                #expect(lines.map { $0.number("connection.requests") } == [1, 2, 3, 4, 5, 6, 7])
                #expect(Set(lines.dropLast().map { $0["url.path"] }).count == 1)
            }
        }
    }

    @Test func countsContentOfUnknownLength() async throws {
        try await RawOrigin.with([.ok("a"), .ok("b")]) { origin in
            let lines = try await lines(of: origin) { gateway in
                let post = "POST / HTTP/1.1\r\nHost: g\r\n"
                _ = try await gateway.send("\(post)Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")
                _ = try await gateway.send("\(post)Content-Length: 4\r\n\r\nabcd")
            }
            #expect(lines.map { $0.number("http.request.body.size") } == [5, 4])
        }
    }

    @Test(
        arguments: [Configuration.Log.Access.notable, .all, .off],
        RawClient.counts
    )
    func excessConnectionHasALine(level: Configuration.Log.Access, clients: Int) async throws {
        try await RawOrigin.with([.ok("a", fields: Self.fresh)]) { origin in
            let configure: (inout GatewayConfiguration) -> Void = {
                $0.maximumConnections = 1
                $0.identifiesRequests = true
            }
            let lines = try await lines(of: origin, level, configure: configure) { gateway in
                try await RawClient.with(port: gateway.port) { first in
                    try await first.send("GET / HTTP/1.1\r\nHost: g\r\n\r\n")
                    _ = try await first.response()
                    try await RawClient.onEach(of: clients, port: gateway.port) { client, _ in
                        let response = try await client.response()
                        #expect(response.status == 503)
                    }
                }
            }
            let busy = lines.filter { $0.number("http.response.status_code") == 503 }
            #expect(busy.count == (level == .off ? 0 : clients))
            for line in busy {
                #expect(line["error.type"] == "too-many-connections" && line["client.address"] == "127.0.0.1")
                #expect(line["http.request.method"] == nil && line["request.id"]?.utf8.count == 32)
            }
            #expect(Set(busy.map { $0["connection.id"] }).count == busy.count)
        }
    }

    @Test(arguments: RawClient.counts) func lineHasTheRequestNameThatItsClientGot(clients: Int) async throws {
        try await RawOrigin.with(respond: { _ in .ok("a", fields: Self.fresh) }) { origin in
            let seen = Gathered()
            let lines = try await lines(of: origin, configure: { $0.identifiesRequests = true }) { gateway in
                try await RawClient.onEach(of: clients, port: gateway.port) { client, number in
                    for _ in 0..<4 {
                        try await client.send("GET /?n=\(number) HTTP/1.1\r\nHost: g\r\n\r\n")
                        await seen.add(try await client.response()["X-Request-Id"] ?? "")
                    }
                }
            }
            let names = Set(lines.compactMap { $0["request.id"] })
            #expect(lines.count == clients * 4 && names.count == lines.count)
            #expect(await seen.names == names)
        }
    }

    private actor Gathered {
        var names: Set<String> = []

        func add(_ name: String) { names.insert(name) }
    }
}
