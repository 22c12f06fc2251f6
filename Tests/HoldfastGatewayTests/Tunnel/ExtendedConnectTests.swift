import HTTPCache
import HoldfastConfiguration
import NIOCore
import Testing

@testable import HoldfastGateway

/// WebSocket over HTTP/2.
@Suite(.timeLimit(.minutes(20)))
struct ExtendedConnectTests {
    private typealias Frame = FrameClient.Frame

    private static func connect(
        _ stream: UInt32,
        _ path: String = "/chat",
        protocolName: String? = "websocket",
        fields: [(String, String)] = [("sec-websocket-version", "13")],
        endsStream: Bool = false
    ) -> Frame {
        let name = protocolName.map { [(":protocol", $0)] } ?? []
        return FrameClient.request("CONNECT", path, on: stream, fields: name + fields, endsStream: endsStream)
    }

    private static func data(_ stream: UInt32, _ text: String, endsStream: Bool = false) -> Frame {
        Frame(type: Frame.data, flags: endsStream ? 1 : 0, stream: stream, payload: Array(text.utf8))
    }

    private func with(
        _ manner: SwitchingOrigin.Manner = .init(),
        protocols: [String] = ["websocket"],
        mode: OfflineMode = .automatic,
        settings: [(UInt16, UInt32)] = [],
        configure: (inout GatewayConfiguration) -> Void = { _ in },
        _ body: (SwitchingOrigin, RunningGateway, FrameClient) async throws -> Void
    ) async throws {
        try await SwitchingOrigin.with(manner) { origin in
            try await RunningGateway.with(
                origin: origin.url,
                mode: mode,
                configure: { configuration in
                    UpgradeTests.passing(protocols)(&configuration)
                    configure(&configuration)
                }
            ) { gateway in
                try await RawClient.with(port: gateway.port) { raw in
                    let client = FrameClient(raw)
                    try await client.send(FrameClient.beginning(settings))
                    try await body(origin, gateway, client)
                }
            }
        }
    }

