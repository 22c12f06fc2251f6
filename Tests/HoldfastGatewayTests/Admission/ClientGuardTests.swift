import HTTPCache
import HoldfastConfiguration
import NIOCore
import Testing

@testable import HoldfastGateway

/// `clients.allow`, `clients.deny` and `limits.requests`, over sockets. No bucket gets a token in
/// a test, because the rates are per hour.
@Suite(.timeLimit(.minutes(20)))
struct ClientGuardTests {
    typealias Lists = HoldfastConfiguration.Configuration.ClientLists
    typealias Rate = HoldfastConfiguration.Configuration.RequestRate

    private static let loopback = ["127.0.0.0/8"]

    private static func ranges(_ texts: [String]) -> [AddressRange] { texts.compactMap { AddressRange($0) } }

    private static func lists(allow: [String] = [], deny: [String] = []) -> Lists {
        Lists(allow: ranges(allow), deny: ranges(deny))
    }

    private func with(
        configure: (inout GatewayConfiguration) -> Void,
        _ body: (RunningGateway, RawOrigin) async throws -> Void
    ) async throws {
        try await RawOrigin.with(respond: { _ in .ok("x", fields: "Cache-Control: max-age=60\r\n") }) { origin in
            try await RunningGateway.with(origin: origin.url, configure: configure) { try await body($0, origin) }
        }
    }

    /// Sends requests on one connection, and returns their statuses.
    private func statuses(
        _ count: Int,
        _ kind: EitherClient.Kind,
        _ gateway: RunningGateway,
        _ request: EitherClient.Request = .init()
    ) async throws -> [Int] {
        try await EitherClient.with(kind, port: gateway.port) { client in
            var statuses: [Int] = []
            for _ in 0..<count {
                statuses.append(try await client.ask(request).status)
                await gateway.waitForFills(upTo: 0)
            }
            return statuses
        }
    }

    // MARK: Lists

    @Test(arguments: EitherClient.Kind.allCases)
    func clientsOutsideOfTheListsGet403(_ kind: EitherClient.Kind) async throws {
        for (lists, status) in [
            (Self.lists(deny: Self.loopback), 403), (Self.lists(allow: ["192.0.2.0/24", "::/0"]), 403),
            (Self.lists(allow: ["0.0.0.0/0"], deny: ["127.0.0.1"]), 403), (Self.lists(allow: Self.loopback), 200),
            (Self.lists(deny: ["192.0.2.0/24", "unix"]), 200),
        ] {
            try await with(configure: { $0.clients = lists }) { gateway, origin in
                try await EitherClient.with(kind, port: gateway.port) { client in
                    for _ in 0..<3 {
                        let answer = try await client.ask(.init())
                        #expect(answer.status == status)
                        #expect(answer.text.contains("problem:client-not-allowed") == (status == 403))
                        await gateway.waitForFills(upTo: 0)
                    }
                }
                #expect(origin.requests.isEmpty == (status == 403))
            }
        }
    }

    @Test(arguments: EitherClient.Kind.allCases)
    func judgesTheClientThatTrustedProxyNames(_ kind: EitherClient.Kind) async throws {
        try await with(configure: {
            $0.trustedClients = Self.ranges(Self.loopback)
            $0.clients = Self.lists(allow: ["192.0.2.0/24", "2001:db8::/32"])
            $0.requestRate = Rate(1, per: .hour, burst: 2)
        }) { gateway, _ in
            for (name, expected) in [
                ("192.0.2.1", [200, 200, 429]), ("192.0.2.2", [200, 200, 429]), ("198.51.100.1", [403, 403, 403]),
                ("2001:db8::1", [200, 200, 429]), ("2001:db8::2", [429, 429, 429]), ("unknown", [403, 403, 403]),
            ] {
                let field = name.contains(":") ? "\"[\(name)]\"" : name
                let request = EitherClient.Request(fields: [("Forwarded", "for=\(field)")])
                let answers = try await statuses(3, kind, gateway, request)
                #expect(answers == expected, "\(name)")
            }
            let own = try await statuses(1, kind, gateway)
            #expect(own == [403], "the proxy itself")
        }
    }

