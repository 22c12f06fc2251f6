import HTTPCache
import HoldfastConfiguration
import HoldfastMetrics
import NIOCore
import Testing

@testable import HoldfastGateway

extension UpgradeTests {
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
    func with(
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
    func read(_ count: Int, from client: RawClient) async -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < count, let more = await client.read() { bytes += more }
        return bytes
    }

    func text(_ count: Int, from client: RawClient) async -> String {
        String(decoding: await read(count, from: client), as: UTF8.self)
    }

    /// Reads to the end of a head.
    func head(from client: RawClient) async -> (head: String, rest: [UInt8]) {
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

    func tunnels(_ server: GatewayServer, _ ending: TunnelEnding) async -> Int64 {
        let family = await server.metrics.families().first { $0.description.name == "holdfast_tunnels_total" }
        let series = family?.series.first { $0.labels.all.contains { $0.value == ending.rawValue } }
        return if case .integer(let count)? = series?.value { count } else { 0 }
    }

    /// Waits until a tunnel has ended in a way.
    func awaitEnd(_ ending: TunnelEnding, _ server: GatewayServer) async {
        while await tunnels(server, ending) == 0, !Task.isCancelled { await Task.yield() }
        #expect(await tunnels(server, ending) == 1)
    }

    /// Waits until no tunnel has a place.
    func noTunnel(_ gateway: RunningGateway) async {
        while gateway.server.tunnelCount > 0, !Task.isCancelled { await Task.yield() }
    }
}
