extension DowngradedRequest {
    /// Requests that both protocols refuse.
    static let refused =
        ["/\u{E4}", "/?\u{FF}", "/a#b", "/a b", "", "a", "/\u{7F}"]
        .map { target in Self("the target '\(target)'").with { $0.target = target } }
        + ["u@a.example", "a.example:x", "a b", "a.example/b", "[::1", "a.example, b.example"]
        .map { authority in Self("the authority '\(authority)'").with { $0.authority = authority } }
        + [
            Self("another 'host'").with { $0.fields = ["host: b.example"] },
            Self("two lengths").with { $0.fields = ["content-length: 0", "content-length: 1"] },
            Self("a length with a sign").with { $0.fields = ["content-length: +1"] },
            Self("a name with a space").with { $0.fields = ["x y: 1"] },
            Self("a NUL in a value").with { $0.fields = ["x-nul: a\u{0}b"] },
            Self("a line feed in a value").with { $0.fields = ["x-lines: a\nb"] },
        ]

    /// The requests that are sent by both protocols.
    static let all = methods + targets + authorities + fieldLines + cookies + contents

    private static let methods = [
        "GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "PROPFIND", "QUERY", "b-r*w'N", "get",
    ].map { method in Self("the method \(method)").with { $0.method = method } }

    private static let targets = [
        "/", "/%2e%2E/a//b?x=1&&y=%zz", "/a|b{}\"<>\\^`", "/?", "/??a;b", "/%ff%00", "/a?b=c?d=/../e", "/a;p=1/b;q?r=;",
        "/*", "//a.b/c", "/?q='()!$&*+,:@[]~", "/" + String(repeating: "x", count: 4_000),
    ].map { target in Self("the target \(target.prefix(40))").with { $0.target = target } }

    private static let authorities =
        [
            "a.example", "A.eXample", "a.example:80", "a.example:8080", "127.0.0.1:1", "[::1]", "[::1]:81",
            "a_b.example",
        ].map { authority in Self("the authority \(authority)").with { $0.authority = authority } }
        + [
            Self("'host' in place of ':authority'").with { $0.hasHost = true },
            Self("':authority' and 'host'").with { request in
                request.http1Fields = []
                request.http2Fields = ["host: a.example"]
            },
            Self("absolute form").with { request in
                request.target = "/x?y"
                request.http1Target = "http://a.example/x?y"
            },
            Self("absolute form without a path").with { $0.http1Target = "http://a.example" },
        ]

