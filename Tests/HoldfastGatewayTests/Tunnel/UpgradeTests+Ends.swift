import HTTPCache
import HoldfastConfiguration
import NIOCore
import TestSupport
import Testing

@testable import HoldfastGateway

/// How many tunnels there may be, and how they end.
extension UpgradeTests {
    /// docs/attacks.md, 86. A client is the one that a trusted proxy names.
    /// A tunnel that ends makes room for another.
    @Test func oneClientLeavesTheLastQuarterOfTunnelsToOthers() async throws {
        try await with(configure: { configuration in
            configuration.maximumTunnels = 40
            configuration.trustedClients = ["127.0.0.1"].compactMap { AddressRange($0) }
        }) { _, gateway in
            func isRefused(_ client: String) async throws {
                let response = try await gateway.send(Self.handshake(of: client))
                #expect(response.status == 503, "\(client)")
                #expect(response["Retry-After"] == "1")
                #expect(response.text.contains("\"urn:holdfast:problem:too-many-tunnels\""))
            }
            try await hold(30, of: "192.0.2.7", gateway) {
                // In the notation of IPv6 it is the same client.
                for same in ["192.0.2.7", "::ffff:192.0.2.7", "[::ffff:192.0.2.7]:80"] { try await isRefused(same) }
                try await hold(5, of: "192.0.2.8", gateway) {
                    try await hold(5, of: "192.0.2.9", gateway) {
                        #expect(gateway.server.tunnelCount == 40)
                        for client in ["192.0.2.7", "192.0.2.8", "192.0.2.10"] { try await isRefused(client) }
                    }
                }
            }
            await noTunnel(gateway)
            try await hold(30, of: "192.0.2.7", gateway) { #expect(gateway.server.tunnelCount == 30) }
        }
    }

    private static func handshake(of client: String) -> String {
        // Carriage return and line feed are one character.
        handshake.dropLast() + "X-Forwarded-For: \(client)\r\n\r\n"
    }

    /// Opens tunnels, one inside of the other, and has each carry bytes of its own.
    private func hold(
        _ count: Int,
        of name: String,
        _ gateway: RunningGateway,
        _ body: () async throws -> Void
    ) async throws {
        guard count > 0 else { return try await body() }
        try await RawClient.with(port: gateway.port) { client in
            try await client.send(Self.handshake(of: name) + "\(count)")
            let (head, rest) = await head(from: client)
            #expect(head.hasPrefix("HTTP/1.1 101 "))
            let text = String(decoding: rest, as: UTF8.self)
            #expect(text + (await self.text("\(count)".utf8.count - rest.count, from: client)) == "\(count)")
            try await hold(count - 1, of: name, gateway, body)
            try await client.send("end \(count)")
            #expect(await self.text("end \(count)".utf8.count, from: client) == "end \(count)")
        }
    }

    @Test func halfClosedSideStillGetsWhatTheOtherSends() async throws {
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

    @Test func clientThatClosesWithItsHandshakeGetsTheResponse() async throws {
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

    @Test func vanishingClientEndsItsTunnelAndTheOriginsConnection() async throws {
        try await with { origin, gateway in
            try await RawClient.with(port: gateway.port) { client in
                try await client.send(Self.handshake + "a")
                #expect(await head(from: client).head.hasPrefix("HTTP/1.1 101 "))
                await origin.bytesReach(1)
                await client.reset()
            }
            await origin.connectionsClose()
            await awaitEnd(.clientAborted, gateway.server)
            await noTunnel(gateway)
        }
    }

    @Test func vanishingOriginEndsItsTunnelAndTheClientsConnection() async throws {
        try await with { origin, gateway in
            try await RawClient.with(port: gateway.port) { client in
                try await client.send(Self.handshake)
                #expect(await head(from: client).head.hasPrefix("HTTP/1.1 101 "))
                for channel in origin.channels { channel.reset() }
                _ = await client.readToEnd()
            }
            await awaitEnd(.originAborted, gateway.server)
            await noTunnel(gateway)
        }
    }

    @Test func clientThatVanishesBeforeThe101LeavesNoConnection() async throws {
        var manner = SwitchingOrigin.Manner()
        manner.response = { _ in "" }
        try await with(manner) { origin, gateway in
            try await RawClient.with(port: gateway.port) { client in
                try await client.send(Self.handshake)
                await origin.headsReach(1)
                await client.reset()
            }
            await origin.connectionsClose()
            await noTunnel(gateway)
        }
    }

    /// In both directions.
    @Test func slowReaderLosesNoneOfManyMegabytes() async throws {
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

    @Test func closesIdleTunnel() async throws {
        try await with(configure: { $0.timeouts.tunnel = .passing(50) }) { origin, gateway in
            try await RawClient.with(port: gateway.port) { client in
                try await client.send(Self.handshake)
                #expect(await head(from: client).head.hasPrefix("HTTP/1.1 101 "))
                #expect(await client.readToEnd().isEmpty)
            }
            await origin.connectionsClose()
            await awaitEnd(.idle, gateway.server)
        }
    }

    @Test func tunnelsContinueUntilTheTimeToDrainIsOver() async throws {
        try await withEnoughTime(from: .milliseconds(300)) { draining in
            var isInTime = false
            try await with(configure: { $0.timeouts.draining = draining }) { origin, gateway in
                try await RawClient.with(port: gateway.port) { client in
                    try await client.send(Self.handshake)
                    #expect(await head(from: client).head.hasPrefix("HTTP/1.1 101 "))
                    async let stopping: Void = gateway.server.stop()
                    while !gateway.server.isStopping, !Task.isCancelled { await Task.yield() }
                    try? await client.send("still")
                    isInTime = await text(5, from: client) == "still"
                    #expect(await client.readToEnd().isEmpty)
                    await stopping
                }
                await origin.connectionsClose()
                await awaitEnd(.drained, gateway.server)
                #expect(gateway.server.connectionCount == 0)
                await noTunnel(gateway)
            }
            return isInTime
        }
    }

    /// Mutant: TLS says that it ends in order, whatever is missing.
    @Test func clientOfTLSLearnsThatItsTunnelBrokeOff() async throws {
        try await CertificateFolder.with { folder in
            let tls = Configuration.TLS(certificates: [try folder.make("a", "DNS:a.example")])
            let trusting = try folder.client(trusting: "a")
            try await with(configure: {
                $0.listeners = [.address(ListenAddress(host: "127.0.0.1", port: 0), tls: tls)]
            }) { origin, gateway in
                try await RawClient.with(port: gateway.port, tls: .init(trusting, name: "a.example")) { client in
                    try await client.send(Self.handshake + "all")
                    let (_, rest) = await head(from: client)
                    #expect(String(decoding: rest, as: UTF8.self) + (await text(3 - rest.count, from: client)) == "all")
                    for channel in origin.channels { channel.reset() }
                    #expect(await client.readToEnd().isEmpty)
                    #expect(client.isCutShort)
                }
                await awaitEnd(.originAborted, gateway.server)
            }
        }
    }

    @Test func tunnelPassesTLSOnBothSidesAndItsEnds() async throws {
        let response = SwitchingOrigin.switching(to: Self.handshake) + "first"
        let step = RawOrigin.Step.stream { origin in
            try await origin.write(response)
            try await origin.write("second")
            await origin.close()
        }
        try await TestCertificates.withTrustRoots { roots in
            try await RawOrigin.with([step], tls: try TestCertificates.serverContext()) { origin in
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
                            #expect(!client.isCutShort)
                        }
                        await noTunnel(gateway)
                        await awaitEnd(.closed, gateway.server)
                    }
                }
            }
        }
    }
}