    /// The content of a stream, until there are so many bytes or it ends.
    private func content(_ count: Int, of stream: UInt32, from client: FrameClient) async throws -> String {
        var bytes: [UInt8] = []
        while bytes.count < count, let frame = await client.frame() {
            guard frame.stream == stream, frame.type == Frame.data else { continue }
            bytes += frame.payload
            if frame.endsStream { break }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private func head(of stream: UInt32, from client: FrameClient) async -> [(name: String, value: String)] {
        guard let frame = await client.frame(where: { $0.stream == stream && $0.type == Frame.headers }) else {
            return []
        }
        return client.fields(of: frame)
    }

    @Test(arguments: [true, false]) func sendsTheSettingOnlyWhereRoutePassesWebSockets(isAllowed: Bool) async throws {
        try await with(protocols: isAllowed ? ["websocket"] : []) { _, _, client in
            let frame = try #require(await client.frame { $0.type == Frame.settings && $0.flags == 0 })
            let settings = stride(from: 0, to: frame.payload.count, by: 6).map { Array(frame.payload[$0..<($0 + 6)]) }
            #expect(settings.contains([0, 8, 0, 0, 0, 1]) == isAllowed)
        }
    }

    @Test func connectBecomesHandshakeOfHTTP11AndBytesPassBothWays() async throws {
        var manner = SwitchingOrigin.Manner()
        manner.response = { SwitchingOrigin.switching(to: $0, fields: "Sec-WebSocket-Protocol: chat\r\n") }
        try await with(manner) { origin, gateway, client in
            let fields = [
                ("sec-websocket-version", "13"), ("sec-websocket-key", "mine"), ("origin", "http://a.example"),
            ]
            try await client.send(Self.connect(1, fields: fields))
            let head = await head(of: 1, from: client)
            #expect(head.first?.value == "200")
            #expect(head.contains { $0.name == "sec-websocket-protocol" && $0.value == "chat" })
            #expect(!head.contains { ["sec-websocket-accept", "upgrade", "connection"].contains($0.name) })
            for text in ["one", "two"] {
                try await client.send(Self.data(1, text))
                #expect(try await content(3, of: 1, from: client) == text)
            }
            let sent = try #require(origin.heads.first)
            #expect(sent.hasPrefix("GET /chat HTTP/1.1\r\n"))
            #expect(sent.contains("\r\nConnection: upgrade\r\nUpgrade: websocket\r\n"))
            #expect(sent.lowercased().contains("\r\nsec-websocket-version: 13\r\n"))
            #expect(!sent.contains("mine"))
            #expect(sent.lowercased().components("\r\nsec-websocket-key: ").count == 2)
            #expect(sent.contains("http://a.example"))
            // Both ends.
            try await client.send(Self.data(1, "", endsStream: true))
            let end = await client.frame { $0.stream == 1 && $0.type == Frame.data }
            #expect(end?.endsStream == true)
            await origin.connectionsClose()
            while gateway.server.tunnelCount > 0, !Task.isCancelled { await Task.yield() }
        }
    }

    @Test func framesCutAnywhereKeepBytesBeforeTheResponse() async throws {
        try await with { _, gateway, _ in
            let bytes = FrameClient.beginning() + Self.connect(1).bytes + Self.data(1, "early").bytes
            for cut in 1..<bytes.count {
                try await RawClient.with(port: gateway.port) { raw in
                    let client = FrameClient(raw)
                    try await client.send(Array(bytes[..<cut]))
                    try await client.send(Array(bytes[cut...]))
                    #expect(try await content(5, of: 1, from: client) == "early", "\(cut)")
                }
            }
        }
    }

    @Test func thirtyTunnelsOnOneConnectionKeepTheirBytesApart() async throws {
        try await with { _, gateway, client in
            let streams = (0..<30).map { UInt32(2 * $0 + 1) }
            for stream in streams { try await client.send(Self.connect(stream), Self.data(stream, "<\(stream)>")) }
            var received: [UInt32: String] = [:]
            while received.count < 30 || received.contains(where: { !$1.hasSuffix(">") }) {
                guard let frame = await client.frame() else { break }
                if frame.type == Frame.data {
                    received[frame.stream, default: ""] += String(decoding: frame.payload, as: UTF8.self)
                }
            }
            #expect(received == Dictionary(uniqueKeysWithValues: streams.map { ($0, "<\($0)>") }))
            #expect(gateway.server.tunnelCount == 30)
            for stream in streams { try await client.send(FrameClient.reset(stream)) }
            while gateway.server.tunnelCount > 0, !Task.isCancelled { await Task.yield() }
        }
    }

    @Test func originThatDoesNotSwitchRespondsOverHTTP2() async throws {
        var manner = SwitchingOrigin.Manner()
        manner.response = { _ in "HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno" }
        try await with(manner) { origin, gateway, client in
            try await client.send(Self.connect(1), Self.data(1, "early"))
            let response = try await client.responses([1])[1]
            #expect(response?.status == 403)
            #expect(response?.text == "no")
            #expect(origin.bytes.isEmpty)
            while gateway.server.tunnelCount > 0, !Task.isCancelled { await Task.yield() }
        }
    }

    /// RFC 8441 §5
    @Test(arguments: [200, 204, 299]) func successWithoutSwitchOpensNoTunnel(status: Int) async throws {
        var manner = SwitchingOrigin.Manner()
        manner.response = { _ in
            "HTTP/1.1 \(status) X\r\nContent-Type: text/plain\r\n"
                + (status == 204 ? "\r\n" : "Content-Length: 2\r\n\r\nok")
        }
        try await with(manner) { origin, gateway, client in
            for stream in (0..<30).map({ UInt32(2 * $0 + 1) }) {
                try await client.send(Self.connect(stream))
                let response = try await client.responses([stream])[stream]
                #expect(response?.status == 502)
                #expect(response?.text.contains("not-switched") == true)
            }
            #expect(origin.bytes.isEmpty)
            while gateway.server.tunnelCount > 0, !Task.isCancelled { await Task.yield() }
        }
    }

    @Test func status426HasNoUpgradeFieldInHTTP2() async throws {
        var manner = SwitchingOrigin.Manner()
        manner.response = { _ in "HTTP/1.1 426 X\r\nUpgrade: h2c\r\nConnection: upgrade\r\nContent-Length: 0\r\n\r\n" }
        try await with(manner) { _, _, client in
            try await client.send(Self.connect(1))
            let head = await head(of: 1, from: client)
            #expect(head.first?.value == "426")
            #expect(!head.contains { ["upgrade", "connection"].contains($0.name) })
        }
    }

    @Test func responseToAnotherKeyIsAnError() async throws {
        var manner = SwitchingOrigin.Manner()
        manner.response = { _ in SwitchingOrigin.switching(to: "Sec-WebSocket-Key: other\r\n") }
        try await with(manner) { origin, _, client in
            try await client.send(Self.connect(1))
            let response = try await client.responses([1])[1]
            #expect(response?.status == 502)
            #expect(response?.text.contains("wrong-websocket-key") == true)
            await origin.connectionsClose()
        }
    }

    @Test(arguments: [("connect-udp", 501), (nil, 501), ("a b", 400)] as [(String?, Int)])
    func refusesOtherFormsOfCONNECTAndForwardsNothing(name: String?, status: Int) async throws {
        try await with { origin, _, client in
            try await client.send(Self.connect(1, protocolName: name))
            let response = try await client.responses([1])[1]
            // Without ':protocol', nghttp2 itself finds fault with ':scheme' and ':path'.
            #expect(response?.status == status || (name == nil && response?.reset != nil))
            #expect(origin.acceptedCount == 0)
        }
    }

    @Test func protocolFieldBelongsToCONNECT() async throws {
        try await with { origin, _, client in
            try await client.send(
                FrameClient.request("GET", "/", on: 1, fields: [(":protocol", "websocket")], endsStream: true)
            )
            let response = try await client.responses([1])[1]
            #expect(response?.status == 400 || response?.reset != nil)
            #expect(origin.acceptedCount == 0)
        }
    }

    @Test func routeThatPassesNoWebSocketRefusesIt() async throws {
        try await SwitchingOrigin.with { origin in
            try await RunningGateway.with(
                origin: origin.url,
                configure: { configuration in
                    guard let made = try? GatewayOrigin(origin.url),
                        var first = try? GatewayRoute(path: "/ws", origin: made),
                        let second = try? GatewayRoute(origin: made)
                    else { return }
                    first.upgrades = ["websocket"]
                    if let routes = try? GatewayRoutes([first, second]) { configuration.routes = routes }
                }
            ) { gateway in
                try await RawClient.with(port: gateway.port) { raw in
                    let client = FrameClient(raw)
                    try await client.send(FrameClient.beginning())
                    try await client.send(Self.connect(1, "/other"), Self.connect(3, "/ws/a"))
                    #expect(try await client.responses([1])[1]?.status == 501)
                    try await client.send(Self.data(3, "a"))
                    #expect(try await content(1, of: 3, from: client) == "a")
                    #expect(origin.acceptedCount == 1)
                }
            }
        }
    }

    @Test func clientGets504Offline() async throws {
        try await with(mode: .offline) { origin, _, client in
            try await client.send(Self.connect(1))
            let response = try await client.responses([1])[1]
            #expect(response?.status == 504)
            #expect(response?.text.contains("offline-miss") == true)
            #expect(origin.acceptedCount == 0)
        }
    }

    @Test func tunnelBeyondTheLimitGets503() async throws {
        try await with(configure: { $0.maximumTunnels = 1 }) { _, gateway, client in
            try await client.send(Self.connect(1), Self.data(1, "a"))
            #expect(try await content(1, of: 1, from: client) == "a")
            try await client.send(Self.connect(3))
            let response = try await client.responses([3])[3]
            #expect(response?.status == 503)
            #expect(response?["retry-after"] == "1")
            try await client.send(FrameClient.reset(1))
            while gateway.server.tunnelCount > 0, !Task.isCancelled { await Task.yield() }
            try await client.send(Self.connect(5), Self.data(5, "b"))
            #expect(try await content(1, of: 5, from: client) == "b")
        }
    }

    /// When it reads again, it gets the rest.
    @Test func clientThatDoesNotReadGetsNoMoreThanItsWindow() async throws {
        let count = 4 << 20
        var manner = SwitchingOrigin.Manner()
        manner.begin = { $0.writeAndFlush(ByteBuffer(repeating: 7, count: count), promise: nil) }
        manner.receive = { _, _ in }
        try await with(manner, settings: [(4, 1000)]) { _, gateway, client in
            try await client.send(Self.connect(1))
            var received = 0
            while received < 1000, let frame = await client.frame() {
                if frame.type == Frame.data { received += frame.payload.count }
            }
            #expect(received == 1000)
            // A ping's answer comes behind everything that may be sent.
            try await client.send(Frame(type: Frame.ping, payload: [UInt8](repeating: 1, count: 8)))
            let next = await client.frame { $0.type == Frame.data || $0.type == Frame.ping }
            #expect(next?.type == Frame.ping)
            try await client.send(FrameClient.window(1 << 30, on: 0), FrameClient.window(1 << 30, on: 1))
            while received < count, let frame = await client.frame() {
                if frame.type == Frame.data { received += frame.payload.count }
            }
            #expect(received == count)
            #expect(gateway.server.tunnelCount == 1)
        }
    }

    /// The window of the connection is smaller than what waits for either of them.
    /// One of them always has more to send.
    @Test func tunnelsOfOneConnectionTakeTurns() async throws {
        let (grant, total) = (16 << 10, 1 << 20)
        var manner = SwitchingOrigin.Manner()
        manner.begin = { $0.writeAndFlush(ByteBuffer(repeating: 7, count: 4 << 20), promise: nil) }
        manner.receive = { _, _ in }
        try await with(manner, settings: [(4, 1 << 24)]) { origin, _, client in
            try await client.send(Self.connect(1), Self.connect(3))
            #expect(await head(of: 3, from: client).first?.value == "200")
            var (counts, granted, received) = ([UInt32: Int](), 0, 0)
            while granted < total {
                try await client.send(FrameClient.window(UInt32(grant), on: 0))
                granted += grant
                while received < granted, let frame = await client.frame() {
                    guard frame.type == Frame.data else { continue }
                    counts[frame.stream, default: 0] += frame.payload.count
                    received += frame.payload.count
                }
            }
            #expect(counts[1, default: 0] > total / 16 && counts[3, default: 0] > total / 16, "\(counts)")
        }
    }

    @Test func originThatDoesNotReadClosesTheClientsWindow() async throws {
        var manner = SwitchingOrigin.Manner()
        manner.reads = false
        try await with(manner) { origin, gateway, client in
            try await client.send(Self.connect(1))
            #expect(await head(of: 1, from: client).first?.value == "200")
            // The client sends as much as its window allows, until that stays closed: the buffers
            // of two sockets are full then.
            var (window, sent, isOpen) = (64 << 10, 0, true)
            while isOpen, sent < 64 << 20 {
                while window >= 16 << 10 {
                    try await client.send(
                        Frame(type: Frame.data, stream: 1, payload: [UInt8](repeating: 1, count: 16 << 10))
                    )
                    window -= 16 << 10
                    sent += 16 << 10
                }
                // The answer to a second ping comes behind all updates of windows that were due.
                var answers = 0
                isOpen = false
                try await client.send(Frame(type: Frame.ping, payload: [UInt8](repeating: 1, count: 8)))
                while answers < 2, let frame = await client.frame() {
                    if frame.type == Frame.ping {
                        answers += 1
                        try await client.send(Frame(type: Frame.ping, payload: [UInt8](repeating: 2, count: 8)))
                    }
                    if frame.type == Frame.window, frame.stream == 1 {
                        window += Int(FrameClient.number(frame.payload))
                        isOpen = true
                    }
                }
            }
            // A tunnel without bounds would have taken more.
            #expect(sent < 64 << 20)
            #expect(gateway.server.tunnelCount == 1)
            for channel in origin.channels { try await channel.setOption(.autoRead, value: true).get() }
            await origin.bytesReach(sent)
        }
    }

    @Test func clientsResetEndsTheOriginsConnection() async throws {
        try await with { origin, gateway, client in
            try await client.send(Self.connect(1), Self.data(1, "a"))
            #expect(try await content(1, of: 1, from: client) == "a")
            try await client.send(FrameClient.reset(1))
            await origin.connectionsClose()
            while gateway.server.tunnelCount > 0, !Task.isCancelled { await Task.yield() }
        }
    }

    @Test func vanishingOriginIsAResetAndClosingOneIsAnEnd() async throws {
        try await with { origin, gateway, client in
            try await client.send(Self.connect(1), Self.data(1, "a"))
            #expect(try await content(1, of: 1, from: client) == "a")
            for channel in origin.channels { channel.reset() }
            // RFC 8441 §5
            let reset = await client.frame { $0.stream == 1 && $0.type == Frame.reset }
            #expect(reset?.code == 8)
            await origin.connectionsClose()
            try await client.send(Self.connect(3), Self.data(3, "a"))
            #expect(try await content(1, of: 3, from: client) == "a")
            for channel in origin.channels { try? await channel.close() }
            let end = await client.frame { $0.stream == 3 && $0.type == Frame.data }
            #expect(end?.endsStream == true)
            try await client.send(Self.data(3, "", endsStream: true))
            while gateway.server.tunnelCount > 0, !Task.isCancelled { await Task.yield() }
        }
    }

    @Test func halfClosedClientStillGetsWhatTheOriginSends() async throws {
        var manner = SwitchingOrigin.Manner()
        manner.receive = { _, _ in }
        manner.end = { channel in
            channel.writeAndFlush(ByteBuffer(string: "bye")).whenComplete { _ in channel.close(promise: nil) }
        }
        try await with(manner) { _, _, client in
            try await client.send(Self.connect(1), Self.data(1, "all", endsStream: true))
            let response = try await client.responses([1])[1]
            #expect(response?.status == 200)
            #expect(response?.text == "bye")
            #expect(response?.reset == nil)
        }
    }

    @Test func tunnelsContinueUntilTheTimeToDrainIsOver() async throws {
        try await withEnoughTime(from: .milliseconds(300)) { draining in
            var isInTime = false
            try await with(configure: { $0.timeouts.draining = draining }) { origin, gateway, client in
                try await client.send(Self.connect(1), Self.data(1, "a"))
                #expect(try await content(1, of: 1, from: client) == "a")
                async let stopping: Void = gateway.server.stop()
                #expect(await client.frame { $0.type == Frame.goAway } != nil)
                try? await client.send(Self.data(1, "still"))
                isInTime = try await content(5, of: 1, from: client) == "still"
                while await client.frame() != nil {}
                await stopping
                await origin.connectionsClose()
                while gateway.server.tunnelCount > 0, !Task.isCancelled { await Task.yield() }
            }
            return isInTime
        }
    }
}

extension String {
    /// The parts between a text, as often as it occurs.
    fileprivate func components(_ separator: String) -> [Substring] {
        var parts: [Substring] = []
        var rest = self[...]
        while let place = rest.firstRange(of: separator) {
            parts.append(rest[..<place.lowerBound])
            rest = rest[place.upperBound...]
        }
        return parts + [rest]
    }
}
