import Foundation
import SampleOrigin
import Testing

/// `holdfast try`, with a built gateway.
@Suite(.timeLimit(.minutes(20)), .enabled(if: Tool.hasCurl, "/usr/bin/curl is a client")) struct HoldfastTryTests {
    @Test func secondRequestIsServedFromTheStore() async throws {
        try await PurgedGateway.withOrigin { gateway, origin in
            let text = try await gateway.run(["try", "http://a.test/news/1?token=secret"])
            #expect(text.status == 0, "\(text)")
            #expect(text.lines.first == "Stored: the second request was served from the store.", "\(text)")
            #expect(text.lines[1].contains("holdfast; fwd=uri-miss; stored") && text.lines[2].contains("holdfast; hit"))
            #expect(text.text.contains("  next   Would be") && !text.text.contains("secret"), "\(text)")
            #expect(origin.requestCount(path: "/news/1") == 1)
            let json = try await gateway.run(["try", "http://a.test/news/1?token=secret", "--format", "json"])
            let report = try #require(try json.objects().first)
            #expect(report["isServedFromStore"] as? Bool == true && report["why"] == nil, "\(json)")
            #expect((report["requests"] as? [[String: Any]])?.map { $0["status"] as? Int } == [200, 200], "\(json)")
        }
    }

    @Test(arguments: [("no-store", "'ignore.directives' can override"), ("private", "shared cache")])
    func reasonNotToStoreIsNamed(_ directive: String, _ words: String) async throws {
        try await PurgedGateway.withOrigin { gateway, origin in
            origin.behaveNormally()
            origin.force(.respond(fields: [("Cache-Control", directive)], body: "x"), times: .max)
            let outcome = try await gateway.run(["try", "http://a.test/x"])
            #expect(outcome.status == 1 && outcome.lines.first == "Not stored.", "\(outcome)")
            #expect(outcome.lines.contains { $0.hasPrefix("  why ") && $0.contains(words) }, "\(outcome)")
            #expect(origin.requestCount(path: "/x") == 2)
        }
    }

    @Test(arguments: [
        ("Set-Cookie: a=b", [], "'store.without-cookies'"),
        ("X-A: b", ["--header", "Cookie: _ga=1"], "'cookies.keep'"),
        ("X-A: b", ["--header", "Authorization: Bearer x"], "set 'store: {per: {field: Authorization}}'"),
        ("X-A: b", ["--header", "Cookie: a=1", "--header", "Authorization: Bearer x"], "'cookies.keep'"),
    ])
    func settingForCredentialsIsNamed(_ field: String, _ options: [String], _ setting: String) async throws {
        try await PurgedGateway.withOrigin { gateway, origin in
            origin.behaveNormally()
            let parts = field.split(separator: ": ").map(String.init)
            let fields = [(parts[0], parts[1]), ("Cache-Control", "max-age=60")]
            origin.force(.respond(fields: fields, body: "x"), times: .max)
            let outcome = try await gateway.run(["try", "http://a.test/x"] + options)
            #expect(outcome.status == 1 && outcome.lines.first == "Not stored.", "\(outcome)")
            #expect(outcome.lines.contains { $0.hasPrefix("  why ") && $0.contains(setting) }, "\(outcome)")
        }
    }

    @Test func storedResponseThatIsValidatedForACookieIsNamed() async throws {
        try await PurgedGateway.withOrigin { gateway, origin in
            origin.behaveNormally()
            let run = ["try", "http://a.test/moments?userID=harbour"]
            let stored = try await gateway.run(run)
            #expect(stored.status == 0, "\(stored)")
            let outcome = try await gateway.run(run + ["--header", "Cookie: _ga=secret"])
            #expect(outcome.status == 1 && !outcome.text.contains("secret"), "\(outcome)")
            #expect(outcome.lines.first == "Stored, but validated because of the 'Cookie' field.", "\(outcome)")
            #expect(outcome.lines.contains { $0.hasPrefix("  why ") && $0.contains("'cookies.keep'") }, "\(outcome)")
            // Another field may be the reason.
            let both = try await gateway.run(run + ["--header", "Cookie: a=b", "--header", "Cache-Control: no-cache"])
            #expect(both.lines.first == "Stored, but validated with the origin.", "\(both)")
        }
    }

    @Test func contentThatEndsEarlyIsNamed() async throws {
        try await PurgedGateway.withOrigin { gateway, origin in
            origin.behaveNormally()
            origin.force(.truncate(after: 1), times: .max)
            let outcome = try await gateway.run(["try", "http://a.test/users/tides"])
            let first = outcome.lines.first ?? ""
            let form = /Not stored: the response ended after 1 of [0-9]+ bytes\./
            #expect(outcome.status == 1 && first.wholeMatch(of: form) != nil, "\(outcome)")
            let cause = "closed the connection before its response was complete. See its log."
            let start = "  origin \(origin.baseURL): connection-closed: "
            #expect(outcome.lines.contains { $0.hasPrefix(start) && $0.hasSuffix(cause) }, "\(outcome)")
            let origins = try await gateway.run(["origins"])
            #expect(origins.text.contains("last failure at ") && origins.text.contains(cause), "\(origins)")
            let logged = await gateway.server.log.line(containing: "Request to an origin failed")
            #expect(logged.contains("origin.reason=connection-closed"), "\(logged)")
            let list = try await gateway.curl("/v1/not-stored")
            #expect(list.text.contains("cut-short"), "\(list.text)")
        }
    }

    /// An application that does not read 'X-Forwarded-Proto' redirects each https client to https.
    ///
    /// Mutant: `endless-redirect-is-a-success`.
    @Test(arguments: [
        ("https://a.test/x", "X-A: b", true), ("/x#top", "X-A: b", true), ("https://a.test/y", "X-A: b", false),
        ("/x", "Set-Cookie: tested=1", false),
    ])
    func redirectToTheRequestedURLIsNamedFirst(_ location: String, _ field: String, _ isEndless: Bool) async throws {
        try await withSite(
            listen: "[{address: 127.0.0.1:0, \(Self.tls)}]",
            "routes: [{host: a.test, origin: \"ORIGIN\", preserve-host: true}]"
        ) { gateway, origin in
            origin.behaveNormally()
            let parts = field.split(separator: ": ").map(String.init)
            let fields = [("Cache-Control", "max-age=60"), ("Location", location), (parts[0], parts[1])]
            origin.force(.respond(status: 301, fields: fields, body: "x"), times: .max)
            let outcome = try await gateway.run(["try", "https://a.test/x"])
            #expect(outcome.lines.first?.hasPrefix("Endless redirect: ") == isEndless, "\(outcome)")
            guard isEndless else { return }
            #expect(outcome.status == 1, "\(outcome)")
            let start = "  note   the client uses https, and the origin http: "
            let note = outcome.lines.first { $0.hasPrefix(start) } ?? ""
            #expect(note.contains("'X-Forwarded-Proto'") && note.hasSuffix("; then purge the URL"), "\(outcome)")
        }
    }

    @Test func redirectPastTheGatewayIsNamed() async throws {
        try await PurgedGateway.withOrigin { gateway, origin in
            origin.behaveNormally()
            let url = origin.baseURL.replacing("http://", with: "https://") + "/x"
            origin.force(.respond(status: 301, fields: [("Location", url)], body: "x"), times: .max)
            let outcome = try await gateway.run(["try", "http://a.test/x"])
            let words = "  note   the response redirects clients past the gateway, to '\(url)': "
            #expect(outcome.lines.contains { $0.hasPrefix(words) }, "\(outcome)")
        }
    }

    /// Mutant: `https-without-tls-is-a-success`.
    @Test func httpsThatNoClientCanUseIsSaidFirst() async throws {
        try await withSite(listen: "127.0.0.1:0", "routes: [{origin: \"ORIGIN\"}]") { gateway, _ in
            let outcome = try await gateway.run(["try", "https://a.test/x"])
            let reason = "no listener has TLS, and 'clients.trusted' names no proxy that has"
            let words = "No client can use https here: \(reason). Over http: Stored: "
            #expect(outcome.lines.first?.hasPrefix(words) == true, "\(outcome)")
        }
    }

    @Test func errorOfTheOriginIsNamedFirst() async throws {
        try await PurgedGateway.withOrigin { gateway, origin in
            origin.behaveNormally()
            origin.force(.respond(status: 503, fields: [("Cache-Control", "no-store")], body: "x"), times: .max)
            let outcome = try await gateway.run(["try", "http://a.test/x"])
            #expect(outcome.status == 1, "\(outcome)")
            #expect(outcome.lines.first == "The origin responds 503. Not stored.", "\(outcome)")
        }
    }

    /// Mutant: `try-says-nothing-of-an-old-date`.
    @Test func oldDateOfAResponseIsNamed() async throws {
        let behind = OriginConfiguration(date: { Int64(Date().timeIntervalSince1970) - 3600 })
        try await PurgedGateway.Folder.with { folder in
            try await SampleOrigin.withOrigin(behind) { origin in
                try folder.write(origin)
                origin.force(.respond(fields: [("Cache-Control", "max-age=300")], body: "x"), times: .max)
                try await PurgedGateway.with(folder) { gateway in
                    let outcome = try await gateway.run(["try", "http://a.test/x"])
                    let first = outcome.lines.first ?? ""
                    #expect(outcome.status == 1 && first.hasPrefix("Stored, but not served"), "\(outcome)")
                    let why = outcome.lines.filter { $0.hasPrefix("  why    The 'Date' of the response is ") }
                    #expect(why.count == 1 && why[0].contains("Check the clocks"), "\(outcome)")
                }
            }
        }
    }

    /// The host would be this machine's, and the port another program's.
    @Test func portThatTheGatewayDoesNotHaveIsNamed() async throws {
        try await PurgedGateway.withOrigin { gateway, _ in
            let other = try await gateway.run(["try", "http://127.0.0.1:1/x"])
            #expect(other.lines.contains { $0.hasSuffix(", not to port 1, which the URL names") }, "\(other)")
            let named = try await gateway.run(["try", "http://a.test:1/x"])
            #expect(!named.text.contains("not to port"), "\(named)")
        }
    }

    /// The response's own fields permit storing it, or name another reason than the rule.
    @Test func reasonOfARuleIsNamed() async throws {
        try await PurgedGateway.Folder.with { folder in
            try await SampleOrigin.withOrigin { origin in
                try folder.write(
                    origin,
                    """
                      - {match: {url: "/bypassed"}, bypass: true}
                      - {match: {url: "/short"}, store: {smallest: 1KiB}}
                    """
                )
                origin.respond("v1")
                try await PurgedGateway.with(folder) { gateway in
                    let reasons = [
                        ("/bypassed", "The request bypasses"), ("/short?token=secret", "The response's body is"),
                    ]
                    for (path, words) in reasons {
                        let outcome = try await gateway.run(["try", "http://a.test" + path])
                        #expect(outcome.status == 1 && !outcome.text.contains("secret"), "\(outcome)")
                        #expect(outcome.lines.contains { $0.hasPrefix("  why ") && $0.contains(words) }, "\(outcome)")
                    }
                }
            }
        }
    }

    /// Mutant: one response a second is recorded, whatever its URL.
    @Test func reasonIsKnownAlthoughOtherResponsesAreNotStoredEither() async throws {
        try await PurgedGateway.withOrigin { gateway, origin in
            origin.behaveNormally()
            origin.force(.respond(fields: [("Cache-Control", "no-store")], body: "x"), times: .max)
            for number in 0..<30 {
                _ = try await gateway.get("/other/\(number)")
                let outcome = try await gateway.run(["try", "http://a.test/x?token=secret&n=\(number)"])
                let why = outcome.lines.filter { $0.hasPrefix("  why ") }
                #expect(why.count == 1 && why[0].contains("'Cache-Control: no-store'"), "\(outcome)")
            }
        }
    }

    @Test func requestWithoutARouteSaysSoFirst() async throws {
        try await PurgedGateway.Folder.with { folder in
            try await SampleOrigin.withOrigin { origin in
                let text = """
                    version: 1
                    listen: 127.0.0.1:0
                    store: {path: s}
                    routes: [{host: only.test, path: /v1, origin: "\(origin.baseURL)"}]
                    """
                try Data(text.utf8).write(to: URL(fileURLWithPath: folder.file))
                try await PurgedGateway.with(folder) { gateway in
                    for (url, detail) in [
                        ("http://a.test/v1/x", "The host of the request belongs to no route."),
                        ("http://only.test/v2/x", "No route matches this path on '"),
                    ] {
                        let outcome = try await gateway.run(["try", url])
                        let first = outcome.lines.first ?? ""
                        #expect(
                            outcome.status == 1 && first.hasPrefix("No route: " + detail),
                            "\(outcome)"
                        )
                        #expect(outcome.lines.contains("  route  only.test/v1"), "\(outcome)")
                        let names = outcome.text.contains("  note   no route has the host 'a.test': add a route with ")
                        #expect(names == url.contains("//a.test/"), "\(outcome)")
                        #expect(!outcome.text.contains("  next "), "\(outcome)")
                    }
                    let logged = await gateway.server.log.line(containing: "a host that no route has")
                    #expect(logged.contains("http.host=a.test"), "\(logged)")
                    #expect(origin.requestCount(path: "/x") == 0)
                    let json = try await gateway.run(["try", "http://a.test/v1/x", "--format", "json"])
                    let request = (try json.objects().first?["requests"] as? [[String: Any]])?.last
                    let problem = request?["problem"] as? [String: Any]
                    #expect(problem?["type"] as? String == "urn:holdfast:problem:unknown-host")
                }
            }
        }
    }

    @Test func unreachableOriginIsNamedWithItsCause() async throws {
        try await PurgedGateway.withOrigin { gateway, origin in
            await origin.stop()
            let outcome = try await gateway.run(["try", "http://a.test/x"])
            let first = outcome.lines.first ?? ""
            let words = "Failed (origin-unreachable): The origin of 'http://a.test/x' is unreachable"
            #expect(outcome.status == 1 && first.hasPrefix(words), "\(outcome)")
            #expect(outcome.lines.contains { $0.hasPrefix("  origin \(origin.baseURL): refused: ") }, "\(outcome)")
            let origins = try await gateway.run(["origins"])
            #expect(origins.lines.contains { $0.hasPrefix("        refused: ") }, "\(origins)")
        }
    }

    /// The origin's last failure is not the reason why nothing is served.
    @Test func originThatTheModeForbidsIsNotBlamed() async throws {
        try await PurgedGateway.withOrigin { gateway, origin in
            await origin.stop()
            let failed = try await gateway.run(["try", "http://a.test/x"])
            #expect(failed.lines.contains { $0.hasPrefix("  origin ") }, "\(failed)")
            let mode = try await gateway.run(["mode", "offline", "--for", "1h"])
            #expect(mode.status == 0, "\(mode)")
            let outcome = try await gateway.run(["try", "http://a.test/x"])
            #expect(outcome.lines.first?.hasPrefix("Failed (offline-miss): ") == true, "\(outcome)")
            #expect(!outcome.lines.contains { $0.hasPrefix("  origin ") }, "\(outcome)")
        }
    }

    /// Mutant: every unreachable origin is listed.
    @Test func onlyTheOriginOfTheRouteIsNamed() async throws {
        try await PurgedGateway.Folder.with { folder in
            let text = """
                version: 1
                listen: 127.0.0.1:0
                store: {path: s}
                routes: [{host: one.test, origin: "http://127.0.0.1:1"}, {host: two.test, origin: "http://127.0.0.1:2"}]
                """
            try Data(text.utf8).write(to: URL(fileURLWithPath: folder.file))
            try await PurgedGateway.with(folder) { gateway in
                _ = try await gateway.get("/x", host: "one.test")
                let outcome = try await gateway.run(["try", "http://two.test/x"])
                let origins = outcome.lines.filter { $0.hasPrefix("  origin ") }
                #expect(origins.count == 1 && origins[0].contains("http://127.0.0.1:2: refused"), "\(outcome)")
            }
        }
    }

    @Test func responseOfTheGatewayItselfIsNamedWithItsSetting() async throws {
        try await PurgedGateway.Folder.with { folder in
            try await SampleOrigin.withOrigin { origin in
                let text = """
                    version: 1
                    listen: 127.0.0.1:0
                    store: {path: s}
                    health: {live: /livez}
                    routes:
                      - {name: old, path: /old, respond: {status: 301, location: "https://a.test/new"}}
                      - {path: /staff, origin: "\(origin.baseURL)", clients: {deny: [127.0.0.0/8]}}
                      - {path: /slow, origin: "\(origin.baseURL)", limits: {requests: {rate: 1/h, burst: 1}}}
                      - {origin: "\(origin.baseURL)"}
                    """
                try Data(text.utf8).write(to: URL(fileURLWithPath: folder.file))
                try await PurgedGateway.with(folder) { gateway in
                    for (path, verdict, next, setting) in [
                        ("/old", "Not stored: the gateway itself", "Would get 301 to 'https://a.test/new'", "respond"),
                        ("/livez", "Not stored: the gateway itself", "Would get the gateway's health", "health.live"),
                        ("/staff", "Rejected (client-not-allowed)", "Would be rejected with 403", "clients.deny"),
                        ("/slow", "Rejected (too-many-requests)", "Would be rejected with 429", "limits.requests"),
                    ] {
                        let outcome = try await gateway.run(["try", "http://a.test" + path])
                        #expect(outcome.status == 1 && outcome.lines.first?.hasPrefix(verdict) == true, "\(outcome)")
                        let line = outcome.lines.first { $0.hasPrefix("  next   ") } ?? ""
                        #expect(line.contains(next) && line.contains("'\(setting)'"), "\(outcome)")
                        let json = try await gateway.run(["try", "http://a.test" + path, "--format", "json"])
                        #expect(try json.objects().first?["setting"] as? String == setting, "\(json)")
                    }
                }
            }
        }
    }

    @Test func fieldsAreSentAndExplained() async throws {
        try await PurgedGateway.withOrigin { gateway, origin in
            origin.behaveNormally()
            let fields = [("Cache-Control", "max-age=60"), ("Vary", "Accept-Language")]
            origin.force(.respond(fields: fields, body: "x"), times: .max)
            let run = ["try", "http://a.test/x", "--header", "Accept-Language: de", "--header", "Cookie: sid=secret"]
            let outcome = try await gateway.run(run)
            #expect(outcome.status == 1 && !outcome.text.contains("secret"), "\(outcome)")
            let german = try await gateway.run(Array(run.prefix(4)))
            #expect(german.status == 0 && german.text.contains("  next   Would be served"), "\(german)")
            let other = try await gateway.get("/x")
            #expect(other.contains("fwd=vary-miss"), "the stored copy is for the field that was sent")
        }
    }

    @Test(arguments: [
        ("Host: evil.test", "'--header Host' cannot be used. The URL names the host."),
        ("transfer-encoding: chunked", "'--header transfer-encoding' cannot be used."),
        ("Connection: close", "cannot be used"), ("Upgrade: h2c", "cannot be used"), ("nocolon", "has no colon"),
    ])
    func fieldsOfTheConnectionAreRejected(_ header: String, _ words: String) async throws {
        try await PurgedGateway.Folder.with { folder in
            let outcome = try await folder.run(["try", "http://a.test/", "--header", header])
            #expect(outcome.status == 64 && outcome.error.contains(words), "\(outcome)")
        }
    }

    /// Runs a gateway with routes of a file, in which `ORIGIN` is the origin's URL.
    private func withSite(
        listen: String,
        _ routes: String,
        _ body: (PurgedGateway, RunningOrigin) async throws -> Void
    ) async throws {
        try await PurgedGateway.Folder.with { folder in
            try await SampleOrigin.withOrigin { origin in
                origin.respond("v1")
                try await ListenerTLSTests.make("main", in: folder.path)
                let more = routes.replacingOccurrences(of: "ORIGIN", with: origin.baseURL)
                let text = "version: 1\nlisten: \(listen)\nstore: {path: s}\n\(more)\n"
                try Data(text.utf8).write(to: URL(fileURLWithPath: folder.file))
                try await PurgedGateway.with(folder) { try await body($0, origin) }
            }
        }
    }

    private static let tls = "tls: {certificates: [{name: main, chain: main.pem, key: main.key}]}"
    private static let redirecting =
        "routes: [{match: {scheme: http}, respond: {status: 301, location: \"https://a.test\"}}, {origin: \"ORIGIN\"}]"

    @Test(arguments: [
        "[{address: 127.0.0.1:0, \(tls)}, {unix: h.sock}]", "[127.0.0.1:0, {unix: h.sock, \(tls)}]",
    ])
    func httpsGoesToTheListenerWithTLS(listen: String) async throws {
        try await withSite(listen: listen, Self.redirecting) { gateway, origin in
            let outcome = try await gateway.run(["try", "https://a.test/x"])
            #expect(outcome.status == 0, "\(outcome)")
            #expect(outcome.lines.first == "Stored: the second request was served from the store.", "\(outcome)")
            #expect(outcome.lines.contains { $0.hasPrefix("  next   Would be served") }, "\(outcome)")
            #expect(!outcome.text.contains("sent with"), "\(outcome)")
            let plain = try await gateway.run(["try", "http://a.test/x"])
            #expect(plain.status == 1 && plain.lines.first == "Not stored: the gateway itself responded.", "\(plain)")
            #expect(!plain.text.contains("X-Forwarded-Proto"), "\(plain)")
            #expect(origin.requestCount(path: "/x") == 1)
        }
    }

    @Test func gatewayWithTLSAloneIsTried() async throws {
        try await withSite(
            listen: "[{address: 127.0.0.1:0, \(Self.tls)}]",
            "routes: [{origin: \"ORIGIN\"}]"
        ) { gateway, _ in
            for (url, isNoted) in [("https://a.test/x", false), ("http://a.test/x", true)] {
                let outcome = try await gateway.run(["try", url])
                #expect(outcome.status == 0, "\(outcome)")
                #expect(outcome.text.contains("  note   sent with TLS, to '127.0.0.1:") == isNoted, "\(outcome)")
            }
        }
    }

    @Test func failedTLSConnectionIsNamedFirst() async throws {
        let tls = Self.tls.dropLast() + ", client: {ca: main.pem, certificate: required}}"
        try await withSite(
            listen: "[{address: 127.0.0.1:0, \(tls)}, {unix: h.sock}]",
            Self.redirecting
        ) { gateway, _ in
            let outcome = try await gateway.run(["try", "https://a.test/x"])
            let first = outcome.lines.first ?? ""
            #expect(outcome.status == 1, "\(outcome)")
            #expect(first.hasPrefix("Not tested: The gateway on '127.0.0.1:"), "\(outcome)")
            #expect(outcome.lines.contains { $0.hasPrefix("  next   Would be ") }, "\(outcome)")
        }
    }

    /// The command states the scheme, as a proxy with TLS would.
    @Test func proxyWithTLSIsPlayedForATrustingGateway() async throws {
        let trusted = "clients: {trusted: [127.0.0.1]}\n\(Self.redirecting)"
        try await withSite(listen: "127.0.0.1:0", trusted) { gateway, _ in
            let outcome = try await gateway.run(["try", "https://a.test/x"])
            #expect(outcome.status == 0, "\(outcome)")
            #expect(outcome.lines.contains { $0.hasPrefix("  note   sent without TLS, to '") }, "\(outcome)")
            #expect(outcome.lines.contains { $0.hasSuffix("for http, use the URL with 'http://'") }, "\(outcome)")
        }
        let refusing = "routes: [{match: {scheme: http}, respond: {status: 403}}, {origin: \"ORIGIN\"}]"
        try await withSite(listen: "127.0.0.1:0", refusing) { gateway, _ in
            let outcome = try await gateway.run(["try", "https://a.test/x"])
            #expect(outcome.status == 1, "\(outcome)")
            #expect(outcome.lines.first?.hasPrefix("Not tested: no listener has TLS") == true, "\(outcome)")
        }
    }

    @Test func badInputIsNamed() async throws {
        try await PurgedGateway.Folder.with { folder in
            let relative = try await folder.run(["try", "/news/1"])
            #expect(relative.status == 64 && relative.error.contains("'http://localhost:8080/news/1'"), "\(relative)")
            let bare = try await folder.run(["try", "localhost:8080/x?token=hunter2"])
            #expect(bare.status == 64 && bare.error.contains("'http://localhost:8080/x?token=REDACTED'"), "\(bare)")
            let absent = try await folder.run(["try", "http://a.test/"])
            #expect(absent.status == 1 && absent.error.contains("does not exist"), "\(absent)")
        }
    }
}
