import Testing

@testable import CacheRules
@testable import HoldfastConfiguration

/// Rules about hosts to which no route leads.
@Suite(.timeLimit(.minutes(20))) struct UnroutedRuleTests {
    private static let routes = """
        version: 1
        routes:
          - {name: api, host: api.local, path: /v1, origin: "https://api.example.com/v2"}
          - {name: wild, host: "*.shop.local", origin: "http://shop.example:8080", preserve-host: true}
          - {name: rest, origin: "https://www.example.com"}

        """

    private static func findings(_ url: String, _ routes: String = Self.routes) throws -> [String] {
        let rule = "rules: [{name: r, match: {url: \"\(url)\"}, freshness: {lifetime: 5 m}}]\n"
        return try Configuration(yaml: routes + rule, file: "f").unroutedRules.map { "\($0)" }
    }

    @Test(arguments: [
        "/any", "https://api.example.com/**", "https://*.example.com/a", "http*://**/a", "https://www.example.com:*/**",
        "http://a.shop.local/**", "http://a.shop.local:81/**", "http://*.local:*/**",
    ])
    func rulesAboutRoutedOriginsHaveNone(_ url: String) throws {
        #expect(try Self.findings(url) == [])
    }

    /// Mutant: hosts are compared without scheme and port.
    @Test(arguments: [
        (
            "http://api.local/v1/feed/**", "Rules match the origin's URLs: write 'https://api.example.com/v2/feed/**'."
        ),
        ("http://api.example.com/**", "Rules match the origin's URLs: write 'https://api.example.com/**'."),
        ("https://api.example.com:8443/x?y=*", "Rules match the origin's URLs: write 'https://api.example.com/x?y=*'."),
        (
            "https://other.example/**",
            "The routes lead to 'https://api.example.com/v2', 'http://*.shop.local', 'https://www.example.com'."
        ),
        (
            "http://shop.example:8080/**",
            "With 'preserve-host', rules match the host that clients request: write 'http://*.shop.local/**'."
        ),
    ])
    func otherRulesAreReportedWithTheRightURL(_ url: String, _ advice: String) throws {
        let message =
            "f:6: rule 'r': match.url: '\(url)' matches nothing, because no route leads to this origin. \(advice)"
        #expect(try Self.findings(url) == [message])
    }

    private static func route(_ settings: String) -> String { "version: 1\nroutes: [{\(settings)}]\n" }

    /// Mutant: the path of the origin is not compared.
    @Test(arguments: ["http://o.example:8080/api/**", "/api/**", "/v", "/v20/**", "/v*0/**"])
    func pathsToWhichNoRouteLeadsAreReported(_ url: String) throws {
        let message =
            "f:3: rule 'r': match.url: '\(url)' matches nothing: no route leads to this path. The route's requests go to 'http://o.example:8080/v2/**'."
        #expect(
            try Self.findings(url, Self.route("path: /api, origin: \"http://o.example:8080/v2/\"")) == [message]
        )
    }

    @Test(arguments: [
        "/v2", "/v2/**", "/v2/x?y", "/v2*", "/*/x", "/**.png", "/v*", "//v%32/x", "http://o.example:8080/**",
    ])
    func patternsForPathsOfTheOriginHaveNone(_ url: String) throws {
        #expect(try Self.findings(url, Self.route("path: /api, origin: \"http://o.example:8080/v2/\"")) == [])
    }

    /// Mutant: with 'preserve-host', any port is reached.
    @Test(arguments: [
        ("www.example.com", "http://127.0.0.1:18281/**", "http://www.example.com/**"),
        ("127.0.0.1:18280", "http://127.0.0.1:18281/x", "http://127.0.0.1:18280/x"),
    ])
    func preservedHostIsTheOneToWrite(_ host: String, _ url: String, _ right: String) throws {
        let routes = Self.route("host: \"\(host)\", origin: \"http://127.0.0.1:18281\", preserve-host: true")
        let message =
            "f:3: rule 'r': match.url: '\(url)' matches nothing, because no route leads to this origin. With 'preserve-host', rules match the host that clients request: write '\(right)'."
        #expect(try Self.findings(url, routes) == [message])
        #expect(try Self.findings(right, routes) == [])
    }

    /// Without a port, the pattern is for port 80 only.
    @Test func anyHostIsWrittenAsAPath() throws {
        let message =
            "f:3: rule 'r': match.url: 'http://**/private/**' matches nothing, because no route leads to this origin. Write '/private/**', which matches every origin."
        #expect(
            try Self.findings("http://**/private/**", Self.route("origin: \"http://o.example:8080\"")) == [message]
        )
    }

    @Test func dotSegmentsAreReported() throws {
        let message =
            "f:6: rule 'r': match.url: '/private/../x' contains a dot segment, which the gateway rejects, so it matches nothing. Write the resolved path."
        #expect(try Self.findings("/private/../x") == [message])
        #expect(try Self.findings("/private/.../x") == [])
    }

    /// A configuration without routes is for the request layer.
    @Test func withoutRoutesNothingIsReported() throws {
        let rule = "version: 1\nrules: [{match: {url: \"https://a.example/**\"}, bypass: true}]\n"
        #expect(try Configuration(yaml: rule, file: "f").unroutedRules.isEmpty)
    }
}
