import HTTPCache
import HTTPCacheOperations
import HTTPTypes
import HoldfastConfiguration
import HoldfastTesting
import Synchronization
import Testing

@testable import HoldfastGateway

/// The path on which clients see the gateway's health, over sockets.
@Suite(.timeLimit(.minutes(20))) struct HealthPathTests {
    /// A health that the test changes. It counts how often it was asked.
    private final class Health: Sendable {
        private let state = Mutex((status: HealthStatus.ok, count: 0, checks: [HealthCheck]()))
        let gates: Gates?

        init(gates: Gates? = nil) { self.gates = gates }

        var count: Int { state.withLock { $0.count } }

        func set(_ status: HealthStatus) { state.withLock { $0.status = status } }

        /// The checks that were performed, in order.
        var checks: [HealthCheck] { state.withLock { $0.checks } }

        func status(of check: HealthCheck) async -> HealthStatus {
            state.withLock { state in
                state.count += 1
                state.checks.append(check)
            }
            await gates?.pass("check")
            return state.withLock { $0.status }
        }
    }

    private func withGateway(
        path: String? = "/healthz",
        health: Health = Health(),
        rules: (any ExchangeRules)? = nil,
        configure: (inout GatewayConfiguration) -> Void = { _ in },
        _ body: (RunningGateway, RawOrigin, Health) async throws -> Void
    ) async throws {
        try await RawOrigin.with(respond: { _ in .ok("origin", fields: "Cache-Control: max-age=60\r\n") }) { origin in
            try await RunningGateway.with(
                origin: origin.url,
                rules: rules,
                health: { await health.status(of: $0) },
                configure: {
                    $0.healthPath = path
                    configure(&$0)
                }
            ) { try await body($0, origin, health) }
        }
    }

    private static let request = "GET /healthz HTTP/1.1\r\nHost: a.example\r\n\r\n"

    @Test(arguments: [(HealthStatus.ok, 200), (.degraded, 200), (.ending, 503), (.failing, 503)])
    func statusIsShownInOneWord(_ status: HealthStatus, _ code: Int) async throws {
        try await withGateway { gateway, origin, health in
            health.set(status)
            let response = try await gateway.send(Self.request)
            #expect(response.status == code && response.text == "{\"status\":\"\(status.rawValue)\"}\n")
            #expect(response["Content-Type"] == "application/json" && response["Cache-Control"] == "no-store")
            let head = try await gateway.send("HEAD /healthz HTTP/1.1\r\nHost: a.example\r\n\r\n")
            #expect(head.status == code && head["Content-Length"] == response["Content-Length"])
            #expect(origin.connectionCount == 0)
        }
    }

    /// Mutant: the path for readiness shows the liveness.
    @Test(arguments: [("/live", HealthCheck.live), ("/ready", .ready), ("/healthz", .all), ("/ready?probe=1", .ready)])
    func eachCheckHasAPathOfItsOwn(_ target: String, _ check: HealthCheck) async throws {
        try await withGateway(configure: {
            $0.livePath = "/live"
            $0.readyPath = "/ready"
        }) { gateway, origin, health in
            health.set(.failing)
            let response = try await gateway.send("GET \(target) HTTP/1.1\r\nHost: 10.0.0.7:8080\r\n\r\n")
            #expect(response.status == 503 && response.text == "{\"status\":\"failing\"}\n")
            #expect(health.checks == [check] && origin.connectionCount == 0)
            for other in ["/live/", "/ready2", "/liv"] {
                let response = try await gateway.send("GET \(other) HTTP/1.1\r\nHost: a\r\n\r\n")
                #expect(response.text == "origin", "\(other)")
            }
            #expect(try await gateway.send("POST \(target) HTTP/1.1\r\nHost: a\r\n\r\n").status == 405)
            #expect(health.count == 1)
        }
    }

    @Test func everyHostAndQueryIsServedBeforeRouting() async throws {
        try await withGateway(configure: { configuration in
            // Only this host has a route.
            let origin = configuration.routes.routes[0].origin
            if let routes = try? GatewayRoutes([GatewayRoute(host: "known.test", path: "/v1", origin: origin)]) {
                configuration.routes = routes
            }
        }) { gateway, origin, _ in
            for head in [
                "GET /healthz HTTP/1.1\r\nHost: known.test\r\n", "GET /healthz?a=/../b HTTP/1.1\r\nHost: other\r\n",
                "GET http://third.test/healthz HTTP/1.1\r\nHost: x\r\n",
                "GET /healthz? HTTP/1.1\r\nHost: \(origin.authority)\r\nCookie: a=1\r\nAuthorization: Bearer x\r\n",
                "GET /healthz HTTP/1.1\r\nHost: a\r\nCache-Control: only-if-cached\r\nRange: bytes=0-0\r\n",
            ] {
                let response = try await gateway.send(head + "\r\n")
                #expect(response.status == 200 && response.text == "{\"status\":\"ok\"}\n", "\(head)")
            }
            for path in ["/healthz/", "/healthz/x", "/Healthz", "/health", "/x/healthz", "/%68ealthz", "/healthzz"] {
                let response = try await gateway.send("GET \(path) HTTP/1.1\r\nHost: known.test\r\n\r\n")
                #expect(response.status == 404 && response.text.contains("no-route"), "\(path)")
            }
            #expect(origin.connectionCount == 0)
        }
    }

    @Test(arguments: ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "QUERY", "get", "FOO"])
    func otherMethodsAreNotAllowed(_ method: String) async throws {
        try await withGateway { gateway, origin, health in
            let response = try await gateway.send("\(method) /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(response.status == 405 && response["Allow"] == "GET, HEAD")
            #expect(response.text.contains("urn:holdfast:problem:method-not-allowed"))
            #expect(origin.connectionCount == 0 && health.count == 0)
        }
    }

    @Test func purgeKeepsItsOwnRule() async throws {
        try await withGateway { gateway, origin, _ in
            let response = try await gateway.send("PURGE /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(response.status == 405 && response["Allow"]?.contains("DELETE") == true)
            #expect(origin.connectionCount == 0)
        }
    }

    /// The rest of a content must not be read as a request.
    @Test func contentIsNotReadAsARequest() async throws {
        try await withGateway { gateway, _, _ in
            try await RawClient.with(port: gateway.port) { client in
                let content = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"
                for method in ["GET", "POST"] {
                    try await client.send(
                        "\(method) /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: \(content.utf8.count)\r\n\r\n\(content)"
                    )
                    #expect(try await client.response().status == (method == "GET" ? 200 : 405))
                }
                try await client.send(Self.request)
                #expect(try await client.response().text == "{\"status\":\"ok\"}\n")
            }
        }
    }

    @Test func thirtyConnectionsArePipelinedBesideOtherRequests() async throws {
        try await withGateway { gateway, origin, _ in
            for count in RawClient.counts {
                try await RawClient.onEach(of: count, port: gateway.port) { client, _ in
                    let other = "GET /a HTTP/1.1\r\nHost: a\r\n\r\n"
                    try await client.send(Self.request + other + Self.request + other + Self.request)
                    for isHealth in [true, false, true, false, true] {
                        let text = try await client.response().text
                        #expect(text == (isHealth ? "{\"status\":\"ok\"}\n" : "origin"))
                    }
                }
            }
            #expect(origin.requests.allSatisfy { $0.target == "/a" })
        }
    }

    @Test func requestInTwoPiecesIsServed() async throws {
        try await withGateway { gateway, _, _ in
            let bytes = Array(Self.request.utf8)
            for place in [1, 6, 13, 30, bytes.count - 1] {
                try await RawClient.with(port: gateway.port) { client in
                    try await client.send(Array(bytes[..<place]))
                    try await client.send(Array(bytes[place...]))
                    #expect(try await client.response().text == "{\"status\":\"ok\"}\n", "\(place)")
                }
            }
        }
    }

    @Test func clientOfHTTP10IsServed() async throws {
        try await withGateway { gateway, _, _ in
            try await RawClient.with(port: gateway.port) { client in
                // No host, as old health checks send it.
                try await client.send("GET /healthz HTTP/1.0\r\n\r\n")
                let text = String(decoding: await client.readToEnd(), as: UTF8.self)
                #expect(text.hasPrefix("HTTP/1.1 200 ") && text.hasSuffix("\r\n\r\n{\"status\":\"ok\"}\n"))
            }
        }
    }

    @Test func thirtyClientsAtOnceCauseOneCheck() async throws {
        let gates = Gates()
        try await withGateway(health: Health(gates: gates)) { gateway, _, health in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<30 {
                    group.addTask {
                        try await RawClient.with(port: gateway.port) { client in
                            try await client.send(Self.request)
                            #expect(try await client.response().status == 200)
                        }
                    }
                }
                await gates.arrival(at: "check")
                while gateway.server.healthWaiterCount < 30, !Task.isCancelled { await Task.yield() }
                gates.open("check")
                try await group.waitForAll()
            }
            #expect(health.count == 1)
            // A later client causes another one.
            #expect(try await gateway.send(Self.request).status == 200 && health.count == 2)
        }
    }

    @Test func clientThatLeavesDoesNotKeepOthersFromTheirResponse() async throws {
        let gates = Gates()
        try await withGateway(health: Health(gates: gates)) { gateway, _, _ in
            try await RawClient.with(port: gateway.port) { first in
                try await first.send(Self.request)
                await gates.arrival(at: "check")
                await first.reset()
            }
            async let second = gateway.send(Self.request)
            while gateway.server.healthWaiterCount < 2, !Task.isCancelled { await Task.yield() }
            gates.open("check")
            #expect(try await second.status == 200)
        }
    }

    @Test func withoutAPathTheOriginIsAsked() async throws {
        try await withGateway(path: nil) { gateway, origin, health in
            let response = try await gateway.send(Self.request)
            #expect(response.text == "origin")
            #expect(origin.requests.count == 1 && health.count == 0)
        }
    }

    @Test func pathThatAReloadNamesIsServedAtOnce() async throws {
        try await withGateway(path: nil) { gateway, _, _ in
            try await RawClient.with(port: gateway.port) { client in
                for _ in 0..<3 {
                    // A hit from memory, as the same bytes get it.
                    try await client.send(Self.request)
                    #expect(try await client.response().text == "origin")
                }
                let yaml = "version: 1\nhealth: {path: /healthz}\nroutes: [{origin: \"http://127.0.0.1:9\"}]"
                var configuration = try GatewayConfiguration(Configuration(yaml: yaml))
                #expect(configuration.healthPath == "/healthz")
                configuration.timeouts = .patient
                gateway.server.reconfigure(configuration)
                try await client.send(Self.request)
                #expect(try await client.response().text == "{\"status\":\"ok\"}\n")
            }
        }
    }

    @Test func rulesAndModesDoNotApply() async throws {
        var settings = ExchangeSettings()
        settings.responseFields.set = [.server: "rule"]
        settings.mode = .offline
        try await withGateway(rules: FixedRules(settings)) { gateway, _, _ in
            let response = try await gateway.send(Self.request)
            #expect(response.status == 200 && response["Server"] == nil)
        }
    }
}
