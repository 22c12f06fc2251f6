import HTTPCache
import HoldfastGateway
import HoldfastTesting
import NIOCore
import Testing

/// Attacks over sockets, by their numbers. docs/attacks.md names the test and the mutant of each.
@Suite("Attacks over sockets", .timeLimit(.minutes(20)))
struct GatewayAttackTests {
    private static let cacheable = "Cache-Control: max-age=60\r\n"

    /// Sends an invalid request, followed by one that must not be read as the next request.
    private func expectRefusal(_ request: String, _ status: Int, isForwarded: Bool = false) async throws {
        try await RawOrigin.with { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                try await RawClient.with(port: gateway.port) { client in
                    try await client.send(request + "GET /smuggled HTTP/1.1\r\nHost: g\r\n\r\n")
                    let response = try await client.response()
                    #expect(response.status == status)
                    #expect(response["Content-Type"] == "application/problem+json")
                    #expect(response["Connection"] == "close")
                    #expect(await client.readToEnd().isEmpty)
                }
                // The origin may have got a head, but no request with its content.
                #expect(origin.requests.isEmpty)
                if !isForwarded { #expect(origin.connectionCount == 0) }
            }
        }
    }

    // MARK: Framing

    @Test(
        "1: Content with two lengths, or with an invalid one, is rejected",
        arguments: [
            "Content-Length: 3\r\nTransfer-Encoding: chunked", "Transfer-Encoding: chunked\r\nContent-Length: 3",
            "Transfer-Encoding: chunked, gzip", "Transfer-Encoding: chunked, chunked", "Transfer-Encoding: xchunked",
            "Content-Length: 3\r\nContent-Length: 3", "Content-Length: 3\r\nContent-Length: 4", "Content-Length: +5",
            "Content-Length: 5,5", "Content-Length: -1", "Content-Length: 0x5", "Content-Length:",
            "Content-Length: 99999999999999999999",
        ]
    )
    func ambiguousFraming(fields: String) async throws {
        // As chunks the content is valid, so only the fields can be the reason.
        try await expectRefusal("POST / HTTP/1.1\r\nHost: g\r\n\(fields)\r\n\r\n0\r\n\r\n", 400)
    }

    @Test("1: HTTP/1.0 has no Transfer-Encoding") func oldChunks() async throws {
        try await expectRefusal("POST / HTTP/1.0\r\nHost: g\r\nTransfer-Encoding: chunked\r\n\r\n", 400)
    }

    @Test(
        "2: Lines that other programs read differently are rejected",
        arguments: [
            "X: a\r\n b", "X: a\r\n\tb", "X : a", "X: a\u{0}b", "X: a\rb", "X: a\nY: b", "X\r\n", " X: a", ": a",
        ]
    )
    func ambiguousLines(fields: String) async throws {
        try await expectRefusal("GET / HTTP/1.1\r\nHost: g\r\n\(fields)\r\n\r\n", 400)
    }

    @Test(
        "3: Invalid chunks end the request and the connection",
        arguments: [
            "FFFFFFFFFFFFFFFF1\r\n", "-1\r\n", "5\r\nhelloXX0\r\n\r\n", "5\r\nhello\n0\r\n\r\n",
            "5\nhello\r\n0\r\n\r\n",
            "0\r\nX", "0\r\n\n",
        ]
    )
    func malformedChunks(content: String) async throws {
        try await expectRefusal(
            "POST / HTTP/1.1\r\nHost: g\r\nTransfer-Encoding: chunked\r\n\r\n\(content)",
            400,
            isForwarded: true
        )
    }

