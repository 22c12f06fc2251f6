import HTTPCache
import HoldfastGateway
import Testing

/// Client connections, RFC 9112.
@Suite(.timeLimit(.minutes(20)))
struct ConnectionTests {
    private static let cacheable = "Cache-Control: max-age=60\r\n"

    @Test func pipelinedResponsesKeepOrderAfterSlowOne() async throws {
        let gate = AsyncStream<Void>.makeStream()
        let slow = RawOrigin.Step.stream { writer in
            for await _ in gate.stream { break }
            try await writer.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nslow")
        }
        try await RawOrigin.with([.ok("kept", fields: Self.cacheable), slow, .ok("last")]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                _ = try await gateway.get("/kept")
                try await RawClient.with(port: gateway.port) { client in
                    try await client.send(
                        ["/slow", "/kept", "/last"].map { "GET \($0) HTTP/1.1\r\nHost: g\r\n\r\n" }.joined()
                    )
                    await origin.requests(reach: 2)
                    gate.continuation.finish()
                    var responses: [String] = []
                    for _ in 0..<3 { responses.append(try await client.response().text) }
                    #expect(responses == ["slow", "kept", "last"])
                }
            }
        }
    }

    /// docs/attacks.md, 4, 12. Mutants: a GET's content kept by `GatewayService.body`; `answered`
    /// that continues without the content's end.
    @Test(arguments: [
        "Content-Length: 35\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: g\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n23\r\nGET /smuggled HTTP/1.1\r\nHost: g\r\n\r\n\r\n0\r\n\r\n",
    ])
    func contentOfGETIsNeitherForwardedNorReadAsRequest(content: String) async throws {
        try await RawOrigin.with([.ok("a", fields: Self.cacheable), .ok("b")]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                try await RawClient.with(port: gateway.port) { client in
                    let fat = "GET /fat HTTP/1.1\r\nHost: g\r\n" + content
                    try await client.send(fat + fat + "GET /next HTTP/1.1\r\nHost: g\r\n\r\n")
                    let miss = try await client.response()
                    #expect(miss["Cache-Status"]?.contains("fwd=uri-miss") == true)
                    let hit = try await client.response()
                    #expect(hit["Cache-Status"]?.contains("hit") == true)
                    #expect(try await client.response().text == "b")
                }
                #expect(origin.requests.map(\.line) == ["GET /fat HTTP/1.1", "GET /next HTTP/1.1"])
                #expect(origin.requests.allSatisfy { $0.content.isEmpty && $0.values("Content-Length").isEmpty })
            }
        }
    }

    /// It gets all responses when it reads.
    /// Mutant: `finish(with:)` that holds nothing back.
    @Test func clientThatReadsNothingCausesNoMoreOriginRequests() async throws {
        // Head and content come in one piece. All responses together, 5 MB, exceed the socket
        // buffers.
        let content = String(repeating: "x", count: 1900)
        let count = 2500
        let responses = [RawOrigin.Step](
            repeating: .ok(content, fields: "Cache-Control: no-store\r\n"),
            count: 2 * count
        )
        try await RawOrigin.with(responses) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                try await RawClient.with(port: gateway.port, receiveBuffer: 4096) { client in
                    try await client.send(String(repeating: "GET /all HTTP/1.1\r\nHost: g\r\n\r\n", count: count))
                    // Until other clients' requests reach the origin one after the other. Then the
                    // first client's are no longer among them.
                    var alone = 0
                    while alone < 20 {
                        let before = origin.requests.count
                        #expect(try await gateway.get("/other").text == content)
                        alone = origin.requests.count == before + 1 ? alone + 1 : 0
                    }
                    #expect(origin.requests.count { $0.line == "GET /all HTTP/1.1" } < count)
                    for _ in 0..<count {
                        let response = try await client.response()
                        #expect(response.isComplete)
                        #expect(response.text == content)
                    }
                    #expect(origin.requests.count { $0.line == "GET /all HTTP/1.1" } == count)
                }
            }
        }
    }

    /// Mutant: a connection that is closed before the system has sent all bytes.
    @Test(
        arguments: ["HTTP/1.1 close", "HTTP/1.0", "half-closed"],
        ["max-age=60", "no-store"]
    )
    func lastResponseArrivesWholeHoweverSlowlyItIsRead(client kind: String, control: String) async throws {
        // More than the socket buffers hold.
        let content = String(repeating: "0123456789abcdef", count: 512 << 10)
        let answer = RawOrigin.Step.ok(content, fields: "Cache-Control: \(control)\r\n")
        try await RawOrigin.with([answer, answer]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                #expect(try await gateway.get("/").content.count == content.utf8.count)
                try await RawClient.with(port: gateway.port, receiveBuffer: 4096) { client in
                    switch kind {
                    case "HTTP/1.0": try await client.send("GET / HTTP/1.0\r\nHost: g\r\n\r\n")
                    case "half-closed":
                        try await client.send("GET / HTTP/1.1\r\nHost: g\r\n\r\n")
                        try await client.closeOutput()
                    default: try await client.send("GET / HTTP/1.1\r\nHost: g\r\nConnection: close\r\n\r\n")
                    }
                    // Meanwhile other clients are served. The bytes that this client got were
                    // written before it began to read.
                    for _ in 0..<20 { _ = try await gateway.send("OPTIONS * HTTP/1.1\r\nHost: g\r\n\r\n") }
                    let response = try await client.response()
                    #expect(response.isComplete)
                    #expect(response.content.count == content.utf8.count)
                }
            }
        }
    }

    @Test(
        .timeLimit(.minutes(20)),
        arguments: ["close", "half-closed", "refused"]
    )
    func closingDoesNotWaitIndefinitelyForClientThatReadsNothing(client kind: String) async throws {
        try await withLargeAnswer { client, untilGivenUp in
            let request = "GET / HTTP/1.1\r\nHost: g\r\n"
            switch kind {
            case "half-closed":
                try await client.send(request + "\r\n")
                try await client.closeOutput()
            case "refused": try await client.send(request + "\r\nnone\r\n\r\n")
            default: try await client.send(request + "Connection: close\r\n\r\n")
            }
            await untilGivenUp()
            let response = try? await client.response()
            #expect(response?.isComplete != true)
        }
    }

    @Test(.timeLimit(.minutes(20))) func timeToReadRestartsWhenClientReads() async throws {
        try await withEnoughTime(from: Self.writeTimeout) { writeTimeout in
            let (reading, whole) = try await withLargeAnswer(writeTimeout: writeTimeout) { client, untilGivenUp in
                let start = ContinuousClock.now
                try await client.send("GET / HTTP/1.1\r\nHost: g\r\n\r\n")
                // The gateway has written what the system takes, and its time has begun. Only bytes
                // that the client reads after that begin it again.
                var count = await client.read()?.count ?? 0
                try await Task.sleep(for: writeTimeout / 4)  // lets time pass
                while count < 2 << 20, let bytes = await client.read() { count += bytes.count }
                let reading = ContinuousClock.now - start  // lets time pass
                await untilGivenUp()
                return (reading, ContinuousClock.now - start)  // lets time pass
            }
            // Otherwise the gateway may have given up before this client had read.
            guard reading < writeTimeout / 2 else { return false }
            #expect(whole > writeTimeout * 1.8)
            return true
        }
    }

    private static let writeTimeout = Duration.milliseconds(300)

    /// A client that will request 8 MiB from memory, more than the socket buffers hold, and a wait
    /// for the moment when the gateway has given it up.
    private func withLargeAnswer<Value>(
        writeTimeout: Duration = ConnectionTests.writeTimeout,
        _ body: (_ client: RawClient, _ untilGivenUp: () async -> Void) async throws -> Value
    ) async throws -> Value {
        let content = String(repeating: "0123456789abcdef", count: 512 << 10)
        return try await RawOrigin.with([.ok(content, fields: "Cache-Control: max-age=60\r\n")]) { origin in
            var configuration = GatewayConfiguration(origin: try GatewayOrigin(origin.url))
            configuration.timeouts = .patient
            configuration.timeouts.write = writeTimeout
            configuration.timeouts.closing = writeTimeout
            return try await RunningGateway.with(origin: origin.url) {
                [configuration] gateway in
                let question = "OPTIONS * HTTP/1.1\r\nHost: g\r\n\r\n"
                #expect(try await gateway.get("/").content.count == content.utf8.count)
                // Checked only now, because the client that read everything may also have been
                // slow.
                gateway.server.reconfigure(configuration)
                return try await RawClient.with(port: gateway.port, receiveBuffer: 256 << 10) { client in
                    try await client.send(question)
                    #expect(try await client.response().status == 204)
                    return try await body(client) {
                        // From now on no other client is accepted before this one has gone.
                        var configuration = configuration
                        configuration.maximumConnections = 1
                        gateway.server.reconfigure(configuration)
                        var response: RawResponse?
                        while response?.status != 204, !Task.isCancelled {
                            response = try? await gateway.send(question)
                        }
                    }
                }
            }
        }
    }

    @Test func unneededContentBeyondItsLimitEndsTheConnection() async throws {
        try await RawOrigin.with([.ok("a")]) { origin in
            try await RunningGateway.with(origin: origin.url, configure: { $0.discardedContentLimit = 1000 }) {
                gateway in
                try await RawClient.with(port: gateway.port) { client in
                    try await client.send(
                        "GET / HTTP/1.1\r\nHost: g\r\nContent-Length: 5000\r\n\r\n"
                            + String(repeating: "x", count: 2000)
                    )
                    #expect(try await client.response().status == 200)
                    #expect(await client.read() == nil)
                }
            }
        }
    }

    /// RFC 9110 §10.1.1.
    @Test func sends100WhenContentIsFirstNeeded() async throws {
        try await RawOrigin.with([.ok("thanks")]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                try await RawClient.with(port: gateway.port) { client in
                    try await client.send(
                        "POST / HTTP/1.1\r\nHost: g\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n"
                    )
                    #expect(try await client.response().status == 100)
                    try await client.send("hello")
                    #expect(try await client.response().text == "thanks")
                    #expect(origin.requests.first?.contentText == "hello")
                    #expect(origin.requests.first?.values("Expect") == [])
                }
            }
        }
    }

    @Test func unneededContentGetsNo100AndEndsTheConnection() async throws {
        try await RawOrigin.with([.ok("a")]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                try await RawClient.with(port: gateway.port) { client in
                    try await client.send(
                        "GET / HTTP/1.1\r\nHost: g\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n"
                    )
                    let response = try await client.response()
                    #expect(response.status == 200)
                    #expect(response["Connection"] == "close")
                    #expect(await client.read() == nil)
                }
            }
        }
    }

    @Test func forwardsChunksAndTrailersButNoExtensions() async throws {
        try await RawOrigin.with([.ok("a"), .ok("b")]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                let response = try await gateway.send(
                    "POST / HTTP/1.1\r\nHost: g\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n5;a=b\r\nhello\r\n1\r\n!\r\n0\r\nX: y\r\n\r\n"
                )
                #expect(response.text == "a")
                let request = try #require(origin.requests.first)
                #expect(request.values("Transfer-Encoding") == ["chunked"])
                #expect(
                    ["6\r\nhello!\r\n0\r\nX: y\r\n\r\n", "5\r\nhello\r\n1\r\n!\r\n0\r\nX: y\r\n\r\n"].contains(
                        request.contentText
                    )
                )
                _ = try await gateway.send("PUT / HTTP/1.1\r\nHost: g\r\nContent-Length: 3\r\n\r\nabc")
                #expect(origin.requests.last?.values("Content-Length") == ["3"])
                #expect(origin.requests.last?.contentText == "abc")
            }
        }
    }

    @Test func keysQUERYByItsContent() async throws {
        try await RawOrigin.with([.ok("a", fields: Self.cacheable), .ok("b", fields: Self.cacheable)]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                func query(_ content: String) async throws -> String {
                    try await gateway.send("QUERY / HTTP/1.1\r\nHost: g\r\nContent-Length: 1\r\n\r\n\(content)").text
                }
                var responses: [String] = []
                for content in ["1", "2", "1"] { responses.append(try await query(content)) }
                #expect(responses == ["a", "b", "a"])
                #expect(origin.requests.map(\.contentText) == ["1", "2"])
            }
        }
    }

    /// docs/attacks.md, 1–3, 9, 30 over sockets. The codec's tests have every refusal.
    @Test(arguments: [
        ("GET / HTTP/1.1\r\nHost: g\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: g\r\nX: a\u{0}b\r\n\r\n", 400), ("GET / HTTP/1.1\r\n\r\n", 400),
        ("GET / HTTP/3.0\r\nHost: g\r\n\r\n", 505),
        ("GET /" + String(repeating: "a", count: 9000) + " HTTP/1.1\r\nHost: g\r\n\r\n", 414),
    ])
    func rejectsInvalidRequestsWithReasonAndCloses(request: String, status: Int) async throws {
        try await RawOrigin.with { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                try await RawClient.with(port: gateway.port) { client in
                    try await client.send(request + "GET /smuggled HTTP/1.1\r\nHost: g\r\n\r\n")
                    let response = try await client.response()
                    #expect(response.status == status)
                    #expect(response["Content-Type"] == "application/problem+json")
                    #expect(response["Cache-Control"] == "no-store")
                    #expect(response["Cache-Status"] == "holdfast; detail=refused")
                    #expect(response["Connection"] == "close")
                    #expect(response.text.contains("\"status\":\(status)"))
                    #expect(await client.read() == nil)
                }
                #expect(origin.connectionCount == 0)
            }
        }
    }

    @Test func malformedContentIsNeverCompletedTowardsTheOrigin() async throws {
        try await RawOrigin.with([.ok("never")]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                try await RawClient.with(port: gateway.port) { client in
                    try await client.send(
                        "POST / HTTP/1.1\r\nHost: g\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhelloXX"
                    )
                    let response = try await client.response()
                    #expect(response.status == 400)
                    #expect(response["Connection"] == "close")
                }
                #expect(origin.requests.isEmpty)
            }
        }
    }

    @Test func halfClosedClientStillGetsItsResponse() async throws {
        try await RawOrigin.with([.ok("a"), .ok("b")]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                try await RawClient.with(port: gateway.port) { client in
                    try await client.send(["/a", "/b"].map { "GET \($0) HTTP/1.1\r\nHost: g\r\n\r\n" }.joined())
                    try await client.closeOutput()
                    #expect(try await client.response().text == "a")
                    #expect(try await client.response().text == "b")
                    #expect(await client.read() == nil)
                }
            }
        }
    }

    @Test(arguments: [
        ("GET / HTTP/1.0\r\n\r\n", "close"), ("GET / HTTP/1.1\r\nHost: g\r\nConnection: close\r\n\r\n", "close"),
        ("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "keep-alive"),
    ])
    func statesPersistenceToHTTP10AndClosingClients(request: String, connection: String) async throws {
        try await RawOrigin.with([.ok("a")]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                try await RawClient.with(port: gateway.port) { client in
                    try await client.send(request)
                    let response = try await client.response()
                    #expect(response["Connection"] == connection)
                    #expect(response.text == "a")
                    if connection == "close" { #expect(await client.read() == nil) }
                }
            }
        }
    }

    /// Chunked for HTTP/1.1, until the close for HTTP/1.0.
    @Test(arguments: [("GET / HTTP/1.1\r\nHost: g\r\n\r\n", true), ("GET / HTTP/1.0\r\n\r\n", false)])
    func delimitsUnknownLengthByChunksOrByClose(request: String, isChunked: Bool) async throws {
        let gate = AsyncStream<Void>.makeStream()
        let response = RawOrigin.Step.stream { writer in
            try await writer.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
            // The origin sends the end when the client has the beginning, so the gateway cannot
            // know the length earlier.
            for await _ in gate.stream { break }
            try await writer.write("0\r\n\r\n")
        }
        try await RawOrigin.with([response]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                try await RawClient.with(port: gateway.port) { client in
                    try await client.send(
                        request + (isChunked ? "GET /end HTTP/1.1\r\nHost: g\r\nConnection: close\r\n\r\n" : "")
                    )
                    var received = ""
                    while !received.contains("hello"), let bytes = await client.read() {
                        received += String(decoding: bytes, as: UTF8.self)
                    }
                    #expect(received.contains("\r\nTransfer-Encoding: chunked\r\n") == isChunked)
                    #expect(!received.contains("Content-Length"))
                    gate.continuation.finish()
                    let rest = String(decoding: await client.readToEnd(), as: UTF8.self)
                    #expect(isChunked ? rest.contains("0\r\n\r\nHTTP/1.1 500") : rest.isEmpty)
                }
            }
        }
    }

    @Test func respondsToHEADWithFieldsOfGETAndNoContent() async throws {
        try await RawOrigin.with([
            .ok("hello", fields: Self.cacheable), .response("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n"),
        ]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                // Until it is stored, every request gets it from the same fetch.
                while try await gateway.get("/")["Cache-Status"]?.contains("hit") != true {}
                try await RawClient.with(port: gateway.port) { client in
                    try await client.send("HEAD / HTTP/1.1\r\nHost: g\r\n\r\nHEAD /b HTTP/1.1\r\nHost: g\r\n\r\n")
                    let hit = try await client.response(isHead: true)
                    #expect(hit["Content-Length"] == "5")
                    #expect(hit["Cache-Status"]?.contains("hit") == true)
                    let miss = try await client.response(isHead: true)
                    #expect(miss["Content-Length"] == "7")
                }
            }
        }
    }

    @Test func conditionalGETGets304FromTheStoreWithoutContent() async throws {
        try await RawOrigin.with([.ok("hello", fields: Self.cacheable + "ETag: \"v1\"\r\n"), .ok("b")]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                _ = try await gateway.get("/")
                try await RawClient.with(port: gateway.port) { client in
                    try await client.send("GET / HTTP/1.1\r\nHost: g\r\nIf-None-Match: \"v1\"\r\n\r\n")
                    let response = try await client.response()
                    #expect(response.status == 304)
                    #expect(response["ETag"] == "\"v1\"")
                    try await client.send("GET /b HTTP/1.1\r\nHost: g\r\n\r\n")
                    #expect(try await client.response().text == "b")
                }
            }
        }
    }

    @Test func excessConnectionGets503() async throws {
        try await RawOrigin.with([.ok("a")]) { origin in
            try await RunningGateway.with(origin: origin.url, configure: { $0.maximumConnections = 1 }) { gateway in
                try await RawClient.with(port: gateway.port) { client in
                    try await client.send("GET / HTTP/1.1\r\nHost: g\r\n\r\n")
                    #expect(try await client.response().text == "a")
                    let busy = try await RawClient.with(port: gateway.port) { try await $0.response() }
                    #expect(busy.status == 503)
                    #expect(busy["Cache-Status"] == "holdfast; detail=refused")
                }
            }
        }
    }

    /// docs/attacks.md, 35. Mutant: `wait(for:)` that arms nothing.
    @Test func incompleteHeadTimesOutWith408() async throws {
        try await RawOrigin.with { origin in
            try await RunningGateway.with(origin: origin.url, configure: { $0.timeouts.head = .passing(50) }) {
                gateway in
                try await RawClient.with(port: gateway.port) { client in
                    try await client.send("GET / HTTP/1.1\r\nHos")
                    #expect(try await client.response().status == 408)
                }
            }
        }
    }

    @Test func closesConnectionWithoutRequests() async throws {
        try await RawOrigin.with { origin in
            try await RunningGateway.with(origin: origin.url, configure: { $0.timeouts.request = .passing(50) }) {
                gateway in
                let bytes = try await RawClient.with(port: gateway.port) { await $0.readToEnd() }
                #expect(bytes.isEmpty)
            }
        }
    }

    @Test func unneededContentHasADeadline() async throws {
        try await RawOrigin.with([.ok("a")]) { origin in
            try await RunningGateway.with(origin: origin.url, configure: { $0.timeouts.content = .passing(50) }) {
                gateway in
                try await RawClient.with(port: gateway.port) { client in
                    try await client.send("GET / HTTP/1.1\r\nHost: g\r\nContent-Length: 5\r\n\r\nhe")
                    let response = try await client.response()
                    #expect(response.text == "a")
                    #expect(await client.read() == nil)
                }
            }
        }
    }

    @Test func restOfPipelinedHeadHasADeadline() async throws {
        try await RawOrigin.with([.ok("a")]) { origin in
            try await RunningGateway.with(origin: origin.url, configure: { $0.timeouts.head = .passing(50) }) {
                gateway in
                try await RawClient.with(port: gateway.port) { client in
                    try await client.send("GET / HTTP/1.1\r\nHost: g\r\n\r\nGET / HT")
                    #expect(try await client.response().text == "a")
                    #expect(try await client.response().status == 408)
                }
            }
        }
    }

    @Test func stoppingLetsExchangesUnderWayFinish() async throws {
        let gate = AsyncStream<Void>.makeStream()
        let slow = RawOrigin.Step.stream { writer in
            for await _ in gate.stream { break }
            try await writer.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nslow")
        }
        try await RawOrigin.with([slow]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                try await RawClient.with(port: gateway.port) { client in
                    try await client.send("GET / HTTP/1.1\r\nHost: g\r\n\r\n")
                    await origin.requests(reach: 1)
                    async let stopped: Void = gateway.server.stop()
                    gate.continuation.finish()
                    #expect(try await client.response().text == "slow")
                    #expect(await client.read() == nil)
                    await stopped
                }
            }
        }
    }

    /// Otherwise, a request could meet the end of its connection when the server stops.
    @Test(arguments: ["/hot", "/new"])
    func responseIsTheLastOnItsConnectionWhenTheGatewayEnds(path: String) async throws {
        try await RawOrigin.with([.ok("a", fields: Self.cacheable), .ok("a")]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                try await RawClient.with(port: gateway.port) { client in
                    for _ in 0..<3 {
                        try await client.send("GET /hot HTTP/1.1\r\nHost: g\r\n\r\n")
                        let kept = try await client.response()
                        #expect(kept.text == "a" && kept["Connection"] == nil)
                    }
                    gateway.server.beginEnding()
                    try await client.send("GET \(path) HTTP/1.1\r\nHost: g\r\n\r\n")
                    let last = try await client.response()
                    #expect(last.text == "a")
                    try #require(last["Connection"] == "close")
                    #expect(await client.read() == nil)
                }
            }
        }
    }
}
