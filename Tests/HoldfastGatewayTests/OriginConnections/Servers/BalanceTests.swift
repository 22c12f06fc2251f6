import HTTPCache
import HoldfastConfiguration
import HoldfastGateway
import HoldfastTesting
import Testing

/// Round robin and drained servers, on real sockets.
@Suite(.timeLimit(.minutes(20))) struct BalanceTests {
    private static let fresh = "Cache-Control: max-age=60\r\n"

    /// Runs a gateway whose origin has three servers: two addresses and a mirror.
    private func withServers(
        _ balance: Configuration.Origin.Balance = .roundRobin,
        respond: @escaping @Sendable (RawOrigin.Request) -> RawOrigin.Step = { _ in
            .ok("x", fields: BalanceTests.fresh)
        },
        _ body: (RunningGateway, _ servers: [RawOrigin]) async throws -> Void
    ) async throws {
        try await RawOrigin.with(respond: respond) { first in
            try await RawOrigin.with(respond: respond) { second in
                try await RawOrigin.with(respond: respond) { mirror in
                    var origin = Configuration.Origin(url: Self.url)
                    (origin.addresses, origin.mirrors) = ([first.authority, second.authority], [mirror.url])
                    origin.balance = balance
                    try await RunningGateway.with(
                        origin: Self.url,
                        configure: { $0.trustedClients = [AddressRange("127.0.0.1")].compactMap(\.self) },
                        configureTransport: { [origin] in $0.origins = [origin] }
                    ) { try await body($0, [first, second, mirror]) }
                }
            }
        }
    }

    private static let url = "http://origin.example"

    private func getAtOnce(_ gateway: RunningGateway, _ paths: [String]) async throws {
        try await withThrowingTaskGroup(of: Int.self) { group in
            for path in paths {
                group.addTask { try await gateway.get(path).status }
            }
            for try await status in group { #expect(status == 200) }
        }
    }

    /// Mutant: `round-robin-forgets-turns`.
    @Test(arguments: Configuration.Origin.Balance.allCases)
    func thirtyConcurrentFetchesAreSpreadExactly(_ balance: Configuration.Origin.Balance) async throws {
        try await withServers(balance) { gateway, servers in
            try await getAtOnce(gateway, (0..<30).map { "/\($0)" })
            let counts = servers.map(\.requests.count)
            #expect(counts == (balance == .roundRobin ? [10, 10, 10] : [30, 0, 0]))
            // Hits do not count.
            try await getAtOnce(gateway, (0..<30).map { "/\($0)" })
            #expect(servers.map(\.requests.count) == counts)
        }
    }

    @Test func stoppedServerIsSkipped() async throws {
        try await withServers { gateway, servers in
            await servers[1].stop()
            try await getAtOnce(gateway, (0..<30).map { "/\($0)" })
            #expect(servers[0].requests.count + servers[2].requests.count == 30)
            let before = servers.map(\.requests.count)
            try await getAtOnce(gateway, (30..<60).map { "/\($0)" })
            let after = zip(servers.map(\.requests.count), before).map { $0 - $1 }
            #expect(after == [15, 0, 15], "\(after)")
        }
    }

    /// The key does not contain the server.
    @Test func anotherServerValidatesAStoredResponse() async throws {
        let respond: @Sendable (RawOrigin.Request) -> RawOrigin.Step = { request in
            request.values("if-none-match").isEmpty
                ? .ok("v1", fields: "ETag: \"1\"\r\nCache-Control: max-age=1\r\n")
                : .response("HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\n\r\n")
        }
        try await withServers(respond: respond) { gateway, servers in
            for _ in 0..<2 {
                let response = try await gateway.get("/a")
                #expect(response.text == "v1")
                gateway.clock.advance(by: .seconds(60))
            }
            #expect(servers[0].requests.count == 1 && servers[1].requests.count == 1)
            #expect(servers[1].requests.first?.values("if-none-match") == ["\"1\""])
        }
    }

    /// Mutant: `drained-server-gets-requests`.
    @Test(arguments: Configuration.Origin.Balance.allCases)
    func drainedServerGetsNoRequests(_ balance: Configuration.Origin.Balance) async throws {
        try await withServers(balance) { gateway, servers in
            gateway.transport.drain([Self.url: [servers[0].authority]])
            try await getAtOnce(gateway, (0..<30).map { "/\($0)" })
            #expect(servers.map(\.requests.count) == (balance == .roundRobin ? [0, 15, 15] : [0, 30, 0]))
            #expect(gateway.transport.originServers[Self.url]?.map(\.isDrained) == [true, false, false])
            gateway.transport.drain([:])
            try await getAtOnce(gateway, ["/after"])
            #expect(servers[0].requests.count == 1)
        }
    }

    @Test func requestsOfADrainedOriginAreServedAsInAnOutage() async throws {
        let respond: @Sendable (RawOrigin.Request) -> RawOrigin.Step = { _ in
            .ok("v1", fields: "Cache-Control: max-age=1\r\n")
        }
        try await withServers(respond: respond) { gateway, servers in
            try await getAtOnce(gateway, ["/a"])
            gateway.clock.advance(by: .seconds(60))
            gateway.transport.drain([Self.url: [servers[0].authority, servers[1].authority, servers[2].url]])
            for _ in 0..<5 {
                let stale = try await gateway.get("/a")
                #expect(stale.status == 200 && stale.text == "v1")
                #expect(stale["Cache-Status"]?.contains("detail=unreachable") == true)
                let missing = try await gateway.get("/missing")
                #expect(missing.status == 504)
                #expect(missing.text.contains("drained every server of '\(Self.url)'"), "\(missing.text)")
            }
            #expect(servers.map(\.requests.count).reduce(0, +) == 1)
            let conditions = gateway.transport.originServers[Self.url] ?? []
            #expect(conditions.allSatisfy { $0.isDrained && !$0.isAside && $0.failures == 0 })
            let breakers = gateway.engine.origins.conditions
            #expect(breakers.allSatisfy { $0.reachability == .reachable }, "\(breakers)")
            // The next request goes to a server at once.
            gateway.transport.drain([:])
            let fresh = try await gateway.get("/a")
            #expect(fresh["Cache-Status"]?.contains("fwd=stale") == true, "\(fresh)")
        }
    }

    @Test func requestInProgressIsNotEndedByADrain() async throws {
        let (begun, signal) = AsyncStream<Void>.makeStream()
        let (released, release) = AsyncStream<Void>.makeStream()
        let step = RawOrigin.Step.stream { writer in
            try await writer.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab")
            signal.finish()
            for await _ in released {}
            try await writer.write("cd")
        }
        try await withServers(respond: { _ in step }) { gateway, servers in
            async let response = gateway.get("/a")
            for await _ in begun {}
            gateway.transport.drain([Self.url: [servers[0].authority]])
            release.finish()
            let text = try await response.text
            #expect(text == "abcd")
        }
    }
}
