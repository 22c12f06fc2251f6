import Foundation
import SampleOrigin
import TestSupport
import Testing

/// The control plane of the built gateway on a port, over sockets: who may use it and what it
/// rejects.
@Suite(.timeLimit(.minutes(20)), .enabled(if: Tool.hasCurl, "/usr/bin/curl is a client"))
struct ControlNetworkTests {
    private static let all = #"{"select": {"all": true}, "reason": "a-private-reason"}"#

    /// The gateway, the port of its control plane, and its tokens.
    private struct Network {
        let gateway: PurgedGateway
        let port: Int
        static let tokens = ["read": "1", "purge": "2", "operate": "3"].mapValues { String(repeating: $0, count: 64) }

        /// Sends a request on a new connection.
        func send(
            _ method: String = "GET",
            _ path: String = "/v1/purges",
            token: String? = nil,
            host: String? = nil,
            _ fields: String = "",
            content: String = ""
        ) async throws -> (status: Int, head: String, content: String) {
            var head = "\(method) \(path) HTTP/1.1\r\nHost: \(host ?? "localhost:\(port)")\r\n\(fields)"
            if let token { head += "Authorization: Bearer \(token)\r\n" }
            if !content.isEmpty {
                head += "Content-Type: application/json\r\nContent-Length: \(content.utf8.count)\r\n"
            }
            let text = try await ServerProcess.send(head + "Connection: close\r\n\r\n" + content, to: port)
            let end = try #require(text.range(of: "\r\n\r\n"), "\(text)")
            let status = try #require(Int(text.dropFirst(9).prefix(3)), "\(text)")
            return (status, String(text[..<end.lowerBound]), String(text[end.upperBound...]))
        }

        func purge(_ token: String?, _ fields: String = "", host: String? = nil) async throws -> Int {
            try await send("POST", token: token, host: host, fields, content: ControlNetworkTests.all).status
        }

        /// Whether nothing was purged.
        func isUnchanged() async throws -> Bool {
            let history = try await gateway.curl("/v1/purges").json["purges"] as? [Any]
            return try await gateway.get("/news/1").contains("; hit; ttl=") && history?.isEmpty == true
        }
    }

    private func withNetwork(_ body: (Network) async throws -> Void) async throws {
        try await PurgedGateway.Folder.with { folder in
            try await SampleOrigin.withOrigin { origin in
                var tokens: [String] = []
                for (scope, secret) in Network.tokens {
                    try write(secret, folder.path + "/\(scope).token")
                    tokens.append("{name: of-\(scope), file: \(scope).token, scope: \(scope)}")
                }
                let list = tokens.joined(separator: ", ")
                let control = "control: {listen: 127.0.0.1:0, hosts: [ops.test], tokens: [\(list)]}"
                try folder.write(origin, control + "\ndrain: {delay: off}")
                origin.respond("v1")
                try await run(folder) { network in
                    try await network.gateway.warm([.init(path: "/news/1")])
                    try await body(network)
                }
            }
        }
    }

    private func write(_ secret: String, _ path: String, mode: Int = 0o600) throws {
        try Data(secret.utf8).write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    }

    private func run(_ folder: PurgedGateway.Folder, _ body: (Network) async throws -> Void) async throws {
        let arguments = ["--config", folder.file]
        _ = try await RunningServer.with(arguments, environment: ["RUNTIME_DIRECTORY": ""]) { server in
            let lines = [
                await server.log.line(containing: "controlled by"), await server.log.line(containing: "controlled by"),
            ]
            let line = try #require(lines.first { $0.contains("http://127.0.0.1:") }, "\(lines)")
            let port = try #require(line.split(separator: ":").last.flatMap { Int($0.dropLast()) }, "\(line)")
            try await body(Network(gateway: PurgedGateway(folder: folder, server: server), port: port))
            server.signal(SIGTERM)
        }
    }

