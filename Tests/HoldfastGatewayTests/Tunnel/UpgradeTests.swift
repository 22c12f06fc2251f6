import HTTPCache
import HoldfastConfiguration
import HoldfastMetrics
import NIOCore
import Testing

@testable import HoldfastGateway

@Suite("Upgrades over HTTP/1.1", .timeLimit(.minutes(20)))
struct UpgradeTests {
    static let handshake =
        "GET /chat HTTP/1.1\r\nHost: g\r\nConnection: keep-alive, Upgrade, X-Hop\r\nUpgrade: WebSocket\r\nX-Hop: 1\r\n"
        + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"

    /// Makes a configuration whose one route passes protocols on.
    static func passing(_ protocols: [String] = ["websocket"]) -> (inout GatewayConfiguration) -> Void {
        { configuration in
            guard var route = configuration.routes.routes.first else { return }
            route.upgrades = protocols
            if let routes = try? GatewayRoutes([route]) { configuration.routes = routes }
            configuration.timeouts.tunnel = .seconds(3600)
        }
    }

    /// A gateway in front of an origin that switches.
    private func with(
        _ manner: SwitchingOrigin.Manner = .init(),
        protocols: [String] = ["websocket"],
        mode: OfflineMode = .automatic,
        configure: (inout GatewayConfiguration) -> Void = { _ in },
        _ body: (SwitchingOrigin, RunningGateway) async throws -> Void
    ) async throws {
        try await SwitchingOrigin.with(manner) { origin in
            try await RunningGateway.with(
                origin: origin.url,
                mode: mode,
                configure: { configuration in
                    Self.passing(protocols)(&configuration)
                    configure(&configuration)
                }
            ) { try await body(origin, $0) }
        }
    }