    @Test(
        "4: Content of a GET or HEAD on a hit is never read as the next request",
        arguments: ["GET", "HEAD"],
        ["Content-Length: 38\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n26\r\n"]
    )
    func contentOnAHit(method: String, framing: String) async throws {
        let smuggled = "GET /smuggled HTTP/1.1\r\nHost: evil\r\n\r\n"
        try await RawOrigin.with([.ok("hit", fields: Self.cacheable), .ok("next")]) { origin in
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

    @Test(
        "5: An upgrade is not forwarded, and the bytes after it are HTTP/1.1 or rejected",
        arguments: ["Upgrade, HTTP2-Settings", "HTTP2-Settings", "close-not"]
    )
    func upgrade(connection: String) async throws {
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

    @Test("6: Pipelined requests after a collapsed miss get responses in their order") func pipelining() async throws {
        let gate = AsyncStream<Void>.makeStream()
        let slow = RawOrigin.Step.stream { writer in
            for await _ in gate.stream { break }
            try await writer.write("HTTP/1.1 200 OK\r\n\(Self.cacheable)Content-Length: 4\r\n\r\nslow")
        }
        try await RawOrigin.with([.ok("fast", fields: Self.cacheable), slow]) { origin in
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

    @Test(
        "8: A badly framed response is not stored, and its connection not used again",
        arguments: [
            "HTTP/1.1 200 OK\r\n\(cacheable)Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
            "HTTP/1.1 200 OK\r\n\(cacheable)Content-Length: 2\r\nContent-Length: 3\r\n\r\nok",
            String(repeating: "HTTP/1.1 103 Hint\r\n\r\n", count: 40),
        ]
    )
    func misframed(answer: String) async throws {
        let good = RawOrigin.Step.ok("good", fields: Self.cacheable)
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

    @Test("8: Bytes after a response are no client's response") func trailingBytes() async throws {
        let response = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"
        try await RawOrigin.with([.response(response), .ok("good")]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                let answer2 = try await gateway.get("/a")
                #expect(answer2.text == "ok")
                let answer3 = try await gateway.get("/b")
                #expect(answer3.text == "good")
                #expect(origin.connectionCount == 2)
            }
        }
    }

    @Test(
        "9: Several Hosts, or an invalid one, are rejected",
        arguments: ["Host: g\r\nHost: g", "Host: g\r\nHost: h", "Host: g, h", "Host: u@g", "Host: g/x", "X: y"]
    )
    func hosts(fields: String) async throws {
        try await expectRefusal("GET / HTTP/1.1\r\n\(fields)\r\n\r\n", 400)
    }

    // MARK: Privacy

    @Test(
        "26: A tenant's response serves no other tenant, and no anonymous request",
        arguments: ["Authorization", "Cookie"]
    )
    func tenants(name: String) async throws {
        let responses = ["a", "b", "none"].map { RawOrigin.Step.ok($0, fields: Self.cacheable) }
        try await RawOrigin.with(responses) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                let answer4 = try await gateway.get("/", fields: "\(name): tenant=a\r\n")
                #expect(answer4.text == "a")
                let answer5 = try await gateway.get("/", fields: "\(name): tenant=b\r\n")
                #expect(answer5.text == "b")
                let answer6 = try await gateway.get("/")
                #expect(answer6.text == "none")
                #expect(origin.requests.count == 3)
            }
        }
    }

    // MARK: Denial

    @Test("29: A head beyond the limits gets 431, and is neither forwarded nor stored") func largeHeads()
        async throws
    {
        try await expectRefusal(
            "GET / HTTP/1.1\r\nHost: g\r\nX: \(String(repeating: "a", count: 70_000))\r\n\r\n",
            431
        )
        let response = "HTTP/1.1 431 Too Large\r\nContent-Length: 2\r\n\r\nno"
        try await RawOrigin.with([.response(response), .ok("yes")]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                let answer7 = try await gateway.get("/")
                #expect(answer7.status == 431)
                let answer8 = try await gateway.get("/")
                #expect(answer8.text == "yes")
            }
        }
    }

    @Test(
        "30: Control characters are not forwarded",
        arguments: [
            "GET /\u{1} HTTP/1.1\r\nHost: g", "GET /\u{7F} HTTP/1.1\r\nHost: g", "GET /a\tb HTTP/1.1\r\nHost: g",
            "GET / HTTP/1.1\r\nHost: g\r\nX: a\u{1}b", "GET / HTTP/1.1\r\nHost: g\r\nX: a\u{7F}b",
            "GET / HTTP/1.1\r\nHost: g\u{1}",
        ]
    )
    func controlCharacters(request: String) async throws {
        try await expectRefusal(request + "\r\n\r\n", 400)
    }

    @Test(
        "33: Many, tiny or overlapping ranges cost no more than the whole",
        arguments: [
            (0..<200).map { "\($0)-\($0)" }.joined(separator: ","), String(repeating: "0-,", count: 100) + "0-",
            (0..<2000).map { "\($0 * 2)-\($0 * 2)" }.joined(separator: ","),
        ]
    )
    func ranges(ranges: String) async throws {
        let content = String(repeating: "0123456789", count: 100)
        try await RawOrigin.with([.ok(content, fields: Self.cacheable)]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                _ = try await gateway.get("/")
                let response = try await gateway.get("/", fields: "Range: bytes=\(ranges)\r\n")
                #expect([200, 206, 416].contains(response.status))
                #expect(response.content.count <= content.utf8.count + 2048)
                #expect(origin.requests.count == 1)
            }
        }
    }

    @Test("33: A range beyond the cap is not forwarded")
    func rangesOfMisses() async throws {
        let within = "bytes=" + (0..<16).map { "\($0 * 2)-\($0 * 2)" }.joined(separator: ",")
        for (range, isForwarded) in [
            (within, true), (within + ",40-41", false), ("bytes=0-" + String(repeating: "0", count: 2000), false),
        ] {
            try await RawOrigin.with([.ok("whole", fields: Self.cacheable)]) { origin in
                try await RunningGateway.with(origin: origin.url) { gateway in
                    let response = try await gateway.get("/", fields: "Range: \(range)\r\nIf-Range: \"1\"\r\n")
                    #expect(response.status == 200 && response.text == "whole")
                    #expect(origin.requests.first?.values("Range") == (isForwarded ? [range] : []))
                    #expect(origin.requests.first?.values("If-Range") == (isForwarded ? ["\"1\""] : []))
                }
            }
        }
    }

    @Test(
        "31: An error that a client provokes for a good URI reaches that client only",
        arguments: [
            "400 Bad Request", "405 Method Not Allowed", "413 Content Too Large", "414 URI Too Long",
            "416 Range Not Satisfiable", "431 Request Header Fields Too Large", "501 Not Implemented",
        ]
    )
    func provokedErrors(status: String) async throws {
        let error = "HTTP/1.1 \(status)\r\nCache-Control: public, max-age=86400\r\nContent-Length: 2\r\n\r\nno"
        try await RawOrigin.with([.response(error), .ok("good", fields: Self.cacheable)]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                let provoking = "X-Large: \(String(repeating: "a", count: 20_000))\r\n"
                let provoked = try await gateway.get("/", fields: provoking)
                #expect(provoked.text == "no")
                #expect(try await gateway.get("/").text == "good")
                #expect(try await gateway.get("/").text == "good")
                #expect(origin.requests.count == 2)
            }
        }
    }

