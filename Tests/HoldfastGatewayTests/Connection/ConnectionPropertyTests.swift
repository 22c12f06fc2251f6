import Testing

/// Properties of every connection, whatever happens on others. Each one is tested alone and beside
/// 29 other connections.
@Suite(.timeLimit(.minutes(20))) struct ConnectionPropertyTests {
    /// A property, and the exchanges that show it.
    struct Property: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var check: @Sendable (RawClient, _ connection: Int) async throws -> Void

        init(_ name: String, _ check: @escaping @Sendable (RawClient, Int) async throws -> Void) {
            testDescription = name
            self.check = check
        }
    }

    /// Responds with the request's method, target and content. The response may be stored unless
    /// the target forbids it.
    private static let respond: @Sendable (RawOrigin.Request) -> RawOrigin.Step = { request in
        let text = "\(request.line.split(separator: " ")[0]) \(request.target) \(request.contentText)"
        if request.values("If-None-Match") == ["\"v\""] {
            return .response("HTTP/1.1 304 Not Modified\r\nETag: \"v\"\r\n\r\n")
        }
        if request.target.contains("chunked") {
            let size = String(text.utf8.count, radix: 16)
            return .response("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(size)\r\n\(text)\r\n0\r\n\r\n")
        }
        let storing = request.target.contains("unstored") ? "" : "Cache-Control: max-age=60\r\nETag: \"v\"\r\n"
        if request.line.hasPrefix("HEAD") {
            return .response("HTTP/1.1 200 OK\r\n\(storing)Content-Length: \(text.utf8.count)\r\n\r\n")
        }
        return .ok(text, fields: storing)
    }

    private static let properties = [
        Property("Pipelined requests are responded to in order") { client, number in
            let targets = ["a", "unstored", "a", "chunked", "b", "a"].map { "/\(number)/\($0)" }
            try await client.send(targets.map { "GET \($0) HTTP/1.1\r\nHost: g\r\n\r\n" }.joined())
            for target in targets { try #require(try await client.response().text == "GET \(target) ") }
        },
        Property("Pipelined requests for what others ask for, too, are responded to in order") { client, _ in
            let targets = ["/a", "/unstored", "/a", "/chunked", "/b", "/a"]
            try await client.send(targets.map { "GET \($0) HTTP/1.1\r\nHost: g\r\n\r\n" }.joined())
            for target in targets { try #require(try await client.response().text == "GET \(target) ") }
        },
        Property("Content is forwarded with its request") { client, number in
            for round in 0..<5 {
                let content = String(repeating: "\(number) \(round) ", count: 300)
                try await client.send(
                    "POST /\(number) HTTP/1.1\r\nHost: g\r\nContent-Length: \(content.utf8.count)\r\n\r\n"
                )
                try await client.send(content)
                try #require(try await client.response().text == "POST /\(number) \(content)")
            }
        },
        Property("100 is said before the final response, once") { client, number in
            for _ in 0..<3 {
                try await client.send(
                    "PUT /\(number) HTTP/1.1\r\nHost: g\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n"
                )
                try #require(try await client.response().status == 100)
                try await client.send("ab")
                try #require(try await client.response().text == "PUT /\(number) ab")
            }
        },
        Property("Content of a GET is not the next request") { client, number in
            let content = "GET /smuggled HTTP/1.1\r\nHost: s\r\n\r\n"
            for _ in 0..<5 {
                try await client.send(
                    "GET /\(number)/a HTTP/1.1\r\nHost: g\r\nContent-Length: \(content.utf8.count)\r\n\r\n\(content)"
                )
                try await client.send("GET /\(number)/b HTTP/1.1\r\nHost: g\r\n\r\n")
                for target in ["a", "b"] {
                    try #require(try await client.response().text == "GET /\(number)/\(target) ")
                }
            }
        },
        Property("HEAD has no content") { client, number in
            for target in ["/\(number)", "/\(number)/unstored", "/\(number)"] {
                try await client.send(
                    "HEAD \(target) HTTP/1.1\r\nHost: g\r\n\r\nGET \(target) HTTP/1.1\r\nHost: g\r\n\r\n"
                )
                try #require(try await client.response(isHead: true).status == 200)
                try #require(try await client.response().text == "GET \(target) ")
            }
        },
        Property("A conditional request for what is stored gets 304") { client, number in
            try await client.send("GET /\(number) HTTP/1.1\r\nHost: g\r\n\r\n")
            try #require(try await client.response().status == 200)
            for _ in 0..<5 {
                try await client.send("GET /\(number) HTTP/1.1\r\nHost: g\r\nIf-None-Match: \"v\"\r\n\r\n")
                try #require(try await client.response().status == 304)
            }
        },
        Property("A malformed request gets 400, and its connection is closed") { client, number in
            try await client.send("GET /\(number) HTTP/1.1\r\nHost: g\r\n\r\nGET / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n")
            try #require(try await client.response().text == "GET /\(number) ")
            let refusal = try await client.response()
            try #require(refusal.status == 400)
            try #require(refusal["Connection"] == "close")
            try #require(await client.readToEnd().isEmpty)
        },
        Property("A client that sends no more gets all its responses") { client, number in
            let targets = (0..<10).map { "/\(number)/unstored/\($0)" }
            try await client.send(targets.map { "GET \($0) HTTP/1.1\r\nHost: g\r\n\r\n" }.joined())
            try await client.closeOutput()
            for target in targets { try #require(try await client.response().text == "GET \(target) ") }
            try #require(await client.readToEnd().isEmpty)
        },
    ]

    @Test(arguments: properties, RawClient.counts)
    func holdsForOneConnectionAndForThirty(property: Property, connections: Int) async throws {
        try await RawOrigin.with(respond: Self.respond) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                try await RawClient.onEach(of: connections, port: gateway.port, property.check)
                #expect(!origin.requests.contains { $0.line.contains("smuggled") })
            }
        }
    }
}
