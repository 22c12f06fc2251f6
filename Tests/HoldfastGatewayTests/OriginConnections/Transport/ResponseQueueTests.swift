import HTTPCache
import HTTPTypes
import HoldfastConfiguration
import HoldfastMetrics
import HoldfastTesting
import NIOCore
import Synchronization
import TestSupport
import Testing

@testable import HoldfastGateway
@testable import OriginConnections

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// docs/attacks.md, 83: a whole second response in a segment of its own, which the next request on
/// the connection would take for its own.
///
/// Mutants: an origin is never suspect; bytes before a request is sent are its response; a kept
/// connection is not looked at before its request is sent.
@Suite(.timeLimit(.minutes(20)))
struct ResponseQueueTests {
    private static let evil = "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 4\r\n\r\nevil"

    private func withGateway(
        isSecure: Bool = false,
        mirrors: [String] = [],
        addresses: (RawOrigin) -> [String] = { _ in [] },
        respond: @escaping @Sendable (RawOrigin.Request) -> RawOrigin.Step,
        _ body: (RunningGateway, RawOrigin) async throws -> Void
    ) async throws {
        try await TestCertificates.withTrustRoots { roots in
            let tls = isSecure ? try TestCertificates.serverContext() : nil
            try await RawOrigin.with(tls: tls, respond: respond) { origin in
                var settings = Configuration.Origin(url: origin.url)
                settings.mirrors = mirrors
                settings.addresses = addresses(origin)
                settings.timeouts.connect = .seconds(3600)
                try await RunningGateway.with(
                    origin: origin.url,
                    configureTransport: {
                        $0.trustRootsFile = roots
                        if settings.hasSeveralServers { $0.origins = [settings] }
                    }
                ) { try await body($0, origin) }
            }
        }
    }

    private func endpoint(_ origin: RawOrigin, isSecure: Bool = false) -> OriginEndpoint {
        OriginEndpoint(isSecure: isSecure, host: "127.0.0.1", port: UInt16(origin.port))
    }

    /// Waits until a condition holds that another task brings about.
    private func until(_ condition: () -> Bool) async throws {
        while !condition() {
            try Task.checkCancellation()
            await Task.yield()
        }
    }

    private func strays(_ gateway: RunningGateway, _ origin: String) async -> Int64? {
        let family = await gateway.transport.metrics.families()
            .first { $0.description.name == "holdfast_origin_stray_bytes_total" }
        let series = family?.series.first { $0.labels.all.contains { $0.name == "origin" && $0.value == origin } }
        if case .integer(let count)? = series?.value { return count }
        return nil
    }

