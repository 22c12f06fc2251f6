import HTTPCacheOperations
import HTTPCacheSemantics
import HTTPTypes
import HoldfastConfiguration
import Testing

@testable import GatewayRouting
@testable import HTTPWire
@testable import HoldfastGateway

/// Which origin a request names, as values.
@Suite(.timeLimit(.minutes(20))) struct ForwardProxyRequestTests {
    private static let file = """
        version: 1
        forward-proxy:
          hosts: [{host: "*.debian.test", upgrade: https}, deb.example, {host: up.example, upgrade: https}, plain.debian.test]
          ports: [8080]
        """

    private func routes(_ yaml: String = file) throws -> GatewayRoutes {
        try GatewayRoutes(all: HoldfastConfiguration.Configuration(yaml: yaml), ownPorts: [])
    }

    private func request(_ line: String, host: String = "gateway:8080") throws -> GatewayRequest {
        try #require(RequestDecoder.decode("GET \(line) HTTP/1.1\r\nHost: \(host)\r\n\r\n").heads.first).request
    }

    /// Mutants: an upgraded request keeps port 80; other ports are upgraded too; an exact host
    /// counts less than a pattern.
    @Test(arguments: [
        ("http://deb.example/a?b", "http://deb.example/a?b"), ("https://deb.example/a", "https://deb.example/a"),
        ("http://deb.example:80/a", "http://deb.example/a"), ("http://deb.example", "http://deb.example/"),
        ("http://up.example/a", "https://up.example/a"), ("http://up.example:80/a", "https://up.example/a"),
        ("http://UP.example:443/a", "http://up.example:443/a"),
        ("http://up.example:8080/a", "http://up.example:8080/a"),
        ("http://ftp.debian.test/a", "https://ftp.debian.test/a"), ("/proxy/http/up.example/a", "https://up.example/a"),
        ("http://plain.debian.test/a", "http://plain.debian.test/a"),
        ("/proxy/https/deb.example:8080/a//b", "https://deb.example:8080/a//b"),
        ("/proxy/https/deb.example?q", "https://deb.example/?q"), ("/proxy/https/deb.example", "https://deb.example/"),
        ("/proxy/https/deb.example/proxy/https/up.example/", "https://deb.example/proxy/https/up.example/"),
    ])
    func requestHasTheOriginsOwnURL(line: String, url: String) throws {
        let routes = try routes()
        let request = routes.forwarded(try request(line))
        let choice = try #require(routes.choose(for: request))
        let head = GatewayService.originHead(request, routes.routes[choice.route], path: choice.path, fields: [:])
        let target = try #require(TargetURI(request: head))
        #expect(target.uri == url)
        #expect(routes.endpoint(for: target)?.isNamedByClient == true)
        #expect(ClientRoutes(routes, FixedRoutes(), schemes: ["http"]).find(target))
    }

    /// A target that is replaced is not found, so that tools do not show it.
    @Test func replacedTargetIsNoOrigins() throws {
        let target = try TargetURI("http://up.example/a")
        let routes = try routes()
        #expect(routes.endpoint(for: target) == nil)
        #expect(!ClientRoutes(routes, FixedRoutes(), schemes: ["http"]).find(target))
        #expect(routes.mapping(of: target)?.target.uri == "https://up.example/a")
        #expect(routes.originURLs(of: target).map(\.url.uri) == ["https://up.example/a"])
    }

    @Test func toolsFindTheOriginOfAPath() throws {
        let routes = try routes()
        let url = try TargetURI("http://gateway:8080/proxy/https/deb.example/a")
        #expect(routes.mapping(of: url)?.target.uri == "https://deb.example/a")
        #expect(routes.originURLs(of: url).map(\.url.uri) == ["https://deb.example/a"])
        let own = try TargetURI("https://deb.example/a")
        #expect(routes.mapping(of: own).map { $0.route == nil && $0.target == own } == true)
    }

    @Test(arguments: [
        ("http://other.example/", ForwardProxy.Refusal.host("other.example")),
        ("http://a.b.debian.test/", .host("a.b.debian.test")), ("http://debian.test/", .host("debian.test")),
        ("https://deb.example:22/", .port(22, of: "deb.example")), ("/proxy/https", .noHost), ("/proxy/a/b", .noHost),
    ])
    func otherOriginsAreRefused(line: String, refusal: ForwardProxy.Refusal) throws {
        let routes = try routes()
        let request = routes.forwarded(try request(line))
        #expect(routes.choose(for: request) == nil)
        #expect(routes.proxy?.refusal(of: request) == refusal)
    }

    // MARK: References in responses

    /// Mutants: a reference leaves the path that names the origin; one of an upgraded host stays
    /// with https.
    @Test(arguments: [
        ("/proxy/https/deb.example/a", "/b?c", "/proxy/https/deb.example/b?c"),
        ("/proxy/https/deb.example/a", "https://deb.example/b", "http://gateway:8080/proxy/https/deb.example/b"),
        ("/proxy/https/deb.example/a", "https://other.example/b", "https://other.example/b"),
        ("/proxy/https/deb.example/a", "b", "b"),
        ("http://up.example/a", "https://up.example/b", "http://up.example/b"),
        ("http://up.example/a", "/b", "/b"), ("http://up.example/a", "https://other/b", "https://other/b"),
        ("http://deb.example/a", "https://deb.example/b", "https://deb.example/b"),
    ])
    func referencesLeadBackToTheProxy(line: String, location: String, expected: String) throws {
        let request = try routes().forwarded(try request(line))
        var fields: HTTPFields = [.location: location]
        if let client = RewriteClient(ofProxy: request, scheme: "http") {
            var rewriter = FieldRewriter(for: client)
            rewriter.rewrite(&fields)
        }
        #expect(fields[.location] == expected)
    }

    /// Origins whose paths share the gateway's host must not get each other's cookies.
    @Test func cookiesStayWithTheirOrigin() throws {
        let request = try routes().forwarded(try request("/proxy/https/deb.example/a"))
        let client = try #require(RewriteClient(ofProxy: request, scheme: "http"))
        var rewriter = FieldRewriter(for: client)
        var fields: HTTPFields = [.setCookie: "a=b; Path=/; Domain=deb.example"]
        rewriter.rewrite(&fields)
        #expect(fields[.setCookie] == "a=b; Path=/proxy/https/deb.example")
    }

    // MARK: Files

    /// Mutants: a proxy without clients listens on every address; hosts of 'preserve-host' are
    /// shared.
    @Test(arguments: [
        (
            "listen: 0.0.0.0:8080\nforward-proxy: {hosts: [a.example]}",
            "forward-proxy.allow: It is missing, and '0.0.0.0:8080' is reachable from other machines"
        ),
        (
            "listen: [\"[::1]:1\", \"192.0.2.1:8080\"]\nforward-proxy: {hosts: [a.example]}",
            "forward-proxy.allow: It is missing, and '192.0.2.1:8080' is reachable from other machines"
        ),
        (
            "forward-proxy: {hosts: [10.0.0.7]}",
            "forward-proxy.hosts: '10.0.0.7' is a private address, or one of this machine"
        ),
        (
            "forward-proxy: {hosts: [\"[::1]\"]}",
            "forward-proxy.hosts: '[::1]' is a private address, or one of this machine"
        ),
        (
            "forward-proxy: {hosts: [\"*.a.example\"]}\nroutes: [{host: b.a.example, origin: \"http://c\", preserve-host: true}]",
            "forward-proxy.hosts: A host of the list may be one of a route"
        ),
        (
            "forward-proxy: {hosts: [a.example]}\nroutes: [{name: any, origin: \"http://c\", preserve-host: true}]",
            "forward-proxy.hosts: A host of the list may be one of route 'any'"
        ),
    ])
    func unusableProxyIsAFinding(yaml: String, message: String) throws {
        let file = try HoldfastConfiguration.Configuration(yaml: "version: 1\n" + yaml)
        let error = #expect(throws: ConfigurationError.self) { try GatewayConfiguration(file) }
        let text = error.map { "\($0)" } ?? ""
        #expect(text.contains(message), "\(text)")
    }

    @Test(arguments: [
        "forward-proxy: {hosts: [a.example]}", "listen: \"[::1]:8080\"\nforward-proxy: {hosts: [a.example]}",
        "listen: [{unix: /run/a.sock}]\nforward-proxy: {hosts: [a.example]}",
        "listen: 0.0.0.0:8080\nforward-proxy: {hosts: [a.example], allow: [192.0.2.0/24]}",
        "listen: 0.0.0.0:8080\nclients: {allow: [192.0.2.0/24]}\nforward-proxy: {hosts: [a.example]}",
        "forward-proxy: {hosts: [10.0.0.7], addresses: [10.0.0.0/8]}",
        "forward-proxy: {hosts: [a.example]}\nroutes: [{host: b.example, origin: \"http://c\", preserve-host: true}]",
    ])
    func usableProxyIsServed(yaml: String) throws {
        let gateway = try GatewayConfiguration(HoldfastConfiguration.Configuration(yaml: "version: 1\n" + yaml))
        #expect(gateway.routes.proxy != nil)
    }

    /// A command's address overrides the file's.
    @Test func listenersOutsideTheFileCount() throws {
        let file = try HoldfastConfiguration.Configuration(yaml: "version: 1\nforward-proxy: {hosts: [a.example]}")
        #expect(throws: ConfigurationError.self) {
            try GatewayConfiguration(file, listen: ListenAddress("0.0.0.0:8080"))
        }
    }
}
