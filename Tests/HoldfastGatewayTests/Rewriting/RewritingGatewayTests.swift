import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastConfiguration
import HoldfastTesting
import NIOCore
import Testing

@testable import HoldfastGateway

/// Responses that are rewritten on their way out, over sockets.
@Suite(.timeLimit(.minutes(20))) struct RewritingGatewayTests {
    /// The bytes of all stored responses.
    private func stored(_ gateway: RunningGateway) -> [String] {
        gateway.store.all.compactMap { $0.content?.body.map { String(buffer: $0) } }
    }

    @Test func eachClientGetsItsOwnURLsFromOneStoredCopy() async throws {
        try await RewritingGateway.with { gateway, origin in
            for host in ["one.example", "two.example:81", "one.example", "[::1]:8080"] {
                let response = try await gateway.ask(host: host)
                let page = RewritingGateway.page("http://\(host)/o")
                #expect(response.text == page)
                // The first response passes as a stream.
                let isHit = response["Cache-Status"]?.contains("hit") == true
                #expect(response["Content-Length"] == (isHit ? "\(page.utf8.count)" : nil))
                #expect(response["ETag"] == "W/\"x\"")
                for name in ["Accept-Ranges", "Content-MD5", "Digest", "Content-Digest", "Repr-Digest"] {
                    #expect(response[name] == nil, "\(name)")
                }
            }
            #expect(origin.requests.count == 1)
            #expect(stored(gateway) == [RewritingGateway.page(origin.url)])
            #expect(gateway.store.all.first?.head.fields[.eTag] == "\"x\"")
            #expect(await gateway.server.hotResponseCount() == 0)
        }
    }

    /// Thirty connections, each with its own host, ask at once for what is not stored yet, and
    /// again when it is.
    @Test(arguments: [1, 2_000], [true, false])
    func sharedFetchesTellNoHostToOthers(repeating: Int, isResident: Bool) async throws {
        let respond: @Sendable (RawOrigin.Request) -> RawOrigin.Step = {
            let page = RewritingGateway.page(of: $0, repeating: repeating)
            return .response(
                RewritingGateway.response(page, fields: RewritingGateway.fresh + "Location: /there\r\n")
            )
        }
        try await RewritingGateway.with(respond, hasResidentBodies: isResident) { gateway, origin in
            let port = gateway.port
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<30 {
                    group.addTask {
                        let host = "host\(number).example"
                        let page = RewritingGateway.page("http://\(host)/o", repeating: repeating)
                        try await RawClient.with(port: port) { client in
                            if number % 2 == 0 {
                                for _ in 0..<2 {
                                    try await client.send("GET /o/page HTTP/1.1\r\nHost: \(host)\r\n\r\n")
                                    let response = try await client.response()
                                    try #require(response.text == page && response["Location"] == "/o/there")
                                }
                                return
                            }
                            let frames = FrameClient(client)
                            try await frames.send(FrameClient.beginning())
                            for stream: UInt32 in [1, 3] {
                                try await frames.send(FrameClient.get("/o/page", on: stream, authority: host))
                                let response = try #require(try await frames.responses([stream])[stream])
                                try #require(response.text == page && response["location"] == "/o/there")
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
            await gateway.waitForFills(upTo: 0)
            #expect(gateway.store.all.count == 1)
            #expect(gateway.store.all.first?.head.fields[.location] == "/there")
            let page = RewritingGateway.page(origin.url, repeating: repeating)
            #expect(gateway.store.all.first?.bodyLength == Int64(page.utf8.count))
            #expect(await gateway.server.hotResponseCount() == 0)
        }
    }

    @Test(
        arguments: [
            ("Location: ", "/x", "/o/x"), ("Content-Location: ", "ORIGIN/x", "http://gw.example/o/x"),
            ("Link: ", "<ORIGIN/x>; rel=next", "<http://gw.example/o/x>; rel=next"),
            ("Refresh: ", "1; url=ORIGIN/x", "1; url=http://gw.example/o/x"),
            ("WWW-Authenticate: ", "Bearer realm=\"ORIGIN/t\"", "Bearer realm=\"http://gw.example/o/t\""),
        ],
        ["max-age=60", "no-store", "private"]
    )
    func translatesFields(field: (String, String, String), control: String) async throws {
        let respond: @Sendable (RawOrigin.Request) -> RawOrigin.Step = {
            let url = "http://\($0.values("host").first ?? "")"
            let line = field.0 + field.1.replacing("ORIGIN", with: url)
            return .ok("text", fields: "\(line)\r\nCache-Control: \(control)\r\nContent-Type: text/plain\r\n")
        }
        try await RewritingGateway.with(rewriting: .init(), respond) { gateway, _ in
            for _ in 0..<5 {
                let response = try await gateway.ask(host: "gw.example")
                #expect(response[String(field.0.dropLast(2))] == field.2)
                #expect(response.text == "text")
            }
            #expect(await gateway.server.hotResponseCount() == 0)
        }
        try await RewritingGateway.with(rewriting: .none, respond) { gateway, origin in
            let response = try await gateway.ask(host: "gw.example")
            #expect(response[String(field.0.dropLast(2))] == field.1.replacing("ORIGIN", with: origin.url))
        }
    }

    @Test func servesOtherResponsesInTheFastestWay() async throws {
        let respond: @Sendable (RawOrigin.Request) -> RawOrigin.Step = { _ in
            let link = "Link: <https://other.example/>\r\nContent-Type: text/plain\r\n"
            return .ok("text", fields: RewritingGateway.fresh + link)
        }
        try await RewritingGateway.with(respond) { gateway, _ in
            try await RawClient.with(port: gateway.port) { client in
                for _ in 0..<6 {
                    try await client.send("GET /o/page HTTP/1.1\r\nHost: gw.example\r\n\r\n")
                    #expect(try await client.response().text == "text")
                    await gateway.waitForFills(upTo: 0)
                }
            }
            #expect(await gateway.server.hotResponseCount() > 0)
        }
    }

    @Test(arguments: ["no-store", "private"]) func rewritesUncacheableContent(control: String) async throws {
        let respond: @Sendable (RawOrigin.Request) -> RawOrigin.Step = {
            .response(RewritingGateway.response(RewritingGateway.page(of: $0), fields: "Cache-Control: \(control)\r\n"))
        }
        try await RewritingGateway.with(respond) { gateway, _ in
            let response = try await gateway.ask(host: "gw.example")
            #expect(response.text == RewritingGateway.page("http://gw.example/o"))
        }
    }

    @Test func rewritesWhenTheOriginIsUnreachable() async throws {
        try await RewritingGateway.with { gateway, origin in
            _ = try await gateway.ask(host: "one.example")
            await origin.stop()
            gateway.clock.advance(by: .seconds(86_400))
            for host in ["two.example", "three.example"] {
                let response = try await gateway.ask(host: host)
                #expect(response["Cache-Status"]?.contains("detail=unreachable") == true)
                #expect(response.text == RewritingGateway.page("http://\(host)/o"))
            }
        }
    }

    /// The stream is cut at each place of a URL.
    @Test(arguments: [1, 30]) func rewritesStreamsWhereverTheyAreCut(connections: Int) async throws {
        let respond: @Sendable (RawOrigin.Request) -> RawOrigin.Step = { request in
            .stream { writer in
                let page = Array(RewritingGateway.page(of: request).utf8)
                try await writer.write(
                    "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nCache-Control: max-age=60\r\n"
                        + "Transfer-Encoding: chunked\r\n\r\n"
                )
                for byte in page { try await writer.write(Array("1\r\n".utf8) + [byte] + Array("\r\n".utf8)) }
                try await writer.write("0\r\n\r\n")
            }
        }
        try await RewritingGateway.with(respond) { gateway, _ in
            try await RawClient.onEach(of: connections, port: gateway.port) { client, number in
                try await client.send("GET /o/\(number) HTTP/1.1\r\nHost: gw.example\r\n\r\n")
                let response = try await client.response()
                try #require(response.text == RewritingGateway.page("http://gw.example/o"))
                try #require(response["Content-Length"] == nil && response.isComplete)
            }
        }
    }

    @Test func doesNotLetBrokenContentLookComplete() async throws {
        let respond: @Sendable (RawOrigin.Request) -> RawOrigin.Step = { request in
            let page = RewritingGateway.page(of: request, repeating: 3_000)
            let response = RewritingGateway.response(page, fields: "Cache-Control: no-store\r\n")
            return .respondAndClose(String(response.dropLast(10)))
        }
        try await RewritingGateway.with(respond) { gateway, _ in
            try await RawClient.with(port: gateway.port) { client in
                try await client.send("GET /o/page HTTP/1.1\r\nHost: gw.example\r\n\r\n")
                let response = try? await client.response()
                #expect(response?.isComplete != true)
            }
        }
    }

    @Test func leavesWhatIsCodedLargeOrNotToBeTransformed() async throws {
        let fields = [
            "Content-Encoding: gzip\r\n", "Cache-Control: max-age=60, no-transform\r\n", "Content-Type: text/htmlx\r\n",
        ]
        for field in fields {
            let type = field.hasPrefix("Content-Type") ? "text/htmlx" : "text/html"
            let respond: @Sendable (RawOrigin.Request) -> RawOrigin.Step = {
                let more = field.hasPrefix("Content-Type") ? "" : field
                return .response(RewritingGateway.response(RewritingGateway.page(of: $0), type: type, fields: more))
            }
            try await RewritingGateway.with(respond) { gateway, origin in
                let response = try await gateway.ask(host: "gw.example")
                #expect(response.text == RewritingGateway.page(origin.url), "\(field)")
                #expect(response["ETag"] == "\"x\"")
                #expect(response["Content-Digest"] != nil && response["Accept-Ranges"] == "bytes")
                #expect(origin.requests.first?.values("accept-encoding") == ["identity"])
            }
        }
    }

    @Test func leavesContentAboveTheLimit() async throws {
        let limit = Int(ResponseRewriting.contentLimit)
        let respond: @Sendable (RawOrigin.Request) -> RawOrigin.Step = { request in
            let page = RewritingGateway.page(of: request)
            let more = request.target == "/above" ? 1 : 0
            let content = page + String(repeating: "-", count: limit + more - page.utf8.count)
            return .response(RewritingGateway.response(content, fields: RewritingGateway.fresh))
        }
        try await RewritingGateway.with(respond) { gateway, origin in
            for target in ["above", "above", "below", "below"] {
                let response = try await gateway.ask("GET", "/o/\(target)", host: "gw.example")
                let base = target == "above" ? origin.url : "http://gw.example/o"
                #expect(response.text.hasPrefix(RewritingGateway.page(base) + "---"))
                #expect(response["ETag"] == (target == "above" ? "\"x\"" : "W/\"x\""))
            }
            // A 304 has the tag of the 200, whichever form of it the client names.
            for target in ["above", "below"] {
                let tag = target == "above" ? "\"x\"" : "W/\"x\""
                for named in ["\"x\"", "W/\"x\"", "*"] {
                    let fields = "If-None-Match: \(named)\r\n"
                    let response = try await gateway.ask("GET", "/o/\(target)", host: "gw.example", fields: fields)
                    #expect(response.status == 304 && response["ETag"] == tag, "\(named)")
                }
            }
            let part = try await gateway.ask("GET", "/o/above", host: "gw.example", fields: "Range: bytes=0-4\r\n")
            #expect(part.status == 206 && part.text == "<a hr")
        }
    }

    /// Its length is not known when it comes, so it is rewritten to its end, and never in part.
    @Test func passesNoPartOfLongContentOfUnknownLength() async throws {
        let whole = RewritingGateway.page("http://o.example") + String(repeating: "-", count: 17 << 20)
        let respond: @Sendable (RawOrigin.Request) -> RawOrigin.Step = { _ in
            .respondAndClose(
                "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nETag: \"x\"\r\nCache-Control: max-age=60\r\n"
                    + "Connection: close\r\n\r\n\(whole)"
            )
        }
        try await RewritingGateway.with(respond) { gateway, _ in
            let count = try await gateway.ask(host: "gw.example").text.utf8.count
            #expect(count == whole.utf8.count)
            await gateway.waitForFills(upTo: 0)
            let part = try await gateway.ask(host: "gw.example", fields: "Range: bytes=0-4\r\n")
            #expect(part.status == 200 && part["ETag"] == "W/\"x\"" && part.text.utf8.count == count)
        }
    }

    @Test func respondsToHeadAsToGet() async throws {
        try await RewritingGateway.with { gateway, origin in
            for _ in 0..<2 {
                let response = try await gateway.ask("HEAD", host: "gw.example")
                #expect(response.status == 200 && response.content.isEmpty)
                #expect(response["ETag"] == "W/\"x\"")
                #expect(response["Content-Length"] == nil && response["Accept-Ranges"] == nil)
                _ = try await gateway.ask(host: "gw.example")
            }
            #expect(origin.requests.count <= 2)
        }
    }

    @Test func confirmsAWeakenedTag() async throws {
        try await RewritingGateway.with { gateway, origin in
            _ = try await gateway.ask(host: "gw.example")
            for tag in ["W/\"x\"", "\"x\"", "*"] {
                let response = try await gateway.ask(host: "gw.example", fields: "If-None-Match: \(tag)\r\n")
                #expect(response.status == 304 && response.content.isEmpty)
                #expect(response["ETag"] == "W/\"x\"")
                #expect(response["Content-Length"] == nil)
            }
            #expect(try await gateway.ask(host: "gw.example", fields: "If-None-Match: \"y\"\r\n").status == 200)
            // Strong comparison: a weak tag never matches. RFC 9110 §13.1.1
            _ = try await gateway.ask("PUT", host: "gw.example", fields: "If-Match: W/\"x\"\r\nContent-Length: 0\r\n")
            #expect(origin.requests.last?.values("if-match") == ["W/\"x\""])
        }
    }

    @Test func weakensTheTagOfAnOriginsOwn304() async throws {
        let respond: @Sendable (RawOrigin.Request) -> RawOrigin.Step = { _ in
            .response("HTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\n\r\n")
        }
        try await RewritingGateway.with(respond) { gateway, _ in
            let response = try await gateway.ask(host: "gw.example", fields: "If-None-Match: W/\"x\"\r\n")
            #expect(response.status == 304 && response["ETag"] == "W/\"x\"")
        }
    }

    /// A client has the strong tag only of content that was not rewritten.
    @Test(arguments: [
        ("\"x\"", "\"x\""), ("W/\"y\", \"x\"", "\"x\""), ("\"xx\", W/\"x\"", "W/\"x\""), ("*", "W/\"x\""),
    ])
    func keepsTheTagThatTheClientNames(named: String, expected: String) async throws {
        let respond: @Sendable (RawOrigin.Request) -> RawOrigin.Step = { _ in
            .response("HTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\n\r\n")
        }
        try await RewritingGateway.with(respond) { gateway, _ in
            let response = try await gateway.ask(host: "gw.example", fields: "If-None-Match: \(named)\r\n")
            #expect(response.status == 304 && response["ETag"] == expected)
        }
    }

    @Test func takesTheSchemeFromATrustedClientOnly() async throws {
        for isTrusted in [true, false] {
            try await RewritingGateway.with(
                configure: { if isTrusted { $0.trustedClients = [AddressRange("127.0.0.1")].compactMap(\.self) } }
            ) { gateway, _ in
                let fields = "X-Forwarded-Proto: https\r\nX-Forwarded-Host: evil.example\r\n"
                let response = try await gateway.ask(host: "gw.example", fields: fields)
                let base = isTrusted ? "https://gw.example/o" : "http://gw.example/o"
                #expect(response.text == RewritingGateway.page(base))
                // The same bytes of a request, or others: no client gets what was made for another.
                #expect(try await gateway.ask(host: "gw.example").text == RewritingGateway.page("http://gw.example/o"))
            }
        }
    }

    @Test func rewritesLinksOfInterimResponses() async throws {
        let respond: @Sendable (RawOrigin.Request) -> RawOrigin.Step = { request in
            let url = "http://\(request.values("host").first ?? "")"
            return .response(
                "HTTP/1.1 103 Early Hints\r\nLink: <\(url)/a.css>; rel=preload\r\n\r\n"
                    + "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
            )
        }
        try await RewritingGateway.with(respond) { gateway, _ in
            let port = gateway.port
            try await RawClient.onEach(of: 30, port: port) { client, number in
                try await client.send("GET /o/page HTTP/1.1\r\nHost: host\(number).example\r\n\r\n")
                let first = try await client.response()
                guard first.status == 103 else { return }
                try #require(first["Link"] == "<http://host\(number).example/o/a.css>; rel=preload")
            }
        }
    }

    /// The cache sees the origin's `Location`. RFC 9111 §4.4
    @Test func invalidatesByTheOriginsLocation() async throws {
        let respond: @Sendable (RawOrigin.Request) -> RawOrigin.Step = { request in
            if request.line.hasPrefix("POST") {
                return .response("HTTP/1.1 201 Created\r\nLocation: /page\r\nContent-Length: 0\r\n\r\n")
            }
            let page = RewritingGateway.page(of: request)
            return .response(RewritingGateway.response(page, fields: RewritingGateway.fresh))
        }
        try await RewritingGateway.with(respond) { gateway, origin in
            _ = try await gateway.ask(host: "gw.example")
            let created = try await gateway.ask("POST", "/o/form", host: "gw.example", fields: "Content-Length: 0\r\n")
            #expect(created["Location"] == "/o/page")
            _ = try await gateway.ask(host: "gw.example")
            #expect(origin.requests.count == 3)
        }
    }

    @Test func readsTheConfigurationFile() async throws {
        try await RawOrigin.with(
            respond: { .response(RewritingGateway.response(RewritingGateway.page(of: $0), type: "application/json")) }
        ) { origin in
            let file = try Configuration(
                yaml: """
                    version: 1
                    routes:
                      - {host: a.local, origin: "\(origin.url)", rewrite: {bodies: [application/json]}}
                      - {host: b.local, origin: "\(origin.url)", rewrite: false}
                    """
            )
            let routes = try GatewayRoutes(file.routes)
            try await RunningGateway.with(origin: origin.url, configure: { $0.routes = routes }) { gateway in
                let rewritten = try await gateway.ask(host: "a.local")
                #expect(rewritten.text == RewritingGateway.page("http://a.local"))
                let plain = try await gateway.ask(host: "b.local")
                #expect(plain.text == RewritingGateway.page(origin.url))
            }
        }
    }
}
