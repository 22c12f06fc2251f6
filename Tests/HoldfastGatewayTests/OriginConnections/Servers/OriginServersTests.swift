import HTTPCache
import HoldfastConfiguration
import HoldfastGateway
import HoldfastMetrics
import HoldfastTesting
import NIOSSL
import Synchronization
import TestSupport
import Testing

/// Origins with several servers, on real sockets.
@Suite(.timeLimit(.minutes(20))) struct OriginServersTests {
    /// The faults of a first server.
    enum Fault: String, CaseIterable, Sendable {
        case refuses, isDeaf, isSilent, hangsUp, hasAWrongCertificate, neverShakesHands, responds503, responds502,
            respondsNonsense, isSlow
    }

    private static let fresh = "Cache-Control: max-age=60\r\n"
    /// A limit that passes in a test. No claim depends on how long it is.
    fileprivate static let short = Duration.milliseconds(200)
    fileprivate static let patient = Duration.seconds(3600)

    /// Runs a server with a fault.
    private func withServer(
        _ fault: Fault,
        _ body: (_ url: String, RawOrigin?) async throws -> Void
    ) async throws {
        func run(tls: NIOSSLContext? = nil, _ step: RawOrigin.Step) async throws {
            try await RawOrigin.with(tls: tls, respond: { _ in step }) { try await body($0.url, $0) }
        }
        switch fault {
        case .refuses: try await body("http://127.0.0.1:1", nil)
        case .isDeaf:
            let listener = try DeafListener()
            try await body("http://127.0.0.1:\(listener.port)", nil)
            withExtendedLifetime(listener) {}
        case .isSilent: try await run(.silence)
        case .hangsUp: try await run(.hangUp)
        // The common roots of the gateway do not have it.
        case .hasAWrongCertificate: try await run(tls: TestCertificates.serverContext(), .ok("wrong"))
        case .neverShakesHands:
            try await RawOrigin.with(respond: { _ in .silence }) {
                try await body("https://\($0.authority)", $0)
            }
        case .responds503:
            try await run(.response("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\n\r\nbusy"))
        case .responds502:
            // Content that does not end is not waited for.
            try await run(.response("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 1000000\r\n\r\nbroken"))
        case .respondsNonsense: try await run(.response("220 mail.example ESMTP\r\n\r\n"))
        case .isSlow:
            // It begins, and does not continue.
            try await run(.response("HTTP/1.1 200 OK\r\nContent-Length: 4\r\nX-Slow: "))
        }
    }

    private static func settings(
        _ url: String,
        mirrors: [String],
        connect: Duration = patient,
        firstByte: Duration = patient
    ) -> [Configuration.Origin] {
        var origin = Configuration.Origin(url: url)
        origin.mirrors = mirrors
        (origin.timeouts.connect, origin.timeouts.firstByte) = (connect, firstByte)
        // The mirror may take longer.
        return [origin]
            + mirrors.map { mirror in
                var origin = Configuration.Origin(url: mirror)
                (origin.timeouts.connect, origin.timeouts.firstByte) = (patient, patient)
                return origin
            }
    }

    private func metrics(_ gateway: RunningGateway, _ name: String) async -> [String: String] {
        let family = await gateway.transport.metrics.families().first { $0.description.name == name }
        var result: [String: String] = [:]
        for series in family?.series ?? [] {
            let labels = series.labels.all.map { "\($0.name)=\($0.value)" }.joined(separator: " ")
            result[labels] = "\(series.value)"
        }
        return result
    }

    /// GET uses callbacks, POST a task. Mutant: outcomes of an origin with one server are not
    /// counted.
    @Test(arguments: ["GET", "POST"]) func onlyServerOfAnOriginIsCounted(method: String) async throws {
        let respond: @Sendable (RawOrigin.Request) -> RawOrigin.Step = { request in
            switch request.target.dropFirst().prefix(1) {
            case "a": .ok("good")
            case "b": .response("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\n\r\nbusy")
            default: .respondAndClose("220 mail.example ESMTP\r\n\r\n")
            }
        }
        try await RawOrigin.with(respond: respond) { origin in
            let settings = Self.settings(origin.url, mirrors: [])
            try await RunningGateway.with(origin: origin.url, configureTransport: { $0.origins = settings }) {
                gateway in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    let length = method == "GET" ? "" : "Content-Length: 0\r\n"
                    for number in 0..<10 {
                        for kind in ["a", "b", "c"] {
                            group.addTask {
                                let head = "\(method) /\(kind)\(number) HTTP/1.1\r\nHost: g\r\n"
                                _ = try await gateway.send("\(head)\(length)\r\n")
                            }
                        }
                    }
                    try await group.waitForAll()
                }
                let server = try #require(gateway.transport.originServers[origin.url]?.first)
                #expect(server.responses == 10 && server.failures == 20 && !server.isAside)
                let labels = "origin=\(origin.url) server=\(origin.url)"
                let responses = await metrics(gateway, "holdfast_origin_server_responses_total")
                #expect(responses[labels]?.contains("10") == true)
                let failures = await metrics(gateway, "holdfast_origin_server_failures_total")
                #expect(failures.count == 2 && failures.values.allSatisfy { $0.contains("10") }, "\(failures)")
                _ = try await gateway.get("/b")
                #expect(gateway.transport.originServers[origin.url]?.first?.cause?.reason == "status")
            }
        }
    }

    /// Mutant: `only-server-is-always-up`.
    @Test func onlyServerWithoutAConnectionIsDown() async throws {
        try await withServer(.refuses) { url, _ in
            try await RunningGateway.with(
                origin: url,
                configureTransport: { $0.origins = Self.settings(url, mirrors: []) }
            ) { gateway in
                let labels = "origin=\(url) server=\(url)"
                let before = await metrics(gateway, "holdfast_origin_server_up")
                #expect(before[labels]?.contains("1") == true, "\(before)")
                _ = try await gateway.get("/a")
                let after = await metrics(gateway, "holdfast_origin_server_up")
                #expect(after[labels]?.contains("0") == true, "\(after)")
            }
        }
    }

    /// Mutants: a response with 503 is the client's; a server that failed is asked first again.
    @Test(arguments: Fault.allCases)
    func mirrorRespondsToThirtyClientsWhateverFirstServerDoes(_ fault: Fault) async throws {
        try await RawOrigin.with(respond: { .ok("from \($0.target)", fields: Self.fresh) }) { mirror in
            try await withServer(fault) { url, first in
                try await RunningGateway.with(
                    origin: url,
                    configureTransport: {
                        let (connect, firstByte) = fault.limits
                        $0.origins = Self.settings(url, mirrors: [mirror.url], connect: connect, firstByte: firstByte)
                    }
                ) { gateway in
                    try await withThrowingTaskGroup(of: (Int, RawResponse).self) { group in
                        for number in 0..<30 {
                            group.addTask { (number, try await gateway.get("/\(number)")) }
                        }
                        for try await (number, response) in group {
                            #expect(response.status == 200 && response.text == "from /\(number)", "\(response)")
                        }
                    }
                    #expect(mirror.requests.count == 30)
                    // A mirror gets its own name.
                    #expect(mirror.requests.allSatisfy { $0.values("host") == [mirror.authority] })
                    // The stored response belongs to the origin: a hit, without a request.
                    let hit = try await gateway.get("/7")
                    #expect(hit.text == "from /7" && hit["Cache-Status"]?.contains("hit") == true, "\(hit)")
                    #expect(mirror.requests.count == 30)
                    // If a URL could be to blame, the gateway asks the first server itself before
                    // it sets it aside.
                    var up = await metrics(gateway, "holdfast_origin_server_up")
                    while up["origin=\(url) server=\(url)"]?.contains("0") != true, !Task.isCancelled {
                        await Task.yield()
                        up = await metrics(gateway, "holdfast_origin_server_up")
                    }
                    #expect(up["origin=\(url) server=\(mirror.url)"]?.contains("1") == true, "\(up)")
                    let reasons = await metrics(gateway, "holdfast_origin_server_failures_total")
                    #expect(
                        reasons.count == 1 && reasons.keys.first?.hasSuffix("reason=\(fault.reason)") == true,
                        "\(reasons)"
                    )
                }
            }
        }
    }

    @Test(arguments: [Fault.responds503, .refuses])
    func clientGetsFirstServersResponseOrFailureWithoutMirror(_ fault: Fault) async throws {
        try await withServer(fault) { url, _ in
            try await withServer(fault) { other, _ in
                try await RunningGateway.with(
                    origin: url,
                    configureTransport: {
                        $0.origins = Self.settings(url, mirrors: [other.replacing("127.0.0.1:1", with: "127.0.0.1:2")])
                    }
                ) { gateway in
                    let response = try await gateway.get("/a")
                    #expect(response.status == (fault == .responds503 ? 503 : 504), "\(response)")
                    if fault == .responds503 { #expect(response.text == "busy") }
                }
            }
        }
    }

    /// Mutants: the breaker hears of a failure for which a mirror made up; the failure of all names
    /// the last one alone.
    @Test func servesStoredResponseAndSaysSoWhenAllServersAreGone() async throws {
        try await RawOrigin.with(respond: { _ in .ok("v1", fields: "Cache-Control: max-age=1\r\n") }) { mirror in
            let url = "http://127.0.0.1:1"
            try await RunningGateway.with(
                origin: url,
                configure: { $0.trustedClients = [AddressRange("127.0.0.1")].compactMap(\.self) },
                configureTransport: { $0.origins = Self.settings(url, mirrors: [mirror.url]) }
            ) { gateway in
                let replyOne = try await gateway.get("/a")
                #expect(replyOne.text == "v1")
                gateway.clock.advance(by: .seconds(60))
                // Still reachable, by its mirror.
                let again = try await gateway.get("/a")
                #expect(again["Cache-Status"]?.contains("fwd=stale") == true, "\(again)")
                #expect(mirror.requests.count == 2)
                await mirror.stop()
                gateway.clock.advance(by: .seconds(60))
                let stale = try await gateway.get("/a")
                #expect(stale.status == 200 && stale.text == "v1", "\(stale)")
                #expect(stale["Cache-Status"]?.contains("detail=unreachable") == true, "\(stale["Cache-Status"] ?? "")")
                let replyTwo = try await gateway.get("/missing")
                #expect(replyTwo.status == 504)
                let reason = "None of the 2 servers tried for '\(url)' returned a usable response. One of them: '"
                #expect(replyTwo.text.contains(reason), "\(replyTwo.text)")
            }
        }
    }

    /// A mirror also gets its own path.
    @Test func addressesGetOriginsNameAndMirrorsGetTheirOwn() async throws {
        try await RawOrigin.with(respond: { .ok($0.target) }) { server in
            try await RawOrigin.with(respond: { .ok($0.target) }) { mirror in
                let url = "http://origin.example"
                var origin = Configuration.Origin(url: url)
                origin.addresses = ["127.0.0.1:1", server.authority]
                origin.mirrors = [mirror.url + "/pub"]
                try await RunningGateway.with(origin: url + "/base", configureTransport: { $0.origins = [origin] }) {
                    gateway in
                    let replyOne = try await gateway.get("/a?b=c")
                    #expect(replyOne.text == "/base/a?b=c")
                    #expect(server.requests.map { $0.values("host") } == [["origin.example"]])
                    await server.stop()
                    let replyTwo = try await gateway.get("/d?e")
                    #expect(replyTwo.text == "/pub/base/d?e")
                    #expect(mirror.requests.map { $0.values("host") } == [[mirror.authority]])
                }
            }
        }
    }

    /// The change goes to no mirror.
    /// Mutants: a POST that a server may have is sent again; a mirror gets changes.
    @Test func repeatsChangeAtAnotherAddressOnlyIfNoServerHasIt() async throws {
        try await RawOrigin.with([.hangUp], respond: { .ok("got \($0.contentText)") }) { server in
            try await RawOrigin.with(respond: { _ in .ok("mirror") }) { mirror in
                let url = "http://origin.example"
                var origin = Configuration.Origin(url: url)
                (origin.addresses, origin.mirrors) = (["127.0.0.1:1", server.authority], [mirror.url])
                try await RunningGateway.with(origin: url, configureTransport: { $0.origins = [origin] }) { gateway in
                    func post(_ content: String) async throws -> RawResponse {
                        try await gateway.send(
                            "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: \(content.utf8.count)\r\n\r\n\(content)"
                        )
                    }
                    let lost = try await post("one")
                    #expect(lost.status == 502, "the server may have it: \(lost)")
                    #expect(server.requests.count == 1)
                    let replyOne = try await post("two")
                    #expect(replyOne.text == "got two")
                    // Longer than what is kept in memory for another attempt.
                    let long = String(repeating: "x", count: 200_000)
                    let replyTwo = try await post(long)
                    #expect(replyTwo.text == "got \(long)")
                    await server.stop()
                    let replyThree = try await post("three")
                    #expect(replyThree.status == 504)
                    #expect(mirror.requests.isEmpty)
                }
            }
        }
    }

    /// Mutant: each server has the whole time.
    @Test func serversShareTheHardTimeout() async throws {
        try await RawOrigin.with(respond: { _ in .silence }) { silent in
            try await RawOrigin.with(respond: { _ in .ok("mirror") }) { mirror in
                var origin = Configuration.Origin(url: silent.url)
                origin.mirrors = [mirror.url]
                origin.timeouts.firstByte = .seconds(3600)
                try await withEnoughTime(from: .seconds(1)) { time in
                    var options = EngineOptions.patient
                    options.hardTimeout = time
                    return try await RunningGateway.with(
                        origin: silent.url,
                        options: options,
                        configureTransport: { $0.origins = [origin] }
                    ) { gateway in try await gateway.get("/a").text == "mirror" }
                }
            }
        }
    }

    /// With other settings, connections are new.
    @Test func reloadKeepsHealthOfServersWithUnchangedSettings() async throws {
        try await RawOrigin.with(respond: { _ in .ok("mirror") }) { mirror in
            let url = "http://127.0.0.1:1"
            var settings = Self.settings(url, mirrors: [mirror.url])
            try await RunningGateway.with(origin: url, configureTransport: { $0.origins = settings }) { gateway in
                let replyOne = try await gateway.get("/a")
                #expect(replyOne.text == "mirror")
                let failures = "holdfast_origin_server_failures_total"
                let before = await metrics(gateway, failures)
                #expect(before.count == 1)
                func reload() throws {
                    var configuration = OriginTransport.Configuration.patient
                    let routes = GatewayRoutes(origin: try GatewayOrigin(url))
                    (configuration.routes, configuration.origins) = (routes, settings)
                    let origins = try gateway.transport.prepare(for: routes, configuration)
                    gateway.transport.reconfigure(routes: routes, origins: origins)
                }
                settings[0].line = 7
                try reload()
                #expect(await metrics(gateway, failures) == before)
                settings[0].timeouts.idle = .seconds(500)
                try reload()
                #expect(await metrics(gateway, failures).isEmpty)
                let replyTwo = try await gateway.get("/b")
                #expect(replyTwo.text == "mirror")
            }
        }
    }

    @Test func reloadChangesContentTimeoutOfOldConnections() async throws {
        let half = RawOrigin.Step.response("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\na")
        try await RawOrigin.with([.ok("whole"), half]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                #expect(try await gateway.get("/a").text == "whole")
                var configuration = OriginTransport.Configuration.patient
                let routes = GatewayRoutes(origin: try GatewayOrigin(origin.url))
                configuration.routes = routes
                configuration.readTimeout = .passing(20)
                let origins = try gateway.transport.prepare(for: routes, configuration)
                gateway.transport.reconfigure(routes: routes, origins: origins)
                try await RawClient.with(port: gateway.port) { client in
                    try await client.send("GET /b HTTP/1.1\r\nHost: g\r\n\r\n")
                    // The end comes long before the time of the start has passed.
                    let text = String(decoding: await client.readToEnd(), as: UTF8.self)
                    #expect(text.hasPrefix("HTTP/1.1 200 "), "\(text)")
                }
                #expect(origin.connectionCount == 1)
            }
        }
    }
}

extension OriginServersTests.Fault {
    /// The limits that pass: those of a fault that only the time shows.
    fileprivate var limits: (connect: Duration, firstByte: Duration) {
        switch self {
        case .isDeaf, .neverShakesHands: (OriginServersTests.short, OriginServersTests.patient)
        case .isSilent, .isSlow: (OriginServersTests.patient, OriginServersTests.short)
        default: (OriginServersTests.patient, OriginServersTests.patient)
        }
    }

    /// The label of metrics.
    fileprivate var reason: String {
        switch self {
        case .refuses: "refused"
        case .isDeaf: "connect-timeout"
        case .neverShakesHands: "handshake-timeout"
        case .isSilent, .isSlow: "timeout"
        case .hangsUp: "connection-closed"
        case .hasAWrongCertificate: "unknown-authority"
        case .responds503, .responds502: "status"
        case .respondsNonsense: "protocol-violation"
        }
    }
}
