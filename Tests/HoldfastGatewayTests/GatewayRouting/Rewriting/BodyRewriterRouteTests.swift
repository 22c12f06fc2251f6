import NIOCore
import Testing

@testable import GatewayRouting
@testable import HoldfastGateway

/// A URL in content is replaced only if the new one leads to the same place, by the routes.
@Suite(.timeLimit(.minutes(20)))
struct BodyRewriterRouteTests {
    private static func routes() throws -> [GatewayRoute] {
        [
            try GatewayRoute(path: "/two/sub", origin: GatewayOrigin("http://two.example")),
            try GatewayRoute(path: "/two", origin: GatewayOrigin("http://one.example/v2")),
            try GatewayRoute(path: "/admin", origin: GatewayOrigin("http://admin.example")),
            try GatewayRoute(path: "/f", origin: GatewayOrigin("https://files.example")),
            try GatewayRoute(origin: GatewayOrigin("http://root.example")),
        ]
    }

    /// The text for a client of `gw.local`, whole and in pieces.
    private func rewrite(_ text: String, _ map: RewriteMap) -> String {
        let client = RewriteClient(map, route: map.routes.routes.count - 1, scheme: "http", authority: "gw.local")
        let result = RewriteSample.rewrite([text], for: client)
        #expect(RewriteSample.rewrite(text.map { String($0) }, for: client) == result, "in pieces: \(text)")
        return result
    }

    private func rewrite(_ text: String) throws -> String {
        rewrite(text, RewriteMap(try GatewayRoutes(Self.routes())))
    }

    /// Routes compare paths in normal form, so that form may be another route's.
    @Test(arguments: [
        "http://one.example/v2/sub/y", "http://one.example/v2/%73ub/y", "http://one.example/v2/%73%75%62/y",
        "http://one.example/v2//sub", "http://one.example/v2////////////////////sub/y",
        "http://one.example/v2/sub;x/y", "http://one.example/v2/;a=b;c=d;e=f;g=h;i=j/sub/y",
        #"http:\/\/one.example\/v2\/sub\/y"#, #"http://one.example/v2\u002f%73ub"#, "http://one.example/v2&#47;sub",
        // Browsers take a backslash for a slash, and a mark at the end may be none of the path.
        #"http://one.example/v2/\sub/y"#, "http://one.example/v2/sub, x", "see http://one.example/v2/sub. Then",
        "(see http://one.example/v2/sub)", "http://root.example/%61dmin", "http://root.example//admin/x",
        "http://root.example/;x/admin", "http://root.example/%61%64%6d%69%6e/x",
    ])
    func staysIfAnotherRouteTakesThePath(text: String) throws {
        #expect(try rewrite(text) == text)
        #expect(try rewrite("\"\(text)\" ") == "\"\(text)\" ")
    }

    /// A client resolves dot segments before it asks the gateway.
    @Test(arguments: [
        "/a/../../admin/x", "/a/../b", "/..", "/../admin", "/a/.. ", "/a/.., x", "/a/..) x", "/a/..?q", "/a/./b",
        "/./a",
        "/%2e%2E/admin", "/a/.%2e/b", "/%252e%252e/admin", "/a%2f..%2f..%2fadmin", "/..;/admin",
        "/a/b/c/d/e/f/g/h/../x",
        #"\/..\/admin"#, #"/a\..\..\admin"#, #"/a\\..\\..\\admin"#, #"/a\/..\/..\/admin"#, #"/\u002e\u002e/admin"#,
        "/&#46;&#46;/admin", "/&#x2e./admin", "/&period;./admin", "/a&sol;..&sol;..&sol;admin", "/a,https:/../admin",
        "/\(String(repeating: "a", count: 900))/../../admin",
    ])
    func staysIfADotSegmentMayLeadOut(path: String) throws {
        let text = "https://files.example\(path)"
        #expect(try rewrite(text) == text)
        #expect(try rewrite("'\(text)'") == "'\(text)'")
    }

