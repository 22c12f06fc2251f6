import HTTPCache
import HTTPTypes
import HoldfastConfiguration
import HoldfastTesting
import Testing

@testable import HoldfastGateway

/// `tags-from` of a route, over sockets: clients never get the field, and its tags purge.
@Suite(.timeLimit(.minutes(20))) struct TagsFromTests {
    private static let names = ["Surrogate-Key", "cache-tag", "XKEY"]

    private func withGateway(
        _ steps: [RawOrigin.Step] = [],
        tagsFrom: String = "[Surrogate-Key, Cache-Tag, xkey]",
        respond: (@Sendable (RawOrigin.Request) -> RawOrigin.Step)? = nil,
        _ body: (RunningGateway, RawOrigin) async throws -> Void
    ) async throws {
        try await RawOrigin.with(steps, respond: respond) { origin in
            let file = try Configuration(
                yaml: "version: 1\nroutes: [{origin: \"\(origin.url)\", tags-from: \(tagsFrom)}]"
            )
            let routes = try GatewayRoutes(file.routes)
            try await RunningGateway.with(
                origin: origin.url,
                rules: file.rules,
                configure: { $0.routes = routes }
            ) { try await body($0, origin) }
        }
    }

    private static func ok(_ content: String, _ fields: String, tags: String = "one") -> RawOrigin.Step {
        let tagged = names.map { "\($0): \(tags)\r\n" }.joined()
        return .ok(content, fields: tagged + fields)
    }

    private func showsNoTags(_ response: RawResponse) -> Bool {
        Self.names.allSatisfy { response[$0] == nil } && !response.fields.isEmpty
    }

    private func removes(_ tag: String, _ gateway: RunningGateway) async throws -> Bool {
        let before = gateway.store.all.count
        try await gateway.engine.invalidate(tagged: tag, keepingForOffline: false)
        return gateway.store.all.count < before
    }

    @Test func fieldIsHiddenInMissAndHitsAndItsTagPurges() async throws {
        try await withGateway([Self.ok("v1", "Cache-Control: max-age=60\r\n"), .ok("v2")]) { gateway, origin in
            #expect(try await showsNoTags(gateway.get("/a")))
            // On one connection, and thus on one loop: later hits come from the bytes of an earlier
            // one.
            try await RawClient.with(port: gateway.port) { client in
                for _ in 0..<4 {
                    try await client.send("GET /a HTTP/1.1\r\nHost: gateway.example\r\n\r\n")
                    let hit = try await client.response()
                    #expect(hit.text == "v1" && hit["Cache-Status"]?.contains("; hit") == true && showsNoTags(hit))
                }
            }
            #expect(await gateway.server.hotResponseCount() > 0)
            #expect(try await removes("one", gateway))
            #expect(try await gateway.get("/a").text == "v2" && origin.requests.count == 2)
        }
    }

    /// With a length and `no-store` alone, the response would be relayed without parsing its head.
    @Test(
        arguments: [
            "GET", "HEAD", "POST", "DELETE", "OPTIONS",
        ],
        ["Cache-Control: no-store\r\n", "Cache-Control: private\r\n", "Set-Cookie: a=1\r\n"]
    )
    func fieldIsHiddenInResponsesThatPassThrough(_ method: String, _ fields: String) async throws {
        let content = method == "HEAD" ? "" : "abc"
        try await withGateway(respond: { _ in Self.ok(content, fields) }) { gateway, _ in
            for count in RawClient.counts {
                try await RawClient.onEach(of: count, port: gateway.port) { client, number in
                    for _ in 0..<2 {
                        try await client.send("\(method) /\(number) HTTP/1.1\r\nHost: g\r\n\r\n")
                        let response = try await client.response(isHead: method == "HEAD")
                        #expect(response.status == 200 && response.text == content && showsNoTags(response))
                    }
                }
            }
            #expect(gateway.store.all.isEmpty)
        }
    }

    @Test func fieldIsHiddenInStreamsErrorsPartsAndRedirections() async throws {
        let tags = "Surrogate-Key: one\r\nxkey: two\r\n"
        let steps: [RawOrigin.Step] = [
            .response("HTTP/1.1 200 OK\r\n\(tags)Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"),
            .response("HTTP/1.1 503 Busy\r\n\(tags)Content-Length: 0\r\n\r\n"),
            .response(
                "HTTP/1.1 206 Partial Content\r\n\(tags)Content-Range: bytes 0-0/9\r\nETag: \"1\"\r\nContent-Length: 1\r\n\r\na"
            ),
            .response("HTTP/1.1 301 Moved\r\nLocation: /x\r\n\(tags)Content-Length: 0\r\n\r\n"),
            .respondAndClose("HTTP/1.1 200 OK\r\n\(tags)\r\nabc"),
        ]
        try await withGateway(steps) { gateway, origin in
            for (number, status) in [200, 503, 206, 301, 200].enumerated() {
                let range = status == 206 ? "Range: bytes=0-0\r\n" : ""
                let response = try await gateway.get("/\(number)", fields: range)
                #expect(response.status == status && showsNoTags(response), "\(number)")
            }
            #expect(origin.unscripted == 0)
        }
    }

    @Test func fieldIsHiddenInHeadAndNotModifiedFromTheStore() async throws {
        try await withGateway([Self.ok("abc", "Cache-Control: max-age=60\r\nETag: \"1\"\r\n")]) { gateway, origin in
            _ = try await gateway.get("/a")
            for _ in 0..<3 {
                let head = try await gateway.send("HEAD /a HTTP/1.1\r\nHost: g\r\n\r\n")
                #expect(head["Content-Length"] == "3" && showsNoTags(head))
                let notModified = try await gateway.get("/a", fields: "If-None-Match: \"1\"\r\n")
                #expect(notModified.status == 304 && showsNoTags(notModified))
                let part = try await gateway.get("/a", fields: "Range: bytes=1-1\r\n")
                #expect(part.status == 206 && part.text == "b" && showsNoTags(part))
            }
            #expect(origin.requests.count == 1)
        }
    }

    @Test func renewalBringsOtherTags() async throws {
        let steps: [RawOrigin.Step] = [
            Self.ok("abc", "Cache-Control: max-age=60\r\nETag: \"1\"\r\n"),
            .response(
                "HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\nSurrogate-Key: two\r\nCache-Tag: two\r\nxkey: two\r\n\r\n"
            ),
        ]
        try await withGateway(steps) { gateway, origin in
            _ = try await gateway.get("/a")
            gateway.clock.advance(by: .seconds(61))
            let renewed = try await gateway.get("/a")
            #expect(renewed.text == "abc" && showsNoTags(renewed) && origin.requests.count == 2)
            #expect(try await !removes("one", gateway))
            #expect(try await removes("two", gateway))
        }
    }

    @Test func thirtyClientsAtOnceGetNoFieldAndOneTaggedResponse() async throws {
        let gates = Gates()
        let head = "HTTP/1.1 200 OK\r\nSurrogate-Key: one\r\nCache-Control: max-age=60\r\nContent-Length: 3\r\n\r\n"
        let step = RawOrigin.Step.stream { writer in
            await gates.pass("head")
            try await writer.write(head + "abc")
        }
        try await withGateway([step]) { gateway, origin in
            try await withThrowingTaskGroup(of: RawResponse.self) { group in
                for _ in 0..<30 { group.addTask { try await gateway.get("/a") } }
                await gates.arrival(at: "head")
                while gateway.engine.memberCount < 30, !Task.isCancelled { await Task.yield() }
                gates.open("head")
                for try await response in group { #expect(response.text == "abc" && showsNoTags(response)) }
            }
            #expect(origin.requests.count == 1)
            #expect(try await removes("one", gateway))
        }
    }

    @Test func interimResponsesAreCleanedToo() async throws {
        let interim = "HTTP/1.1 103 Early Hints\r\nSurrogate-Key: one\r\nLink: </a>\r\n\r\n"
        let final = "HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nContent-Length: 0\r\n\r\n"
        try await withGateway([.response(interim + final)]) { gateway, _ in
            try await RawClient.with(port: gateway.port) { client in
                try await client.send("GET / HTTP/1.1\r\nHost: g\r\n\r\n")
                let hints = try await client.response()
                #expect(hints.status == 103 && hints["Link"] == "</a>" && showsNoTags(hints))
                #expect(try await client.response().status == 200)
            }
        }
    }

    @Test func routeWithoutItPassesTheFieldAndTagsNothing() async throws {
        try await RawOrigin.with(respond: { request in
            Self.ok("abc", request.target == "/pass" ? "Cache-Control: no-store\r\n" : "Cache-Control: max-age=60\r\n")
        }) { tagged in
            try await RawOrigin.with(respond: { request in
                Self.ok(
                    "abc",
                    request.target == "/pass" ? "Cache-Control: no-store\r\n" : "Cache-Control: max-age=60\r\n"
                )
            }) { plain in
                let yaml = """
                    version: 1
                    routes:
                      - {host: tagged.test, origin: "\(tagged.url)", tags-from: Surrogate-Key}
                      - {host: plain.test, origin: "\(plain.url)"}
                    """
                let file = try Configuration(yaml: yaml)
                let routes = try GatewayRoutes(file.routes)
                try await RunningGateway.with(
                    origin: plain.url,
                    rules: file.rules,
                    configure: { $0.routes = routes }
                ) { gateway in
                    for path in ["/pass", "/a", "/a", "/a"] {
                        let plain = try await gateway.send("GET \(path) HTTP/1.1\r\nHost: plain.test\r\n\r\n")
                        #expect(Self.names.allSatisfy { plain[$0] == "one" })
                        let other = try await gateway.send("GET \(path) HTTP/1.1\r\nHost: tagged.test\r\n\r\n")
                        #expect(other["Surrogate-Key"] == nil && other["xkey"] == "one")
                    }
                    #expect(gateway.store.all.count == 2)
                    #expect(try await removes("one", gateway))
                    #expect(gateway.store.all.count == 1)
                    #expect(try await !removes("one", gateway))
                }
            }
        }
    }

    @Test func responseWithTooManyTagsIsServedAndNotStored() async throws {
        let tags = (1...65).map { "t\($0)" }.joined(separator: " ")
        try await withGateway(
            tagsFrom: "[Surrogate-Key]",
            respond: { _ in .ok("abc", fields: "Surrogate-Key: \(tags)\r\nCache-Control: max-age=60\r\n") }
        ) { gateway, origin in
            for count in RawClient.counts {
                try await RawClient.onEach(of: count, port: gateway.port) { client, _ in
                    try await client.send("GET /a HTTP/1.1\r\nHost: g\r\n\r\n")
                    let response = try await client.response()
                    #expect(response.text == "abc" && response["Surrogate-Key"] == nil)
                    #expect(response["Cache-Status"]?.contains("stored") == false)
                }
            }
            #expect(gateway.store.all.isEmpty)
        }
    }
}
