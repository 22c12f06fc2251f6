import NIOCore
import Testing

@testable import HoldfastGateway

/// Floods end the connection with ENHANCE_YOUR_CALM (11), after a bounded number of frames.
///
/// Mutants: resets that cost nothing, windows that open byte by byte and are used byte by byte,
/// fields that are counted after decoding.
@Suite("Attacks by HTTP/2", .timeLimit(.minutes(20)))
struct HTTP2AttackTests {
    private static let calm: UInt32 = 11

    private static let ping = FrameClient.Frame(type: 6, payload: [1, 2, 3, 4, 5, 6, 7, 8]).bytes

    /// Sends frames until the gateway ends the connection. Each turn is answered before the next
    /// one.
    ///
    /// - Returns: the code of the end, and how many turns it took.
    private func end(
        _ gateway: RunningGateway,
        limit: Int = 4000,
        _ turn: (UInt32) -> [FrameClient.Frame]
    ) async throws -> (code: UInt32?, turns: Int) {
        try await RawClient.with(port: gateway.port) { raw in
            let client = FrameClient(raw)
            try await client.send(FrameClient.beginning())
            for number in 0..<limit {
                let frames = turn(UInt32(number * 2 + 1)).flatMap(\.bytes)
                // If the gateway has closed, its last frame is still to be read.
                let isSent = (try? await client.send(frames + Self.ping)) != nil
                let answer = await client.frame { $0.type == 7 || isSent && $0.type == 6 }
                if answer?.type != 6 { return (answer?.code, number + 1) }
            }
            return (nil, limit)
        }
    }

    private func withGateway(_ body: (RunningGateway, RawOrigin) async throws -> Void) async throws {
        try await RawOrigin.with(respond: { _ in .silence }) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in try await body(gateway, origin) }
        }
    }

    @Test("Rapid reset") func endsRapidResets() async throws {
        try await withGateway { gateway, _ in
            let end = try await end(gateway) { [FrameClient.get("/\($0)", on: $0), FrameClient.reset($0)] }
            #expect(end.code == Self.calm)
            #expect(end.turns < 300)
        }
    }

    @Test("Resets that the gateway is made to send") func endsProvokedResets() async throws {
        try await withGateway { gateway, _ in
            // A window beyond its limit is an error of the stream. RFC 9113 §6.9.1
            let end = try await end(gateway) { stream in
                [FrameClient.get("/\(stream)", on: stream), FrameClient.window(0x7FFF_FFFF, on: stream)]
            }
            #expect(end.code == Self.calm)
            #expect(end.turns < 300)
        }
    }

    @Test("Settings, pings, and DATA without content") func endsFloods() async throws {
        try await withGateway { gateway, _ in
            let settings = try await end(gateway) { _ in [FrameClient.settings([])] }
            #expect(settings.code == Self.calm)
            let pings = try await end(gateway) { _ in [] }
            #expect(pings.code == Self.calm)
            let data = try await end(gateway) { stream in
                stream == 1
                    ? [FrameClient.request("POST", "/", on: 1, endsStream: false)]
                    : [FrameClient.Frame(type: 0, stream: 1)]
            }
            #expect(data.code == Self.calm)
            for turns in [settings.turns, pings.turns, data.turns] { #expect(turns < 2000) }
        }
    }

    @Test("A field section in endless CONTINUATION frames") func endsContinuations() async throws {
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

    @Test("A bomb: one field of 4,000 bytes in the table, named by one byte each") func endsBombs() async throws {
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

    @Test("A window that opens byte by byte") func sendsNoTinyFrames() async throws {
        let content = String(repeating: "x", count: 100_000)
        try await RawOrigin.with([.ok(content, fields: "Cache-Control: max-age=60\r\n")]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                // Cold, stored, and hot.
                for _ in 0..<4 {
                    try await RawClient.with(port: gateway.port) { raw in
                        let client = FrameClient(raw)
                        try await client.send(FrameClient.beginning([(4, 0)]) + FrameClient.get("/", on: 1).bytes)
                        var (count, isOver) = (0, false)
                        for _ in 0..<3000 where !isOver {
                            let bytes = FrameClient.window(1, on: 1).bytes + Self.ping
                            guard (try? await client.send(bytes)) != nil else { break }
                            while let frame = await client.frame() {
                                if frame.type == 0 { count += 1 }
                                isOver = frame.type == 7
                                if frame.type == 6 || isOver { break }
                            }
                        }
                        #expect(count < 600)
                        #expect(isOver)
                    }
                }
            }
        }
    }

    @Test("A client that opens no window is ended in time, and holds nobody up") func endsClosedWindows() async throws {
        let content = String(repeating: "x", count: 100_000)
        try await RawOrigin.with([.ok(content, fields: "Cache-Control: max-age=60\r\n")]) { origin in
            try await RunningGateway.with(
                origin: origin.url,
                configure: { $0.timeouts.write = .milliseconds(200) },
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

    @Test("More streams than there are places") func refusesFurtherStreams() async throws {
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
