import HTTPCache
import HTTPCacheSemantics
import HoldfastConfiguration
import HoldfastTesting
import NIOCore
import OriginConnections
import Synchronization
import Testing

@testable import GatewayRouting
@testable import HoldfastGateway

/// docs/decisions/0113: requests that name their origin, over real sockets.
@Suite(.timeLimit(.minutes(20))) struct ForwardProxyTests {
    private static let fresh = "Cache-Control: max-age=60\r\n"
    private static let loopback = #""127.0.0.0/8", "::1""#

    /// Runs a gateway that is a proxy to an origin on loopback.
    ///
    /// - Parameters:
    ///   - hosts: members of `forward-proxy.hosts`.
    ///   - settings: the rest of `forward-proxy`, and then more of the file.
    ///   - file: more of the file.
    private func with(
        hosts: String,
        _ origin: RawOrigin,
        addresses: String = loopback,
        ports: String? = nil,
        settings: String = "",
        file: String = "",
        ownPorts: Set<UInt16> = [],
        configure: (inout GatewayConfiguration) -> Void = { _ in },
        _ body: (RunningGateway) async throws -> Void
    ) async throws {
        let configuration = try HoldfastConfiguration.Configuration(
            yaml: """
                version: 1
                forward-proxy:
                  hosts: [\(hosts)]
                  ports: [\(ports ?? "\(origin.port)")]
                  addresses: [\(addresses)]
                \(settings)
                \(file)
                """
        )
        let routes = try GatewayRoutes(all: configuration, ownPorts: ownPorts)
        try await RunningGateway.with(
            origin: origin.url,
            configure: {
                $0.routes = routes
                RunningGateway.trustingClients(&$0)
                configure(&$0)
            },
            configureTransport: { $0.origins = configuration.resolvedOrigins },
            body
        )
    }

    private func withOrigin(_ body: (RawOrigin) async throws -> Void) async throws {
        try await RawOrigin.with([], respond: { .ok($0.line, fields: Self.fresh) }, body)
    }

    // MARK: Both ways to name an origin

    /// Mutants: the keys of both ways differ; a prefix is not removed.
    @Test func bothWaysShareOneStoredResponse() async throws {
        try await withOrigin { origin in
            try await with(hosts: "localhost", origin) { gateway in
                let named = "localhost:\(origin.port)"
                for start in ["http://\(named)", "/proxy/http/\(named)", "http://LOCALHOST:\(origin.port)"] {
                    let target = "\(start)/a?b"
                    let response = try await gateway.get(target)
                    #expect(response.status == 200 && response.text == "GET /a?b HTTP/1.1", "\(target)")
                }
                #expect(origin.requests.count == 1)
                #expect(origin.requests.first?.values("Host") == [named])
                #expect(gateway.store.all.map(\.key.components.target.uri) == ["http://\(named)/a?b"])
                let plain = try await gateway.get("/proxy/http/\(named)")
                let query = try await gateway.get("/proxy/http/\(named)?q")
                #expect(plain.text == "GET / HTTP/1.1" && query.text == "GET /?q HTTP/1.1")
            }
        }
    }

    /// RFC 9112 §3.2.2: the host of the absolute-form counts, and `Host` is ignored.
    @Test(arguments: ["other.example", "127.0.0.1", "gateway.example:8080"])
    func hostFieldIsIgnored(host: String) async throws {
        try await withOrigin { origin in
            try await with(hosts: "localhost", origin) { gateway in
                let url = "http://localhost:\(origin.port)/a"
                let response = try await gateway.send("GET \(url) HTTP/1.1\r\nHost: \(host)\r\n\r\n")
                #expect(response.status == 200)
                #expect(origin.requests.first?.values("Host") == ["localhost:\(origin.port)"])
                #expect(gateway.store.all.map(\.key.components.target.uri) == [url])
            }
        }
    }

    @Test(arguments: ["https://HOST/a", "/proxy/https/HOST/a"])
    func problemsNameTheOriginOfTheRequest(target: String) async throws {
        try await withOrigin { origin in
            try await with(hosts: "localhost", origin, configure: { $0.trustedClients = [] }) { gateway in
                let host = "localhost:\(origin.port)"
                let fields = "Cache-Control: only-if-cached\r\n"
                let response = try await gateway.get(target.replacing("HOST", with: host), fields: fields)
                #expect(response.status == 504)
                #expect(response.text.contains("'https://\(host)/a'"), "\(response.text)")
            }
        }
    }

    /// Two names of one server, and requests on one connection whose fields are the same.
    ///
    /// Mutant: a request of the proxy is made like the one before.
    @Test(arguments: ["http://HOST/a", "/proxy/http/HOST/a"])
    func hostsShareNoResponse(target: String) async throws {
        try await RawOrigin.with([], respond: { .ok($0.values("Host").first ?? "", fields: Self.fresh) }) { origin in
            try await with(hosts: "localhost, 127.0.0.1", origin) { gateway in
                try await RawClient.with(port: gateway.port) { client in
                    for name in ["localhost", "127.0.0.1", "localhost", "127.0.0.1"] {
                        let host = "\(name):\(origin.port)"
                        let named = target.replacing("HOST", with: host)
                        try await client.send("GET \(named) HTTP/1.1\r\nHost: gateway.example\r\n\r\n")
                        #expect(try await client.response().text == host)
                        await gateway.waitForFills(upTo: 0)
                    }
                }
                #expect(origin.requests.count == 2)
            }
        }
    }

    /// Mutants: the origin learns of the proxy's client; fields of a trusted client pass.
    @Test func originLearnsNothingOfTheClient() async throws {
        try await withOrigin { origin in
            try await with(hosts: "localhost", origin) { gateway in
                let fields =
                    "Proxy-Authorization: Basic eA==\r\nProxy-Connection: keep-alive\r\n"
                    + "X-Forwarded-For: 192.0.2.1\r\nX-Remote-User: eve\r\nX: y\r\n"
                let response = try await gateway.get("http://localhost:\(origin.port)/a", fields: fields)
                #expect(response.status == 200)
                let request = try #require(origin.requests.first)
                for name in [
                    "proxy-authorization", "proxy-connection", "forwarded", "x-forwarded-for", "x-forwarded-host",
                    "x-forwarded-proto", "x-remote-user",
                ] {
                    #expect(request.values(name).isEmpty, "\(name)")
                }
                #expect(request.values("x") == ["y"] && request.values("via").count == 1)
            }
        }
    }

    /// Thirty connections at a time, each with both ways.
    @Test func thirtyConnectionsGetWhatTheyAsked() async throws {
        try await withOrigin { origin in
            try await with(hosts: "localhost", origin) { gateway in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for number in 0..<30 {
                        group.addTask {
                            try await RawClient.with(port: gateway.port) { client in
                                for way in ["http://", "/proxy/http/"] {
                                    let target = "\(way)localhost:\(origin.port)/\(number)"
                                    try await client.send("GET \(target) HTTP/1.1\r\nHost: g\r\n\r\n")
                                    let text = try await client.response().text
                                    #expect(text == "GET /\(number) HTTP/1.1")
                                }
                            }
                        }
                    }
                    try await group.waitForAll()
                }
            }
        }
    }

    // MARK: Refusals

    /// Mutant: a host that is not in the list is reached.
    @Test(arguments: [
        ("http://other.example/", "forward-proxy.hosts"), ("https://other.example/a", "forward-proxy.hosts"),
        ("/proxy/https/other.example/a", "forward-proxy.hosts"), ("http://localhost./", "forward-proxy.hosts"),
        ("http://a.localhost/", "forward-proxy.hosts"), ("http://127.0.0.1:PORT/", "forward-proxy.hosts"),
        ("http://localhost:25/", "forward-proxy.ports"), ("/proxy/http/localhost:25/a", "forward-proxy.ports"),
        ("http://a.b.example.test/", "forward-proxy.hosts"), ("http://example.test/", "forward-proxy.hosts"),
        ("http://.example.test/", nil),
    ])
    func otherHostsAndPortsAreForbidden(target: String, setting: String?) async throws {
        try await withOrigin { origin in
            try await with(hosts: #"localhost, "*.example.test""#, origin) { gateway in
                let response = try await gateway.get(target.replacing("PORT", with: "\(origin.port)"))
                if let setting {
                    #expect(response.status == 403 && response.text.contains(setting), "\(response.text)")
                } else {
                    #expect([400, 403].contains(response.status))
                }
                #expect(origin.requests.isEmpty)
            }
        }
    }

    @Test(arguments: ["/proxy", "/proxy/", "/proxy/https", "/proxy/ftp/localhost/", "/proxy/https/", "/proxy/https//a"])
    func pathWithoutAnOriginIsNotARoutes(target: String) async throws {
        try await withOrigin { origin in
            let file = "routes: [{origin: \"\(origin.url)\"}]"
            try await with(hosts: "localhost", origin, file: file) { gateway in
                let response = try await gateway.get(target)
                #expect(response.status == 404 && response.text.contains("forward-proxy.prefix"), "\(response.text)")
                #expect(origin.requests.isEmpty)
                // A path that only begins with the same letters is the route's.
                #expect(try await gateway.get("/proxying").status == 200)
            }
        }
    }

    @Test func connectSaysWhatToDo() async throws {
        try await withOrigin { origin in
            try await with(hosts: "localhost", origin) { gateway in
                let response = try await gateway.send("CONNECT localhost:443 HTTP/1.1\r\nHost: localhost:443\r\n\r\n")
                #expect(response.status == 501 && response.text.contains("upgrade: https"), "\(response.text)")
            }
        }
    }

    /// The addresses that are connected to decide, whatever the name.
    ///
    /// Mutant: the proxy of a gateway connects to any address.
    @Test(arguments: ["localhost", "127.0.0.1", "0.0.0.0", "[::1]", "[::ffff:127.0.0.1]", "127.1", "2130706433"])
    func thisMachineIsNotReachedUnlessListed(host: String) async throws {
        try await withOrigin { origin in
            // A list that has the name as a host, but not its address.
            let pattern = #"localhost, "*.1", 2130706433"#
            let hosts = host.contains(":") || host.contains("0.0") ? "localhost" : pattern
            try await with(hosts: hosts, origin, addresses: "192.0.2.0/24") { gateway in
                let response = try await gateway.get("http://\(host):\(origin.port)/")
                #expect(response.status >= 400 && response.text.contains("forward-proxy."), "\(response.text)")
                #expect(origin.requests.isEmpty)
            }
        }
    }

    /// A route to the same server does not open it to the proxy.
    ///
    /// Mutant: connections of routes serve the proxy.
    @Test func connectionsOfRoutesAreNotTheProxys() async throws {
        try await withOrigin { origin in
            let file = "routes: [{path: /own, origin: \"http://localhost:\(origin.port)/own\"}]"
            try await with(hosts: "localhost", origin, addresses: "192.0.2.0/24", file: file) { gateway in
                #expect(try await gateway.get("/own/a").status == 200)
                let response = try await gateway.get("http://localhost:\(origin.port)/b")
                #expect(response.status >= 500 && origin.requests.count == 1, "\(response.text)")
            }
        }
    }

    @Test func ownListenersAreNeverReached() async throws {
        try await withOrigin { origin in
            let own = try #require(UInt16(exactly: origin.port))
            try await with(hosts: "localhost", origin, ownPorts: [own]) { gateway in
                let response = try await gateway.get("http://localhost:\(origin.port)/")
                #expect(response.status >= 500, "\(response.status)")
                #expect(response.text.contains("listener of this gateway"), "\(response.text)")
                #expect(origin.requests.isEmpty)
            }
        }
    }

    /// A name that leads back is noticed even if the port is not known.
    @Test func requestDoesNotLoop() async throws {
        try await withOrigin { origin in
            try await with(hosts: "localhost", origin, ports: "1, 2") { gateway in
                let configuration = try HoldfastConfiguration.Configuration(
                    yaml: """
                        version: 1
                        forward-proxy: {hosts: [localhost], ports: [\(gateway.port)], addresses: [\(Self.loopback)]}
                        """
                )
                let routes = try GatewayRoutes(all: configuration, ownPorts: [])
                gateway.transport.reconfigure(routes: routes)
                var changed = gateway.server.service.configuration
                changed.routes = routes
                gateway.server.reconfigure(changed)
                let own = "localhost:\(gateway.port)"
                for target in ["http://\(own)/proxy/http/\(own)/", "/proxy/http/\(own)/proxy/http/\(own)/"] {
                    let response = try await gateway.get(target)
                    #expect(response.status == 508, "\(target): \(response.text)")
                }
            }
        }
    }

    // MARK: Routes

    /// Mutants: the proxy comes before a route that names the host; a route for any host gets
    /// requests of the proxy.
    @Test func routeThatNamesTheHostComesFirst() async throws {
        try await withOrigin { origin in
            let file = """
                routes:
                  - {host: localhost, path: /api, origin: "\(origin.url)/named"}
                  - {origin: "\(origin.url)/any"}
                """
            try await with(hosts: "127.0.0.1, localhost", origin, file: file) { gateway in
                let port = origin.port
                for (target, expected) in [
                    ("http://localhost/api/a", "/named/a"), ("http://127.0.0.1:\(port)/api/b", "/api/b"),
                    ("/proxy/http/localhost:\(port)/api/c", "/api/c"), ("/api/d", "/any/api/d"),
                    ("http://localhost/d", "/any/d"),
                ] {
                    let response = try await gateway.get(target)
                    #expect(response.text == "GET \(expected) HTTP/1.1", "\(target): \(response.text)")
                }
                #expect(try await gateway.get("http://other.example/api").status == 403)
            }
        }
    }

    /// Mutant: health checks hide the paths of other hosts.
    @Test func healthIsTheGatewaysAlone() async throws {
        try await withOrigin { origin in
            try await with(hosts: "localhost", origin, configure: { $0.healthPath = "/health" }) { gateway in
                #expect(try await gateway.get("/health").text.contains("status"))
                let other = try await gateway.get("http://localhost:\(origin.port)/health")
                #expect(other.text == "GET /health HTTP/1.1")
            }
        }
    }

    /// Without the setting, the absolute-form is another way to write the host of a route.
    @Test func withoutTheSettingThereIsNoProxy() async throws {
        try await withOrigin { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                let path = "/proxy/http/other.example/"
                for (target, path) in [("http://other.example/a", "/a"), (path, path)] {
                    let response = try await gateway.get(target)
                    #expect(response.text == "GET \(path) HTTP/1.1")
                }
                #expect(Set(origin.requests.flatMap { $0.values("Host") }) == ["127.0.0.1:\(origin.port)"])
            }
        }
    }

    @Test func listDecidesWhichClientsUseTheProxy() async throws {
        try await withOrigin { origin in
            let file = "routes: [{origin: \"\(origin.url)\"}]"
            for (client, status) in [("192.0.2.7", 403), ("127.0.0.1", 200)] {
                try await with(
                    hosts: "localhost",
                    origin,
                    settings: "  allow: [\(client)]",
                    file: file,
                    configure: { $0.trustedClients = [] }
                ) { gateway in
                    for target in ["http://localhost:\(origin.port)/a", "/proxy/http/localhost:\(origin.port)/b"] {
                        let response = try await gateway.get(target)
                        #expect(response.status == status, "\(client): \(target)")
                    }
                    let own = try await gateway.get("/a")
                    #expect(own.status == 200)
                }
            }
        }
    }

    // MARK: Outages

    /// Mutants: `hosts-of-routes-are-chosen`, `hosts-with-settings-are-chosen`.
    @Test(arguments: [
        ("http://mistyped.example.test/", true), ("https://mistyped.example.test/", true),
        ("http://listed.example.test/", false), ("http://routed.example.test/", false),
        ("https://routed.example.test/", true), ("https://set.example.test/", false), ("http://other.example/", false),
    ])
    func onlyHostsThatAPatternAloneListsAreChosen(url: String, isChosen: Bool) async throws {
        try await withOrigin { origin in
            let file = """
                routes: [{host: own.example, origin: "http://routed.example.test"}]
                origins: {"https://set.example.test": {timeouts: {idle: 10 s}}}
                """
            try await with(hosts: #"listed.example.test, "*.example.test""#, origin, file: file) { gateway in
                let target = try TargetURI(url)
                #expect(gateway.transport.isChosenByClients(target) == isChosen)
            }
        }
    }

    @Test func mistypedHostIsNoOutage() async throws {
        try await withOrigin { origin in
            try await with(hosts: #""*.nowhere.invalid""#, origin) { gateway in
                let response = try await gateway.get("http://mistyped.nowhere.invalid/")
                #expect(response.status == 504, "\(response.text)")
                #expect(gateway.engine.origins.conditions.map(\.reachability) == [.unresolved])
            }
        }
    }

    // MARK: Bounds

    /// Mutant: any number of names counts.
    @Test func hostsOfAPatternAreBounded() throws {
        var hosts = ChosenHosts()
        let start = NIODeadline.now()
        let fill = (0..<ChosenHosts.limit).map { hosts.admit("h\($0)", at: start) }
        #expect(!fill.contains(false))
        for (host, minutes, isAdmitted) in [
            ("more", 0, false), ("h0", 4, true), ("more", 4, false), ("more", 5, true), ("h0", 5, true),
        ] {
            let admitted = hosts.admit(host, at: start + .minutes(Int64(minutes)))
            #expect(admitted == isAdmitted, "\(host) after \(minutes) min")
        }
    }

    @Test func tooManyHostsOfAPatternAreRefused() async throws {
        try await withOrigin { origin in
            try await with(hosts: #"localhost, "*.example.test""#, origin) { gateway in
                let now = NIODeadline.now()
                gateway.server.service.chosenHosts.withLock { hosts in
                    for number in 0..<ChosenHosts.limit { _ = hosts.admit("h\(number).example.test", at: now) }
                }
                let refused = try await gateway.get("http://new.example.test/")
                #expect(refused.status == 503 && refused["Retry-After"] == "60", "\(refused.text)")
                // A host in the list itself does not count.
                #expect(try await gateway.get("http://localhost:\(origin.port)/").status == 200)
            }
        }
    }
}
