import NIOCore
import Testing

@testable import HoldfastGateway

/// HTTP/2 over real sockets.
@Suite(.timeLimit(.minutes(20)))
struct HTTP2ConnectionTests {
    private func connect(
        _ gateway: RunningGateway,
        _ settings: [(UInt16, UInt32)] = [],
        closesAtEnd: Bool = true,
        _ body: (FrameClient) async throws -> Void
    ) async throws {
        try await RawClient.with(port: gateway.port, closesAtEnd: closesAtEnd) { client in
            let frames = FrameClient(client)
            try await frames.send(FrameClient.beginning(settings))
            try await body(frames)
        }
    }

    private static let cacheable = "Cache-Control: max-age=60\r\n"

    @Test func missHitAndHotHitHaveTheSameContent() async throws {
        try await RawOrigin.with([.ok("feed", fields: Self.cacheable)]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                try await connect(gateway) { client in
                    for stream: UInt32 in [1, 3, 5, 7, 9] {
                        try await client.send(FrameClient.get("/feed", on: stream))
                        let response = try #require(try await client.responses([stream])[stream])
                        #expect(response.status == 200)
                        #expect(response.text == "feed")
                        #expect(response["content-length"] == "4")
                        #expect(response["cache-status"]?.contains(stream == 1 ? "fwd=uri-miss" : "; hit") == true)
                        // The client has all of a response before it is stored.
                        await gateway.waitForFills(upTo: 0)
                    }
                }
                #expect(await gateway.server.hotResponseCount() > 0)
                #expect(origin.requests.count == 1)
            }
        }
    }

    @Test func readsHeadCutAnywhere() async throws {
        try await RawOrigin.with([.ok("feed", fields: Self.cacheable)]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                _ = try await gateway.get("/feed", fields: "")
                let bytes = FrameClient.beginning() + FrameClient.get("/feed", on: 1).bytes
                for cut in 1..<bytes.count {
                    try await RawClient.with(port: gateway.port) { raw in
                        let client = FrameClient(raw)
                        try await client.send(Array(bytes[..<cut]))
                        try await client.send(Array(bytes[cut...]))
                        let response = try await client.responses([1])[1]
                        #expect(response?.text == "feed", "cut at \(cut)")
                    }
                }
            }
        }
    }

    /// Each has thirty requests at a time.
    @Test func servesThirtyConnectionsOfBothProtocols() async throws {
        let respond: @Sendable (RawOrigin.Request) -> RawOrigin.Step = { request in
            let path = request.text.split(separator: " ")[1]
            return .ok(String(path) + String(repeating: "x", count: path.utf8.count * 700), fields: Self.cacheable)
        }
        try await RawOrigin.with(respond: respond) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for connection in 0..<30 {
                        group.addTask {
                            if connection % 3 == 0 {
                                for number in 0..<30 {
                                    let response = try await gateway.get("/\(number % 20)", fields: "")
                                    #expect(response.text.hasPrefix("/\(number % 20)x"))
                                }
                                return
                            }
                            try await connect(gateway) { client in
                                let streams = (0..<30).map { UInt32($0 * 2 + 1) }
                                for stream in streams {
                                    try await client.send(FrameClient.get("/\(stream % 20)", on: stream))
                                }
                                let responses = try await client.responses(Set(streams))
                                for stream in streams {
                                    let path = "/\(stream % 20)"
                                    let expected = path + String(repeating: "x", count: path.utf8.count * 700)
                                    #expect(responses[stream]?.text == expected)
                                }
                            }
                        }
                    }
                    try await group.waitForAll()
                }
            }
        }
    }

    @Test func takesContentEvenInFramesOfOneByte() async throws {
        let step = RawOrigin.Step.reflect { request in
            let content = String(decoding: request.content, as: UTF8.self)
            return Array("HTTP/1.1 200 OK\r\nContent-Length: \(content.utf8.count)\r\n\r\n\(content)".utf8)
        }
        try await RawOrigin.with([step, step]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                try await connect(gateway) { client in
                    let length = [("content-length", "6")]
                    try await client.send(
                        FrameClient.request("POST", "/a", on: 1, fields: length, endsStream: false)
                    )
                    for (index, byte) in "abcdef".utf8.enumerated() {
                        try await client.send(.init(type: 0, flags: index == 5 ? 1 : 0, stream: 1, payload: [byte]))
                    }
                    #expect(try await client.responses([1])[1]?.text == "abcdef")
                    let content = [UInt8](repeating: UInt8(ascii: "x"), count: 10_000)
                    try await client.send(
                        FrameClient.request("POST", "/b", on: 3, endsStream: false),
                        .init(type: 0, stream: 3, payload: content),
                        .init(type: 0, flags: 1, stream: 3)
                    )
                    let text = try await client.responses([3])[3]?.text
                    // The origin shows its chunks, as many as there were pieces.
                    #expect(text?.count { $0 == "x" } == 10_000)
                }
                // Content without a length is forwarded in chunks.
                #expect(origin.requests.map(\.text)[1].lowercased().contains("transfer-encoding: chunked"))
            }
        }
    }

    @Test func sends103And100OnTheirStream() async throws {
        let step = RawOrigin.Step.response(
            "HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
        )
        try await RawOrigin.with([step, .ok("ok")]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                try await connect(gateway) { client in
                    try await client.send(FrameClient.get("/a", on: 1))
                    let response = try #require(try await client.responses([1])[1])
                    #expect(response.interims == [103])
                    #expect(response.text == "ok")
                    let fields = [("content-length", "2"), ("expect", "100-continue")]
                    try await client.send(FrameClient.request("POST", "/b", on: 3, fields: fields, endsStream: false))
                    // The content comes when the gateway has asked for it.
                    let interim = try #require(await client.frame { $0.type == FrameClient.Frame.headers })
                    #expect(interim.stream == 3)
                    #expect(!interim.endsStream)
                    try await client.send(.init(type: 0, flags: 1, stream: 3, payload: Array("hi".utf8)))
                    #expect(try await client.responses([3])[3]?.status == 200)
                }
            }
        }
    }

    @Test func largeResponsePassesSmallWindowsAndWaitsForClosedOnes() async throws {
        let content = String(repeating: "0123456789", count: 40_000)
        try await RawOrigin.with([.ok(content, fields: Self.cacheable)]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                // INITIAL_WINDOW_SIZE
                try await connect(gateway, [(4, 2000)]) { client in
                    for stream: UInt32 in [1, 3, 5, 7] {
                        try await client.send(FrameClient.get("/large", on: stream))
                        let response = try await client.responses([stream])[stream]
                        #expect(response?.text == content)
                    }
                }
            }
        }
    }

    @Test func responseThatBreaksOffResetsOnlyItsStream() async throws {
        let broken = RawOrigin.Step.respondAndClose(
            Array("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n".utf8) + [UInt8](repeating: 0x61, count: 90_000)
        )
        try await RawOrigin.with([broken, .ok("fine")]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                try await connect(gateway) { client in
                    try await client.send(FrameClient.get("/broken", on: 1))
                    #expect(try await client.responses([1])[1]?.reset == 2)
                    try await client.send(FrameClient.get("/fine", on: 3))
                    #expect(try await client.responses([3])[3]?.text == "fine")
                }
            }
        }
    }

    /// This holds however many break off.
    @Test func blamesNoClientForResponsesThatBreakOff() async throws {
        let broken = Array("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345".utf8)
        let respond: @Sendable (RawOrigin.Request) -> RawOrigin.Step = { request in
            request.text.hasPrefix("GET /fine") ? .ok("fine") : .respondAndClose(broken)
        }
        try await RawOrigin.with(respond: respond) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                try await connect(gateway) { client in
                    // More than would use all patience up.
                    for number in 0..<(HTTP2Patience.limit / HTTP2Patience.Cost.reset.points + 50) {
                        let stream = UInt32(number * 2 + 1)
                        try await client.send(FrameClient.get("/\(number)", on: stream))
                        let response = try #require(try await client.responses([stream])[stream])
                        try #require(response.reset == 2 || response.status >= 500)
                    }
                    try await client.send(FrameClient.get("/fine", on: 9001))
                    #expect(try await client.responses([9001])[9001]?.text == "fine")
                }
            }
        }
    }

    @Test func servesPrefaceThatComesWhileTheGatewayStops() async throws {
        try await RawOrigin.with([.ok("fine")]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                try await RawClient.with(port: gateway.port) { raw in
                    let client = FrameClient(raw)
                    // The connection is accepted, and its protocol is not known yet.
                    try await client.send(Array(FrameClient.preface.prefix(1)))
                    while gateway.server.connectionCount == 0, !Task.isCancelled { await Task.yield() }
                    let stop = Task { await gateway.server.stop() }
                    while !gateway.server.isStopping, !Task.isCancelled { await Task.yield() }
                    let rest = FrameClient.beginning().dropFirst() + FrameClient.get("/fine", on: 1).bytes
                    try await client.send(Array(rest))
                    #expect(try await client.responses([1])[1]?.text == "fine")
                    let end = await client.frame { $0.type == FrameClient.Frame.goAway }
                    #expect(end?.code == 0)
                    await stop.value
                }
            }
        }
    }

    @Test func invalidRequestsGetTheirStatusAndTheConnectionContinues() async throws {
        try await RawOrigin.with([.ok("fine")]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                try await connect(gateway) { client in
                    try await client.send(FrameClient.get("/a", on: 1, fields: [("host", "b.example")]))
                    #expect(try await client.responses([1])[1]?.status == 400)
                    try await client.send(FrameClient.get("/" + String(repeating: "a", count: 9000), on: 3))
                    #expect(try await client.responses([3])[3]?.status == 414)
                    try await client.send(FrameClient.get("/fine", on: 5))
                    #expect(try await client.responses([5])[5]?.text == "fine")
                }
            }
        }
    }

    @Test func neverWaitsForFieldsThatWereRefused() async throws {
        try await RawOrigin.with([.ok("fine")]) { origin in
            try await RunningGateway.with(
                origin: origin.url,
                configure: { $0.timeouts.head = .passing(40) },
                { gateway in
                    try await connect(gateway) { client in
                        // A name in upper case. RFC 9113 §8.2
                        try await client.send(FrameClient.get("/a", on: 1, fields: [("A", "b")]))
                        #expect(try await client.responses([1])[1]?.reset == 1)
                        try await Task.sleep(for: .milliseconds(200))  // lets time pass
                        try await client.send(FrameClient.get("/fine", on: 3))
                        #expect(try await client.responses([3])[3]?.text == "fine")
                    }
                }
            )
        }
    }

    @Test func stoppingFinishesRequestsUnderWayAndTellsTheClient() async throws {
        let gates = Gates()
        let step = RawOrigin.Step.stream { writer in
            await gates.pass("origin")
            try await writer.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        }
        try await RawOrigin.with([step]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                try await connect(gateway) { client in
                    try await client.send(FrameClient.get("/slow", on: 1))
                    await gates.arrival(at: "origin")
                    let stop = Task { await gateway.server.stop() }
                    let ping = try #require(await client.frame { $0.type == FrameClient.Frame.ping })
                    try await client.send(.init(type: FrameClient.Frame.ping, flags: 1, payload: ping.payload))
                    // The first one names no last stream, because more may be on their way.
                    let ends = [
                        await client.frame { $0.type == FrameClient.Frame.goAway },
                        await client.frame { $0.type == FrameClient.Frame.goAway },
                    ]
                    #expect(ends.map { $0.map { FrameClient.number($0.payload) } } == [0x7FFF_FFFF, 1])
                    gates.open("origin")
                    #expect(try await client.responses([1])[1]?.text == "ok")
                    #expect(await client.frame() == nil)
                    await stop.value
                }
            }
        }
    }

    /// Neither a client that does not answer the ping, nor one that answers and stays connected,
    /// may take the time for closing or draining: here both are without end.
    ///
    /// Mutant: `stop-waits-for-silent-clients`.
    @Test(arguments: [true, false]) func stopsWithoutWaitingForIdleClientsToClose(answersPing: Bool) async throws {
        try await RawOrigin.with([.ok("fine")]) { origin in
            try await RunningGateway.with(
                origin: origin.url,
                configure: {
                    $0.timeouts.draining = $0.timeouts.closing
                    if !answersPing { $0.timeouts.lateRequest = .passing(50) }
                }
            ) { gateway in
                try await connect(gateway, closesAtEnd: false) { client in
                    try await client.send(FrameClient.get("/fine", on: 1))
                    #expect(try await client.responses([1])[1]?.text == "fine")
                    let stop = Task { await gateway.server.stop() }
                    let ping = try #require(await client.frame { $0.type == FrameClient.Frame.ping })
                    if answersPing {
                        try await client.send(.init(type: FrameClient.Frame.ping, flags: 1, payload: ping.payload))
                    }
                    // It ends although the client reads no further and does not close.
                    await stop.value
                }
            }
        }
    }
}