    @Test(
        "34: A Connection that names credentials shares no private response",
        arguments: ["Authorization", "Cookie"]
    )
    func namedCredentials(name: String) async throws {
        try await RawOrigin.with([.ok("mine", fields: Self.cacheable), .ok("yours")]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                let fields = "Connection: close, \(name)\r\n\(name): secret=1\r\n"
                let answer9 = try await gateway.get("/", fields: fields)
                #expect(answer9.text == "mine")
                #expect(origin.requests.first?.values(name) == ["secret=1"])
                if name == "Authorization" { #expect(try await gateway.get("/").text == "yours") }
            }
        }
    }

    @Test("35: A client that reads nothing slows no other client") func slowReaders() async throws {
        let content = [UInt8](repeating: 0x61, count: 16 << 20)
        let head = "HTTP/1.1 200 OK\r\n\(Self.cacheable)Content-Length: \(content.count)\r\n\r\n"
        try await RawOrigin.with([.response(Array(head.utf8) + content)]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                try await RawClient.with(port: gateway.port, receiveBuffer: 16 << 10) { slow in
                    try await slow.send("GET / HTTP/1.1\r\nHost: g\r\n\r\n")
                    await origin.requests(reach: 1)
                    let other = try await gateway.get("/")
                    #expect(other.content.count == content.count && other.isComplete)
                    #expect(origin.requests.count == 1)
                }
            }
        }
    }

    @Test("36: A client that aborts truncates no stored response") func aborts() async throws {
        let gate = AsyncStream<Void>.makeStream()
        let slow = RawOrigin.Step.stream { writer in
            try await writer.write("HTTP/1.1 200 OK\r\n\(Self.cacheable)Content-Length: 10\r\n\r\nhello")
            for await _ in gate.stream { break }
            try await writer.write("world")
        }
        try await RawOrigin.with([slow]) { origin in
            // The second for which a fetch continues without a reader does not pass.
            try await RunningGateway.with(origin: origin.url, sleeper: ManualDurationClock()) { gateway in
                try await RawClient.with(port: gateway.port) { client in
                    try await client.send("GET / HTTP/1.1\r\nHost: g\r\n\r\n")
                    _ = await client.read()
                    await client.reset()
                }
                gate.continuation.finish()
                // The fetch continues without the client, and stores a complete response.
                for _ in 0..<2 {
                    let response = try await gateway.get("/")
                    #expect(response.text == "helloworld")
                }
                #expect(origin.requests.count == 1)
            }
        }
    }

    @Test("39: A flood of distinct queries gets only its places at the origin; the rest fails at once")
    func floods() async throws {
        var options = EngineOptions.patient
        options.inFlightLimit = 2
        options.waitingLimit = 1
        try await RawOrigin.with([.silence, .silence]) { origin in
            try await RunningGateway.with(origin: origin.url, options: options) { gateway in
                try await withThrowingTaskGroup(of: RawResponse?.self) { tasks in
                    for number in 0..<12 {
                        tasks.addTask { try? await gateway.get("/?\(number)") }
                    }
                    var refused = 0
                    while refused < 9, let response = try await tasks.next() {
                        #expect(response?.status == 503)
                        #expect(response?["Cache-Status"]?.contains("detail=overloaded") == true)
                        #expect(response?.text.contains("urn:holdfast:problem:overloaded") == true)
                        refused += 1
                    }
                    #expect(refused == 9)
                    await origin.requests(reach: 2)
                    #expect(origin.requests.count == 2 && gateway.engine.inFlightFetchCount <= 3)
                    // The silent ones end with their connections.
                    await origin.stop()
                    while try await tasks.next() != nil {}
                }
            }
        }
    }

    @Test("40: A response that may not be shared releases its waiting requests in parallel")
    func uncacheableLeaders()
        async throws
    {
        let gate = AsyncStream<Void>.makeStream()
        let leader = RawOrigin.Step.stream { writer in
            for await _ in gate.stream { break }
            try await writer.write("HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nContent-Length: 1\r\n\r\n0")
        }
        try await RawOrigin.with([leader, .silence, .silence]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                try await withThrowingTaskGroup(of: RawResponse?.self) { tasks in
                    for _ in 0..<3 { tasks.addTask { try? await gateway.get("/") } }
                    await origin.requests(reach: 1)
                    while gateway.engine.memberCount < 3 { await Task.yield() }
                    gate.continuation.finish()
                    // Both are sent before either gets a response, so they do not wait for each
                    // other.
                    await origin.requests(reach: 3)
                    #expect(try await tasks.next()??.text == "0")
                    await origin.stop()
                    while try await tasks.next() != nil {}
                }
            }
        }
    }

    @Test("40: Requests that wait for a silent origin wait no longer than its timeout") func silentLeaders()
        async throws
    {
        var options = EngineOptions()
        options.hardTimeout = .passing(200)
        // On a busy machine one of them may come after the first has given up.
        try await RawOrigin.with([.silence, .silence, .silence]) { origin in
            try await RunningGateway.with(origin: origin.url, mode: .online, options: options) { gateway in
                try await withThrowingTaskGroup(of: RawResponse.self) { tasks in
                    for _ in 0..<3 { tasks.addTask { try await gateway.get("/") } }
                    for try await response in tasks { #expect(response.status == 504) }
                }
            }
        }
    }

    @Test(
        "42: No request chooses another host than the origin's",
        arguments: [
            "GET http://evil.example/a HTTP/1.1\r\nHost: evil.example", "GET /a HTTP/1.1\r\nHost: evil.example:1",
            "GET //evil.example/a HTTP/1.1\r\nHost: g", "GET /a HTTP/1.1\r\nHost: g\r\nX-Forwarded-Host: evil.example",
            "GET /a HTTP/1.1\r\nHost: g\r\nForwarded: host=evil.example",
        ]
    )
    func otherHosts(request: String) async throws {
        try await RawOrigin.with([.ok("here")]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                let answer10 = try await gateway.send(request + "\r\n\r\n")
                #expect(answer10.text == "here")
                #expect(origin.requests.map { $0.values("Host") } == [[origin.authority]])
                #expect(origin.requests.first?.text.contains("evil.example\r\n") == false)
            }
        }
    }
}