    @Test func pageInOperatorsBrowserNeitherChangesNorReadsAnything() async throws {
        try await withNetwork { network in
            let token = Network.tokens["operate"]
            // A page sends no token, but must fail even with one: another origin, a rebound name.
            for token in [nil, token] {
                for origin in ["http://a.test", "null", "http://localhost", "https://localhost:\(network.port)"] {
                    let field = "Origin: \(origin)\r\n"
                    #expect(try await network.purge(token, field) == 403)
                    for path in ["/v1/purges", "/healthz", "/nothing"] {
                        #expect(try await network.send("GET", path, token: token, field).status == 403)
                    }
                    let preflight = field + "Access-Control-Request-Method: POST\r\n"
                    let reply = try await network.send("OPTIONS", token: token, preflight)
                    #expect(reply.status == 403 && !reply.head.lowercased().contains("access-control"))
                }
                for host in ["rebound.test", "rebound.test:\(network.port)", "ops.test.a", "0.0.0.0:\(network.port)"] {
                    #expect(try await network.purge(token, host: host) == 421)
                    #expect(try await network.send(token: token, host: host).status == 421)
                }
            }
            // The host of a target in absolute form counts, not 'Host'. RFC 9112 §3.2.2
            let place = "localhost:\(network.port)"
            for (target, status) in [
                ("http://rebound.test/v1/status", 421), ("http://rebound.test", 421),
                ("HTTP://u@\(place)/v1/status", 421),
                ("http://\(place)/v1/status", 200),
            ] {
                let reply = try await network.send("GET", target, token: token)
                #expect(reply.status == status, "\(target) \(reply)")
            }
            // An image, a script, a form: without an 'Origin', and without a token.
            for path in ["/v1/purges", "/healthz", "/nothing"] {
                let reply = try await network.send("GET", path)
                #expect(reply.status == 401 && reply.head.contains("\r\nWWW-Authenticate: Bearer"), "\(reply)")
            }
            let form = "Content-Type: text/plain\r\nContent-Length: 0\r\n"
            #expect(try await network.send("POST", "/v1/purges", form).status == 401)
            #expect(try await network.isUnchanged())
            let own = "Origin: http://localhost:\(network.port)\r\n"
            #expect(try await network.send(token: token, own).status == 200)
            #expect(try await network.send(token: token, host: "ops.test").status == 200)
        }
    }

    @Test func auditAsksAddressesWithAToken() async throws {
        try await withNetwork { network in
            let folder = network.gateway.folder.path
            func audit(_ scope: String) async throws -> Tool.Outcome {
                let place = ["--node", "127.0.0.1:\(network.port)", "--token-file", "\(folder)/\(scope).token"]
                return try await Tool("holdfast").run(
                    arguments: ["fleet", "audit", "--tag", "news", "--at", "0"] + place
                )
            }
            let fresh = try await audit("operate")
            #expect(fresh.status == 1 && fresh.text.contains("  1 still fresh, such as http://"), "\(fresh)")
            let small = try await audit("read")
            #expect(small.status == 1 && small.text.contains("unknown: ") && small.text.contains("scope"), "\(small)")
            #expect(try await network.gateway.purge(["--tag", "news"]).status == 0)
            #expect(try await audit("operate").status == 0)
        }
    }

    @Test func tokenOpensOnlyItsScopeAndHistoryNamesIt() async throws {
        try await withNetwork { network in
            let secrets = Network.tokens
            for scope in secrets.keys {
                for path in ["/v1/purges", "/livez", "/readyz", "/healthz"] {
                    #expect(try await network.send("GET", path, token: secrets[scope]).status == 200)
                }
            }
            let small = try await network.send("POST", token: secrets["read"], content: Self.all)
            #expect(small.status == 403 && small.content.contains("urn:holdfast:problem:scope-too-small"), "\(small)")
            #expect(small.content.contains("'purge'") && small.content.contains("of-read"), "\(small)")
            #expect(try await network.isUnchanged())
            #expect(try await network.send("GET", "/nothing", token: secrets["read"]).status == 404)
            #expect(try await network.send("DELETE", token: secrets["operate"]).status == 405)
            #expect(try await network.purge(secrets["purge"]) == 200)
            #expect(try await network.purge(secrets["operate"]) == 200)
            let history = try await network.gateway.curl("/v1/purges").json["purges"] as? [[String: Any]]
            #expect(history?.map { $0["by"] as? String } == ["of-purge", "of-operate"])
        }
    }

