import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics
import HoldfastTesting
import Testing

@testable import GatewayRouting
@testable import HoldfastGateway

/// Modes that operators set for origins and routes.
@Suite(.timeLimit(.minutes(20))) struct SwitchedModesTests {
    private static func routes(_ origin: String = "https://a.example") throws -> GatewayRoutes {
        try GatewayRoutes([
            GatewayRoute(name: "v1", host: "a.local", path: "/v1", origin: GatewayOrigin("\(origin)/v1")),
            GatewayRoute(name: "a", host: "a.local", origin: GatewayOrigin(origin)),
            GatewayRoute(
                name: "kept",
                host: "*.kept.example",
                origin: GatewayOrigin("http://k.example"),
                preservesHost: true
            ),
            GatewayRoute(name: "b", origin: GatewayOrigin("https://b.example")),
        ])
    }

    private static func switches(_ modes: [(Switch.Subject, OfflineMode)]) -> Switches {
        var switches = Switches()
        let start = Timestamp(milliseconds: 0)
        for (subject, mode) in modes {
            _ = switches.set(
                Switch(subject, mode: mode, until: start.adding(.seconds(60)), since: start, client: "uid 1")
            )
        }
        return switches
    }

    struct Row: Sendable, CustomTestStringConvertible {
        var modes: [(Switch.Subject, OfflineMode)]
        var expected: [String: OfflineMode]
        var testDescription: String { "\(modes)" }
    }

    static let rows: [Row] = [
        Row(
            modes: [(.origin(url: "https://a.example"), .offline)],
            expected: ["https://a.example/x": .offline, "https://a.example/v1/x": .offline]
        ),
        Row(modes: [(.route(name: "v1"), .offline)], expected: ["https://a.example/v1/x": .offline]),
        Row(
            modes: [(.route(name: "a"), .preferStored), (.route(name: "v1"), .offline)],
            expected: ["https://a.example/x": .preferStored, "https://a.example/v1/x": .offline]
        ),
        Row(
            modes: [(.origin(url: "https://a.example"), .offline), (.route(name: "v1"), .online)],
            expected: ["https://a.example/x": .offline, "https://a.example/v1/x": .offline]
        ),
        // The targets of a route that preserves the host have the client's authority.
        Row(
            modes: [(.origin(url: "http://k.example"), .offline)],
            expected: ["http://x.kept.example/x": .offline]
        ),
        Row(modes: [(.route(name: "kept"), .offline)], expected: ["http://x.kept.example/x": .offline]),
        Row(
            modes: [(.route(name: "gone"), .offline), (.origin(url: "https://gone.example"), .offline)],
            expected: [:]
        ),
    ]

    /// Mutant: `mode-of-a-route-covers-its-origin`.
    @Test(arguments: rows) func modeCoversTheTargetsOfItsSubject(_ row: Row) throws {
        let modes = SwitchedModes(Self.switches(row.modes), try Self.routes())
        #expect((modes == nil) == row.expected.isEmpty, "a switch without effect costs nothing")
        for text in [
            "https://a.example/x", "https://a.example/v1/x", "https://b.example/v1/x", "http://x.kept.example/x",
        ] {
            let target = try TargetURI(text)
            #expect(modes?.mode(for: target) == row.expected[text], "\(text)")
        }
    }

    @Test func modeAppliesToHitsFromMemoryWithTheNextRequest() async throws {
        let fresh = "Cache-Control: max-age=60\r\n"
        try await RawOrigin.with(respond: { .ok($0.target, fields: fresh) }) { origin in
            let routes = try Self.routes(origin.url)
            try await RunningGateway.with(
                origin: origin.url,
                configure: { $0.routes = routes },
                configureTransport: { $0.routes = routes }
            ) { gateway in
                func get(_ path: String) async throws -> RawResponse {
                    try await gateway.send("GET \(path) HTTP/1.1\r\nHost: a.local\r\n\r\n")
                }
                for _ in 0..<5 {
                    let hot = try await get("/v1/a")
                    #expect(hot.text == "/v1/a")
                }
                let switches = Self.switches([(.route(name: "v1"), .offline)])
                gateway.engine.targetModes = SwitchedModes(switches, routes)
                gateway.clock.advance(by: .seconds(90))
                for _ in 0..<5 {
                    let stale = try await get("/v1/a")
                    #expect(stale.status == 200, "\(stale)")
                    #expect(stale["Cache-Status"]?.contains("detail=offline") == true, "\(stale)")
                    let missing = try await get("/v1/missing")
                    #expect(missing.status == 504)
                }
                let other = try await get("/other")
                #expect(other.text == "/other")
                #expect(origin.requests.map(\.target) == ["/v1/a", "/other"])
                gateway.engine.targetModes = nil
                let validated = try await get("/v1/a")
                #expect(validated["Cache-Status"]?.contains("fwd=stale") == true, "\(validated)")
            }
        }
    }
}
