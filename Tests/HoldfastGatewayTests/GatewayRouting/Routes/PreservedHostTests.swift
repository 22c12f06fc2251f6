import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics
import HoldfastConfiguration
import HoldfastGateway
import HoldfastTesting
import Testing

@testable import GatewayRouting

/// docs/decisions/0111: which host a route with `preserve-host` sends, and whose origin it is.
@Suite(.timeLimit(.minutes(20))) struct PreservedHostTests {
    private static func routes(to url: String, host: String? = nil) throws -> GatewayRoutes {
        try GatewayRoutes([GatewayRoute(host: host, origin: GatewayOrigin(url), preservesHost: true)])
    }

    /// Sends a request for each host, on a connection of its own, at the same time.
    private static func send(_ hosts: [String], _ gateway: RunningGateway) async throws -> [RawResponse] {
        try await withThrowingTaskGroup(of: RawResponse.self) { group in
            for host in hosts {
                group.addTask { try await gateway.send("GET /a HTTP/1.1\r\nHost: \(host)\r\n\r\n") }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }

    /// Mutant: `preserved-host-keeps-any-port`.
    @Test func thirtyPortsShareOneOriginAndOneCopy() async throws {
        try await RawOrigin.with(respond: { _ in .ok("page", fields: "Cache-Control: max-age=60\r\n") }) { origin in
            let routes = try Self.routes(to: origin.url, host: "www.example.test")
            try await RunningGateway.with(origin: origin.url, configure: { $0.routes = routes }) { gateway in
                let hosts = (0..<30).map { "www.example.test:\(2001 + $0)" }
                let pages = try await Self.send(hosts, gateway)
                #expect(pages.count == 30 && pages.allSatisfy { $0.text == "page" })
                #expect(gateway.store.all.map(\.key.components.target.uri) == ["http://www.example.test/a"])
                #expect(Set(origin.requests.flatMap { $0.values("Host") }) == ["www.example.test"])
                #expect(Set(origin.requests.flatMap { $0.values("X-Forwarded-Host") }) == ["www.example.test"])
                // The page is there in an outage, whatever port a client writes.
                await origin.stop()
                gateway.clock.advance(by: .seconds(3600))
                let stale = try await Self.send(hosts, gateway)
                #expect(stale.allSatisfy { $0.status == 200 && $0.text == "page" })
                #expect(gateway.engine.origins.conditions.map(\.origin) == [origin.url])
            }
        }
    }

    /// Mutant: `clients-hosts-are-origins`.
    @Test(arguments: [nil, "*.example.test"])
    func thirtyHostsThatClientsChooseAreOneOrigin(_ host: String?) async throws {
        try await RawOrigin.with { origin in
            let routes = try Self.routes(to: origin.url, host: host)
            try await RunningGateway.with(origin: origin.url, configure: { $0.routes = routes }) { gateway in
                await origin.stop()
                let answers = try await Self.send((0..<30).map { "h\($0).example.test" }, gateway)
                #expect(answers.count == 30 && answers.allSatisfy { $0.status == 504 })
                #expect(gateway.engine.origins.conditions.map(\.origin) == [origin.url])
            }
        }
    }

    /// Mutant: `listeners-ports-are-dropped`.
    @Test(
        arguments: [
            ("127.0.0.1:8093", ["a.local", "a.local:8093"]), ("127.0.0.1:80", ["a.local"]),
            ("127.0.0.1:0", ["a.local"]),
            ("[127.0.0.1:9001, {unix: s.sock}, 127.0.0.1:8093]", ["a.local", "a.local:8093", "a.local:9001"]),
            (nil, ["a.local", "a.local:8080"]),
        ] as [(String?, [String])]
    )
    func portsOfTheFilesListenersAreKept(_ listen: String?, _ expected: [String]) throws {
        let text = """
            version: 1
            \(listen.map { "listen: \($0)" } ?? "")
            routes: [{host: a.local, origin: "http://10.0.0.7", preserve-host: true}]
            """
        let file = try HoldfastConfiguration.Configuration(yaml: text)
        let expected = expected.map { "http://\($0)/x" }
        for routes in [try GatewayConfiguration(file).routes, try GatewayRoutes(of: file)] {
            #expect(routes.originURLs(of: try TargetURI("http://a.local/x")).map(\.url.uri) == expected)
        }
    }
}
