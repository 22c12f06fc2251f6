import HTTPTypes
import Testing

@testable import HoldfastGateway

/// Fields that name URLs, as values: no sockets.
@Suite("URLs in fields", .timeLimit(.minutes(20)))
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
        ("5; /api/x", "5; /api/x"), ("5; url", "5; url"), ("5; url=", "5; url="), ("5;", "5;"),
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