    @Test(arguments: [
        ("http://one.example/v2/subs", "http://gw.local/two/subs"),
        ("http://one.example/v2/%73ubs", "http://gw.local/two/%73ubs"),
        ("http://one.example/v2?/sub", "http://gw.local/two?/sub"),
        ("http://one.example/v2\"/sub", "http://gw.local/two\"/sub"),
        ("'http://one.example/v2','/sub'", "'http://gw.local/two','/sub'"),
        ("http://one.example/v2%2Fsub", "http://one.example/v2%2Fsub"),
        ("http://root.example/%61dmi", "http://gw.local/%61dmi"),
        ("http://two.example/y", "http://gw.local/two/sub/y"),
        ("https://files.example/a..b/..c/...", "http://gw.local/f/a..b/..c/..."),
        ("see https://files.example/. Then", "see http://gw.local/f/. Then"),
        ("(see https://files.example/.)", "(see http://gw.local/f/.)"),
        ("https://files.example/x?a=/../b", "http://gw.local/f/x?a=/../b"),
        ("https://files.example/x#/../b", "http://gw.local/f/x#/../b"),
        ("https://files.example/x ../y/../z", "http://gw.local/f/x ../y/../z"),
        (#"https://files.example/x\n../y/../z"#, #"http://gw.local/f/x\n../y/../z"#),
        (#""https://files.example/x\"/../y""#, #""http://gw.local/f/x\"/../y""#),
        ("'https://files.example/x','y/../z'", "'http://gw.local/f/x','y/../z'"),
        ("url(https://files.example/x)/../y", "url(http://gw.local/f/x)/../y"),
        ("[https://files.example/x]/../y", "[http://gw.local/f/x]/../y"),
        ("&quot;https://files.example/x&quot;/../y", "&quot;http://gw.local/f/x&quot;/../y"),
    ])
    func isReplacedIfItLeadsThere(text: String, expected: String) throws {
        #expect(try rewrite(text) == expected)
    }

    /// A path without an end may have a dot segment somewhere. A list of URLs has an end for each.
    @Test func staysIfThePathHasNoEnd() throws {
        let end = String(repeating: "a", count: URLReader.pathLimit - 1)
        #expect(try rewrite("https://files.example/\(end) ") == "http://gw.local/f/\(end) ")
        #expect(try rewrite("https://files.example/\(end)a ") == "https://files.example/\(end)a ")
        #expect(try rewrite("https://files.example/\(end)/../x") == "https://files.example/\(end)/../x")
        #expect(try rewrite("https://files.example?\(end)\(end)") == "http://gw.local/f?\(end)\(end)")
        let member = String(repeating: "a", count: URLReader.listLimit - 20)
        for text in ["https://files.example/x,https:/../\(member)", "https://files.example/x,https:\(member)/../y"] {
            #expect(try rewrite(text) == text)
        }
        func list(_ origin: String) -> String { (0..<200).map { "\(origin)/\($0)/image.jpg" }.joined(separator: ",") }
        #expect(try rewrite(list("https://files.example")) == list("http://gw.local/f"))
        #expect(try rewrite("\"\(list("https://files.example"))\"") == "\"\(list("http://gw.local/f"))\"")
    }

    /// Where no path decides anything, a dot segment leads to the same place before and after.
    @Test func dotSegmentsPassWhereNoPathDecides() throws {
        let origin = try GatewayOrigin("https://files.example")
        let routes = try GatewayRoutes([
            GatewayRoute(host: "index.local", origin: GatewayOrigin("https://index.example")),
            GatewayRoute(host: "files.local", origin: origin),
        ])
        let map = RewriteMap(routes)
        #expect(rewrite("https://files.example/a/../b", map) == "http://files.local/a/../b")
        let mirrored = RewriteMap(routes, mirrors: [origin: [try GatewayOrigin("https://mirror.example/m")]])
        #expect(rewrite("https://mirror.example/m/x", mirrored) == "http://files.local/x")
        #expect(rewrite("https://mirror.example/m/../x", mirrored) == "https://mirror.example/m/../x")
    }

    @Test func aPreservedHostStaysIfItLeadsElsewhere() throws {
        let map = RewriteMap(
            try GatewayRoutes([
                GatewayRoute(path: "/k/sub", origin: GatewayOrigin("http://two.example")),
                GatewayRoute(path: "/k", origin: GatewayOrigin("http://10.0.0.7/app"), preservesHost: true),
            ])
        )
        for path in ["/app/%73ub/y", "/app//sub", "/app/a/../../x", "/app/..", "/apps", "/app,x"] {
            #expect(rewrite("http://gw.local\(path)", map) == "http://gw.local\(path)")
        }
        #expect(
            rewrite("http://gw.local/app/subs http://gw.local/app", map) == "http://gw.local/k/subs http://gw.local/k"
        )
    }
}