    /// Reads so many bytes.
    private func read(_ count: Int, from client: RawClient) async -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < count, let more = await client.read() { bytes += more }
        return bytes
    }

    private func text(_ count: Int, from client: RawClient) async -> String {
        String(decoding: await read(count, from: client), as: UTF8.self)
    }

    /// Reads to the end of a head.
    private func head(from client: RawClient) async -> (head: String, rest: [UInt8]) {
        var bytes: [UInt8] = []
        let end = Array("\r\n\r\n".utf8)
        while true {
            if bytes.count >= 4,
                let place = (0...(bytes.count - 4)).first(where: { bytes[$0..<($0 + 4)].elementsEqual(end) })
            {
                return (String(decoding: bytes[..<(place + 4)], as: UTF8.self), Array(bytes[(place + 4)...]))
            }
            guard let more = await client.read() else { return (String(decoding: bytes, as: UTF8.self), []) }
            bytes += more
        }
    }

    private func tunnels(_ server: GatewayServer, _ ending: TunnelMachine.Ending) async -> Int64 {
        let family = await server.metrics.families().first { $0.description.name == "holdfast_tunnels_total" }
        let series = family?.series.first { $0.labels.all.contains { $0.value == ending.rawValue } }
        return if case .integer(let count)? = series?.value { count } else { 0 }
    }

    /// Waits until a tunnel has ended in a way.
    private func awaitEnd(_ ending: TunnelMachine.Ending, _ server: GatewayServer) async {
        while await tunnels(server, ending) == 0 { await Task.yield() }
        #expect(await tunnels(server, ending) == 1)
    }

    /// Mutant: WebSockets go to mirrors.
    @Test("A WebSocket goes to the second address of an origin, and to no mirror", arguments: [true, false])
    func addressesAndMirrors(_ isAddress: Bool) async throws {
        try await SwitchingOrigin.with { other in
            let dead = "http://127.0.0.1:1"
            try await RunningGateway.with(
                origin: dead,
                configure: Self.passing(),
                configureTransport: {
                    var origin = Configuration.Origin(url: dead)
                    let authority = other.url.dropFirst("http://".count)
                    if isAddress {
                        origin.addresses = ["127.0.0.1:1", String(authority)]
                    } else {
                        origin.mirrors = [other.url]
                    }
                    $0.origins = [origin]
                }
            ) { gateway in
                try await RawClient.with(port: gateway.port) { client in
                    try await client.send(Self.handshake)
                    let (head, _) = await head(from: client)
                    #expect(head.hasPrefix(isAddress ? "HTTP/1.1 101 " : "HTTP/1.1 504 "), "\(head)")
                }
                #expect(other.heads.count == (isAddress ? 1 : 0))
            }
        }
    }

    @Test("An origin that switches is joined with its client, on a connection of its own") func echo() async throws {
        var manner = SwitchingOrigin.Manner()
        manner.response = { SwitchingOrigin.switching(to: $0, fields: "Sec-WebSocket-Protocol: chat\r\n") }
        try await with(manner) { origin, gateway in
            try await RawClient.with(port: gateway.port) { client in
                try await client.send(Self.handshake)
                let (head, rest) = await head(from: client)
                #expect(rest.isEmpty)
                let start = "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n"
                #expect(head.hasPrefix(start))
                #expect(head.contains("\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"))
                #expect(head.contains("\r\nSec-WebSocket-Protocol: chat\r\n"))
                #expect(head.contains("\r\nVia: 1.1 holdfast\r\n"))
                for text in ["one", "GET / HTTP/1.1\r\n\r\n", "two"] {
                    try await client.send(text)
                    #expect(await self.text(text.utf8.count, from: client) == text)
                }
                #expect(gateway.server.tunnelCount == 1)
            }
            let sent = try #require(origin.heads.first)
            #expect(sent.hasPrefix("GET /chat HTTP/1.1\r\n"))
            #expect(sent.contains("\r\nConnection: upgrade\r\nUpgrade: websocket\r\n"))
            #expect(sent.contains("\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"))
            #expect(sent.contains("\r\nX-Forwarded-For: 127.0.0.1\r\n"))
            #expect(!sent.contains("X-Hop"))
            #expect(origin.heads.count == 1)
            await origin.connectionsClose()
            while gateway.server.tunnelCount > 0 { await Task.yield() }
        }
    }

    @Test("The result does not depend on how the client's bytes are cut") func clientCuts() async throws {
        try await with { origin, gateway in
            let bytes = Array((Self.handshake + "early").utf8)
            for cut in 1..<bytes.count {
                try await RawClient.with(port: gateway.port) { client in
                    try await client.send(Array(bytes[..<cut]))
                    // A request on another connection passes before the rest is sent.
                    if cut % 16 == 0 { _ = try await RawClient.send("GET /x HTTP/1.1\r\n\r\n", to: gateway.port) }
                    try await client.send(Array(bytes[cut...]))
                    let (head, rest) = await head(from: client)
                    #expect(head.hasPrefix("HTTP/1.1 101 "), "\(cut)")
                    #expect(rest + (await read(5 - rest.count, from: client)) == Array("early".utf8), "\(cut)")
                }
            }
        }
    }

    @Test("The result does not depend on how the origin's bytes are cut") func originCuts() async throws {
        let whole = SwitchingOrigin.switching(to: Self.handshake) + "first"
        try await RawOrigin.with(respond: { request in
            let cut = request.target.split(separator: "/").last.flatMap { Int($0) } ?? 0
            return .stream { origin in
                try await origin.write(Array(whole.utf8.prefix(cut)))
                await Task.yield()
                try await origin.write(Array(whole.utf8.dropFirst(cut)))
            }
        }) { origin in
            try await RunningGateway.with(origin: origin.url, configure: Self.passing()) { gateway in
                for cut in 0...whole.utf8.count {
                    try await RawClient.with(port: gateway.port) { client in
                        try await client.send("GET /\(cut)" + Self.handshake.dropFirst(9))
                        let (head, rest) = await head(from: client)
                        #expect(head.hasPrefix("HTTP/1.1 101 "), "\(cut)")
                        #expect(rest + (await read(5 - rest.count, from: client)) == Array("first".utf8), "\(cut)")
                    }
                }
            }
        }
    }

    @Test("Bytes before the 101 go to no origin that does not switch, and are no request") func early() async throws {
        var manner = SwitchingOrigin.Manner()
        manner.response = { _ in "HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno" }
        try await with(manner) { origin, gateway in
            try await RawClient.with(port: gateway.port) { client in
                try await client.send(Self.handshake + "GET /smuggled HTTP/1.1\r\nHost: g\r\n\r\n")
                let response = try await client.response()
                #expect(response.status == 403)
                #expect(response["Connection"] == "close")
                // The connection may be closed before.
                try? await client.send("GET /second HTTP/1.1\r\nHost: g\r\n\r\n")
                #expect(await client.readToEnd().isEmpty)
            }
            #expect(origin.heads.count == 1)
            #expect(origin.bytes.isEmpty)
            #expect(gateway.server.tunnelCount == 0)
        }
    }

    @Test("Any other response passes, and is not stored", arguments: [200, 401, 426])
    func others(status: Int) async throws {
        var manner = SwitchingOrigin.Manner()
        manner.response = { _ in "HTTP/1.1 \(status) X\r\nCache-Control: max-age=60\r\nContent-Length: 2\r\n\r\nok" }
        try await with(manner) { origin, gateway in
            for _ in 0..<2 {
                let response = try await gateway.send(Self.handshake)
                #expect(response.status == status)
                #expect(response.text == "ok")
                #expect(response["Cache-Status"]?.contains("fwd=bypass") == true)
            }
            #expect(origin.heads.count == 2)
            // Each had a connection of its own.
            #expect(origin.acceptedCount == 2)
            #expect(gateway.server.tunnelCount == 0)
        }
    }

    @Test(
        "A 101 to another protocol than the one that was asked for is an error",
        arguments: [
            "Upgrade: h2c\r\nConnection: Upgrade\r\n", "Connection: Upgrade\r\n", "Upgrade: websocket\r\n",
            "Upgrade: websocket, h2c\r\nConnection: Upgrade\r\n", "",
        ]
    )
    func wrongProtocol(fields: String) async throws {
        var manner = SwitchingOrigin.Manner()
        manner.response = { _ in "HTTP/1.1 101 Switching Protocols\r\n\(fields)\r\n" }
        try await with(manner) { origin, gateway in
            let response = try await gateway.send(Self.handshake)
            #expect(response.status == 502)
            await origin.connectionsClose()
        }
    }

    @Test("A 101 that no request asked for is an error") func unasked() async throws {
        try await with { origin, gateway in
            let response = try await gateway.get("/")
            #expect(response.status == 502)
            #expect(response.text.contains("switched protocols"))
            await origin.connectionsClose()
        }
    }

    @Test("A WebSocket on a route that passes none is refused, and nothing is forwarded") func notAllowed() async throws
    {
        try await with(protocols: []) { origin, gateway in
            let response = try await gateway.send(Self.handshake)
            #expect(response.status == 501)
            #expect(response.text.contains("\"urn:holdfast:problem:upgrade-not-allowed\""))
            #expect(response["Connection"] == "close")
            #expect(origin.acceptedCount == 0)
        }
    }

    @Test(
        "Other offers are ignored, as RFC 9110 §7.8 allows",
        arguments: [
            "GET / HTTP/1.1\r\nHost: g\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: g\r\nUpgrade: websocket\r\nSec-WebSocket-Key: a\r\n\r\n",
            "GET / HTTP/1.0\r\nHost: g\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: a\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: g\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 0\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: g\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 1\r\n\r\na",
        ]
    )
    func ignored(request: String) async throws {
        var manner = SwitchingOrigin.Manner()
        manner.response = { _ in "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok" }
        try await with(manner) { origin, gateway in
            let response = try await gateway.send(request)
            #expect(response.status == 200)
            #expect(origin.heads.allSatisfy { !$0.lowercased().contains("upgrade") })
            #expect(origin.heads.count == 1)
        }
    }

    @Test("Of several protocols the first one that the route passes is asked for") func choice() async throws {
        var manner = SwitchingOrigin.Manner()
        manner.response = { _ in "HTTP/1.1 101 X\r\nUpgrade: foo/2\r\nConnection: upgrade\r\n\r\n" }
        try await with(manner, protocols: ["websocket", "foo/2"]) { origin, gateway in
            try await RawClient.with(port: gateway.port) { client in
                try await client.send(
                    "GET / HTTP/1.1\r\nHost: g\r\nConnection: Upgrade\r\nUpgrade: h2c, Foo/2, websocket\r\n\r\n"
                )
                let (head, _) = await head(from: client)
                #expect(head.contains("\r\nUpgrade: foo/2\r\n"))
                try await client.send("a")
                #expect(await text(1, from: client) == "a")
            }
            #expect(origin.heads.first?.contains("\r\nUpgrade: foo/2\r\n") == true)
        }
    }

    @Test("Offline, the client gets 504 that says so, and no origin is asked") func offline() async throws {
        try await with(mode: .offline) { origin, gateway in
            let response = try await gateway.send(Self.handshake)
            #expect(response.status == 504)
            #expect(response.text.contains("offline"))
            #expect(origin.acceptedCount == 0)
            #expect(gateway.server.tunnelCount == 0)
        }
    }

    @Test("An origin that cannot be reached is a problem like any other") func unreachable() async throws {
        try await RunningGateway.with(origin: "http://127.0.0.1:1", configure: Self.passing()) { gateway in
            let response = try await gateway.send(Self.handshake)
            #expect(response.status == 504)
            #expect(gateway.server.tunnelCount == 0)
        }
    }

    @Test("One tunnel more than the limit gets 503, and a place is free again after a tunnel") func limit() async throws
    {
        try await with(configure: { $0.maximumTunnels = 30 }) { _, gateway in
            try await hold(30, gateway) {
                let response = try await gateway.send(Self.handshake)
                #expect(response.status == 503)
                #expect(response["Retry-After"] == "1")
                #expect(response.text.contains("\"urn:holdfast:problem:too-many-tunnels\""))
            }
            while gateway.server.tunnelCount > 0 { await Task.yield() }
            try await hold(30, gateway) { #expect(gateway.server.tunnelCount == 30) }
        }
    }

    /// Opens tunnels, one inside of the other, and has each carry bytes of its own.
    private func hold(_ count: Int, _ gateway: RunningGateway, _ body: () async throws -> Void) async throws {
        guard count > 0 else { return try await body() }
        try await RawClient.with(port: gateway.port) { client in
            try await client.send(Self.handshake + "\(count)")
            let (head, rest) = await head(from: client)
            #expect(head.hasPrefix("HTTP/1.1 101 "))
            let text = String(decoding: rest, as: UTF8.self)
            #expect(text + (await self.text("\(count)".utf8.count - rest.count, from: client)) == "\(count)")
            try await hold(count - 1, gateway, body)
            try await client.send("end \(count)")
            #expect(await self.text("end \(count)".utf8.count, from: client) == "end \(count)")
        }
    }

    @Test("A side that sends no more still gets what the other one sends") func halfClosed() async throws {
        var manner = SwitchingOrigin.Manner()
        manner.receive = { _, _ in }
        manner.end = { channel in
            channel.writeAndFlush(ByteBuffer(string: "bye")).whenComplete { _ in channel.close(promise: nil) }
        }
        try await with(manner) { origin, gateway in
            try await RawClient.with(port: gateway.port) { client in
                try await client.send(Self.handshake + "all")
                let (head, _) = await head(from: client)
                #expect(head.hasPrefix("HTTP/1.1 101 "))
                try await client.closeOutput()
                #expect(String(decoding: await client.readToEnd(), as: UTF8.self) == "bye")
            }
            #expect(String(decoding: origin.bytes, as: UTF8.self) == "all")
            await awaitEnd(.closed, gateway.server)
        }
    }

    @Test("A client that closes with its handshake still gets the response") func closedEarly() async throws {
        var manner = SwitchingOrigin.Manner()
        manner.end = { channel in
            channel.writeAndFlush(ByteBuffer(string: "bye")).whenComplete { _ in channel.close(promise: nil) }
        }
        try await with(manner) { _, gateway in
            try await RawClient.with(port: gateway.port) { client in
                try await client.send(Self.handshake)
                try await client.closeOutput()
                let (head, rest) = await head(from: client)
                #expect(head.hasPrefix("HTTP/1.1 101 "))
                #expect(String(decoding: rest + (await client.readToEnd()), as: UTF8.self) == "bye")
            }
        }
    }

    @Test("A client that vanishes ends its tunnel, and the origin's connection") func clientVanishes() async throws {
        try await with { origin, gateway in
            try await RawClient.with(port: gateway.port) { client in
                try await client.send(Self.handshake + "a")
                #expect(await head(from: client).head.hasPrefix("HTTP/1.1 101 "))
                await origin.bytesReach(1)
                await client.reset()
            }
            await origin.connectionsClose()
            await awaitEnd(.clientAborted, gateway.server)
            while gateway.server.tunnelCount > 0 { await Task.yield() }
        }
    }

    @Test("An origin that vanishes ends its tunnel, and the client's connection") func originVanishes() async throws {
        try await with { origin, gateway in
            try await RawClient.with(port: gateway.port) { client in
                try await client.send(Self.handshake)
                #expect(await head(from: client).head.hasPrefix("HTTP/1.1 101 "))
                for channel in origin.channels { channel.reset() }
                _ = await client.readToEnd()
            }
            await awaitEnd(.originAborted, gateway.server)
            while gateway.server.tunnelCount > 0 { await Task.yield() }
        }
    }

    @Test("A client that vanishes before the 101 leaves no connection behind") func vanishesEarly() async throws {
        var manner = SwitchingOrigin.Manner()
        manner.response = { _ in "" }
        try await with(manner) { origin, gateway in
            try await RawClient.with(port: gateway.port) { client in
                try await client.send(Self.handshake)
                await origin.headsReach(1)
                await client.reset()
            }
            await origin.connectionsClose()
            while gateway.server.tunnelCount > 0 { await Task.yield() }
        }
    }

    @Test("Megabytes pass a reader that takes them slowly, both ways, and none is lost") func slowReader() async throws
    {
        let count = 4 << 20
        var manner = SwitchingOrigin.Manner()
        manner.receive = { _, _ in }
        manner.begin = { channel in
            for start in 0..<(count >> 16) {
                channel.writeAndFlush(ByteBuffer(repeating: UInt8(start), count: 1 << 16), promise: nil)
            }
        }
        try await with(manner) { origin, gateway in
            try await RawClient.with(port: gateway.port, receiveBuffer: 32 << 10) { client in
                try await client.send(Self.handshake)
                let (_, rest) = await head(from: client)
                async let sending: Void = client.send([UInt8](repeating: 7, count: count))
                let bytes = rest + (await read(count - rest.count, from: client))
                #expect(bytes.count == count)
                let expected = (0..<(count >> 16)).flatMap { [UInt8](repeating: UInt8($0), count: 1 << 16) }
                #expect(bytes == expected)
                try await sending
                await origin.bytesReach(count)
                #expect(origin.bytes == [UInt8](repeating: 7, count: count))
            }
        }
    }

    @Test("A tunnel through which nothing passes is closed") func idle() async throws {
        try await with(configure: { $0.timeouts.tunnel = .milliseconds(50) }) { origin, gateway in
            try await RawClient.with(port: gateway.port) { client in
                try await client.send(Self.handshake)
                #expect(await head(from: client).head.hasPrefix("HTTP/1.1 101 "))
                #expect(await client.readToEnd().isEmpty)
            }
            await origin.connectionsClose()
            await awaitEnd(.idle, gateway.server)
        }
    }

    @Test("When the gateway stops, tunnels go on until the time to drain is over") func drained() async throws {
        try await with(configure: { $0.timeouts.draining = .milliseconds(300) }) { origin, gateway in
            try await RawClient.with(port: gateway.port) { client in
                try await client.send(Self.handshake)
                #expect(await head(from: client).head.hasPrefix("HTTP/1.1 101 "))
                async let stopping: Void = gateway.server.stop()
                while !gateway.server.isStopping { await Task.yield() }
                try await client.send("still")
                #expect(await text(5, from: client) == "still")
                #expect(await client.readToEnd().isEmpty)
                await stopping
            }
            await origin.connectionsClose()
            await awaitEnd(.drained, gateway.server)
            #expect(gateway.server.connectionCount == 0)
            while gateway.server.tunnelCount > 0 { await Task.yield() }
        }
    }

    @Test("A tunnel passes TLS on both sides, and its ends") func tls() async throws {
        let response = SwitchingOrigin.switching(to: Self.handshake) + "first"
        let step = RawOrigin.Step.stream { origin in
            try await origin.write(response)
            try await origin.write("second")
            await origin.close()
        }
        try await TestCertificate.withTrustRoots { roots in
            try await RawOrigin.with([step], tls: try TestCertificate.serverContext()) { origin in
                try await CertificateFolder.with { folder in
                    let tls = Configuration.TLS(certificates: [try folder.make("a", "DNS:a.example")])
                    let client = try folder.client(trusting: "a")
                    try await RunningGateway.with(
                        origin: origin.url,
                        configure: { configuration in
                            Self.passing()(&configuration)
                            configuration.listeners = [
                                .address(ListenAddress(host: "127.0.0.1", port: 0), tls: tls)
                            ]
                        },
                        configureTransport: { $0.trustRootsFile = roots }
                    ) { gateway in
                        try await RawClient.with(port: gateway.port, tls: .init(client, name: "a.example")) { client in
                            try await client.send(Self.handshake)
                            let (head, rest) = await head(from: client)
                            #expect(head.hasPrefix("HTTP/1.1 101 "))
                            let all = rest + (await client.readToEnd())
                            #expect(String(decoding: all, as: UTF8.self) == "firstsecond")
                        }
                        while gateway.server.tunnelCount > 0 { await Task.yield() }
                        await awaitEnd(.closed, gateway.server)
                    }
                }
            }
        }
    }
}
