import HTTPCache
import HTTPCacheSemantics
import HoldfastConfiguration
import HoldfastMetrics
import HoldfastTesting
import Synchronization
import Testing

@testable import HoldfastGateway
@testable import OriginConnections

/// Health checks of the servers of an origin, on real sockets.
@Suite(.timeLimit(.minutes(20))) struct OriginHealthTests {
    private static func settings(_ url: String, _ mirror: String) -> Configuration.Origin {
        var origin = Configuration.Origin(url: url)
        origin.mirrors = [mirror]
        var check = Configuration.Origin.HealthCheck(path: "/healthz?full")
        (check.interval, check.timeout) = (.milliseconds(20), .seconds(600))
        origin.health = check
        // With mirrors a connection has two seconds, and takes longer on a busy machine.
        origin.timeouts.connect = .seconds(3600)
        return origin
    }

    /// Waits until a server is set aside, or is not.
    private func wait(_ site: OriginSite, until isAside: Bool) async {
        while site.report[0].isAside != isAside, !Task.isCancelled { await Task.yield() }
    }

    /// Runs a gateway with its checks; they end with the body.
    private func with(
        _ origin: Configuration.Origin,
        _ body: (RunningGateway, OriginSite) async throws -> Void
    ) async throws {
        try await RunningGateway.with(origin: origin.url, configureTransport: { $0.origins = [origin] }) { gateway in
            let checks = Task { await OriginHealthChecks(gateway.transport).run() }
            defer { checks.cancel() }
            try await body(gateway, try #require(gateway.transport.sites.first))
            checks.cancel()
            // It ends, whatever is under way.
            await checks.value
        }
    }

    /// Mutants: a failed check changes nothing; a good one does not bring a server back.
    @Test func serverWhoseCheckFailsGetsNoRequestsUntilOneSucceeds() async throws {
        let status = Mutex(500)
        try await RawOrigin.with(respond: { request in
            guard request.target == "/healthz?full" else { return .ok("first") }
            return .response("HTTP/1.1 \(status.withLock { $0 }) Word\r\nContent-Length: 0\r\n\r\n")
        }) { first in
            try await RawOrigin.with(respond: { _ in .ok("mirror") }) { mirror in
                try await with(Self.settings(first.url, mirror.url)) { gateway, site in
                    await wait(site, until: true)
                    for number in 0..<30 {
                        let response = try await gateway.get("/\(number)")
                        #expect(response.text == "mirror")
                    }
                    #expect(first.requests.allSatisfy { $0.target == "/healthz?full" })
                    #expect(first.requests[0].values("host") == [first.authority])
                    status.withLock { $0 = 302 }
                    await wait(site, until: false)
                    let replyOne = try await gateway.get("/a")
                    #expect(replyOne.text == "first")
                    status.withLock { $0 = 404 }
                    await wait(site, until: true)
                    let replyTwo = try await gateway.get("/b")
                    #expect(replyTwo.text == "mirror")
                    // Nothing of it comes into the store, and it is no request of a client.
                    let keys = gateway.store.all.map { String(decoding: $0.key.bytes, as: UTF8.self) }
                    #expect(!keys.contains { $0.contains("healthz") })
                    let families = await gateway.transport.metrics.families()
                    let durations = families.first { $0.description.name == "http_client_request_duration_seconds" }
                    let statuses = durations?.series.flatMap(\.labels.all).filter { $0.name.hasSuffix("status_code") }
                    #expect(Set((statuses ?? []).map(\.value)) == ["200"])
                }
                let checks = first.requests.count
                #expect(mirror.requests.contains { $0.target == "/healthz?full" } && checks > 2)
            }
        }
    }

    /// Mutant: a check has no limit.
    @Test func setsAsideServerThatIsSilentBeyondTheTimeout() async throws {
        try await RawOrigin.with(respond: { _ in .silence }) { first in
            try await RawOrigin.with(respond: { _ in .ok("mirror") }) { mirror in
                var origin = Self.settings(first.url, mirror.url)
                origin.health?.timeout = .passing(20)
                try await with(origin) { _, site in await wait(site, until: true) }
            }
        }
    }

    @Test func asksEachServerAtItsJitteredTimeAndNewOnesAtOnce() throws {
        func site(_ url: String, interval: Duration?) throws -> OriginSite {
            var origin = Configuration.Origin(url: url)
            origin.mirrors = ["https://mirror.example"]
            origin.health = interval.map {
                var check = Configuration.Origin.HealthCheck(path: "/")
                check.interval = $0
                return check
            }
            let endpoint = try GatewayOrigin(url).endpoint
            let mirrors = try origin.mirrors.map { try GatewayOrigin($0) }
            let times = OriginTimes(OriginTransport.Configuration())
            let plan = OriginSite.Plan(
                settings: origin,
                mirrors: mirrors,
                ofMirrors: [nil],
                times: times,
                limitsConnecting: false
            )
            return OriginSite(plan, endpoint) { _ in nil }
        }
        var schedule = CheckSchedule()
        #expect(schedule.next([try site("https://a.example", interval: nil)], at: .zero) { 0 }.pause == nil)
        let sites = [
            try site("https://a.example", interval: .seconds(10)), try site("https://b.example", interval: .seconds(1)),
        ]
        var asked: [String: [Duration]] = [:]
        var now = Duration.zero
        var share = 0.0
        while now < .seconds(60) {
            let (servers, pause) = schedule.next(sites, at: now) {
                share = (share + 0.37).truncatingRemainder(dividingBy: 1)
                return share
            }
            for server in servers { asked["\(server.site.name) \(server.number)", default: []].append(now) }
            now += try #require(pause)
        }
        #expect(asked.count == 4)
        for (name, times) in asked {
            let interval = name.contains("a.example") ? Duration.seconds(10) : .seconds(1)
            #expect(times[0] == .zero)
            for (one, next) in zip(times, times.dropFirst()) {
                #expect((interval * 0.9 - .milliseconds(2)...interval * 1.1 + .milliseconds(2)).contains(next - one))
            }
        }
        let new = [try site("https://c.example", interval: .seconds(3600))]
        #expect(schedule.next(new, at: now) { 0 }.servers.count == 2)
        #expect(schedule.next(new, at: now) { 0 }.servers.isEmpty)
    }
}
