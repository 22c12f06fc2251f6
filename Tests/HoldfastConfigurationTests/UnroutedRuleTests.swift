import Testing

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

    private static func findings(_ url: String) throws -> [String] {
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
            "The routes lead to 'https://api.example.com/v2', 'http://shop.example:8080', 'https://www.example.com'."
        ),
        // 'preserve-host' keeps the client's host.
        (
            "http://shop.example:8080/**",
            "The routes lead to 'https://api.example.com/v2', 'http://shop.example:8080', 'https://www.example.com'."
        ),
    ])
    func otherRulesAreReportedWithTheRightURL(_ url: String, _ advice: String) throws {
        let message =
            "f:6: rule 'r': match.url: '\(url)' matches nothing, because no route leads to this origin. \(advice)"
        #expect(try Self.findings(url) == [message])
    }

    /// A configuration without routes is for the request layer.
    @Test func withoutRoutesNothingIsReported() throws {
        let rule = "version: 1\nrules: [{match: {url: \"https://a.example/**\"}, bypass: true}]\n"
        #expect(try Configuration(yaml: rule, file: "f").unroutedRules.isEmpty)
    }
}