    @Test(arguments: EitherClient.Kind.allCases)
    func judgesTheClientOfTheProxyProtocol(_ kind: EitherClient.Kind) async throws {
        try await with(configure: {
            $0.trustedClients = Self.ranges(Self.loopback)
            $0.clients = Self.lists(allow: ["192.0.2.0/24", "127.0.0.0/8"])
            $0.listeners = [.address(ListenAddress(host: "127.0.0.1", port: 0), proxyProtocol: true)]
        }) { gateway, _ in
            for (line, status) in [
                ("PROXY TCP4 192.0.2.7 198.51.100.1 56324 443\r\n", 200),
                ("PROXY TCP4 203.0.113.7 198.51.100.1 56324 443\r\n", 403),
                // The proxy's own address allows nothing, because the client is not known.
                ("PROXY UNKNOWN\r\n", 403),
            ] {
                try await EitherClient.with(kind, port: gateway.port, preamble: line) { client in
                    let answer = try await client.ask(.init())
                    #expect(answer.status == status, "\(line)")
                }
            }
        }
    }

    // MARK: Rates

    /// Mutant: `rejected-client-waits-for-nothing`.
    @Test func clientBeyondItsRateGets429AndTimeToRetry() async throws {
        let limit = try StatedLimit.named("requests per client")
        try await with(configure: { $0.requestRate = Rate(2, per: .hour, burst: 3) }) { gateway, origin in
            for _ in 0..<3 { #expect(try await gateway.get("/a").status == 200) }
            let response = try await gateway.get("/a")
            #expect(response.status == 429 && limit.status == 429)
            #expect(response.text.contains("problem:\(limit.code ?? "?")\""))
            #expect(response["Cache-Status"]?.hasSuffix("detail=\(limit.detail ?? "?")") == true)
            #expect(response["RateLimit-Policy"] == "\"requests\";q=3;w=5400")
            let seconds = try #require(response["Retry-After"].flatMap { Int($0) })
            // The time since the first request passes.
            #expect((1...1800).contains(seconds))
            #expect(response["RateLimit"] == "\"requests\";r=0;t=\(seconds)")
            #expect(response["Cache-Control"] == "no-store")
            #expect(origin.requests.count == 1, "the hot table's responses count too")
            let scrape = await Scrape(gateway)
            #expect(scrape.count("holdfast_refusals_total", ["problem": "too-many-requests"]) == 1)
            #expect(scrape.count("holdfast_limited_clients") == 1)
        }
    }

    @Test func sendsRateFieldsOverHTTP2() async throws {
        try await with(configure: { $0.requestRate = Rate(1, per: .hour) }) { gateway, _ in
            try await RawClient.with(port: gateway.port) { raw in
                let client = FrameClient(raw)
                try await client.send(FrameClient.beginning())
                try await client.send(FrameClient.get("/a", on: 1))
                #expect(try await client.responses([1])[1]?.status == 200)
                try await client.send(FrameClient.get("/a", on: 3))
                let response = try #require(try await client.responses([3])[3])
                #expect(response.status == 429 && response["ratelimit-policy"] == "\"requests\";q=1;w=3600")
                let seconds = try #require(response["retry-after"])
                #expect(response["ratelimit"] == "\"requests\";r=0;t=\(seconds)")
            }
        }
    }

    /// This holds for pipelined requests and for streams.
    @Test func allConnectionsOfAClientShareItsRate() async throws {
        let served = Counter()
        try await with(configure: { $0.requestRate = Rate(1, per: .hour, burst: 100) }) { gateway, _ in
            try await RawClient.onEach(of: 30, port: gateway.port) { client, number in
                var statuses: [Int] = []
                if number.isMultiple(of: 2) {
                    let head = "GET /a HTTP/1.1\r\nHost: g\r\n\r\n"
                    try await client.send(String(repeating: head, count: 20))
                    for _ in 0..<20 { statuses.append(try await client.response().status) }
                } else {
                    let streams = (0..<20).map { UInt32(2 * $0 + 1) }
                    let frames = FrameClient(client)
                    try await frames.send(FrameClient.beginning())
                    for stream in streams { try await frames.send(FrameClient.get("/a", on: stream)) }
                    statuses = try await frames.responses(Set(streams)).values.map(\.status)
                }
                #expect(statuses.count == 20 && statuses.allSatisfy { $0 == 200 || $0 == 429 })
                served.add(statuses.count { $0 == 200 })
            }
            #expect(served.value == 100)
            #expect(gateway.server.admission.guards.clientCount == 1)
        }
    }

    @Test func rejectedClientsUseNoToken() async throws {
        let rate = Rate(1, per: .hour, burst: 1)
        var configuration: GatewayConfiguration?
        try await with(configure: {
            $0.clients = Self.lists(deny: Self.loopback)
            $0.requestRate = rate
            configuration = $0
        }) { gateway, _ in
            #expect(try await statuses(3, .http1, gateway) == [403, 403, 403])
            var next = try #require(configuration)
            next.clients = Lists()
            gateway.server.reconfigure(next)
            #expect(try await statuses(2, .http1, gateway) == [200, 429])
        }
    }

    /// Mutant: `reload-fills-buckets`.
    @Test(arguments: EitherClient.Kind.allCases)
    func reloadKeepsBucketsOfUnchangedRate(_ kind: EitherClient.Kind) async throws {
        var configuration: GatewayConfiguration?
        try await with(configure: {
            $0.requestRate = Rate(1, per: .hour, burst: 2)
            configuration = $0
        }) { gateway, _ in
            var next = try #require(configuration)
            try await EitherClient.with(kind, port: gateway.port) { client in
                let first = try await client.ask(.init())
                #expect(first.status == 200)
                next.contentLimit = 5
                gateway.server.reconfigure(next)
                for status in [200, 429] {
                    let answer = try await client.ask(.init())
                    #expect(answer.status == status, "the bucket is kept")
                }
                next.requestRate = Rate(1, per: .hour, burst: 3)
                gateway.server.reconfigure(next)
                for status in [200, 200, 200, 429] {
                    let answer = try await client.ask(.init())
                    #expect(answer.status == status, "another rate has other buckets")
                }
                next.requestRate = nil
                gateway.server.reconfigure(next)
                for _ in 0..<5 {
                    let answer = try await client.ask(.init())
                    #expect(answer.status == 200)
                }
            }
            #expect(gateway.server.admission.guards.clientCount == 0)
        }
    }

    // MARK: Routes

    private func routes(_ origin: String, _ change: (inout GatewayRoute) -> Void) throws -> GatewayRoutes {
        var guarded = try GatewayRoute(host: "g", path: "/p", origin: GatewayOrigin(origin))
        change(&guarded)
        return try GatewayRoutes([guarded, GatewayRoute(host: "g", origin: GatewayOrigin(origin))])
    }

    private func withRoute(
        trusted: [String] = [],
        _ change: (inout GatewayRoute) -> Void,
        _ body: (RunningGateway) async throws -> Void
    ) async throws {
        try await RawOrigin.with(respond: { _ in .ok("x", fields: "Cache-Control: max-age=60\r\n") }) { origin in
            let routes = try routes(origin.url, change)
            try await RunningGateway.with(
                origin: origin.url,
                configure: {
                    $0.routes = routes
                    $0.trustedClients = Self.ranges(trusted)
                    $0.healthPath = "/p/healthz"
                }
            ) { try await body($0) }
        }
    }

    /// Mutants: `hot-table-skips-the-route`, `routes-have-no-guards`.
    @Test(arguments: EitherClient.Kind.allCases)
    func routeRateCountsOnlyItsRequestsAlsoFromTheHotTable(_ kind: EitherClient.Kind) async throws {
        try await withRoute({ $0.requestRate = Rate(1, per: .hour, burst: 6) }) { gateway in
            #expect(try await statuses(3, kind, gateway, .init(target: "/p/healthz")) == [200, 200, 200])
            let guarded = try await statuses(8, kind, gateway, .init(target: "/p"))
            #expect(guarded == [200, 200, 200, 200, 200, 200, 429, 429])
            #expect(await gateway.server.hotResponseCount() > 0)
            #expect(try await statuses(8, kind, gateway, .init(target: "/a")).allSatisfy { $0 == 200 })
            #expect(try await statuses(1, kind, gateway, .init(target: "//%70/x")) == [429], "another spelling")
        }
    }

    @Test(arguments: EitherClient.Kind.allCases, [[], ["127.0.0.1"]])
    func routeListsRejectOnlyItsRequests(_ kind: EitherClient.Kind, trusted: [String]) async throws {
        try await withRoute(trusted: trusted, { $0.clients = Self.lists(deny: Self.loopback) }) { gateway in
            let named = EitherClient.Request(target: "/p", fields: [("X-Forwarded-For", "192.0.2.1")])
            let requests: [(EitherClient.Request, Int)] = [
                (.init(target: "/p"), 403), (.init(target: "/a"), 200), (named, trusted.isEmpty ? 403 : 200),
                (.init(target: "/p", host: "other"), 421),
            ]
            for (request, status) in requests {
                let answers = try await statuses(3, kind, gateway, request)
                #expect(answers == [status, status, status], "\(request)")
            }
        }
    }
}