    private static let fieldLines = [
        Self("no further fields"),
        Self("one field").with { $0.fields = ["x-one: 1"] },
        Self("equal names, apart").with { $0.fields = ["x-a: 1", "x-b: 2", "x-a: 3", "x-A: 4".lowercased()] },
        Self("an empty value").with { $0.fields = ["x-empty:", "x-full: 1"] },
        Self("bytes above 127").with { $0.fields = ["x-bytes: a\u{80}\u{E4}\u{FF}b"] },
        Self("a tab in a value").with { $0.fields = ["x-tab: a\tb  c"] },
        Self("all signs in a name").with { $0.fields = ["!#$%&'*+-.^`|~09az: 1"] },
        Self("a long value").with { $0.fields = ["x-long: " + String(repeating: "v", count: 12_000)] },
        Self("a hundred fields").with { $0.fields = (0..<90).map { "x-\($0): \($0)" } },
        Self("a range").with { $0.fields = ["range: bytes=0-0, -5", "if-range: \"a\""] },
        Self("conditions").with { request in
            request.fields = [
                "if-none-match: \"a\", W/\"b\"", "if-match: *", "if-modified-since: Sun, 06 Nov 1994 08:49:37 GMT",
                "if-unmodified-since: Sunday, 06-Nov-94 08:49:37 GMT",
            ]
        },
        Self("directives").with { $0.fields = ["cache-control: no-cache, max-age=0", "pragma: no-cache"] },
        Self("preferences").with { request in
            request.fields = [
                "accept: text/html;q=0.5, */*;q=0.1", "accept-encoding: gzip, br", "accept-language: de",
                "user-agent: test/1 (a; b)", "referer: http://b.example/?c", "from: a@b.example", "priority: u=1, i",
            ]
        },
        Self("credentials").with { $0.fields = ["authorization: Basic eA=="] },
        Self("credentials for a proxy").with { $0.fields = ["proxy-authorization: Basic eA=="] },
        Self("'te: trailers'").with { request in
            request.http1Fields = ["connection: te", "te: trailers"]
            request.http2Fields = ["te: trailers"]
        },
        Self("fields of a connection").with { request in
            request.http1Fields = [
                "connection: keep-alive, x-mine", "keep-alive: timeout=5", "proxy-connection: keep-alive",
                "x-mine: 1", "upgrade: h2c", "http2-settings: AAMAAABk", "x-kept: 1",
            ]
            request.http2Fields = ["http2-settings: AAMAAABk", "x-kept: 1"]
        },
        Self("claims of a proxy").with { request in
            request.fields = [
                "forwarded: for=9.9.9.9;host=evil", "x-forwarded-for: 9.9.9.9", "x-forwarded-proto: https",
                "x-forwarded-host: evil", "x-real-ip: 9.9.9.9", "via: 1.0 other, 2 another", "x-original-url: /admin",
            ]
        },
        Self("hops that are left").with { request in
            request.method = "OPTIONS"
            request.fields = ["max-forwards: 7"]
        },
        Self("a context of traces").with { request in
            request.fields = [
                "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "tracestate: a=1",
                "x-request-id: mine",
            ]
        },
        Self("trailers that are announced").with { $0.fields = ["trailer: x-sum"] },
        Self("trailers behind content").with { request in
            request.method = "POST"
            request.content = .unknownLength("hello")
            request.trailers = ["x-sum: 1", "x-sum: 2", "server-timing: a;dur=1"]
        },
        Self("trailers without content").with { request in
            request.method = "POST"
            request.content = .unknownLength("")
            request.trailers = ["x-sum: 1"]
        },
        Self("trailers that would be taken for a head").with { request in
            request.method = "POST"
            request.content = .unknownLength("hello")
            request.trailers = [
                "host: evil", "x-forwarded-for: 9.9.9.9", "authorization: Basic eA==",
                "x_forwarded_for: 9.9.9.9", "x-kept: 1", "cookie: a=1", "x-http-method-override: DELETE",
            ]
        },
    ]

    private static let cookies = [
        Self("one cookie").with { $0.fields = ["cookie: a=1"] },
        Self("cookies in one field").with { $0.fields = ["cookie: a=1; b=\"2\"; c="] },
        Self("cookies in crumbs").with { request in
            request.http1Fields = ["x-a: 1", "cookie: a=1; b=2; c=3", "x-b: 2", "x-c: 3"]
            request.http2Fields = ["x-a: 1", "cookie: a=1", "x-b: 2", "cookie: b=2", "cookie: c=3", "x-c: 3"]
        },
        Self("a cookie of odd bytes").with { request in
            request.http1Fields = ["cookie: a=\u{E4}; b=2;c=3"]
            request.http2Fields = ["cookie: a=\u{E4}", "cookie: b=2;c=3"]
        },
    ]

    private static let contents =
        ["POST", "PUT", "PATCH", "DELETE", "QUERY", "GET", "OPTIONS", "PROPFIND"].flatMap { method in
            [
                ("a length", Content.length("hello\u{0}\u{FF}")), ("an empty content", .length("")),
                ("no length", .unknownLength("hello")), ("an empty content without a length", .unknownLength("")),
            ].map { what, content in request(method, what, content) }
        }
        // Longer than a window of HTTP/2, and than content that is sent again.
        + ["POST", "GET"].flatMap { method in
            let long = String(repeating: "0123456789", count: 7_000)
            return [
                request(method, "long content", .length(long)),
                request(method, "long content without a length", .unknownLength(long)),
            ]
        }
        + ["1", "2"].map { version in
            Self("content after 100, \(version)").with { request in
                request.method = "POST"
                request.fields = ["expect: 100-continue", "x-version: \(version)"]
                request.content = version == "1" ? .length("hello") : .unknownLength("hello")
            }
        }

    private static func request(_ method: String, _ what: String, _ content: Content) -> Self {
        Self("\(method) with \(what)").with { request in
            request.method = method
            request.content = content
            request.fields = ["content-type: text/plain", "content-encoding: identity"]
        }
    }
}
