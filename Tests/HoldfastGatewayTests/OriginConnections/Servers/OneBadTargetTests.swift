import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastConfiguration
import HoldfastTesting
import Synchronization
import Testing

@testable import HoldfastGateway
@testable import OriginConnections

/// One URL that always fails among healthy ones, on real sockets: the others stay with the origin.
@Suite(.timeLimit(.minutes(20))) struct OneBadTargetTests {
    private static let fresh = "Cache-Control: max-age=600\r\n"
    /// The ways in which one URL fails.
    static let failures: [RawOrigin.Step] = [
        .hangUp, .response("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"),
        .response("HTTP/1.1 504 Late\r\nContent-Length: 0\r\n\r\n"), .response("220 mail.example ESMTP\r\n\r\n"),
    ]

    private static func settings(_ url: String, _ mirror: String) -> [Configuration.Origin] {
        var origin = Configuration.Origin(url: url)
        origin.mirrors = [mirror]
        origin.timeouts.connect = .seconds(3600)
        return [origin]
    }

    /// Honest reads stay with the origin, and no 404 of the mirror is stored in its name, however
    /// often the bad URL is asked for.
    ///
    /// Mutants: `one-url-sets-a-server-aside`, `mirrors-error-is-stored`.
    @Test(arguments: failures.indices) func healthyTargetsStayWithTheOrigin(_ failure: Int) async throws {
        try await RawOrigin.with(respond: { $0.target.hasPrefix("/bad") ? Self.failures[failure] : .ok("own") }) {
            own in
            let absent = "HTTP/1.1 404 Not Found\r\n\(Self.fresh)Content-Length: 2\r\n\r\nno"
            try await RawOrigin.with(respond: { _ in .response(absent) }) { mirror in
                try await RunningGateway.with(
                    origin: own.url,
                    configureTransport: { $0.origins = Self.settings(own.url, mirror.url) }
                ) { gateway in
                    for number in 0..<30 {
                        let bad = try await gateway.get("/bad", fields: "X-Number: \(number)\r\n")
                        #expect(bad.status == 404, "\(bad)")
                        let honest = try await gateway.get("/\(number)")
                        #expect(honest.text == "own", "\(number): \(honest)")
                    }
                    #expect(mirror.requests.allSatisfy { $0.target == "/bad" })
                    #expect(!gateway.store.all.contains { $0.head.status.code == 404 })
                }
            }
        }
    }

    /// The mirror cannot be reached. That does not make the origin unreachable because of one URL.
    ///
    /// Mutant: `last-failure-is-the-clients`.
    @Test(arguments: failures.indices) func deadMirrorMakesTheOriginNotUnreachable(_ failure: Int) async throws {
        try await RawOrigin.with(respond: { $0.target == "/bad" ? Self.failures[failure] : .ok("own") }) { own in
            try await RunningGateway.with(
                origin: own.url,
                configureTransport: { $0.origins = Self.settings(own.url, "http://127.0.0.1:1") }
            ) { gateway in
                for number in 0..<30 {
                    _ = try await gateway.get("/bad")
                    let honest = try await gateway.get("/\(number)")
                    #expect(honest.text == "own", "\(number): \(honest)")
                }
            }
        }
    }

    /// Mutant: `set-aside-server-is-not-asked`.
    @Test(arguments: failures.indices) func serverThatIsWellAgainIsAskedBeforeAnErrorIsPassedOn(
        _ failure: Int
    ) async throws {
        let isWell = Mutex(false)
        let respond: @Sendable (RawOrigin.Request) -> RawOrigin.Step = { _ in
            isWell.withLock { $0 } ? .ok("own") : Self.failures[failure]
        }
        try await RawOrigin.with(respond: respond) { own in
            let status = Mutex(200)
            try await RawOrigin.with(respond: { _ in
                .response("HTTP/1.1 \(status.withLock { $0 }) Word\r\nContent-Length: 6\r\n\r\nmirror")
            }) { mirror in
                try await RunningGateway.with(
                    origin: own.url,
                    configureTransport: { $0.origins = Self.settings(own.url, mirror.url) }
                ) { gateway in
                    let site = gateway.transport.sites[0]
                    for number in 0..<4 { _ = try await gateway.get("/\(number)") }
                    while !site.report[0].isAside, !Task.isCancelled { await Task.yield() }
                    status.withLock { $0 = 503 }
                    let both = try await gateway.get("/both")
                    #expect([503, 504].contains(both.status), "\(both)")
                    isWell.withLock { $0 = true }
                    try await withThrowingTaskGroup(of: RawResponse.self) { group in
                        for number in 0..<30 { group.addTask { try await gateway.get("/well/\(number)") } }
                        for try await response in group { #expect(response.text == "own", "\(response)") }
                    }
                    #expect(!site.report[0].isAside)
                }
            }
        }
    }
}
