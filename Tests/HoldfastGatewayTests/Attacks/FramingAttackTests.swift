import Testing

/// Messages that two programs could read as different ones, over sockets. docs/attacks.md has the
/// mutant of each number.
@Suite(.timeLimit(.minutes(20))) struct FramingAttackTests {
    /// 1: Content with two lengths, or with an invalid one, is rejected.
    @Test(
        arguments: [
            "Content-Length: 3\r\nTransfer-Encoding: chunked", "Transfer-Encoding: chunked\r\nContent-Length: 3",
            "Transfer-Encoding: chunked, gzip", "Transfer-Encoding: chunked, chunked", "Transfer-Encoding: xchunked",
            "Content-Length: 3\r\nContent-Length: 3", "Content-Length: 3\r\nContent-Length: 4", "Content-Length: +5",
            "Content-Length: 5,5", "Content-Length: -1", "Content-Length: 0x5", "Content-Length:",
            "Content-Length: 99999999999999999999",
        ]
    )
    func rejectsContentWithTwoLengthsOrAnInvalidOne(fields: String) async throws {
        // As chunks the content is valid, so only the fields can be the reason.
        try await AttackedGateway.expectRefusal("POST / HTTP/1.1\r\nHost: g\r\n\(fields)\r\n\r\n0\r\n\r\n", 400)
    }

    /// 1: HTTP/1.0 has no Transfer-Encoding.
    @Test func rejectsTransferEncodingInHTTP10() async throws {
        try await AttackedGateway.expectRefusal("POST / HTTP/1.0\r\nHost: g\r\nTransfer-Encoding: chunked\r\n\r\n", 400)
    }

    /// 2: Lines that other programs read differently are rejected.
    @Test(
        arguments: [
            "X: a\r\n b", "X: a\r\n\tb", "X : a", "X: a\u{0}b", "X: a\rb", "X: a\nY: b", "X\r\n", " X: a", ": a",
        ]
    )
    func rejectsLinesThatOthersReadDifferently(fields: String) async throws {
        try await AttackedGateway.expectRefusal("GET / HTTP/1.1\r\nHost: g\r\n\(fields)\r\n\r\n", 400)
    }

    /// 3: Invalid chunks end the request and the connection.
    @Test(
        arguments: [
            "FFFFFFFFFFFFFFFF1\r\n", "-1\r\n", "5\r\nhelloXX0\r\n\r\n", "5\r\nhello\n0\r\n\r\n",
            "5\nhello\r\n0\r\n\r\n",
            "0\r\nX", "0\r\n\n",
        ]
    )
    func invalidChunksEndRequestAndConnection(content: String) async throws {
        try await AttackedGateway.expectRefusal(
            "POST / HTTP/1.1\r\nHost: g\r\nTransfer-Encoding: chunked\r\n\r\n\(content)",
            400,
            isForwarded: true
        )
    }

    /// 4: Content of a GET or HEAD on a hit is never read as the next request.
    @Test(
        arguments: ["GET", "HEAD"],
        ["Content-Length: 38\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n26\r\n"]
    )
    func contentOnAHitIsNeverTheNextRequest(method: String, framing: String) async throws {
        let smuggled = "GET /smuggled HTTP/1.1\r\nHost: evil\r\n\r\n"
        try await RawOrigin.with([.ok("hit", fields: AttackedGateway.cacheable), .ok("next")]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                _ = try await gateway.get("/")
                try await RawClient.with(port: gateway.port) { client in
                    let end = framing.hasPrefix("T") ? "\r\n0\r\n\r\n" : ""
                    try #require(smuggled.utf8.count == 38)
                    try await client.send(
                        "\(method) / HTTP/1.1\r\nHost: g\r\n\(framing)\(smuggled)\(end)GET /next HTTP/1.1\r\nHost: g\r\n\r\n"
                    )
                    let hit = try await client.response(isHead: method == "HEAD")
                    #expect(hit["Cache-Status"]?.hasPrefix("holdfast; hit") == true)
                    if hit["Connection"] == nil { #expect(try await client.response().text == "next") }
                }
                #expect(!origin.requests.contains { $0.line.contains("smuggled") })
            }
        }
    }

    /// 5: An upgrade is not forwarded, and the bytes after it are HTTP/1.1 or rejected.
    @Test(arguments: ["Upgrade, HTTP2-Settings", "HTTP2-Settings", "close-not"])
    func upgradeIsNotForwarded(connection: String) async throws {
        try await RawOrigin.with([.ok("plain")]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                try await RawClient.with(port: gateway.port) { client in
                    try await client.send(
                        "GET / HTTP/1.1\r\nHost: g\r\nConnection: \(connection)\r\nUpgrade: h2c\r\n"
                            + "HTTP2-Settings: AAMAAABk\r\n\r\nPRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
                    )
                    #expect(try await client.response().text == "plain")
                    #expect(try await client.response().status == 505)
                    #expect(await client.readToEnd().isEmpty)
                }
                let request = try #require(origin.requests.first)
                #expect(origin.requests.count == 1)
                for name in ["Upgrade", "HTTP2-Settings", "Connection"] { #expect(request.values(name).isEmpty) }
            }
        }
    }

    /// 6: Pipelined requests after a collapsed miss get responses in their order.
    @Test func pipelinedResponsesKeepTheirOrder() async throws {
        let gate = AsyncStream<Void>.makeStream()
        let slow = RawOrigin.Step.stream { writer in
            for await _ in gate.stream { break }
            try await writer.write("HTTP/1.1 200 OK\r\n\(AttackedGateway.cacheable)Content-Length: 4\r\n\r\nslow")
        }
        try await RawOrigin.with([.ok("fast", fields: AttackedGateway.cacheable), slow]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                _ = try await gateway.get("/fast")
                try await RawClient.with(port: gateway.port) { leader in
                    try await leader.send("GET /slow HTTP/1.1\r\nHost: g\r\n\r\n")
                    await origin.requests(reach: 2)
                    try await RawClient.with(port: gateway.port) { client in
                        let targets = ["/slow", "/fast", "/slow", "/fast"]
                        try await client.send(targets.map { "GET \($0) HTTP/1.1\r\nHost: g\r\n\r\n" }.joined())
                        gate.continuation.finish()
                        for target in targets { #expect(try await client.response().text == target.dropFirst()) }
                    }
                    #expect(try await leader.response().text == "slow")
                }
                #expect(origin.requests.count == 2)
            }
        }
    }

    /// 8: A badly framed response is not stored, and its connection not used again.
    @Test(
        arguments: [
            "HTTP/1.1 200 OK\r\n\(AttackedGateway.cacheable)Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n"
                + "2\r\nok\r\n0\r\n\r\n",
            "HTTP/1.1 200 OK\r\n\(AttackedGateway.cacheable)Content-Length: 2\r\nContent-Length: 3\r\n\r\nok",
            String(repeating: "HTTP/1.1 103 Hint\r\n\r\n", count: 40),
        ]
    )
    func misframedResponseIsNotStoredNorItsConnectionReused(answer: String) async throws {
        let good = RawOrigin.Step.ok("good", fields: AttackedGateway.cacheable)
        try await RawOrigin.with([.response(answer), good]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                try await RawClient.with(port: gateway.port) { client in
                    try await client.send("GET / HTTP/1.1\r\nHost: g\r\n\r\n")
                    var response = try await client.response()
                    while response.status == 103 { response = try await client.response() }
                    #expect(response.status == 502)
                }
                let answer1 = try await gateway.get("/")
                #expect(answer1.text == "good")
                #expect(origin.connectionCount == 2)
            }
        }
    }

    /// 8: Bytes after a response are no client's response.
    @Test func bytesAfterAResponseAnswerNoClient() async throws {
        let response = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"
        try await RawOrigin.with([.response(response), .ok("good")]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                let answer1 = try await gateway.get("/a")
                #expect(answer1.text == "ok")
                let answer2 = try await gateway.get("/b")
                #expect(answer2.text == "good")
                #expect(origin.connectionCount == 2)
            }
        }
    }

    /// 9: Several Hosts, or an invalid one, are rejected.
    @Test(arguments: ["Host: g\r\nHost: g", "Host: g\r\nHost: h", "Host: g, h", "Host: u@g", "Host: g/x", "X: y"])
    func rejectsSeveralOrInvalidHosts(fields: String) async throws {
        try await AttackedGateway.expectRefusal("GET / HTTP/1.1\r\n\(fields)\r\n\r\n", 400)
    }
}
