import HTTPTypes
import Testing

@testable import GatewayRouting
@testable import HoldfastGateway

/// Fields that name URLs, as values: no sockets.
@Suite(.timeLimit(.minutes(20)))
struct FieldRewriterTests {
    private func rewrite(
        _ name: String,
        _ value: String,
        _ route: RewriteSample.Route = .api,
        authority: String? = "gw.local:8080"
    ) throws -> String? {
        var rewriter = FieldRewriter(for: try RewriteSample.client(route, authority: authority))
        var fields: HTTPFields = [:]
        let name = try #require(HTTPField.Name(name))
        fields[name] = value
        rewriter.rewrite(&fields)
        return fields[name]
    }

    @Test(
        arguments: ["Location", "Content-Location"],
        [
            ("http://api.example:8080/api/x?y#z", "http://gw.local:8080/v1/x?y#z"),
            ("http://api.example:8080/api", "http://gw.local:8080/v1"),
            ("http://api.example:8080/other", "http://api.example:8080/other"),
            ("http://api.example:8080/api/../x", "http://api.example:8080/api/../x"),
            ("http://api.example:8080/api/%2e%2e/x", "http://api.example:8080/api/%2e%2e/x"),
            ("http://api.example:8080/api,x/y", "http://api.example:8080/api,x/y"),
            ("https://files.example/x", "http://files.local:8443/f/x"),
            ("https://files.example,evil/x", "https://files.example,evil/x"),
            ("https://files.example.evil/x", "https://files.example.evil/x"),
            ("//api.example:8080/api/x", "//gw.local:8080/v1/x"),
            ("/api/x?y", "/v1/x?y"), ("/api", "/v1"), ("/api?x", "/v1?x"), ("/apix", "/apix"), ("/", "/"),
            ("/login", "/login"), ("/api/../x", "/api/../x"), ("x", "x"), ("../x", "../x"), ("?x", "?x"), ("#x", "#x"),
            ("", ""), ("mailto:a@api.example", "mailto:a@api.example"), ("http://xé.example/", "http://xé.example/"),
        ]
    )
    func translatesReference(name: String, values: (String, String)) throws {
        #expect(try rewrite(name, values.0) == values.1)
    }

    @Test func leadsToAnotherRouteOfTheSameOrigin() throws {
        #expect(try rewrite("Location", "/deep/er/x", .files, authority: "files.local:8443") == "/f/deep/er/x")
        #expect(try rewrite("Location", "/x", .nested, authority: "nested.local") == "http://files.local:8443/f/x")
        #expect(try rewrite("Location", "/deep/er/x", .nested, authority: "nested.local") == "/x")
        #expect(try rewrite("Location", "/deep/er", .nested, authority: "nested.local") == "/")
        #expect(try rewrite("Location", "/x", .index, authority: "index.local") == "/x")
    }

