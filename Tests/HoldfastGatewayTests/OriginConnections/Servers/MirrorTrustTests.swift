import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastConfiguration
import HoldfastMetrics
import HoldfastTesting
import Synchronization
import Testing

@testable import HoldfastGateway
@testable import OriginConnections

/// A mirror has another owner: what it gets of a request, and what its responses may say in the
/// name of the origin.
@Suite(.timeLimit(.minutes(20))) struct MirrorTrustTests {
    private static let fresh = "Cache-Control: public, max-age=600\r\n"
    private static let credentials = [
        "Authorization: Basic YTpi", "Cookie: session=alice", "X-Api-Key: k", "DPoP: proof",
    ]

    /// A gateway whose origin cannot be reached, with one mirror.
    private func withMirror(
        takesCredentials: Bool = false,
        rules: ExchangeSettings = ExchangeSettings(),
        origin: String = "http://127.0.0.1:1",
        respond: @escaping @Sendable (RawOrigin.Request) -> RawOrigin.Step,
        _ body: (RunningGateway, _ mirror: RawOrigin) async throws -> Void
    ) async throws {
        try await RawOrigin.with(respond: respond) { mirror in
            var settings = Configuration.Origin(url: origin)
            settings.mirrors = [mirror.url]
            settings.timeouts.connect = .seconds(3600)
            var own = Configuration.Origin(url: mirror.url)
            own.takesCredentials = takesCredentials
            own.timeouts.connect = .seconds(3600)
            try await RunningGateway.with(
                origin: origin,
                rules: FixedRules(rules),
                configureTransport: { $0.origins = [settings, own] }
            ) { try await body($0, mirror) }
        }
    }

    /// Mutant: `mirror-gets-credentials`.
    @Test(arguments: credentials) func requestWithCredentialsGoesToNoMirror(_ field: String) async throws {
        try await withMirror(respond: { _ in .ok("mirror", fields: Self.fresh) }) { gateway, mirror in
            let alone = try await gateway.get("/a", fields: field + "\r\n")
            #expect(alone.status == 504 && mirror.requests.isEmpty, "\(alone)")
            let anonymous = try await gateway.get("/a")
            #expect(anonymous.text == "mirror", "\(anonymous)")
            // The mirror's word to another client is not the origin's word to this one.
            let stored = try await gateway.get("/a", fields: field + "\r\n")
            #expect(stored.status == 504, "\(stored)")
            let hit = try await gateway.get("/a")
            #expect(hit["Cache-Status"]?.contains("hit") == true && mirror.requests.count == 1, "\(hit)")
        }
    }

    /// Requests that the mirror does not get fail while the origin is down. Requests that it gets
    /// continue: the origin is not unreachable.
    ///
    /// Mutant: `restricted-failure-opens-the-breaker`.
    @Test(arguments: ["GET /a HTTP/1.1\r\nCookie: a=b\r\n", "POST /a HTTP/1.1\r\nContent-Length: 0\r\n"])
    func requestThatTheMirrorDoesNotGetMakesNothingUnreachable(_ head: String) async throws {
        try await withMirror(respond: { _ in .ok("mirror") }) { gateway, _ in
            // In a row: a response between two of them would close an open breaker again.
            for _ in 0..<30 {
                let refused = try await gateway.send(head + "Host: g\r\n\r\n")
                #expect(refused.status == 504, "\(refused)")
            }
            for number in 0..<30 {
                let served = try await gateway.get("/\(number)")
                #expect(served.text == "mirror", "\(served)")
            }
        }
    }

    @Test(arguments: credentials) func trustedMirrorGetsThem(_ field: String) async throws {
        try await withMirror(takesCredentials: true, respond: { _ in .ok("mirror", fields: Self.fresh) }) {
            gateway,
            mirror in
            let response = try await gateway.get("/a", fields: field + "\r\n")
            #expect(response.text == "mirror", "\(response)")
            #expect(mirror.requests[0].text.lowercased().contains(field.lowercased()), "\(mirror.requests)")
            #expect(response["Vary"] == nil, "\(response)")
        }
    }

    /// Mutant: `mirror-gets-fields-of-rules`.
    @Test(arguments: [false, true]) func fieldsOfRulesAreForTheOrigin(_ takesCredentials: Bool) async throws {
        var rules = ExchangeSettings()
        let upstream = try #require(HTTPField.Name("X-Upstream"))
        rules.requestFields.set = [.authorization: "Bearer of-the-operator", upstream: "secret"]
        // Cookies go to the origin and identify no client.
        rules.ignoredFields = [.cookie]
        try await RawOrigin.with(respond: { _ in .hangUp }) { own in
            try await withMirror(
                takesCredentials: takesCredentials,
                rules: rules,
                origin: own.url,
                respond: { _ in .ok("mirror", fields: Self.fresh) }
            ) { gateway, mirror in
                let response = try await gateway.get("/a", fields: "Cookie: a=b\r\nAccept-Language: de\r\n")
                #expect(response.text == "mirror")
                for (request, isTrusted) in [(own.requests[0], true), (mirror.requests[0], takesCredentials)] {
                    let got = ["authorization", "x-upstream", "cookie"].map { request.values($0).count }
                    #expect(got == (isTrusted ? [1, 1, 1] : [0, 0, 0]), "\(request.text)")
                    #expect(request.values("accept-language") == ["de"])
                }
            }
        }
    }

    /// A mirror's word that something does not exist, or a part of it, is for its client alone.
    ///
    /// Mutant: `mirrors-error-is-stored`.
    @Test(arguments: [
        "404 Not Found", "410 Gone", "403 Forbidden", "500 Internal Server Error", "206 Partial Content",
    ]) func whatAMirrorDeniesIsNotStored(_ status: String) async throws {
        let fields =
            Self.fresh + "CDN-Cache-Control: max-age=600\r\nContent-Range: bytes 0-0/9\r\nContent-Length: 1\r\n"
        try await withMirror(respond: { _ in .response("HTTP/1.1 \(status)\r\n\(fields)\r\nx") }) { gateway, mirror in
            for count in 1...2 {
                let response = try await gateway.get("/a", fields: "Range: bytes=0-0\r\n")
                #expect("\(response.status)" == status.prefix(3) && mirror.requests.count == count, "\(response)")
            }
            #expect(gateway.store.all.isEmpty)
        }
    }

    /// A 304 of a mirror confirms the origin's stored response, and changes none of its fields.
    ///
    /// Mutant: `mirrors-304-changes-fields`.
    @Test func mirrorsConfirmationChangesNothing() async throws {
        let respond: @Sendable (RawOrigin.Request) -> RawOrigin.Step = { _ in
            .response(
                "HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\nCache-Control: public, max-age=9999\r\nX-Of: mirror\r\n\r\n"
            )
        }
        try await RawOrigin.with([.ok("own", fields: "ETag: \"1\"\r\nCache-Control: max-age=1\r\nVary: Accept\r\n")]) {
            own in
            try await withMirror(origin: own.url, respond: respond) { gateway, mirror in
                #expect(try await gateway.get("/a").text == "own")
                await own.stop()
                gateway.clock.advance(by: .seconds(60))
                let confirmed = try await gateway.get("/a")
                #expect(confirmed.text == "own" && mirror.requests.count == 1, "\(confirmed)")
                #expect(confirmed["X-Of"] == nil && confirmed["Cache-Control"] == "max-age=1", "\(confirmed)")
                #expect(confirmed["Vary"] == "Accept", "\(confirmed)")
            }
        }
    }

    /// Health checks and probes are the gateway's own: no field of a rule, none of a client.
    @Test func checksCarryNoFieldsOfRules() async throws {
        var rules = ExchangeSettings()
        rules.requestFields.set = [.authorization: "Bearer of-the-operator"]
        try await RawOrigin.with(respond: { _ in .hangUp }) { own in
            try await withMirror(rules: rules, origin: own.url, respond: { _ in .ok("mirror") }) { gateway, _ in
                for number in 0..<4 { _ = try await gateway.get("/\(number)") }
                while gateway.transport.sites[0].report[0].isAside == false, !Task.isCancelled { await Task.yield() }
                let probes = own.requests.filter { $0.line.hasPrefix("HEAD ") }
                #expect(probes.map(\.target).prefix(2) == ["/", "/robots.txt"])
                #expect(probes.allSatisfy { $0.values("authorization").isEmpty && $0.values("via").isEmpty })
            }
        }
    }
}
