import HTTPCache
import HTTPTypes
import HoldfastConfiguration
import Testing

@testable import HoldfastGateway

/// The order in which a request is checked: each request of the table fails two checks, and gets
/// the response of the first. docs/listeners.md
@Suite(.timeLimit(.minutes(20)))
struct AdmissionOrderTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var name: String
        var request: EitherClient.Request
        var status: Int
        /// A part of the content, or of `Allow`.
        var sign: String
        /// The protocols in which there is such a request.
        var kinds = EitherClient.Kind.allCases

        var testDescription: String { name }
    }

    /// The gateway's own member of `Via`, which the test fills in.
    private static let via = (name: "Via", value: "1.1 OWN")
    private static let upgrade = [
        (name: "Connection", value: "upgrade"), (name: "Upgrade", value: "websocket"),
        (name: "Sec-WebSocket-Key", value: "AAAAAAAAAAAAAAAAAAAAAA=="),
    ]

    static let cases = [
        Case(
            name: "the head, then PURGE",
            request: .init(method: "PURGE", fields: [("Host", "other")]),
            status: 400,
            sign: "problem:host"
        ),
        Case(
            name: "PURGE, then the health path",
            request: .init(method: "PURGE", target: "/healthz"),
            status: 405,
            sign: "DELETE"
        ),
        Case(
            name: "PURGE, then the dot segment",
            request: .init(method: "PURGE", target: "/../a"),
            status: 405,
            sign: "DELETE"
        ),
        Case(
            name: "PURGE, then the upgrade",
            request: .init(method: "PURGE", fields: upgrade),
            status: 405,
            sign: "DELETE",
            kinds: [.http1]
        ),
        Case(
            name: "the health path, then the upgrade",
            request: .init(target: "/healthz", fields: upgrade),
            status: 200,
            sign: "\"status\":\"ok\"",
            kinds: [.http1]
        ),
        Case(
            name: "the health path, then the route",
            request: .init(target: "/healthz", host: "other"),
            status: 200,
            sign: "\"status\":\"ok\""
        ),
        Case(
            name: "the health path, then TRACE",
            request: .init(method: "TRACE", target: "/healthz"),
            status: 405,
            sign: "health.path"
        ),
        Case(
            name: "the upgrade, then the loop",
            request: .init(fields: upgrade + [via]),
            status: 501,
            sign: "problem:upgrade-not-allowed",
            kinds: [.http1]
        ),
        Case(
            name: "the dot segment, then the route",
            request: .init(target: "/../a", host: "other"),
            status: 400,
            sign: "problem:dot-segment"
        ),
        Case(
            name: "the route, then TRACE",
            request: .init(method: "TRACE", host: "other"),
            status: 421,
            sign: "problem:unknown-host"
        ),
        Case(
            name: "TRACE, then the loop",
            request: .init(method: "TRACE", fields: [via]),
            status: 405,
            sign: "response to TRACE reveals"
        ),
        Case(
            name: "the loop, then Max-Forwards",
            request: .init(method: "OPTIONS", fields: [via, ("Max-Forwards", "0")]),
            status: 508,
            sign: "problem:loop"
        ),
        Case(
            name: "Max-Forwards, then the limit of content",
            request: .init(method: "OPTIONS", fields: [("Max-Forwards", "0")], content: "too long"),
            status: 204,
            sign: "OPTIONS"
        ),
    ]

    private func with(
        routeLists: HoldfastConfiguration.Configuration.ClientLists = .init(),
        _ body: (RunningGateway, RawOrigin) async throws -> Void
    ) async throws {
        try await RawOrigin.with(respond: { _ in .ok("a") }) { origin in
            // Dot segments matter only if a route has a path.
            let routes = try GatewayRoutes(
                ["/p", "/"].map { path in
                    var route = try GatewayRoute(host: "g", path: path, origin: GatewayOrigin(origin.url))
                    route.clients = routeLists
                    return route
                }
            )
            try await RunningGateway.with(
                origin: origin.url,
                configure: {
                    $0.routes = routes
                    $0.healthPath = "/healthz"
                    $0.contentLimit = 3
                }
            ) { try await body($0, origin) }
        }
    }

    @Test(arguments: cases) func firstFailingCheckDecides(_ row: Case) async throws {
        try await with { gateway, origin in
            _ = try await gateway.send("GET /via HTTP/1.1\r\nHost: g\r\n\r\n")
            let own = try #require(origin.requests.first?.values("Via").first)
            var request = row.request
            request.fields = request.fields.map { ($0.name, $0.value == Self.via.value ? own : $0.value) }
            for kind in row.kinds {
                let answer = try await EitherClient.with(kind, port: gateway.port) { try await $0.ask(request) }
                #expect(answer.status == row.status, "\(kind): \(answer.text)")
                #expect(answer.text.contains(row.sign) || answer.allow?.contains(row.sign) == true, "\(kind)")
            }
            #expect(origin.requests.count == 1, "none of these is forwarded")
        }
    }

    /// Mutant: `check-of-a-request-is-skipped`.
    @Test(arguments: cases) func requestChecksComeBeforeAllOthers(_ row: Case) async throws {
        // A malformed request has no exchange, and gets its own response.
        guard row.status != 400 || row.sign != "problem:host" else { return }
        try await with { gateway, origin in
            gateway.server.admission.requestChecks = [RecordedCheck { _ in true }]
            for kind in row.kinds {
                let answer = try await EitherClient.with(kind, port: gateway.port) { try await $0.ask(row.request) }
                #expect(answer.status == 429, "\(kind): \(answer.text)")
            }
            #expect(origin.requests.isEmpty)
        }
    }

    @Test(arguments: cases) func routeChecksComeRightAfterTheHead(_ row: Case) async throws {
        let everyone = [try #require(AddressRange("0.0.0.0/0"))]
        try await with(routeLists: .init(deny: everyone)) { gateway, origin in
            // These requests take no route, or a path that the gateway does not accept.
            let isRouted = row.status != 400 && row.request.host == "g" && row.request.target != "/healthz"
            for kind in row.kinds where !row.request.fields.contains(where: { $0.value == Self.via.value }) {
                let answer = try await EitherClient.with(kind, port: gateway.port) { try await $0.ask(row.request) }
                let hasRoute = isRouted && !row.request.target.contains("..")
                #expect(answer.status == (hasRoute ? 403 : row.status), "\(kind): \(answer.text)")
            }
            #expect(origin.requests.isEmpty)
        }
    }

    @Test func asksChecksInOrderUntilOneRejects() async throws {
        try await with { gateway, _ in
            let checks = [RecordedCheck { _ in false }, RecordedCheck { _ in true }, RecordedCheck { _ in true }]
            gateway.server.admission.requestChecks = checks
            for kind in EitherClient.Kind.allCases {
                let answer = try await EitherClient.with(kind, port: gateway.port) { try await $0.ask(.init()) }
                #expect(answer.status == 429)
            }
            #expect(checks.map(\.clients.count) == [2, 2, 0])
        }
    }
}