    /// The path of the origin may hide that a path looks like a host. Browsers take a backslash for
    /// a slash, and drop tabs.
    @Test(arguments: [
        ("/deep/er//evil.example/x", "/.//evil.example/x"), (#"/deep/er/\evil.example"#, #"/./\evil.example"#),
        ("/deep/er/\t/evil.example", "/./\t/evil.example"), ("/deep/er/", "/"), ("/deep/er/.x", "/.x"),
    ])
    func namesNoOtherHostByAPath(value: String, expected: String) throws {
        #expect(try rewrite("Location", value, .nested, authority: "nested.local") == expected)
        #expect(try rewrite("Link", "<\(value)>", .nested, authority: "nested.local") == "<\(expected)>")
        #expect(try rewrite("Refresh", "1; url=\(value)", .nested, authority: "nested.local") == "1; url=\(expected)")
    }

    /// A route that comes first takes some of the paths of another one.
    @Test(arguments: [
        ("/v2/x", "/two/x"), ("/v2/sub/y", "/v2/sub/y"), ("/v2/sub", "/v2/sub"), ("/v2/subs", "/two/subs"),
        ("http://one.example/v2/sub/y?z", "http://one.example/v2/sub/y?z"), ("/v2?sub", "/two?sub"),
        ("http://one.example/v2/subs", "http://gw.local/two/subs"), ("/v2/same/y", "/two/same/y"),
        ("http://one.example/w//evil.example", "http://gw.local/w//evil.example"),
        ("/w//evil.example/x", "/w//evil.example/x"), ("/b//evil.example/x", "/.//evil.example/x"),
    ])
    func staysIfAnotherRouteTakesThePath(value: String, expected: String) throws {
        let map = RewriteMap(
            try GatewayRoutes([
                GatewayRoute(path: "/two/sub", origin: GatewayOrigin("http://two.example")),
                GatewayRoute(path: "/two/same", origin: GatewayOrigin("http://one.example/v2/same")),
                GatewayRoute(path: "/two", origin: GatewayOrigin("http://one.example/v2")),
                GatewayRoute(path: "/w", origin: GatewayOrigin("http://one.example/w")),
                GatewayRoute(origin: GatewayOrigin("http://one.example/b")),
            ])
        )
        let client = RewriteClient(map, route: 2, scheme: "http", authority: "gw.local")
        var rewriter = FieldRewriter(for: client)
        #expect(rewriter.reference(Array(value.utf8)) ?? Array(value.utf8) == Array(expected.utf8))
        guard value.hasPrefix("http") else { return }
        for length in 1...value.utf8.count {
            let cut = value.index(value.startIndex, offsetBy: length)
            let text = RewriteSample.rewrite([String(value[..<cut]), String(value[cut...]), "\""], for: client)
            #expect(text == expected + "\"", "\(length)")
        }
    }

    /// Quadratic time would be hours here.
    @Test func looksForTheEndOfATargetOnce() throws {
        for value in [String(repeating: "<", count: 1 << 20), "\"<\"" + String(repeating: "<", count: 1 << 20)] {
            #expect(try rewrite("Link", value) == value)
        }
    }

    @Test(arguments: [
        ("/app/x", "/k/x"), ("http://kept.local/app/x", "http://kept.local/k/x"),
        ("https://kept.local/app/x", "https://kept.local/k/x"), ("http://kept.local/x", "http://kept.local/x"),
        ("http://10.0.0.7/app/x", "http://kept.local/k/x"), ("/x", "/x"),
    ])
    func translatesThePathOfAPreservedHost(value: String, expected: String) throws {
        #expect(try rewrite("Location", value, .preserved, authority: "kept.local") == expected)
    }

    @Test(arguments: [
        (
            #"<http://api.example:8080/api?p=2>; rel="next", </api?p=9>; rel=last; title="</api/x>""#,
            #"<http://gw.local:8080/v1?p=2>; rel="next", </v1?p=9>; rel=last; title="</api/x>""#
        ),
        (#"</api/a.css>;rel=preload, <https://other.example/>"#, #"</v1/a.css>;rel=preload, <https://other.example/>"#),
        ("</api", "</api"), ("", ""),
    ])
    func translatesTargetsOfLinks(value: String, expected: String) throws {
        #expect(try rewrite("Link", value) == expected)
    }

    @Test(arguments: [
        ("5; url=http://api.example:8080/api/x", "5; url=http://gw.local:8080/v1/x"),
        ("0;URL='/api/x'", "0;URL='/v1/x'"), ("0, url = \"/api/x\" y", "0, url = \"/v1/x\" y"), ("5", "5"),
        ("5; /api/x", "5; /v1/x"), ("5 '/api/x' y", "5 '/v1/x' y"), ("5.5 , url/x", "5.5 , url/x"),
        ("x; url=/api/x", "x; url=/api/x"), ("5x; url=/api/x", "5x; url=/api/x"), ("5;, /api/x", "5;, /api/x"),
        ("5; url", "5; url"), ("5; url=", "5; url="), ("5;", "5;"),
    ])
    func translatesRefresh(value: String, expected: String) throws {
        #expect(try rewrite("Refresh", value) == expected)
    }

    @Test(arguments: [
        ("a=1; Domain=api.example; Path=/api; Secure", "a=1; Path=/v1; Secure"),
        ("a=1;domain=.API.Example;path=/api/x", "a=1;path=/v1/x"),
        ("a=1; Domain=example", "a=1"), ("a=1; Domain=other.example", "a=1; Domain=other.example"),
        ("a=1; Domain=pi.example", "a=1; Domain=pi.example"), ("a=1; Path=/", "a=1; Path=/v1"),
        ("a=1; Path=/apix", "a=1; Path=/apix"), ("a=1; Path=/api/", "a=1; Path=/v1/"),
        ("a=1; Path=/api/../x", "a=1; Path=/api/../x"), ("a=1; Path=x", "a=1; Path=x"), ("a=1; Path", "a=1; Path"),
        ("__Host-a=1; Path=/; Secure", "__Host-a=1; Path=/; Secure"), ("a=1;;b=Path=/api", "a=1;;b=Path=/api"),
        ("a=Domain=api.example", "a=Domain=api.example"),
    ])
    func translatesCookie(value: String, expected: String) throws {
        #expect(try rewrite("Set-Cookie", value) == expected)
    }

    /// A browser would send it to the origin of the other route alone. Without its path it would go
    /// further: to all routes, for a request to `/page`.
    @Test func handsNoCookieToAnotherOrigin() throws {
        let map = RewriteMap(
            try GatewayRoutes([
                GatewayRoute(path: "/v1", origin: GatewayOrigin("http://api.example")),
                GatewayRoute(path: "/o/deep", origin: GatewayOrigin("http://api.example")),
                GatewayRoute(path: "/o", origin: GatewayOrigin("http://site.example/app")),
                GatewayRoute(path: "/kept", origin: GatewayOrigin("http://kept.example/kept")),
                GatewayRoute(origin: GatewayOrigin("http://site.example")),
            ])
        )
        func rewrite(_ values: [String], _ route: Int) -> [String] {
            var rewriter = FieldRewriter(for: RewriteClient(map, route: route, scheme: "http", authority: "gw.local"))
            var fields = HTTPFields(values.map { HTTPField(name: .setCookie, value: $0) })
            rewriter.rewrite(&fields)
            return fields[values: .setCookie]
        }
        // Below another route, in any spelling, and also outside the path of the origin.
        for path in ["/v1", "/v1/", "/v1/x", "/%761/x", "/o/deep/x"] {
            #expect(rewrite(["b=2", "a=1; Path=\(path); Secure", "c=3"], 4) == ["b=2", "c=3"], "\(path)")
        }
        for path in ["/app/deep", "/app/deep/x", "/v1", "/kept/x"] {
            #expect(rewrite(["a=1; Path=\(path)"], 2) == [], "\(path)")
        }
        for (value, expected, route) in [
            ("a=1; Path=/v10", "a=1; Path=/v10", 4), ("a=1; Path=/", "a=1; Path=/", 4),
            ("a=1; Path=v1", "a=1; Path=v1", 4),
            ("a=1; Path=/app/x", "a=1; Path=/o/x", 2), ("a=1; Path=/", "a=1; Path=/o", 2), ("a=1", "a=1", 2),
            // It is for its own origin too.
            ("a=1; Path=/", "a=1; Path=/", 3), ("a=1; Path=/kept", "a=1; Path=/kept", 3),
            ("a=1; Path=/x", "a=1; Path=/v1/x", 0), ("a=1; Path=/", "a=1; Path=/v1", 0),
        ] { #expect(rewrite([value], route) == [expected], "\(value)") }
    }

    @Test func keepsTheBytesOfACookie() throws {
        let value = Array("a=1; Path=/api/".utf8) + [0xE9, 0xFF]
        var rewriter = FieldRewriter(for: try RewriteSample.client(.api))
        var fields = HTTPFields([HTTPField(name: .setCookie, value: value)])
        rewriter.rewrite(&fields)
        #expect(fields.first?.withUnsafeBytesOfValue { Array($0) } == value)
    }

    @Test func keepsADomainThatCoversTheClient() throws {
        #expect(try rewrite("Set-Cookie", "a=1; Domain=example", authority: "gw.example") == "a=1; Domain=example")
        #expect(try rewrite("Set-Cookie", "a=1; Path=/", .files, authority: "files.local:8443") == "a=1; Path=/f")
        #expect(try rewrite("Set-Cookie", "a=1; Path=/deep", .nested, authority: "nested.local") == "a=1; Path=/")
        #expect(
            try rewrite("Set-Cookie", "a=1; Domain=kept.local; Path=/app", .preserved, authority: "kept.local")
                == "a=1; Domain=kept.local; Path=/k"
        )
    }

    @Test(
        arguments: [
            (
                #"Bearer realm="https://files.example/token",service="registry.example""#,
                #"Bearer realm="http://files.local:8443/f/token",service="registry.example""#
            ),
            (
                #"Basic realm="https://files.example/", bearer service=x, realm = "https://files.example/""#,
                #"Basic realm="https://files.example/", bearer service=x, realm = "http://files.local:8443/f/""#
            ),
            (#"Bearer realm="a, realm=", Basic realm="https://files.example/""#, nil),
            (#"Bearer realm="https://other.example/token""#, nil), (#"Bearer realm="https://files.example/\"x""#, nil),
            ("Bearer", nil), ("Bearer realm", nil), ("Bearer realm=", nil), (",,", nil), ("Negotiate abc==", nil),
        ] as [(String, String?)]
    )
    func translatesTokenServer(value: String, expected: String?) throws {
        let rewritten = try rewrite("WWW-Authenticate", value)
        #expect(rewritten == expected ?? value)
    }

    @Test(arguments: ["Location", "Link", "Refresh", "Set-Cookie", "WWW-Authenticate"])
    func leavesBytesThatAreNoText(name: String) throws {
        let bytes: [UInt8] = [0x61, 0xFF, 0xE9, 0x3B, 0x20, 0xC3]
        var fields: HTTPFields = [:]
        fields.append(HTTPField(name: try #require(HTTPField.Name(name)), value: bytes))
        var rewriter = FieldRewriter(for: try RewriteSample.client(.api))
        rewriter.rewrite(&fields)
        #expect(fields[0].withUnsafeBytesOfValue { Array($0) } == bytes)
        #expect(!rewriter.hasFound)
    }

    @Test func leavesOtherFields() throws {
        let url = "http://api.example:8080/api/x"
        for name in ["X-Location", "Content-Security-Policy", "Access-Control-Allow-Origin", "Sourcemap"] {
            #expect(try rewrite(name, url) == url)
        }
    }
}