    /// It gets one request on each connection.
    @Test(arguments: [false, true])
    func originThatSentBytesBehindResponseKeepsNoConnections(isSecure: Bool) async throws {
        let gate = Gate()
        let respond: @Sendable (RawOrigin.Request) -> RawOrigin.Step = { request in
            .stream { writer in
                try await writer.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
                guard request.target == "/first" else { return }
                try await gate.wait()
                try await writer.write(Self.evil)
            }
        }
        try await withGateway(isSecure: isSecure, respond: respond) { gateway, origin in
            let endpoint = endpoint(origin, isSecure: isSecure)
            for number in 0..<3 { #expect(try await gateway.get("/\(number)").text == "ok") }
            #expect(origin.connectionCount == 1 && !gateway.transport.pool.isSuspect(endpoint))
            #expect(try await gateway.get("/first").text == "ok")
            #expect(await strays(gateway, origin.url) == 0)
            gate.open()
            try await until { gateway.transport.pool.isSuspect(endpoint) }
            #expect(await strays(gateway, origin.url) == 1)
            #expect(gateway.transport.pool.counts[endpoint]?.idle ?? 0 == 0)
            for number in 0..<5 { #expect(try await gateway.get("/after/\(number)").text == "ok") }
            #expect(Set(origin.requests.suffix(5).map(\.connection)).count == 5)
            #expect(origin.connectionCount == 6)
            #expect(gateway.transport.pool.counts[endpoint]?.idle ?? 0 == 0)
            let other = OriginEndpoint(isSecure: isSecure, host: "127.0.0.1", port: 1)
            #expect(!gateway.transport.pool.isSuspect(other))
        }
    }

    @Test(arguments: [
        "\r\n", "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
    ])
    func bytesThatNoClientTakesForResponseMakeNoOriginSuspect(_ bytes: String) async throws {
        let gate = Gate()
        let respond: @Sendable (RawOrigin.Request) -> RawOrigin.Step = { request in
            .stream { writer in
                try await writer.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
                guard request.target == "/first" else { return }
                try await gate.wait()
                try await writer.write(bytes)
            }
        }
        try await withGateway(respond: respond) { gateway, origin in
            let first = try await gateway.get("/first")
            #expect(first.text == "ok")
            gate.open()
            await origin.connectionCloses()
            for number in 0..<3 { #expect(try await gateway.get("/\(number)").text == "ok") }
            #expect(!gateway.transport.pool.isSuspect(endpoint(origin)) && origin.connectionCount == 2)
        }
    }

    /// When the bytes of a response come.
    enum Moment: String, CaseIterable {
        /// They are in the socket when the request is sent.
        case inTheSocket
        /// The loop has read them before it sends the request.
        case read
        /// A part of a record of TLS was read before.
        case belowTLS
    }

    /// With a mirror too, the request goes to the origin again, on another connection.
    ///
    /// Mutant: `suspect-origin-is-left-for-its-mirror`.
    @Test(
        arguments: Moment.allCases,
        [("GET", false), ("POST", false), ("GET", true)]
    )
    func sendsRequestElsewhereIfItsResponseBeganBeforeIt(_ moment: Moment, _ kind: (method: String, hasMirror: Bool))
        async throws
    {
        try await RawOrigin.with(respond: { _ in .ok("mirror") }) { mirror in
            try await sendsRequestElsewhere(moment, kind.method, mirrors: kind.hasMirror ? [mirror.url] : [])
            #expect(mirror.requests.isEmpty)
        }
    }

    private func sendsRequestElsewhere(_ moment: Moment, _ method: String, mirrors: [String]) async throws {
        let descriptor = Mutex<NIOBSDSocket.Handle>(-1)
        let respond: @Sendable (RawOrigin.Request) -> RawOrigin.Step = { request in
            .stream { writer in
                if request.target == "/a" {
                    let handle = try await writer.descriptor()
                    descriptor.withLock { $0 = handle }
                }
                try await writer.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n\(request.target)")
            }
        }
        try await withGateway(isSecure: moment == .belowTLS, mirrors: mirrors, respond: respond) { gateway, origin in
            #expect(try await gateway.get("/a").text == "/a")
            let transport = gateway.transport
            let endpoint = endpoint(origin, isSecure: moment == .belowTLS)
            var kept: OriginConnection?
            try await until {
                kept = transport.pool.take(endpoint, near: nil)
                return kept != nil
            }
            let connection = try #require(kept)
            let head = HTTPRequest(
                method: try #require(HTTPRequest.Method(method)),
                scheme: moment == .belowTLS ? "https" : "http",
                authority: origin.authority,
                path: "/b"
            )
            let response = try await connection.eventLoop.flatSubmit {
                let promise = connection.eventLoop.makePromise(of: TransportResponse.self)
                _ = transport.pool.keep(connection, endpoint)
                let call = transport.callbacks?.begin(TransportRequest(head: head)) { result in
                    promise.completeWith(
                        result.map { answer in
                            guard case .response(let response) = answer else { fatalError("It is not relayed.") }
                            return response
                        }
                    )
                }
                if call == nil { promise.fail(CancellationError()) }
                // The request is sent when the loop's round is over.
                let pipeline = connection.channel.pipeline.syncOperations
                switch moment {
                case .inTheSocket:
                    let handle = descriptor.withLock { $0 }
                    _ = Self.evil.withCString { send(handle, $0, Self.evil.utf8.count, 0) }
                case .read: pipeline.fireChannelRead(NIOAny(ByteBuffer(string: Self.evil)))
                // The beginning of a record of application data.
                case .belowTLS: pipeline.fireChannelRead(NIOAny(ByteBuffer(bytes: [0x17, 3, 3, 0, 100, 1, 2, 3])))
                }
                return promise.futureResult
            }.get()
            #expect(String(buffer: try await response.body.collect(upTo: 100)) == "/b")
            #expect(origin.requests.map(\.connection) == [0, 1])
            // Half a record is no sign: it may be a ticket of TLS.
            if moment == .belowTLS { return }
            try await until { transport.pool.isSuspect(endpoint) }
        }
    }

    /// The origin has two addresses and a mirror. A server that is suspect gets the requests all
    /// the same, and the other one is not treated as suspect when its turn comes.
    ///
    /// Mutant: `suspect-server-makes-the-others-suspect`.
    @Test func suspectServerLeavesTheOthersAsTheyAre() async throws {
        let gate = Gate()
        let respond: @Sendable (RawOrigin.Request) -> RawOrigin.Step = { request in
            .stream { writer in
                try await writer.write("HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 3\r\n\r\none")
                guard request.target == "/first" else { return }
                try await gate.wait()
                try await writer.write(Self.evil)
            }
        }
        try await RawOrigin.with(respond: { _ in .ok("two") }) { two in
            try await RawOrigin.with(respond: { _ in .ok("mirror") }) { mirror in
                try await withGateway(
                    mirrors: [mirror.url],
                    addresses: { [$0.authority, two.authority] },
                    respond: respond
                ) { gateway, one in
                    let site = try #require(gateway.transport.sites.first)
                    let endpoints = site.servers.map(\.endpoint)
                    #expect(try await gateway.get("/first").text == "one")
                    gate.open()
                    try await until { gateway.transport.pool.isSuspect(endpoints[0]) }
                    try await RawClient.onEach(of: 30, port: gateway.port) { client, number in
                        try await client.send("GET /\(number) HTTP/1.1\r\nHost: g\r\n\r\n")
                        #expect(try await client.response().text == "one")
                    }
                    #expect(one.connectionCount == 31 && two.requests.isEmpty && mirror.requests.isEmpty)
                    #expect(site.report.allSatisfy { !$0.isAside && $0.counts.failures.isEmpty })

                    await one.stop()
                    try await RawClient.with(port: gateway.port) { client in
                        for number in 0..<30 {
                            try await client.send("GET /after/\(number) HTTP/1.1\r\nHost: g\r\n\r\n")
                            #expect(try await client.response().text == "two")
                        }
                    }
                    #expect(two.connectionCount < 30 && mirror.requests.isEmpty, "its connections are kept")
                    #expect(endpoints[1...].allSatisfy { !gateway.transport.pool.isSuspect($0) })
                    #expect(site.report.map(\.isAside) == [true, false, false])
                    // Stored in the origin's name: its own servers' responses alone.
                    #expect(try await gateway.get("/7").text == "one")
                }
            }
        }
    }

    /// Seeded random numbers.
    private struct Dice: Sendable {
        private let seed: UInt64

        init(_ seed: UInt64) { self.seed = seed }

        func roll(_ number: Int, below limit: UInt64) -> UInt64 {
            var value = seed &+ UInt64(truncatingIfNeeded: number) &* 0x9E37_79B9_7F4A_7C15
            value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
            value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
            return (value ^ value >> 31) % limit
        }
    }

    /// Every response of the origin may be followed by another one, at any moment. The gateway
    /// cannot know the first of them; once it has seen one, no client gets another client's
    /// response, or the attacker's.
    @Test(arguments: [1, 2] as [UInt64], [false, true])
    func boundsForeignResponsesOfAttackingOrigin(seed: UInt64, isSecure: Bool) async throws {
        let clients = 30
        let dice = Dice(seed)
        let respond: @Sendable (RawOrigin.Request) -> RawOrigin.Step = { request in
            .stream { writer in
                let number = Int(request.target.split(separator: "/").last ?? "") ?? 0
                let fields = number % 2 == 0 ? "Cache-Control: no-store\r\n" : "Cache-Control: max-age=60\r\n"
                let length = request.target.utf8.count
                try await writer.write("HTTP/1.1 200 OK\r\n\(fields)Content-Length: \(length)\r\n\r\n\(request.target)")
                guard dice.roll(number, below: 4) > 0 else { return }
                for _ in 0..<dice.roll(number + 1_000_000, below: 200) { await Task.yield() }
                try await writer.write(Self.evil)
            }
        }
        try await withGateway(isSecure: isSecure, respond: respond) { gateway, origin in
            let endpoint = endpoint(origin, isSecure: isSecure)
            let counts = Mutex((foreign: 0, late: 0, failed: 0, answers: 0))
            try await RawClient.onEach(of: clients, port: gateway.port) { client, number in
                for request in 0..<20 {
                    let wasSuspect = gateway.transport.pool.isSuspect(endpoint)
                    let target = "/\(number * 1000 + request)"
                    try await client.send("GET \(target) HTTP/1.1\r\nHost: g\r\n\r\n")
                    let response = try await client.response()
                    counts.withLock { counts in
                        counts.answers += 1
                        if response.status != 200 { counts.failed += 1 }
                        guard response.status == 200, response.text != target else { return }
                        counts.foreign += 1
                        if wasSuspect { counts.late += 1 }
                    }
                }
            }
            let (foreign, late, failed, answers) = counts.withLock { $0 }
            #expect(answers == clients * 20 && failed == 0)
            #expect(late == 0, "a request that began when the origin was suspect got another's response")
            // Each connection that was open before the first sign has had one at most, or a few.
            #expect(foreign <= 2 * clients)
            #expect(gateway.transport.pool.isSuspect(endpoint))
            #expect(Set(origin.requests.suffix(100).map(\.connection)).count == 100)
            let count = await strays(gateway, origin.url) ?? 0
            #expect(count > 0)
            print(
                "Seed \(seed), TLS \(isSecure): \(foreign) of \(answers) answers were foreign, \(count) connections had stray bytes"
            )
        }
    }
}
