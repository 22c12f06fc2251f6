import HTTPCache
import HTTPTypes
import HoldfastConfiguration
import HoldfastTesting
import Testing

@testable import HoldfastGateway

/// docs/attacks.md, 62. Spellings that an origin may read as one path are one path for routes and
/// rules.
@Suite(.timeLimit(.minutes(20))) struct PathMatchingTests {
    private static let segments = [
        "private", "v1", "a", "~b", "x.css", "c-d", "%C3%A9", "%2F", "*", "e+f", "%3B", "%25",
    ]

    /// The same path in another spelling: RFC 3986 §6.2.2, repeated slashes and, where allowed,
    /// path parameters.
    private static func spelling(
        of path: [String],
        withParameters: Bool = true,
        _ random: inout SeededRandom
    ) -> String {
        func chance(_ count: Int) -> Bool { Int.random(in: 0..<count, using: &random) == 0 }
        var text = ""
        for segment in path {
            text += String(repeating: "/", count: Int.random(in: 1...3, using: &random))
            if withParameters, chance(6) { text += ";p=\(Int.random(in: 0...9, using: &random))//" }
            var rest = Substring(segment)
            while let character = rest.popFirst() {
                if character == "%" {
                    text += "%" + (chance(2) ? rest.prefix(2).lowercased() : rest.prefix(2).uppercased())
                    rest.removeFirst(2)
                } else if character.isLetter || character.isNumber || "-._~".contains(character), chance(3) {
                    let digits = String(character.asciiValue ?? 0, radix: 16)
                    text += "%" + (chance(2) ? digits : digits.uppercased())
                } else {
                    text.append(character)
                }
            }
            if withParameters, chance(4) {
                text += ";" + ["", "x", "v=1;w", "a.css"][Int.random(in: 0..<4, using: &random)]
            }
        }
        return text
    }

    private struct Found {
        var settings: [ExchangeSettings]
        var route: String?
        var path: String?

        init(_ target: String, _ rules: [RuleSet], _ routes: GatewayRoutes) {
            let request = HTTPRequest(method: .get, scheme: "http", authority: "h.example", path: target)
            let way = routes.route(authority: "g", target: target)
            settings = rules.map { $0.rules(for: request).settings }
            route = way?.route.name
            path = way?.path
        }
    }

    /// Mutants: rules compare the raw path; routes do.
    @Test(arguments: 1...40 as ClosedRange<UInt64>)
    func equalTargetsHaveEqualRulesAndRoutesAndPassUnchanged(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        func path(_ longest: Int) -> [String] {
            (0..<Int.random(in: 1...longest, using: &random)).map { _ in
                Self.segments[Int.random(in: 0..<Self.segments.count, using: &random)]
            }
        }
        var settings = RuleSettings()
        settings.tags = ["found"]
        let rules = try (0..<24).map { number in
            let path = Self.spelling(of: path(2), withParameters: false, &random)
            let end = ["", "/**", "/*", "?q=%7E*"][number % 4]
            return try RuleSet([Rule(matching: .init(urls: [URLPattern(path + end)]), settings: settings)])
        }
        let routes = try GatewayRoutes([
            GatewayRoute(name: "one", path: "/v1", origin: GatewayOrigin("http://one.example/v1")),
            GatewayRoute(name: "two", path: "/%70rivate", origin: GatewayOrigin("http://two.example/moved")),
            GatewayRoute(name: "three", origin: GatewayOrigin("http://three.example")),
        ])
        for _ in 0..<100 {
            let wanted = path(4)
            let plain = "/" + wanted.joined(separator: "/") + "?q=~x"
            let query = ["?q=~x", "?q=%7ex", "?%71=%7Ex"][Int.random(in: 0..<3, using: &random)]
            let other = Self.spelling(of: wanted, &random) + query
            let first = Found(plain, rules, routes)
            let second = Found(other, rules, routes)
            #expect(first.settings == second.settings, "seed \(seed): \(plain) \(other)")
            #expect(first.route == second.route, "seed \(seed): \(plain) \(other)")
            // After the path that the route replaces, no byte changes. If it replaces none, no byte
            // changes at all.
            if second.route == "two" {
                let sent = try #require(second.path)
                #expect(sent.hasPrefix("/moved") && other.hasSuffix(sent.dropFirst("/moved".count)), "\(other) \(sent)")
            } else {
                #expect(second.path == other)
            }
        }
    }

    private static let climbing = [
        "/public/../private/x", "/public/%2e%2e/private/x", "/public/.%2E/private/x", "/public/..;/private/x",
        "/public/..;a=b/private/x", "/public/%2e%2e;/private/x", "/public%2f..%2fprivate/x", "/public/..%2Fprivate/x",
        "/public/..%5cprivate/x", "/public\\..\\private/x", "/public/%252e%252e/private/x",
        "/public/%25%32%65./private/x", "/public//../private/x",
        "/public/./x", "/public/..", "/public/.", "/public/%2e?q", "/..", "/public/..%3b/private/x",
    ]

    private static func bypassing(_ patterns: URLPattern...) throws -> RuleSet {
        var settings = RuleSettings()
        settings.bypass = true
        return try RuleSet([Rule(matching: .init(urls: patterns), settings: settings)])
    }

    @Test(arguments: climbing) func rejectsDotSegmentsIfRouteOriginOrRuleHasPath(target: String) async throws {
        let rules = try Self.bypassing("/private/**")
        let hostRules = try Self.bypassing("http://a.example/**")
        try await RawOrigin.with([.ok("x")]) { origin in
            for (path, originPath, rules) in [
                ("/public", "/public", nil), ("/", "/base", nil), ("/", "", rules), ("/", "", hostRules),
            ] as [(String, String, RuleSet?)] {
                try await RunningGateway.with(
                    origin: origin.url,
                    rules: rules,
                    configure: { configuration in
                        guard let route = try? GatewayRoute(path: path, origin: GatewayOrigin(origin.url + originPath)),
                            let routes = try? GatewayRoutes([route])
                        else { return }
                        configuration.routes = routes
                    }
                ) { gateway in
                    let response = try await gateway.get(target)
                    if rules === hostRules {
                        // There is no path to leave, so it passes unchanged.
                        #expect(response.status == 200 && origin.requests.map(\.line) == ["GET \(target) HTTP/1.1"])
                    } else {
                        #expect(response.status == 400 && response.text.contains("urn:holdfast:problem:dot-segment"))
                        #expect(response["Cache-Status"] == "holdfast; detail=refused")
                        #expect(origin.requests.isEmpty)
                    }
                }
            }
        }
    }

    @Test(arguments: [
        "/private/x", "/%70rivate/x", "//private/x", "/private//x", "/private;v=1/x", "/;a/private/x",
        "/%50rivate/x",
        "/priv%61te;jsessionid=1//x",
    ])
    func ruleKeepsPageOutOfTheStoreInEverySpelling(target: String) async throws {
        let rules = try Self.bypassing("/private/**", "/Private/**")
        // Nothing but the rule keeps it out: a cookie would, too.
        let page = RawOrigin.Step.ok("mine", fields: "Cache-Control: public, max-age=60\r\n")
        try await RawOrigin.with([page, .ok("yours")]) { origin in
            try await RunningGateway.with(origin: origin.url, rules: rules) { gateway in
                _ = try await gateway.get(target)
                let second = try await gateway.get(target)
                #expect(second.text == "yours")
                #expect(origin.requests.map(\.line) == Array(repeating: "GET \(target) HTTP/1.1", count: 2))
            }
        }
    }
}
