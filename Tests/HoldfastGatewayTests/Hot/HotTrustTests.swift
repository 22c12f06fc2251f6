import HTTPCache
import HoldfastConfiguration
import NIOCore
import Testing

@testable import HoldfastGateway

/// A fast path looks at bytes and at trust: a stranger who sends a trusted proxy's bytes gets what
/// strangers get. docs/attacks.md, 84
///
/// Clients are named by the PROXY protocol, so that both kinds come from this machine.
@Suite(.timeLimit(.minutes(20))) struct HotTrustTests {
    private static let proxy = "198.51.100.5"
    private static let stranger = "192.0.2.7"
    private static let connectionCount = 8

    private func with(
        trusted: [String] = ["127.0.0.1", "198.51.100.0/24"],
        _ body: (RunningGateway, GatewayConfiguration) async throws -> Void
    ) async throws {
        // The user's name, if this client may state one.
        let respond: @Sendable (RawOrigin.Request) -> RawOrigin.Step = { request in
            .ok(
                request.values("x-remote-user").first ?? "nobody",
                fields: "Cache-Control: max-age=60\r\nVary: X-Remote-User\r\n"
            )
        }
        try await RawOrigin.with(respond: respond) { origin in
            var kept: GatewayConfiguration?
            try await RunningGateway.with(
                origin: origin.url,
                configure: { configuration in
                    configuration.listeners = [.address(ListenAddress(host: "127.0.0.1", port: 0), proxyProtocol: true)]
                    configuration.trustedClients = trusted.compactMap { AddressRange($0) }
                    kept = configuration
                }
            ) { try await body($0, try #require(kept)) }
        }
    }

    private func connect(
        _ address: String,
        _ gateway: RunningGateway,
        _ body: (RawClient) async throws -> Void
    ) async throws {
        try await RawClient.with(port: gateway.port) { client in
            try await client.send("PROXY TCP4 \(address) 198.51.100.1 56324 443\r\n")
            try await body(client)
        }
    }

    private func ask(_ client: RawClient) async throws -> String {
        try await client.send("GET /a HTTP/1.1\r\nHost: g\r\nX-Remote-User: alice\r\n\r\n")
        return try await client.response().text
    }

    @Test func strangerWithTheBytesOfAProxyGetsWhatStrangersGet() async throws {
        try await with { gateway, _ in
            // Of each kind several, so that each event loop has some.
            for round in 0..<Self.connectionCount {
                let order = round.isMultiple(of: 2) ? [Self.proxy, Self.stranger] : [Self.stranger, Self.proxy]
                for address in order {
                    try await connect(address, gateway) { client in
                        for _ in 0..<4 {
                            let text = try await ask(client)
                            #expect(text == (address == Self.proxy ? "alice" : "nobody"), "\(round)")
                            await gateway.waitForFills(upTo: 0)
                        }
                    }
                }
            }
            #expect(await gateway.server.hotResponseCount() > 0)
        }
    }

    @Test func overHTTP2Too() async throws {
        try await with { gateway, _ in
            for round in 0..<Self.connectionCount {
                let order = round.isMultiple(of: 2) ? [Self.proxy, Self.stranger] : [Self.stranger, Self.proxy]
                for address in order {
                    try await connect(address, gateway) { raw in
                        let client = FrameClient(raw)
                        try await client.send(FrameClient.beginning())
                        for stream: UInt32 in [1, 3, 5, 7] {
                            let fields = [("x-remote-user", "alice")]
                            try await client.send(FrameClient.get("/a", on: stream, authority: "g", fields: fields))
                            let text = try await client.responses([stream])[stream]?.text
                            #expect(text == (address == Self.proxy ? "alice" : "nobody"), "\(round)")
                            await gateway.waitForFills(upTo: 0)
                        }
                    }
                }
            }
            #expect(await gateway.server.hotResponseCount() > 0)
        }
    }

    /// Connections stay open when the list changes.
    @Test func changedListOfTrustedClientsCountsAtOnce() async throws {
        try await with { gateway, original in
            var configuration = original
            try await connect(Self.proxy, gateway) { client in
                for round in 0..<6 {
                    let isTrusted = round.isMultiple(of: 2)
                    let trusted = ["127.0.0.1"] + (isTrusted ? ["198.51.100.0/24"] : ["192.0.2.0/24"])
                    configuration.trustedClients = trusted.compactMap { AddressRange($0) }
                    gateway.server.reconfigure(configuration)
                    for _ in 0..<4 {
                        let text = try await ask(client)
                        #expect(text == (isTrusted ? "alice" : "nobody"), "\(round)")
                        await gateway.waitForFills(upTo: 0)
                    }
                    try await connect(Self.stranger, gateway) { stranger in
                        let text = try await ask(stranger)
                        #expect(text == (isTrusted ? "nobody" : "alice"), "\(round)")
                    }
                }
            }
            #expect(await gateway.server.hotResponseCount() > 0)
        }
    }
}