    @Test func tokenOfScopeReadChangesNothingAndSeesNoQueries() async throws {
        try await withNetwork { network in
            try await network.gateway.warm([.init(path: "/news/2?page=a-private-value")])
            let token = Network.tokens["read"]
            let mode = #"{"mode": "offline", "for": "1h"}"#
            let prefix = "prefix=http%3A%2F%2Fa.test%2Fnews%2F2%3Fpage%3Da"
            for (method, path, content) in [
                ("PUT", "/v1/mode", mode), ("POST", "/v1/reload", "{}"), ("GET", "/v1/responses?\(prefix)", ""),
                // It says whether a URL is stored with its query, byte by byte.
                ("GET", "/v1/explain?url=http%3A%2F%2Fa.test%2Fnews%2F2%3Fpage%3Da-private-value", ""),
            ] {
                for scope in ["read", "purge"] {
                    let reply = try await network.send(method, path, token: Network.tokens[scope], content: content)
                    #expect(reply.status == 403 && reply.content.contains("scope-too-small"), "\(path) \(reply)")
                }
            }
            let report = try await network.send("GET", "/v1/mode", token: token)
            #expect(report.status == 200 && report.content.contains(#""mode":"automatic""#), "\(report)")
            let listed = try await network.send("GET", "/v1/responses", token: token)
            #expect(listed.status == 200 && listed.content.contains("/news/2?REDACTED"), "\(listed)")
            #expect(!listed.content.contains("a-private-value"), "\(listed)")
            let select = #"{"select": {"urls": ["http://a.test/news/2?page=a-private-value"]}}"#
            #expect(try await network.send("POST", token: Network.tokens["purge"], content: select).status == 200)
            for path in ["/v1/purges", "/v1/purges?last=1"] {
                let history = try await network.send("GET", path, token: token)
                #expect(history.content.contains("/news/2?REDACTED"), "\(history)")
                #expect(!history.content.contains("a-private-value"), "\(history)")
                let all = try await network.send("GET", path, token: Network.tokens["operate"])
                #expect(all.content.contains("a-private-value"), "\(all)")
            }
            for query in ["last=0", "last=1001", "last=1&after=1", "last=x"] {
                #expect(try await network.send("GET", "/v1/purges?\(query)", token: token).status == 400)
            }
            let whole = try await network.send("GET", "/v1/responses", token: Network.tokens["operate"])
            #expect(whole.content.contains("/news/2?page=a-private-value"), "\(whole)")
            let set = try await network.send("PUT", "/v1/mode", token: Network.tokens["operate"], content: mode)
            #expect(set.status == 200 && set.content.contains(#""by":"of-operate""#), "\(set)")
        }
    }

    @Test func clientsThatLeaveHarmNoOthers() async throws {
        try await withNetwork { network in
            let content = #"{"select": {"all": true}, "dryRun": true}"#
            let token = try #require(Network.tokens["purge"])
            let head =
                "POST /v1/purges HTTP/1.1\r\nHost: localhost:\(network.port)\r\nAuthorization: Bearer \(token)\r\n"
            let request =
                head + "Content-Type: application/json\r\nContent-Length: \(content.utf8.count)\r\n\r\n" + content
            // More than are served at a time: in the middle of head and content, and at the end.
            for number in 0..<100 {
                // It is released, and so closed, at once.
                try LoopbackConnection(port: network.port).send(String(request.dropLast(number % 4 * 25)))
            }
            #expect(try await network.purge(token) == 200)
            #expect(try await network.gateway.curl("/livez").status == 200)
        }
    }

    @Test func clientsThatSendNothingKeepNoOperatorWaiting() async throws {
        try await withNetwork { network in
            func open(_ stalled: [LoopbackConnection]) async throws -> Int {
                let reply = try await network.send("GET", "/livez", token: Network.tokens["read"])
                #expect(reply.status == 200)
                return stalled.count { $0.isOpen }
            }
            // More than are served at a time. Each could keep its permit for 30 s.
            var stalled: [LoopbackConnection] = []
            var most = 0
            // On a machine that stood still for so long, their time was over before.
            for _ in 0..<5 where most < 30 {
                stalled = try (0..<70).map { _ in try LoopbackConnection(port: network.port) }
                for connection in stalled.prefix(35) { connection.send("GET /livez HTT") }
                most = try await open(stalled)
            }
            #expect(most >= 30, "the response came before the time limit of the others")
            for _ in 0..<30 { _ = try await open(stalled) }
        }
    }

