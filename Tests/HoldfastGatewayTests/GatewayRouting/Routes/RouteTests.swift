import CacheRules
import HTTPCacheOperations
import HTTPCacheSemantics
import HTTPTypes
import HTTPWire
import HoldfastTesting
import Testing

@testable import GatewayRouting
@testable import HoldfastGateway

@Suite(.timeLimit(.minutes(20))) struct RouteTests {
    private static let table: @Sendable () throws -> GatewayRoutes = {
        try GatewayRoutes([
            GatewayRoute(name: "v1", host: "api.local", path: "/v1", origin: GatewayOrigin("http://one.example/api")),
            GatewayRoute(name: "port", host: "API.local:8080", origin: GatewayOrigin("http://two.example")),
            GatewayRoute(name: "http", host: "plain.local:80", origin: GatewayOrigin("http://three.example/")),
            GatewayRoute(
                name: "label",
                host: "*.wild.local",
                path: "/a/b/",
                origin: GatewayOrigin("http://four.example")
            ),
            GatewayRoute(name: "six", host: "[::1]", origin: GatewayOrigin("http://five.example")),
            GatewayRoute(name: "any", path: "/shared", origin: GatewayOrigin("http://six.example/shared")),
        ])
    }

    /// The rest of the target stays byte for byte.
    @Test(
        arguments: [
            ("api.local", "/v1", "v1 /api"), ("api.local", "/v1/", "v1 /api/"), ("api.local", "/v1?q", "v1 /api?q"),
            ("API.Local", "/v1/a%2Fb//c?x=/v1", "v1 /api/a%2Fb//c?x=/v1"), ("api.local:9", "/v1/x", "v1 /api/x"),
            ("api.local", "/v10", nil), ("api.local", "/V1/x", nil), ("api.local", "/%761/x", "v1 /api/x"),
            ("api.local", "//v1//%78", "v1 /api//%78"), ("api.local", "/;a/v1;b?c;d", "v1 /api?c;d"),
            ("api.local", "/v1%2Fx", nil), ("api.local", "/v%2531/x", nil), ("api.local", "/v1%", nil),
            ("api.local", "//%73hared;x//y", "any //%73hared;x//y"),
            ("api.local:8080", "/", "port /"), ("api.local:8080", "/v1/a", "v1 /api/a"), ("api.local:808", "/", nil),
            ("api.local.", "/v1", nil), ("xapi.local", "/v1", nil), ("", "/v1", nil),
            ("plain.local", "/?q", "http /?q"), ("plain.local:80", "/", "http /"), ("plain.local:81", "/", nil),
            ("plain.local:", "/x", "http /x"),
            ("x.wild.local", "/a/b/c", "label /c"), ("X.WILD.local:1", "/a/b", "label /"),
            ("x.wild.local", "/a/b?c", "label /?c"), ("x.wild.local", "/a", nil), ("x.y.wild.local", "/a/b", nil),
            ("wild.local", "/a/b", nil), (".wild.local", "/a/b", nil),
            ("[::1]", "/p", "six /p"), ("[::1]:70", "/p", "six /p"), ("[::2]", "/p", nil),
            ("api.local", "/shared/x", "any /shared/x"), ("x.wild.local", "/shared", "any /shared"),
            ("else.example", "/shared?x", "any /shared?x"), (nil, "/shared", "any /shared"), (nil, "/v1", nil),
        ] as [(String?, String, String?)]
    )
    func firstRouteThatMatchesHostAndPathIsUsed(authority: String?, target: String, expected: String?) throws {
        let choice = try Self.table().route(authority: authority, target: target)
        #expect(choice.map { "\($0.route.name ?? "?") \($0.path)" } == expected)
    }

    @Test(arguments: [nil, "a.example", "[::1]:3"])
    func oneRouteWithoutConditionsTakesEverything(authority: String?) throws {
        for path in ["", "/api", "/api/"] {
            let routes = GatewayRoutes(origin: try GatewayOrigin("https://one.example" + path))
            #expect(routes.route(authority: authority, target: "/x?y")?.path == (path.isEmpty ? "" : "/api") + "/x?y")
            #expect(routes.route(authority: authority, target: "/")?.path == (path.isEmpty ? "" : "/api") + "/")
        }
    }

    /// Mutants: tables that forget patterns beside an exact host, or their order.
    @Test(arguments: 0..<40) func tableFindsTheSameAsTryingEachRoute(seed: UInt64) throws {
        var generator = SeededRandom(seed: seed)
        let hosts = ["a.x", "b.x", "a.y", "x", "a.b.x", "*.x", "*.y", "*.b.x", "a.x:1", "*.x:1", nil]
        let paths = ["/", "/p", "/p/q", "/r"]
        let routes = try (0..<Int.random(in: 1...9, using: &generator)).map { number in
            try GatewayRoute(
                name: "\(number)",
                host: hosts.randomElement(using: &generator) ?? nil,
                path: paths.randomElement(using: &generator) ?? "/",
                origin: GatewayOrigin("http://\(number).example")
            )
        }
        let compiled = try GatewayRoutes(routes)
        for authority in ["a.x", "b.x", "a.y", "x", "y", "a.b.x", "c.x:1", "a.x:1", "z", nil] {
            for target in ["/", "/p", "/p/q/r?s", "/pq", "/r/"] {
                let wanted = routes.first { route in
                    guard route.prefix.rest(of: target) != nil else { return false }
                    guard let host = route.host else { return true }
                    guard let authority else { return false }
                    let (name, port) = Self.split(host)
                    let (asked, askedPort) = Self.split(authority)
                    guard port == nil || port == askedPort ?? "80" else { return false }
                    guard name.hasPrefix("*.") else { return name == asked }
                    let labels = asked.split(separator: ".")
                    return "." + labels.dropFirst().joined(separator: ".") == name.dropFirst() && labels.count > 1
                }
                let found = compiled.route(authority: authority, target: target)?.route
                #expect(found?.name == wanted?.name, "seed \(seed): \(authority ?? "none") \(target)")
            }
        }
    }

    private static func split(_ authority: String) -> (name: String, port: String?) {
        let parts = authority.split(separator: ":").map(String.init)
        return (parts[0], parts.count > 1 ? parts[1] : nil)
    }

    @Test(arguments: [
        ("a b", "/"), ("", "/"), ("a/b", "/"), ("a?b", "/"), ("a#", "/"), ("u@a", "/"), ("*.", "/"), ("*", "/"),
        ("a.*.b", "/"), ("*.*.a", "/"), ("a:b", "/"), ("a:70000", "/"), ("*.[::1]", "/"), ("a", ""), ("a", "v1"),
        ("a", "/a b"), ("a", "/a/../b"), ("a", "/a/%2e"), ("a", "/a;b"), ("a", "/a?b"), ("a", "/a#b"), ("a", "/ä"),
    ])
    func rejectsAndNamesInvalidHostOrPath(host: String, path: String) throws {
        let origin = try GatewayOrigin("http://one.example")
        let error = try #require(throws: InvalidSetting.self) {
            try GatewayRoute(host: host, path: path, origin: origin)
        }
        #expect(error.description.contains("'\(path == "/" ? host : path)'"))
    }

    @Test(arguments: ["/a/..", "/%2E/b", "/a/../b/"]) func rejectsDotSegmentsInOriginsPath(path: String) throws {
        let error = try #require(throws: InvalidSetting.self) { try GatewayOrigin("http://one.example\(path)") }
        #expect(error.description.contains("dot segments; 'http://one.example\(path)'"))
    }

    // MARK: The request to the origin

    private func endpoint(_ routes: GatewayRoutes, _ uri: String) throws -> String? {
        routes.endpoint(for: try TargetURI(uri))?.description
    }

    @Test func sendsCompleteRequestsToTheirRoutesOriginAlone() throws {
        let routes = try GatewayRoutes([
            GatewayRoute(host: "a.local", origin: GatewayOrigin("http://10.0.0.1:81"), preservesHost: true),
            GatewayRoute(
                host: "*.b.local",
                path: "/x",
                origin: GatewayOrigin("https://10.0.0.2/y"),
                preservesHost: true
            ),
            GatewayRoute(host: "c.local:80", origin: GatewayOrigin("https://10.0.0.3"), preservesHost: true),
            GatewayRoute(host: "d.local", origin: GatewayOrigin("http://d.example/z")),
        ])
        #expect(try endpoint(routes, "http://a.local/1") == "http://10.0.0.1:81")
        #expect(try endpoint(routes, "http://a.local:99/1") == "http://10.0.0.1:81")
        #expect(try endpoint(routes, "https://q.b.local/y/1") == "https://10.0.0.2:443")
        #expect(try endpoint(routes, "https://c.local/") == "https://10.0.0.3:443")
        #expect(try endpoint(routes, "http://d.example/z?") == "http://d.example:80")
        for uri in [
            "https://a.local/1", "http://10.0.0.1:81/", "https://q.b.local/x", "http://q.b.local/y",
            "https://b.local/y",
            "https://c.local:90/", "http://d.local/z", "http://d.example/", "http://d.example:81/z",
            "http://else.example/",
        ] {
            #expect(try endpoint(routes, uri) == nil, "\(uri)")
        }
    }

    @Test func authorityDoesNotMatterIfEveryRequestGoesToOneOrigin() throws {
        let origin = try GatewayOrigin("http://10.0.0.1")
        let routes = try GatewayRoutes([
            GatewayRoute(host: "a.local", origin: origin, preservesHost: true),
            GatewayRoute(path: "/x", origin: origin),
        ])
        #expect(try endpoint(routes, "http://whatever.example/") == "http://10.0.0.1:80")
        #expect(!routes.areAmbiguous)
    }

    @Test func rejectsRoutesWhoseRequestsCannotBeToldApart() throws {
        func twins(_ first: GatewayRoute, _ second: GatewayRoute) -> GatewayRoutes.Conflict? {
            do {
                _ = try GatewayRoutes([first, second])
                return nil
            } catch {
                return error as? GatewayRoutes.Conflict
            }
        }
        let one = try GatewayOrigin("http://one.example")
        let two = try GatewayOrigin("http://two.example")
        let stripped = twins(
            try GatewayRoute(name: "x", path: "/x", origin: one, preservesHost: true),
            try GatewayRoute(path: "/y", origin: two, preservesHost: true)
        )
        #expect(stripped?.route == 1)
        #expect(stripped?.description.contains("Route 2 and Route 'x'") == true)
        let named = twins(
            try GatewayRoute(host: "two.example", origin: one, preservesHost: true),
            try GatewayRoute(host: "b.local", origin: two)
        )
        #expect(named != nil)
        // The usual arrangement: one host, origins by path, and the path stays.
        let byPath = twins(
            try GatewayRoute(path: "/api", origin: GatewayOrigin("http://one.example/api"), preservesHost: true),
            try GatewayRoute(origin: two, preservesHost: true)
        )
        #expect(byPath == nil)
        let byHost = twins(
            try GatewayRoute(host: "a.local", origin: one, preservesHost: true),
            try GatewayRoute(origin: two, preservesHost: true)
        )
        #expect(byHost == nil)
        #expect(throws: InvalidSetting.self) { try GatewayRoutes([]) }
    }

    /// Mutant: `origin-urls-of-preserved-hosts-are-not-mapped`.
    @Test(
        arguments: [
            ("http://api.example/x?y", "http://o.example/v1/x?y"), ("http://o.example/v1/x", nil),
            ("http://shop.example/x", "http://shop.example/x"), ("http://10.0.0.7:8080/x?y", "http://shop.example/x?y"),
            ("http://10.0.0.9/x", nil), ("http://unknown.example/x", nil),
            // Both hosts are stored, each under its own name.
            ("http://10.0.0.8/x", "http://a.example/x http://b.example/x"),
        ] as [(String, String?)]
    )
    func urlsLeadToWhereResponsesAreStored(_ url: String, _ expected: String?) throws {
        func route(_ host: String?, _ origin: String, _ preservesHost: Bool) throws -> GatewayRoute {
            try GatewayRoute(host: host, origin: GatewayOrigin(origin), preservesHost: preservesHost)
        }
        let routes = try GatewayRoutes([
            route("api.example", "http://o.example/v1", false), route("shop.example", "http://10.0.0.7:8080", true),
            // The hosts that match a pattern are not known.
            route("a.example", "http://10.0.0.8", true), route("b.example", "http://10.0.0.8", true),
            route("*.c.example", "http://10.0.0.9", true),
        ])
        let found = routes.originURLs(of: try TargetURI(url)).map(\.url.uri)
        #expect(found == expected?.split(separator: " ").map(String.init) ?? [])
        #expect(routes.keepsClientsHosts(of: try TargetURI(url)) == (url == "http://10.0.0.9/x"))
    }

    struct Port: Sendable {
        var route: String?
        var scheme = "http"
        var host: String
        var expected: String
    }

    /// Mutant: `preserved-host-keeps-any-port`.
    @Test(
        arguments: [
            Port(route: "a.local", host: "a.local", expected: "a.local"),
            Port(route: "a.local", host: "a.local:5", expected: "a.local"),
            Port(route: "a.local", host: "A.local:08093", expected: "a.local:8093"),
            Port(route: "a.local", host: "a.local:443", expected: "a.local"),
            Port(route: "a.local:9000", host: "a.local:9000", expected: "a.local:9000"),
            // Without a port, a host means port 80, whatever the origin's scheme.
            Port(route: "a.local:80", scheme: "https", host: "a.local", expected: "a.local"),
            Port(route: "a.local:80", scheme: "https", host: "a.local:80", expected: "a.local"),
            Port(route: "*.t.local", host: "x.t.local:2001", expected: "x.t.local"),
            Port(route: nil, host: "b.local:2001", expected: "b.local"),
            Port(route: nil, host: "b.local:8093", expected: "b.local:8093"),
            Port(route: nil, host: "[::1]:2001", expected: "[::1]"),
        ]
    )
    func portOfAPreservedHostIsOneOfTheConfiguration(_ port: Port) throws {
        let origin = try GatewayOrigin("\(port.scheme)://10.0.0.7:18090")
        let routes = try GatewayRoutes([GatewayRoute(host: port.route, origin: origin, preservesHost: true)])
            .accepting([8093])
        let host = try #require(RequestedHost(port.host))
        let route = try #require(routes.choose(host: host, target: "/")).route
        #expect(routes.routes[route].authority(for: host) == port.expected)
        let target = try #require(
            routes.mapping(of: TargetURI("\(port.scheme)://\(port.host)/"), isClients: true)?.target
        )
        #expect(target.authority == port.expected)
        #expect(routes.endpoint(for: target) == origin.endpoint)
    }

    /// Mutant: `purge-of-a-preserved-host-covers-one-port`.
    @Test(arguments: ["http://a.local/x?y", "http://a.local:8093/x?y", "http://a.local:5/x?y", "http://10.0.0.7/x?y"])
    func urlsOfAPreservedHostHaveEachPort(_ url: String) throws {
        let routes = try GatewayRoutes([
            GatewayRoute(host: "a.local", origin: GatewayOrigin("http://10.0.0.7"), preservesHost: true)
        ]).accepting([8093, 9000])
        let expected = ["http://a.local/x?y", "http://a.local:8093/x?y", "http://a.local:9000/x?y"]
        #expect(routes.originURLs(of: try TargetURI(url)).map(\.url.uri) == expected)
    }

    /// Mutant: `purge-hides-the-routes-that-it-covers`.
    @Test(
        arguments: [
            ("http://gw/shop/", "http://o.example/", ["shop", "2", "api"]),
            ("http://gw/shop/api/x", "http://o.example/api/x", ["shop", "2", "api"]),
            ("http://gw/v1/x", "http://o.example/api/x", ["shop", "2", "api"]),
            ("http://gw/shop/b", "http://o.example/b", ["shop", "2"]),
            ("http://gw/other/", "http://p.example/", ["other"]),
        ]
    )
    func urlAtAnOriginNamesEachRouteThatLeadsThere(_ url: String, _ expected: String, _ names: [String]) throws {
        let routes = try GatewayRoutes([
            GatewayRoute(name: "shop", path: "/shop", origin: GatewayOrigin("http://o.example")),
            GatewayRoute(host: "b.local", origin: GatewayOrigin("http://o.example")),
            GatewayRoute(name: "api", path: "/v1", origin: GatewayOrigin("http://o.example/api")),
            GatewayRoute(name: "other", path: "/other", origin: GatewayOrigin("http://p.example")),
            GatewayRoute(name: "kept", host: "c.local", origin: GatewayOrigin("http://o.example"), preservesHost: true),
        ])
        let found = try #require(routes.originURLs(of: TargetURI(url)).first)
        #expect(found.url.uri == expected && found.routes == names)
    }

    /// Mutant: `purge-by-url-forgets-rules`.
    @Test(
        arguments: [
            ("http://gw/p?utm_source=2", ["http://o.example/p?utm_source=2", "http://o.example/p"]),
            (
                "http://o.example/p?a=1&utm_id=3",
                [
                    "http://o.example/p?a=1&utm_id=3", "http://o.example/p?a=1", "http://kept.example/p?a=1&utm_id=3",
                    "http://kept.example/p?a=1",
                ]
            ),
            ("http://gw/p?a=1", ["http://o.example/p?a=1"]),
        ]
    )
    func urlIsFoundAsRulesChangeIt(_ url: String, _ expected: [String]) throws {
        let routes = try GatewayRoutes([
            GatewayRoute(host: "kept.example", origin: GatewayOrigin("http://o.example"), preservesHost: true),
            GatewayRoute(origin: GatewayOrigin("http://o.example")),
        ])
        let rules = try RuleSet([Rule { $0.ignore.parameters = ["utm_*"] }])
        #expect(routes.originURLs(of: try TargetURI(url), by: rules).map(\.url.uri) == expected)
    }

    /// Mutant: `purge-by-prefix-forgets-longer-routes`.
    @Test(
        arguments: [
            ("http://gw/", ["http://a.example/", "http://b.example/api", "http://c.example/c"]),
            ("http://gw/alt", ["http://b.example/api", "http://c.example/c"]),
            ("http://gw/al", ["http://a.example/al", "http://b.example/api", "http://c.example/c"]),
            ("http://gw/alt/", ["http://b.example/api/", "http://c.example/c"]),
            ("http://gw/%61lt", ["http://b.example/api", "http://c.example/c"]),
            ("http://gw/alt/x/y", ["http://c.example/c/y"]), ("http://gw/other", ["http://a.example/other"]),
            ("http://gw/?alt", ["http://a.example/?alt"]), ("http://h.example/", ["http://d.example/"]),
            ("http://a.example/", []),
        ]
    )
    func prefixCoversRoutesWithALongerPath(_ prefix: String, _ expected: [String]) throws {
        let routes = try GatewayRoutes([
            GatewayRoute(host: "h.example", origin: GatewayOrigin("http://d.example")),
            GatewayRoute(path: "/alt/x", origin: GatewayOrigin("http://c.example/c")),
            GatewayRoute(path: "/alt", origin: GatewayOrigin("http://b.example/api")),
            // The prefix of the last route includes its.
            GatewayRoute(path: "/again", origin: GatewayOrigin("http://a.example/again")),
            GatewayRoute(path: "/", origin: GatewayOrigin("http://a.example")),
        ])
        #expect(routes.originPrefixes(of: try TargetURI(prefix)).map(\.url.uri) == expected)
    }

    @Test func prefixCoversRoutesWhereNoRouteHasItsOwnPath() throws {
        let routes = try GatewayRoutes([
            GatewayRoute(path: "/c", origin: GatewayOrigin("http://a.example")),
            GatewayRoute(host: "gw.local", path: "/m", origin: GatewayOrigin("http://b.example"), preservesHost: true),
        ]).accepting([8080])
        let found = routes.originPrefixes(of: try TargetURI("http://gw.local/")).map(\.url.uri)
        #expect(found == ["http://a.example/", "http://gw.local/", "http://gw.local:8080/"])
        #expect(routes.originPrefixes(of: try TargetURI("http://other/")).map(\.url.uri) == ["http://a.example/"])
    }

    /// Mutant: `origins-own-host-is-found`.
    @Test(
        arguments: [
            ("http://a.local/x", true), ("http://a.local:8093/x", true), ("http://a.local:5/x", false),
            ("https://a.local/x", false), ("http://10.0.0.7:18090/x", false), ("http://c.t.local/y/x", true),
            ("http://c.t.local/x", false), ("http://t.local/y/x", false), ("http://o.example/v1/x", true),
            ("http://o.example/x", false), ("http://o.example:8093/v1/x", false),
        ]
    )
    func clientsFindTheTargetsOfRoutes(_ url: String, isFound: Bool) throws {
        let routes = try GatewayRoutes([
            GatewayRoute(host: "a.local", origin: GatewayOrigin("http://10.0.0.7:18090"), preservesHost: true),
            GatewayRoute(host: "*.t.local", origin: GatewayOrigin("http://10.0.0.8/y"), preservesHost: true),
            GatewayRoute(origin: GatewayOrigin("http://o.example/v1")),
        ]).accepting([8093])
        let found = ClientRoutes(routes, FixedRoutes(), schemes: ["http"])
        #expect(found.find(try TargetURI(url)) == isFound)
    }

    @Test func originURLDoesNotStandForTooManyHosts() throws {
        let origin = try GatewayOrigin("http://10.0.0.7")
        let hosts = try (0..<65).map { try GatewayRoute(host: "h\($0).local", origin: origin, preservesHost: true) }
        let url = try TargetURI("http://10.0.0.7/x")
        let most = try GatewayRoutes(Array(hosts.prefix(64)))
        #expect(most.originURLs(of: url).count == 64 && !most.keepsClientsHosts(of: url))
        let routes = try GatewayRoutes(hosts)
        #expect(routes.originURLs(of: url).isEmpty && routes.keepsClientsHosts(of: url))
    }
}
