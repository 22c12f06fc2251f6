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

    /// Sends many turns at once, and waits for the end of the connection. The gateway's patience
    /// comes back with time, so a slow machine must not see the turns one by one.
    ///
    /// - Returns: the code of the end.
    private func end(
        _ gateway: RunningGateway,
        after count: Int = 5000,
        _ turn: (UInt32) -> [FrameClient.Frame]
    ) async throws -> UInt32? {
        try await RawClient.with(port: gateway.port) { raw in
            let client = FrameClient(raw)
            let frames = (0..<count).flatMap { turn(UInt32($0 * 2 + 1)) }.flatMap(\.bytes)
            // The gateway may close before it has read all of them.
            try? await client.send(FrameClient.beginning() + frames)
            return await client.frame { $0.type == FrameClient.Frame.goAway }?.code
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
            #expect(end == Self.calm)
        }
    }

    @Test("Resets that the gateway is made to send") func endsProvokedResets() async throws {
        try await withGateway { gateway, _ in
            // A window beyond its limit is an error of the stream. RFC 9113 §6.9.1
            let end = try await end(gateway) { stream in
                [FrameClient.get("/\(stream)", on: stream), FrameClient.window(0x7FFF_FFFF, on: stream)]
            }
            #expect(end == Self.calm)
        }
    }

    @Test("Settings, pings, and DATA without content") func endsFloods() async throws {
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
