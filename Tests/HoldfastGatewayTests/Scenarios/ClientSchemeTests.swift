import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastConfiguration
import HoldfastTesting
import NIOCore
import NIOSSL
import Testing

@testable import HoldfastGateway

/// The gateway tells an origin its client's scheme, and that selects variants: no client gets a
/// response that was made for the other scheme. docs/attacks.md, 18 and 82
@Suite(.timeLimit(.minutes(20))) struct ClientSchemeTests {
    private static let get = "GET /page HTTP/1.1\r\nHost: a.example\r\n\r\n"
    private static let fresh = "Cache-Control: max-age=60\r\n"

    /// Redirects clients without TLS, as most sites do, and says nothing of that in `Vary`.
    private static func redirect(_ request: RawOrigin.Request) -> RawOrigin.Step {
        guard request.values("x-forwarded-proto") != ["https"] else { return .ok("for TLS alone", fields: fresh) }
        let location = "Location: https://a.example\(request.target)\r\n"
        return .response("HTTP/1.1 301 Moved\r\n\(fresh)\(location)Content-Length: 0\r\n\r\n")
    }

    /// States what the request says of the client's scheme.
    private static func echo(_ request: RawOrigin.Request) -> RawOrigin.Step {
        let names = ["x-forwarded-proto", "forwarded", "front-end-https", "x-scheme", "cloudfront-forwarded-proto"]
        return .ok(names.flatMap { request.values($0) }.joined(separator: "; "), fields: fresh)
    }

    private struct Listeners {
        let gateway: RunningGateway
        let origin: RawOrigin
        let path: String
        let tls: NIOSSLContext
        let configuration: GatewayConfiguration

        /// Sends a request some times on one connection.
        func ask(secure: Bool, _ request: String = ClientSchemeTests.get, times: Int = 1) async throws -> [RawResponse]
        {
            func send(_ client: RawClient) async throws -> [RawResponse] {
                var responses: [RawResponse] = []
                for _ in 0..<times {
                    try await client.send(request)
                    responses.append(try await client.response())
                    await gateway.waitForFills(upTo: 0)
                }
                return responses
            }
            return secure
                ? try await RawClient.with(port: gateway.port, tls: .init(tls), send)
                : try await RawClient.with(path: path, send)
        }
    }

    /// A gateway with a listener with TLS and one without.
    private func withBoth(
        respond: @escaping @Sendable (RawOrigin.Request) -> RawOrigin.Step = redirect,
        rules: (any ExchangeRules)? = nil,
        _ body: (Listeners) async throws -> Void
    ) async throws {
        try await CertificateFolder.with { folder in
            let tls = Configuration.TLS(certificates: [try folder.make("a", "DNS:a.example")])
            let client = try folder.client(trusting: "a")
            let path = folder.path + "/plain"
            try await RawOrigin.with(respond: respond) { origin in
                var kept: GatewayConfiguration?
                try await RunningGateway.with(
                    origin: origin.url,
                    rules: rules,
                    configure: {
                        $0.listeners = [
                            .address(ListenAddress(host: "127.0.0.1", port: 0), tls: tls), .unix(path: path),
                        ]
                        kept = $0
                    }
                ) { gateway in
                    let configuration = try #require(kept)
                    try await body(
                        Listeners(
                            gateway: gateway,
                            origin: origin,
                            path: path,
                            tls: client,
                            configuration: configuration
                        )
                    )
                }
            }
        }
    }

    /// Several connections, so that each event loop's hot table has some.
    @Test(arguments: [true, false]) func redirectForOneSchemeNeverAnswersTheOther(isSecureFirst: Bool) async throws {
        try await withBoth { listeners in
            for _ in 0..<6 {
                for isSecure in [isSecureFirst, !isSecureFirst] {
                    for response in try await listeners.ask(secure: isSecure, times: 4) {
                        #expect(response.status == (isSecure ? 200 : 301))
                        #expect(response.text == (isSecure ? "for TLS alone" : ""))
                    }
                }
            }
            #expect(await listeners.gateway.server.hotResponseCount() > 0)
            #expect(listeners.origin.requests.count == 2, "each scheme has its own stored response")
        }
    }

    /// A port that only redirects does not split the store. After a reload without the redirect, no
    /// response for TLS is served to other clients. Mutant: `redirecting-port-splits-the-store`.
    @Test func listenerThatOnlyRedirectsDoesNotSplitTheStore() async throws {
        let text = """
            version: 1
            listen:
              - 127.0.0.1:1
              - {address: 127.0.0.1:2, tls: {certificates: [{name: a, chain: /chain.pem, key: /key.pem}]}}
            routes:
              - {match: {scheme: http}, respond: {status: 308, location: "https://a.example{path}"}}
              - {origin: "http://a.example"}
            clients: {trusted: [192.0.2.1]}
            """
        let redirecting = try GatewayConfiguration(HoldfastConfiguration.Configuration(yaml: text))
        try await withBoth { listeners in
            var configuration = listeners.configuration
            configuration.fixedRoutes = redirecting.fixedRoutes
            configuration.answeredSchemes = redirecting.answeredSchemes
            #expect(listeners.gateway.engine.clientsScheme == nil)
            listeners.gateway.server.reconfigure(configuration)
            #expect(listeners.gateway.engine.clientsScheme == "https", "refreshes state it to the origin")
            for isSecure in [true, false, true] {
                for response in try await listeners.ask(secure: isSecure, times: 3) {
                    #expect(response.status == (isSecure ? 200 : 308))
                }
            }
            #expect(listeners.gateway.store.all.map(\.head.selectingFields) == [[:]])
            #expect(listeners.origin.requests.count == 1)

            listeners.gateway.server.reconfigure(listeners.configuration)
            #expect(listeners.gateway.engine.clientsScheme == nil)
            for isSecure in [false, true, false] {
                for response in try await listeners.ask(secure: isSecure, times: 3) {
                    #expect(response.status == (isSecure ? 200 : 301))
                }
            }
            #expect(listeners.origin.requests.count == 3, "each scheme has its own stored response")
        }
    }

    /// The gateway of a job listens without TLS. The origin learns the scheme of the clients, and
    /// the route that redirects http does not answer. Links still lead to the job's own address.
    /// Mutant: `a-job-states-http`.
    @Test func jobOfClientsWithTLSStatesHTTPSWithoutTLS() async throws {
        let text = """
            version: 1
            routes:
              - {match: {scheme: http}, respond: {status: 308, location: "https://a.example{path}"}}
              - {origin: "http://a.example"}
            clients: {trusted: [192.0.2.1]}
            """
        let redirecting = try GatewayConfiguration(HoldfastConfiguration.Configuration(yaml: text))
        let respond: @Sendable (RawOrigin.Request) -> RawOrigin.Step = { request in
            guard request.values("x-forwarded-proto") == ["https"],
                request.values("forwarded") == ["for=127.0.0.1;proto=https"]
            else { return Self.redirect(request) }
            let link = "Location: http://\(request.values("host").first ?? "")/next\r\n"
            return .ok("for TLS alone", fields: Self.fresh + link)
        }
        for statesHTTPS in [true, false] {
            try await RewritingGateway.with(
                respond,
                configure: {
                    $0.fixedRoutes = redirecting.fixedRoutes
                    $0.statesHTTPS = statesHTTPS
                }
            ) { gateway, origin in
                for _ in 0..<3 {
                    let response = try await gateway.ask(host: "b.example")
                    #expect(response.status == (statesHTTPS ? 200 : 308))
                    let link = statesHTTPS ? "http://b.example/o/next" : "https://a.example/o/page"
                    #expect(response["Location"] == link)
                    await gateway.waitForFills(upTo: 0)
                }
                #expect(origin.requests.count == (statesHTTPS ? 1 : 0))
                #expect(gateway.store.all.allSatisfy { $0.head.selectingFields.isEmpty })
            }
        }
    }

    /// The response for the other scheme is not served instead: the redirect would loop, and the
    /// page was for TLS alone.
    @Test(arguments: [true, false]) func otherSchemeIsNotStoredInAnOutage(isSecure: Bool) async throws {
        try await withBoth { listeners in
            _ = try await listeners.ask(secure: isSecure, times: 2)
            await listeners.origin.stop()
            let own = try await listeners.ask(secure: isSecure, times: 3)
            #expect(own.allSatisfy { $0.status == (isSecure ? 200 : 301) })
            let others = try await listeners.ask(secure: !isSecure, times: 3)
            #expect(others.allSatisfy { $0.status == 504 })
        }
    }

    @Test func changeInvalidatesBothSchemes() async throws {
        try await withBoth { listeners in
            for isSecure in [true, false] { _ = try await listeners.ask(secure: isSecure, times: 2) }
            let post = "POST /page HTTP/1.1\r\nHost: a.example\r\nContent-Length: 0\r\n\r\n"
            _ = try await listeners.ask(secure: true, post)
            let count = listeners.origin.requests.count
            for isSecure in [true, false] { _ = try await listeners.ask(secure: isSecure) }
            #expect(listeners.origin.requests.count == count + 2)
        }
    }

    /// An operator who knows that the scheme makes no difference keeps one copy.
    @Test func rulesShareResponsesOfBothSchemes() async throws {
        var ignoring = ExchangeSettings()
        ignoring.ignoredFields = [.xForwardedProto]
        ignoring.overrides.ignoredFields = ["x-forwarded-proto"]
        var silent = ExchangeSettings()
        silent.requestFields.removed = [.xForwardedProto, .forwarded]
        for settings in [ignoring, silent] {
            try await withBoth(respond: { _ in .ok("same", fields: Self.fresh) }, rules: FixedRules(settings)) {
                for isSecure in [true, false] {
                    for response in try await $0.ask(secure: isSecure, times: 3) { #expect(response.text == "same") }
                }
                #expect($0.origin.requests.count == 1)
            }
        }
        // The other field still states it.
        silent.requestFields.removed = [.xForwardedProto]
        try await withBoth(respond: Self.echo, rules: FixedRules(silent)) {
            for isSecure in [true, false, true, false] {
                let response = try #require(try await $0.ask(secure: isSecure).first)
                #expect(response.text.hasSuffix(isSecure ? "proto=https" : "proto=http"))
            }
            #expect($0.origin.requests.count == 2)
        }
    }

    // MARK: Trusted proxies

    private func withProxies(
        trusted: [String],
        _ body: (RawOrigin, RunningGateway, GatewayConfiguration) async throws -> Void
    ) async throws {
        try await RawOrigin.with(respond: Self.echo) { origin in
            var kept: GatewayConfiguration?
            try await RunningGateway.with(
                origin: origin.url,
                configure: {
                    $0.trustedClients = trusted.compactMap { AddressRange($0) }
                    kept = $0
                }
            ) { try await body(origin, $0, try #require(kept)) }
        }
    }

    /// Every way to state a scheme gets the response that the origin makes of it.
    @Test func schemesThatProxiesStateSelect() async throws {
        let claims = [
            "", "X-Forwarded-Proto: http\r\n", "X-Forwarded-Proto: https\r\n", "X-Forwarded-Proto: HTTPS\r\n",
            "Forwarded: for=a;proto=https\r\n", "Forwarded: for=a;proto=http\r\n",
            "X-Forwarded-Proto: https\r\nForwarded: for=a;proto=http\r\n",
            "X-Forwarded-Proto: http\r\nForwarded: proto=https;for=a\r\n", "Front-End-Https: on\r\n",
            "Front-End-Https: off\r\n", "X-Scheme: https\r\n", "X-Scheme: http\r\n",
            "CloudFront-Forwarded-Proto: https\r\n",
        ]
        try await withProxies(trusted: ["127.0.0.1"]) { origin, gateway, _ in
            func schemes(_ text: String) -> String {
                text.lowercased().split { ";,".contains($0) }.map { $0.filter { $0 != " " } }
                    .filter { !$0.hasPrefix("for=") }.joined(separator: " ")
            }
            // The origin's words if nothing is stored.
            var alone: [String] = []
            for (index, claim) in claims.enumerated() {
                alone.append(schemes(try await gateway.get("/alone/\(index)", fields: claim).text))
            }
            for _ in 0..<4 {
                for (index, claim) in claims.enumerated() {
                    let text = try await gateway.get("/shared", fields: claim).text
                    #expect(schemes(text) == alone[index], "\(claim)")
                }
            }
            #expect(origin.requests.count { $0.target == "/shared" } < claims.count)
        }
    }

    /// Strangers state nothing, whatever they send.
    @Test func strangersSelectNothing() async throws {
        try await withProxies(trusted: ["192.0.2.1"]) { origin, gateway, _ in
            for scheme in ["http", "https", "x"] {
                let text = try await gateway.get("/page", fields: "X-Forwarded-Proto: \(scheme)\r\n").text
                #expect(text.hasPrefix("http; "))
            }
            #expect(origin.requests.count == 1)
        }
    }

    @Test func changedListOfProxiesServesNoResponseOfTheOtherScheme() async throws {
        try await withProxies(trusted: []) { origin, gateway, original in
            var configuration = original
            func ask() async throws -> String {
                try await gateway.get("/page", fields: "X-Forwarded-Proto: https\r\n").text
            }
            // Nothing is recorded while all clients have one scheme: that costs nothing.
            for _ in 0..<3 { #expect(try await ask().hasPrefix("http; ")) }
            #expect(gateway.store.all.map(\.head.selectingFields) == [[:]])
            for round in 0..<4 {
                let isTrusted = round.isMultiple(of: 2)
                configuration.trustedClients = isTrusted ? [try #require(AddressRange("127.0.0.1"))] : []
                gateway.server.reconfigure(configuration)
                for _ in 0..<3 { #expect(try await ask().hasPrefix(isTrusted ? "https; " : "http; "), "\(round)") }
            }
            #expect(origin.requests.count <= 3)
        }
    }
}