    /// A log-in needs no token. If a half-finished one kept its place, 64 of them would close the
    /// port, for as long as someone repeats them.
    @Test func halfFinishedLogInsKeepNoOperatorWaiting() async throws {
        try await withNetwork { network in
            let place = "HTTP/1.1\r\nHost: localhost:\(network.port)\r\n"
            let content = "Content-Type: application/json\r\nContent-Length: 30\r\n\r\n"
            let wrong = "Authorization: Bearer \(String(repeating: "0", count: 64))\r\n"
            let halves = [
                "POST /v1/sessions \(place)\(content){", "POST /v1/purges \(place)\(content){",
                "POST /v1/purges \(place)\(wrong)\(content){", "GET /page/app.js \(place)\(content){",
            ]
            var stalled: [LoopbackConnection] = []
            for number in 0..<120 {
                let connection = try LoopbackConnection(port: network.port)
                connection.send(halves[number % halves.count])
                stalled.append(connection)
                guard number % 4 == 3 else { continue }
                let reply = try await network.send("GET", "/livez", token: Network.tokens["read"])
                #expect(reply.status == 200)
            }
            // A log-in, too, finds a place.
            let login = try await network.send("POST", "/v1/sessions", content: #"{"code": "x"}"#)
            #expect(login.status == 401 && login.content.contains("code-not-valid"), "\(login)")
            withExtendedLifetime(stalled) {}
        }
    }

    /// An answer that depends on a part of a stored query reveals it byte by byte. So a right guess
    /// and a wrong one get the same answer, whatever is asked.
    @Test(arguments: ["read", "purge"]) func hiddenQueriesAreNotFoundByteByByte(_ scope: String) async throws {
        try await withNetwork { network in
            try await network.gateway.warm([.init(path: "/news/2?key=secret")])
            let listed = try await network.send("GET", "/v1/responses", token: Network.tokens["operate"]).content
            let end = try #require(listed.range(of: "/news/2?key=secret"))
            let start = try #require(listed[..<end.lowerBound].range(of: "http://", options: .backwards))
            let url = listed[start.lowerBound..<end.lowerBound] + "/news/2"
            func answers(_ guess: String) async throws -> [String] {
                let (full, part) = ("\(url)?key=\(guess)", "\(url)?key=\(guess.prefix(1))")
                func encoded(_ text: String) -> String {
                    text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? text
                }
                var answers: [String] = []
                func ask(_ method: String, _ path: String, _ content: String = "") async throws {
                    let token = Network.tokens[scope]
                    let reply = try await network.send(method, path, token: token, content: content)
                    answers.append("\(reply.status) \(reply.content)".replacing(guess, with: "…"))
                }
                for text in [full, part] {
                    try await ask("GET", "/v1/responses?prefix=\(encoded(text))")
                    try await ask("GET", "/v1/responses?state=fresh&prefix=\(encoded(text))")
                    try await ask("GET", "/v1/pins?prefix=\(encoded(text))")
                    try await ask("GET", "/v1/explain?url=\(encoded(text))")
                    for rest in [#", "dryRun": true"#, #", "dryRun": true, "action": "remove""#] {
                        try await ask("POST", "/v1/purges", #"{"select": {"urls": ["\#(text)"]}\#(rest)}"#)
                    }
                    for rest in ["", #", "dryRun": true"#, #", "action": "remove""#, #", "refresh": {"perSecond": 1}"#]
                    {
                        let select = #""prefixes": ["\#(text)"]"#
                        try await ask("POST", "/v1/purges", "{\"select\": {\(select)}\(rest)}")
                        // Beside a selector that is allowed.
                        let mixed = #""tags": ["none"], \#(select)"#
                        try await ask("POST", "/v1/purges", "{\"select\": {\(mixed)}\(rest)}")
                    }
                    let pin = #"{"select": {"prefixes": ["\#(text)"]}, "pinned": true, "dryRun": true}"#
                    try await ask("POST", "/v1/pins", pin)
                }
                for path in ["/v1/responses", "/v1/purges", "/v1/refreshes", "/v1/not-stored", "/v1/rules"] {
                    try await ask("GET", path)
                }
                return answers
            }
            let (right, wrong) = (try await answers("secret"), try await answers("xxxxxx"))
            for (one, other) in zip(right, wrong) {
                #expect(one == other)
                #expect(!one.contains("secret") && (one.hasPrefix("403 ") || one.hasPrefix("200 ")), "\(one)")
            }
            #expect(try await network.gateway.get("/news/2?key=secret").contains("; hit; ttl="), "nothing was purged")
            // A purge may name a URL that it knows in whole.
            let select = #"{"select": {"urls": ["\#(url)?key=secret"]}}"#
            let purge = try await network.send("POST", token: Network.tokens["purge"], content: select)
            #expect(purge.status == 200 && purge.content.contains(#""responses":1"#), "\(purge)")
        }
    }

    @Test func thirtyConnectionsShareFiveTriesAndTokensAlwaysPass() async throws {
        try await withNetwork { network in
            let token = Network.tokens["purge"]
            func statuses(_ token: String?) async throws -> [Int] {
                try await withThrowingTaskGroup(of: Int.self) { group in
                    for _ in 0..<30 { group.addTask { try await network.purge(token) } }
                    return try await group.reduce(into: []) { $0.append($1) }.sorted()
                }
            }
            #expect(try await statuses(nil) == Array(repeating: 401, count: 30))
            #expect(try await network.isUnchanged())
            #expect(try await statuses(token) == Array(repeating: 200, count: 30))
            let before = try await network.gateway.curl("/v1/purges").text
            let wrong = String(repeating: "0", count: 64)
            let flood = try await statuses(wrong)
            #expect(flood == Array(repeating: 401, count: 5) + Array(repeating: 429, count: 25))
            let reply = try await network.send(token: wrong)
            let seconds = reply.head.split(separator: "\r\n").first { $0.hasPrefix("Retry-After: ") }?.dropFirst(13)
            #expect(reply.status == 429 && (1...60).contains(seconds.flatMap { Int($0) } ?? 0), "\(reply)")
            #expect(try await network.gateway.curl("/v1/purges").text == before)
            // All have one address, and no wrong token keeps a right one out.
            #expect(try await statuses(token) == Array(repeating: 200, count: 30))
        }
    }

    @Test func purgeMethodOnGatewayPortNeedsAddressAndToken() async throws {
        try await PurgedGateway.Folder.with { folder in
            try await SampleOrigin.withOrigin { origin in
                try write(Network.tokens["purge"] ?? "", folder.path + "/a.token")
                try write(Network.tokens["read"] ?? "", folder.path + "/b.token")
                let tokens = "[{name: deploy, file: a.token, scope: purge}, {name: b, file: b.token, scope: read}]"
                let rule = "  - {match: {url: \"/ignoring\"}, ignore: {parameters: [utm]}}"
                try folder.write(origin, rule + "\nclients: {purgers: [127.0.0.0/8]}\ncontrol: {tokens: \(tokens)}")
                origin.respond("v1")
                try await PurgedGateway.with(folder) { gateway in
                    func purge(_ path: String, _ scope: String?, _ fields: String = "") async throws -> String {
                        let token = scope.flatMap { Network.tokens[$0] }
                        let credentials = token.map { "Authorization: Bearer \($0)\r\n" } ?? ""
                        let head = "PURGE \(path) HTTP/1.1\r\nHost: b.test\r\n" + credentials + fields
                        return try await ServerProcess.send(head + "Connection: close\r\n\r\n", to: gateway.server.port)
                    }
                    let targets = ["/news/1", "/news/2", "/other", "/ignoring?utm=1"]
                    try await gateway.warm(targets.map { .init(path: $0, host: "b.test") })
                    let count = origin.requestCount
                    for scope in [nil, "read", "operate"] {
                        #expect(try await purge("/other", scope).hasPrefix("HTTP/1.1 405 "))
                    }
                    let line = await gateway.server.log.line(containing: "PURGE rejected")
                    #expect(line.contains("purge.reason=") && line.contains("127.0.0.1"), "\(line)")
                    for token in Network.tokens.values { #expect(!line.contains(token)) }
                    #expect(origin.requestCount == count)
                    #expect(try await gateway.get("/other", host: "b.test").contains("; hit; ttl="))
                    let reply = try await purge("/other", "purge")
                    #expect(reply.hasPrefix("HTTP/1.1 200 ") && reply.contains(#""action":"expire""#), "\(reply)")
                    #expect(reply.contains(#""responses":1"#) && reply.contains(#""sequence":"#), "\(reply)")
                    #expect(origin.requestCount == count)
                    #expect(try await !gateway.get("/other", host: "b.test").contains("; hit; ttl="))
                    #expect(try await gateway.get("/news/1", host: "b.test").contains("; hit; ttl="))
                    #expect(try await purge("/", "purge", "Surrogate-Key: news\r\n").contains(#""responses":2"#))
                    #expect(try await !gateway.get("/news/2", host: "b.test").contains("; hit; ttl="))
                    #expect(try await purge("/ignoring?utm=9", "purge").contains(#""responses":1"#))
                    let removal = try await purge("/news/1", "purge", "Fastly-Soft-Purge: 0\r\n")
                    #expect(removal.contains(#""action":"remove""#), "\(removal)")
                    let history = try await gateway.curl("/v1/purges").json["purges"] as? [[String: Any]]
                    #expect(history?.map { $0["by"] as? String } == Array(repeating: "deploy", count: 4))
                }
            }
        }
    }

    @Test func tokenIsMadeIfNoneIsNamed() async throws {
        try await PurgedGateway.Folder.with { folder in
            try await SampleOrigin.withOrigin { origin in
                try folder.write(origin, "control: {listen: 127.0.0.1:0}\ndrain: {delay: off}")
                let path = folder.store + "/control.token"
                var secrets: Set<String> = []
                for _ in 0..<2 {
                    try await run(folder) { network in
                        let secret = String(try String(contentsOfFile: path, encoding: .utf8).dropLast())
                        #expect(try await network.purge(secret) == 200)
                        secrets.insert(secret)
                    }
                }
                #expect(secrets.count == 1 && secrets.first?.utf8.count == 64)
                let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
                #expect(mode == 0o600)
                let server = try await RunningServer.with(["--config", folder.file]) { server in
                    let line = await server.log.line(containing: "control token in")
                    #expect(line.hasSuffix("/s/control.token\n"))
                    server.signal(SIGTERM)
                }
                #expect(server.status == 0)
            }
        }
    }

    /// The gateway's own listener takes the port after the control plane found it free. Mutant: the
    /// gateway serves without its control plane.
    @Test(arguments: ["control", "metrics"]) func portOfTheGatewayItselfEndsIt(_ setting: String) async throws {
        try await PurgedGateway.Folder.with { folder in
            try await SampleOrigin.withOrigin { origin in
                // The socket is closed at once. If another process takes its port, the gateway ends
                // with the same message.
                let port = try ListeningSocket().port
                try folder.write(origin, "\(setting): {listen: \"127.0.0.1:\(port)\"}")
                // The same address, and every name that resolves to it, would be an error in the
                // configuration.
                let arguments = ["serve", "--config", folder.file, "--listen", "[::ffff:127.0.0.1]:\(port)"]
                let outcome = try await Tool("holdfast").run(arguments: arguments)
                #expect(outcome.status == 1, "\(outcome)")
                let words = "'\(setting).listen' cannot listen on '127.0.0.1:\(port)'"
                #expect(outcome.error.contains(words), "\(outcome.error)")
            }
        }
    }

    @Test func startIsRefusedWhereTokensWouldLeak() async throws {
        try await PurgedGateway.Folder.with { folder in
            try await SampleOrigin.withOrigin { origin in
                func serve(_ control: String) async throws -> Tool.Outcome {
                    try folder.write(origin, control)
                    return try await Tool("holdfast").run(arguments: ["serve", "--config", folder.file])
                }
                let open = try await serve("control: {listen: \"0.0.0.0:0\"}")
                #expect(open.status == 1 && open.error.contains("control.insecure: true"), "\(open)")
                let check = try await Tool("holdfast").run(arguments: ["check", "--config", folder.file])
                #expect(check.status == 1 && check.error.contains("control.insecure: true"), "\(check)")

                let token = folder.path + "/a.token"
                try write(String(repeating: "1", count: 64), token, mode: 0o644)
                let named = "control: {listen: 127.0.0.1:0, tokens: [{name: a, file: a.token, scope: read}]}"
                let readable = try await serve(named)
                #expect(readable.status == 1 && readable.error.contains("chmod 600 "), "\(readable)")
                try write("too-short", token)
                let short = try await serve(named)
                #expect(short.status == 1 && short.error.contains("the minimum is 32"), "\(short)")
                #expect(!short.error.contains("too-short"))

                let taken = try await serve("control: {listen: \"\(origin.authority)\"}")
                #expect(taken.status == 1 && taken.error.contains("cannot listen on"), "\(taken)")

                let insecure = "drain: {delay: off}\ncontrol: {listen: \"0.0.0.0:0\", insecure: true"
                try folder.write(origin, insecure + "}")
                let warned = try await RunningServer.with(["--config", folder.file]) { server in
                    #expect(await server.log.line(containing: "without TLS").contains("control.listen=0.0.0.0:0"))
                    _ = await server.log.line(containing: "controlled by http://")
                    try folder.write(origin, insecure + ", hosts: [a.test]}")
                    server.signal(SIGHUP)
                    let kept = await server.log.line(containing: "Setting needs a restart to change")
                    #expect(kept.contains("control.hosts"))
                    server.signal(SIGTERM)
                }
                #expect(warned.status == 0)
            }
        }
    }
}
