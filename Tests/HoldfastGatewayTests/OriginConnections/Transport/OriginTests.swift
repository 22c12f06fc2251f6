import HTTPCache
import HoldfastTesting
import NIOCore
import Testing

@testable import HoldfastGateway
@testable import OriginConnections

/// Requests to the origin.
@Suite(.timeLimit(.minutes(20)))
struct OriginTests {
    private static let cacheable = "Cache-Control: max-age=60\r\n"

    /// docs/attacks.md, 8. Mutants: an end of input that completes every framing; a protocol
    /// violation that is let through.
    /// The origin misbehaves before its head.
    @Test(arguments: [
        (RawOrigin.Step.hangUp, 502), (.respondAndReset([]), 502),
        (.respondAndClose("HTTP/1.1 200 OK\r\nConte"), 502),
        (.response("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n"), 502),
        (.response("HTTP/1.1 200 OK\r\nX : y\r\n\r\n"), 502), (.response("what?\r\n\r\n"), 502),
        (.response("HTTP/1.1 101 Switching\r\n\r\n"), 502),
        (.response(String(repeating: "HTTP/1.1 103 E\r\n\r\n", count: 20)), 502),
    ])
    func misbehavingOriginCauses5xxProblemAndDropsNoClient(step: RawOrigin.Step, status: Int) async throws {
        try await RawOrigin.with([step, .ok("fine")]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                try await RawClient.with(port: gateway.port) { client in
                    try await client.send("GET / HTTP/1.1\r\nHost: g\r\n\r\n")
                    var response = try await client.response()
                    while response.status == 103 { response = try await client.response() }
                    #expect(response.status == status)
                    #expect(response["Content-Type"] == "application/problem+json")
                    #expect(response["Cache-Control"] == "no-store")
                    #expect(response["Cache-Status"]?.hasPrefix("holdfast; fwd=uri-miss") == true)
                    try await client.send("GET / HTTP/1.1\r\nHost: g\r\n\r\n")
                    #expect(try await client.response().text == "fine")
                }
                #expect(origin.connectionCount == 2)
            }
        }
    }

    @Test func silentOriginIs504AndRefusedConnectionIs504AtOnce() async throws {
        try await RawOrigin.with([.silence]) { origin in
            try await RunningGateway.with(
                origin: origin.url,
                configureTransport: { $0.firstByteTimeout = .passing(50) }
            ) { gateway in
                let silent = try await gateway.get("/")
                #expect(silent.status == 504)
                #expect(silent.text.contains("urn:holdfast:problem:origin-unreachable"))
                await origin.stop()
                // The first request discovers it, the others fail without a connection. Clients see
                // no difference.
                for path in ["/1", "/2", "/3", "/4"] {
                    let refused = try await gateway.get(path)
                    #expect(refused.status == 504)
                    #expect(refused["Cache-Status"] == "holdfast; fwd=uri-miss; detail=unreachable")
                }
            }
        }
    }

    @Test func makesNoConnectionOfflineAndResponds504WithReason() async throws {
        try await RawOrigin.with { origin in
            try await RunningGateway.with(origin: origin.url, mode: .offline) { gateway in
                let response = try await gateway.get("/")
                #expect(response.status == 504)
                #expect(response.text.contains("urn:holdfast:problem:offline-miss"))
                #expect(origin.connectionCount == 0)
            }
        }
    }

    @Test func servesStoredResponsesIfTheOriginIsUnreachable() async throws {
        try await RawOrigin.with([.ok("kept", fields: Self.cacheable)]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                _ = try await gateway.get("/")
                await origin.stop()
                gateway.clock.advance(by: .seconds(3600))
                let response = try await gateway.get("/")
                #expect(response.status == 200)
                #expect(response.text == "kept")
                #expect(response["Cache-Status"]?.contains("detail=unreachable") == true)
            }
        }
    }

    /// docs/attacks.md, 8. Mutants: `BodyStream` that ends instead of throwing; `finish` in place
    /// of `abort`.
    @Test(arguments: [
        (RawOrigin.Step.respondAndClose("HTTP/1.1 200 OK\r\n\(cacheable)Content-Length: 9\r\n\r\nhello"), "1.1"),
        (
            .respondAndClose("HTTP/1.1 200 OK\r\n\(cacheable)Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"),
            "1.1"
        ),
        (.response("HTTP/1.1 200 OK\r\n\(cacheable)Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nX\r\n"), "1.1"),
        (.respondAndReset(Array("HTTP/1.1 200 OK\r\n\(cacheable)\r\nhello".utf8)), "1.1"),
        (.respondAndClose("HTTP/1.1 200 OK\r\n\(cacheable)Content-Length: 9\r\n\r\nhello"), "1.0"),
    ])
    func truncatedContentIsVisiblyBrokenAndNotStored(step: RawOrigin.Step, version: String) async throws {
        try await RawOrigin.with([step, .ok("whole", fields: Self.cacheable)]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                do {
                    let response = try await gateway.send("GET / HTTP/\(version)\r\nHost: g\r\n\r\n")
                    #expect(!response.isComplete || response.status == 502)
                } catch is RawClient.Failure {
                    // A reset before the head was read is not a clean end either.
                }
                #expect(gateway.store.all.isEmpty)
                let second = try await gateway.get("/")
                #expect(second.text == "whole")
                #expect(origin.connectionCount == 2)
            }
        }
    }

    @Test func closeDelimitedContentIsCompleteIfTheCloseIsClean() async throws {
        try await RawOrigin.with([.respondAndClose("HTTP/1.0 200 OK\r\n\(Self.cacheable)\r\nhello")]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                let first = try await gateway.get("/")
                #expect(first.isComplete)
                #expect(first.text == "hello")
                let second = try await gateway.get("/")
                #expect(second["Cache-Status"]?.contains("hit") == true)
            }
        }
    }

    /// The connection is free then.
    /// Mutant: `wholeContent()` that keeps the connection until the caller asks for the content.
    @Test func contentThatComesWithItsHeadHasALength() async throws {
        let chunks = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\nVary: x\r\n\r\n"
        try await RawOrigin.with([.response(chunks), .ok("next"), .ok("")]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                let whole = try await gateway.get("/a")
                #expect(whole.text == "abc")
                #expect(whole["Content-Length"] == "3")
                #expect(whole["Transfer-Encoding"] == nil)
                // This also holds for HTTP/1.0 clients, for which otherwise only the end of the
                // connection would end the content.
                let old = try await gateway.send("GET /b HTTP/1.0\r\nHost: g\r\n\r\n")
                #expect(old.text == "next")
                #expect(old["Content-Length"] == "4")
                let empty = try await gateway.get("/c")
                #expect(empty["Content-Length"] == "0")
                #expect(origin.connectionCount == 1)
            }
        }
    }

    @Test func usesConnectionsAgain() async throws {
        let chunked = RawOrigin.Step.response(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nb\r\n0\r\n\r\n"
        )
        try await RawOrigin.with([.ok("a"), chunked, .response("HTTP/1.1 204 No Content\r\n\r\n"), .ok("c"), .ok("d")])
        {
            origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                for target in ["/a", "/b", "/n", "/c"] { _ = try await gateway.get(target) }
                _ = try await gateway.send("POST / HTTP/1.1\r\nHost: g\r\nContent-Length: 1\r\n\r\nx")
                #expect(origin.requests.count == 5)
                #expect(origin.connectionCount == 1)
            }
        }
    }

    @Test(arguments: [
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok",
        "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison",
        "HTTP/1.1 204 No Content\r\n\r\npoison",
    ])
    func neverReusesConnectionOnWhichAnythingWentWrong(response: String) async throws {
        try await RawOrigin.with([.response(response), .ok("next")]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                _ = try await gateway.get("/")
                let second = try await gateway.get("/2")
                #expect(second.text == "next")
                #expect(origin.connectionCount == 2)
            }
        }
    }

    @Test(arguments: [
        ("GET / HTTP/1.1\r\nHost: g\r\n\r\n", 200), ("DELETE / HTTP/1.1\r\nHost: g\r\n\r\n", 200),
        ("PUT / HTTP/1.1\r\nHost: g\r\nContent-Length: 1\r\n\r\nx", 200),
        ("POST / HTTP/1.1\r\nHost: g\r\nContent-Length: 1\r\n\r\nx", 502),
    ])
    func sendsOnlyIdempotentRequestsAgainOnceOnDeadConnection(request: String, status: Int) async throws {
        try await RawOrigin.with([.ok("first"), .hangUp, .ok("again")]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                _ = try await gateway.get("/first")
                let response = try await gateway.send(request)
                #expect(response.status == status)
                #expect(origin.requests.count == (status == 200 ? 3 : 2))
                if status == 200 { #expect(origin.requests[1].head == origin.requests[2].head) }
            }
        }
    }

    /// Mutant: `isUnsent` never set, so that a POST fails on a connection that had closed before it
    /// was used.
    @Test func sendsUntakenRequestOnNewConnectionEvenPOST() async throws {
        try await RawOrigin.with([.ok("a"), .ok("b")]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                _ = try await gateway.get("/a")
                // As if the connection closed between being taken from the pool and being used.
                let endpoint = OriginEndpoint(isSecure: false, host: "127.0.0.1", port: UInt16(origin.port))
                let connection = try #require(gateway.transport.pool.take(endpoint, near: nil))
                try await connection.close().get()
                #expect(gateway.transport.pool.keep(connection, endpoint))
                let response = try await gateway.send("POST / HTTP/1.1\r\nHost: g\r\nContent-Length: 1\r\n\r\nx")
                #expect(response.text == "b")
            }
        }
    }

    @Test func closesUnusedKeptConnection() async throws {
        try await RawOrigin.with([.ok("a")]) { origin in
            try await RunningGateway.with(
                origin: origin.url,
                configureTransport: { $0.idleTimeout = .passing(1) }
            ) { gateway in
                _ = try await gateway.get("/a")
                await origin.connectionCloses()
            }
        }
    }

    @Test func neverRetriesNewConnectionThatDies() async throws {
        try await RawOrigin.with([.hangUp, .ok("never")]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                let response = try await gateway.get("/")
                #expect(response.status == 502)
                #expect(origin.requests.count == 1)
            }
        }
    }

    @Test func responseBeforeAllContentWasSentPassesAndEndsConnection() async throws {
        // As many bytes as are read before the origin gets the request.
        let content = String(repeating: "x", count: 64 << 10)
        try await RawOrigin.with([.early(Array("HTTP/1.1 413 Too big\r\nContent-Length: 2\r\n\r\nno".utf8))]) {
            origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                try await RawClient.with(port: gateway.port) { client in
                    try await client.send("POST / HTTP/1.1\r\nHost: g\r\nContent-Length: 100000000\r\n\r\n\(content)")
                    let response = try await client.response()
                    #expect(response.status == 413)
                    #expect(response.text == "no")
                }
                await origin.connectionCloses()
            }
        }
    }

    /// Mutants: an unshared response that is kept for a leader that has gone, because an in-flight
    /// fetch is kept alive by the reader of its interim responses.
    @Test func unsharedResponseWhoseClientHasGoneReleasesItsConnection() async throws {
        let gate = Gate()
        let unshared = RawOrigin.Step.stream { writer in
            try await gate.wait()
            try await writer.write(
                Array("HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nContent-Length: 1000000\r\n\r\nx".utf8)
            )
        }
        let stale = RawOrigin.Step.ok("a", fields: "Cache-Control: max-age=0\r\nETag: \"1\"\r\n")
        let last = RawOrigin.Step.ok("b", fields: "Cache-Control: no-store\r\n")
        try await RawOrigin.with([stale, unshared, last]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                _ = try await gateway.get("/")
                async let leader: Void = RawClient.with(port: gateway.port) { client in
                    try await client.send("GET / HTTP/1.1\r\nHost: g\r\n\r\n")
                    await origin.requests(reach: 2)
                    while gateway.engine.memberCount < 2, !Task.isCancelled { await Task.yield() }
                    await client.reset()
                }
                await origin.requests(reach: 2)
                async let follower = gateway.get("/")
                try await leader
                while gateway.engine.memberCount > 1, !Task.isCancelled { await Task.yield() }
                gate.open()
                #expect(try await follower.text == "b")
                await origin.connectionCloses()
            }
        }
    }

    /// docs/attacks.md, 36. Mutant: `channelInactive` that cancels nothing.
    @Test func clientThatGoesAwayEndsItsExchangeWithTheOrigin() async throws {
        try await RawOrigin.with([.silence]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                try await RawClient.with(port: gateway.port) { client in
                    try await client.send("POST / HTTP/1.1\r\nHost: g\r\nContent-Length: 1\r\n\r\nx")
                    await origin.requests(reach: 1)
                    await client.reset()
                    await origin.connectionCloses()
                }
            }
        }
    }

    @Test func clientThatGoesAwayEndsNoFetchThatOthersWaitFor() async throws {
        let gate = AsyncStream<Void>.makeStream()
        let slow = RawOrigin.Step.stream { writer in
            try await writer.write("HTTP/1.1 200 OK\r\n\(Self.cacheable)Content-Length: 10\r\n\r\nhello")
            for await _ in gate.stream { break }
            try await writer.write("world")
        }
        try await RawOrigin.with([slow]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                try await RawClient.with(port: gateway.port) { leader in
                    try await leader.send("GET / HTTP/1.1\r\nHost: g\r\n\r\n")
                    _ = await leader.read()
                    try await RawClient.with(port: gateway.port) { follower in
                        try await follower.send("GET / HTTP/1.1\r\nHost: g\r\n\r\n")
                        _ = await follower.read()
                        await leader.reset()
                        gate.continuation.finish()
                        var rest: [UInt8] = []
                        while !rest.ends(with: "world"), let bytes = await follower.read() { rest += bytes }
                        #expect(rest.ends(with: "world"))
                    }
                }
                #expect(origin.requests.count == 1)
            }
        }
    }

    /// Mutants: `autoRead` on for connections to the origin; `write` that never waits.
    @Test func slowReaderSlowsTheOriginAndMemoryStaysBounded() async throws {
        let sent = Counter()
        let total = 256 << 20
        let endless = RawOrigin.Step.stream { writer in
            try await writer.write("HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nContent-Length: \(total)\r\n\r\n")
            let chunk = [UInt8](repeating: 0x61, count: 1 << 20)
            for _ in 0..<256 {
                try await writer.write(chunk)
                sent.add(chunk.count)
            }
        }
        try await RawOrigin.with([endless]) { origin in
            try await RunningGateway.with(origin: origin.url, configure: { $0.timeouts.write = .passing(300) }) {
                gateway in
                try await RawClient.with(port: gateway.port, receiveBuffer: 64 << 10) { client in
                    try await client.send("GET / HTTP/1.1\r\nHost: g\r\n\r\n")
                    _ = await client.read()
                    // It stops reading until the gateway gives it up. By then, the origin must not
                    // have been read to its end.
                    await origin.connectionCloses()
                    #expect(sent.value < total / 4)
                }
            }
        }
    }

    /// In requests and in responses.
    @Test func largeContentPassesWhole() async throws {
        let size = 5 << 20
        let content = [UInt8](repeating: 0x62, count: size)
        let response = Array("HTTP/1.1 200 OK\r\nContent-Length: \(size)\r\n\r\n".utf8) + content
        try await RawOrigin.with([.response(response)]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                try await RawClient.with(port: gateway.port) { client in
                    try await client.send(
                        Array("POST / HTTP/1.1\r\nHost: g\r\nContent-Length: \(size)\r\n\r\n".utf8) + content
                    )
                    var count = 0
                    while count < size, let bytes = await client.read() { count += bytes.count }
                    #expect(count >= size)
                }
                #expect(origin.requests.first?.content.count == size)
            }
        }
    }
}
