import NIOCore
import Testing

@testable import HoldfastGateway

/// Floods end the connection with ENHANCE_YOUR_CALM (11), after a bounded number of frames.
///
/// Mutants: resets that cost nothing, windows that open byte by byte and are used byte by byte,
/// fields that are counted after decoding.
@Suite(.timeLimit(.minutes(20))) struct HTTP2AttackTests {
    private static let calm: UInt32 = 11

    /// Sends many turns at once, and waits for the end of the connection. The gateway's patience
    /// comes back with time, so a slow machine must not see the turns one by one.
    ///
    /// - Returns: the code of the end; `nil` if the gateway responds to all of them.
    private func end(
        _ gateway: RunningGateway,
        after count: Int = 5000,
        _ turn: (UInt32) -> [FrameClient.Frame]
    ) async throws -> UInt32? {
        try await RawClient.with(port: gateway.port) { raw in
            let client = FrameClient(raw)
            let frames = (0..<count).flatMap { turn(UInt32($0 * 2 + 1)) }.flatMap(\.bytes)
            // The gateway may close before it has read all of them.
            let last = FrameClient.Frame(type: FrameClient.Frame.ping, payload: Array("the last".utf8))
            try? await client.send(FrameClient.beginning() + frames + last.bytes)
            return await client.frame { frame in
                frame.type == FrameClient.Frame.goAway || frame.type == last.type && frame.payload == last.payload
            }?.code
        }
    }

    private func withGateway(_ body: (RunningGateway, RawOrigin) async throws -> Void) async throws {
        try await RawOrigin.with(respond: { _ in .silence }) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in try await body(gateway, origin) }
        }
    }

    /// Rapid reset.
    @Test func endsRapidResets() async throws {
        try await withGateway { gateway, _ in
            let end = try await end(gateway) { [FrameClient.get("/\($0)", on: $0), FrameClient.reset($0)] }
            #expect(end == Self.calm)
        }
    }

    /// Resets that the gateway is made to send.
    @Test func endsProvokedResets() async throws {
        try await withGateway { gateway, _ in
            // A window beyond its limit is an error of the stream. RFC 9113 §6.9.1
            let end = try await end(gateway) { stream in
                [FrameClient.get("/\(stream)", on: stream), FrameClient.window(0x7FFF_FFFF, on: stream)]
            }
            #expect(end == Self.calm)
        }
    }

    /// Settings, pings, and DATA without content.
    @Test func endsFloodsOfFramesWithoutContent() async throws {
        try await withGateway { gateway, _ in
            #expect(try await end(gateway) { _ in [FrameClient.settings([])] } == Self.calm)
            let ping = FrameClient.Frame(type: FrameClient.Frame.ping, payload: [1, 2, 3, 4, 5, 6, 7, 8])
            #expect(try await end(gateway) { _ in [ping] } == Self.calm)
            let data = try await end(gateway) { stream in
                stream == 1
                    ? [FrameClient.request("POST", "/", on: 1, endsStream: false)]
                    : [FrameClient.Frame(type: 0, stream: 1)]
            }
            #expect(data == Self.calm)
            #expect(try await end(gateway) { _ in [FrameClient.window(1, on: 0)] } == Self.calm)
            let priority = FrameClient.Frame(type: 2, stream: 1, payload: [0, 0, 0, 3, 1])
            #expect(try await end(gateway) { _ in [priority] } == Self.calm)
        }
    }

    /// Requests that nghttp2 refuses.
    @Test func endsMalformedRequests() async throws {
        try await withGateway { gateway, _ in
            let end = try await end(gateway) { [FrameClient.get("/", on: $0, fields: [("A", "b")])] }
            #expect(end == Self.calm)
        }
    }

    /// Bombs that are refused one by one: 70 bytes for 280,000.
    @Test func endsSmallBombs() async throws {
        try await withGateway { gateway, _ in
            let first = [UInt8(0x40)] + FrameClient.text("a") + FrameClient.text(String(repeating: "b", count: 4000))
            let bombs = [UInt8](repeating: 0xBE, count: 70)
            // Few are enough: they cost what was decoded, and not what was sent.
            let heads = try await end(gateway, after: 20) { stream in
                var frame = FrameClient.get("/", on: stream)
                frame.payload += (stream == 1 ? first : []) + bombs
                return [frame]
            }
            #expect(heads == Self.calm)
            let trailers = try await end(gateway, after: 20) { stream in
                let payload = (stream == 1 ? first : []) + bombs
                let end = FrameClient.Frame(type: FrameClient.Frame.headers, flags: 5, stream: stream, payload: payload)
                return [FrameClient.request("POST", "/", on: stream, endsStream: false), end]
            }
            #expect(trailers == Self.calm)
        }
    }

    /// A head that is never complete.
    @Test func endsHeadsThatNeverEnd() async throws {
        try await RawOrigin.with(respond: { _ in .silence }) { origin in
            try await RunningGateway.with(
                origin: origin.url,
                configure: { $0.timeouts.head = .passing(40) },
                { gateway in
                    try await RawClient.with(port: gateway.port) { raw in
                        let client = FrameClient(raw)
                        // A request is under way, so the connection is not idle.
                        let part = FrameClient.get("/b", on: 3).bytes.dropLast(3)
                        try await client.send(FrameClient.beginning() + FrameClient.get("/a", on: 1).bytes + part)
                        #expect(await client.frame { $0.type == FrameClient.Frame.goAway }?.code == Self.calm)
                    }
                }
            )
        }
    }

    /// A client that sends byte by byte does not put its end off.
    @Test func endsHeadsByteByByte() async throws {
        try await RawOrigin.with([.ok("fine")]) { origin in
            try await RunningGateway.with(
                origin: origin.url,
                configure: { $0.timeouts.head = .passing(40) },
                { gateway in
                    try await RawClient.with(port: gateway.port) { raw in
                        let client = FrameClient(raw)
                        try await client.send(FrameClient.beginning())
                        // Slower machines only take longer, and so does the head.
                        let value = String(repeating: "b", count: 4000)
                        async let sending: Void = {
                            for byte in FrameClient.get("/", on: 1, fields: [("a", value)]).bytes {
                                guard (try? await raw.send([byte])) != nil else { return }
                                try? await Task.sleep(for: .milliseconds(1))  // lets time pass
                            }
                        }()
                        let end = await client.frame { [FrameClient.Frame.headers, 7].contains($0.type) }
                        #expect(end?.code == Self.calm)
                        while await client.frame() != nil {}
                        await sending
                    }
                }
            )
        }
    }

    /// A client that reads nothing, and pings, does not put its end off.
    @Test func endsClosedWindowsDespitePings() async throws {
        let content = String(repeating: "x", count: 100_000)
        try await RawOrigin.with([.ok(content, fields: "Cache-Control: max-age=60\r\n")]) { origin in
            try await RunningGateway.with(
                origin: origin.url,
                configure: { $0.timeouts.write = .passing(40) },
                { gateway in
                    try await RawClient.with(port: gateway.port) { raw in
                        let client = FrameClient(raw)
                        try await client.send(FrameClient.beginning([(4, 0)]) + FrameClient.get("/", on: 1).bytes)
                        let ping = FrameClient.Frame(type: FrameClient.Frame.ping, payload: [1, 2, 3, 4, 5, 6, 7, 8])
                        async let sending: Void = {
                            for _ in 0..<800 {
                                guard (try? await raw.send(ping.bytes)) != nil else { return }
                                try? await Task.sleep(for: .milliseconds(1))  // lets time pass
                            }
                            // Nothing ended it.
                            try? await raw.send(FrameClient.window(200_000, on: 1).bytes)
                        }()
                        let end = await client.frame { [FrameClient.Frame.data, 3, 7].contains($0.type) }
                        #expect(end?.type == FrameClient.Frame.reset)
                        await sending
                    }
                }
            )
        }
    }

    /// Uploads that stop get 408, and their connection continues.
    @Test func endsStoppedUploads() async throws {
        try await RawOrigin.with(respond: { $0.target == "/fine" ? .ok("fine") : .silence }) { origin in
            try await RunningGateway.with(
                origin: origin.url,
                configure: { $0.timeouts.content = .passing(40) },
                { gateway in
                    try await RawClient.with(port: gateway.port) { raw in
                        let client = FrameClient(raw)
                        try await client.send(FrameClient.beginning())
                        let streams = (0..<30).map { UInt32($0 * 2 + 1) }
                        for stream in streams {
                            try await client.send(
                                FrameClient.request("POST", "/\(stream)", on: stream, endsStream: false),
                                FrameClient.Frame(type: 0, stream: stream, payload: [1, 2, 3])
                            )
                        }
                        let responses = try await client.responses(Set(streams))
                        #expect(responses.values.map(\.status) == [Int](repeating: 408, count: 30))
                        try await client.send(FrameClient.get("/fine", on: 61))
                        #expect(try await client.responses([61])[61]?.text == "fine")
                    }
                }
            )
        }
    }

    /// Many requests of one connection leave a permit to another connection.
    @Test func leavesPermitsToOtherConnections() async throws {
        try await RawOrigin.with(respond: { _ in .silence }) { origin in
            try await RunningGateway.with(
                origin: origin.url,
                configure: { $0.maximumConnections = 8 },
                { gateway in
                    try await RawClient.with(port: gateway.port) { raw in
                        let greedy = FrameClient(raw)
                        try await greedy.send(FrameClient.beginning())
                        for number in UInt32(0)..<7 {
                            try await greedy.send(FrameClient.get("/\(number)", on: 1 + 2 * number))
                        }
                        // Six of eight are taken.
                        let refused = await greedy.frame { $0.type == FrameClient.Frame.reset }
                        #expect(refused?.stream == 13)
                        #expect(refused?.code == 7)
                        try await RawClient.with(port: gateway.port) { raw in
                            let modest = FrameClient(raw)
                            let requests = FrameClient.get("/a", on: 1).bytes + FrameClient.get("/b", on: 3).bytes
                            try await modest.send(FrameClient.beginning() + requests)
                            #expect(await modest.frame { $0.type == FrameClient.Frame.reset }?.stream == 3)
                        }
                    }
                }
            )
        }
    }

    /// A field section in endless CONTINUATION frames.
    @Test func endsContinuations() async throws {
        try await withGateway { gateway, _ in
            try await RawClient.with(port: gateway.port) { raw in
                let client = FrameClient(raw)
                try await client.send(FrameClient.beginning())
                let head = FrameClient.Frame(
                    type: 1,
                    flags: 1,
                    stream: 1,
                    payload: FrameClient.literal(":method", "GET")
                )
                try await client.send(head)
                let more = FrameClient.Frame(type: 9, stream: 1, payload: FrameClient.literal("a", "b"))
                for _ in 0..<2000 { guard (try? await client.send(more)) != nil else { break } }
                // It ends, whatever the code: nghttp2 has a limit of its own.
                #expect(await client.frame { $0.type == 7 } != nil)
                while await client.frame() != nil {}
            }
        }
    }

    /// A bomb: one field of 4,000 bytes in the table, named by one byte each.
    @Test func endsBombs() async throws {
        try await withGateway { gateway, _ in
            let first = [UInt8(0x40)] + FrameClient.text("a") + FrameClient.text(String(repeating: "b", count: 4000))
            let bomb = FrameClient.get("/", on: 1).payload + first + [UInt8](repeating: 0xBE, count: 12_000)
            try await RawClient.with(port: gateway.port) { raw in
                let client = FrameClient(raw)
                try await client.send(
                    FrameClient.beginning() + FrameClient.Frame(type: 1, flags: 5, stream: 1, payload: bomb).bytes
                )
                #expect(await client.frame { $0.type == 7 }?.code == Self.calm)
                while await client.frame() != nil {}
            }
        }
    }

    /// A window that opens byte by byte.
    @Test func sendsNoTinyFrames() async throws {
        let content = String(repeating: "x", count: 100_000)
        try await RawOrigin.with([.ok(content, fields: "Cache-Control: max-age=60\r\n")]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                // Cold, stored, and hot.
                for _ in 0..<4 {
                    try await RawClient.with(port: gateway.port) { raw in
                        let client = FrameClient(raw)
                        let opening = (0..<5000).flatMap { _ in FrameClient.window(1, on: 1).bytes }
                        let beginning = FrameClient.beginning([(4, 0)]) + FrameClient.get("/", on: 1).bytes
                        try? await client.send(beginning + opening)
                        var count = 0
                        let end = await client.frame { frame in
                            if frame.type == 0 { count += 1 }
                            return frame.type == FrameClient.Frame.goAway
                        }
                        #expect(end?.code == Self.calm)
                        #expect(count <= 600)
                    }
                }
            }
        }
    }

    /// Many clients open their window when they have read half of it, and wait. Mutant:
    /// `half-a-window-is-small`.
    @Test func servesAClientThatOpensHalfOfASmallWindow() async throws {
        let content = String(repeating: "x", count: 60_000)
        try await RawOrigin.with([.ok(content, fields: "Cache-Control: max-age=60\r\n")]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                // Cold, stored, and hot.
                for round in 0..<4 {
                    try await RawClient.with(port: gateway.port) { raw in
                        let client = FrameClient(raw)
                        try await client.send(FrameClient.beginning([(4, 2000)]) + FrameClient.get("/", on: 1).bytes)
                        var count = 0
                        while let frame = await client.frame(where: { $0.type == FrameClient.Frame.data }) {
                            count += frame.payload.count
                            if frame.endsStream { break }
                            try await client.send(FrameClient.window(1000, on: 1).bytes)
                        }
                        #expect(count == content.utf8.count, "round \(round)")
                    }
                }
            }
        }
    }

    /// A client that opens no window is ended in time, and delays no other client.
    @Test func endsClosedWindows() async throws {
        let content = String(repeating: "x", count: 100_000)
        try await RawOrigin.with([.ok(content, fields: "Cache-Control: max-age=60\r\n")]) { origin in
            try await RunningGateway.with(
                origin: origin.url,
                configure: { $0.timeouts.write = .passing(200) },
                { gateway in
                    _ = try await gateway.get("/", fields: "")
                    for round in 0..<4 {
                        try await RawClient.with(port: gateway.port) { raw in
                            let client = FrameClient(raw)
                            try await client.send(FrameClient.beginning([(4, 0)]) + FrameClient.get("/", on: 1).bytes)
                            let end = await client.frame { $0.type == 3 || $0.type == 7 }
                            #expect(end != nil, "round \(round)")
                        }
                    }
                }
            )
        }
    }

    /// More streams than there are permits.
    @Test func refusesFurtherStreams() async throws {
        try await withGateway { gateway, _ in
            try await RawClient.with(port: gateway.port) { raw in
                let client = FrameClient(raw)
                try await client.send(FrameClient.beginning())
                // It does not acknowledge the settings: after that, this is an error of the
                // connection.
                for number in 0..<101 {
                    let stream = UInt32(number * 2 + 1)
                    try await client.send(FrameClient.get("/\(number)", on: stream))
                }
                let reset = await client.frame { $0.type == 3 }
                #expect(reset?.stream == 201)
                #expect(reset?.code == 7)
            }
        }
    }
}
