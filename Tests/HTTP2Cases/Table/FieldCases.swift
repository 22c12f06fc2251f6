// RFC 9113 §8.2, §8.3 and §8.5: fields and pseudo-header fields.

extension HTTP2Cases {
    static func fieldCases() -> [HTTP2Case] {
        syntaxCases() + connectionFieldCases() + cookieCases() + pseudoCases() + requestCases() + connectCases()
    }

    private static func syntaxCases() -> [HTTP2Case] {
        var table = CaseTable("9113 §8.2.1")
        let names = [
            ("an uppercase name", "X-Upper"), ("a name that ends in uppercase", "x-uppeR"), ("an empty name", ""),
            ("a name with a blank", "x y"), ("a name with a colon", "x:y"), ("a name with a line break", "x\r\ny"),
            ("a name with NUL", "x\0y"), ("a name with DEL", "x\u{7F}y"), ("a name beyond ASCII", "xé"),
        ]
        for (claim, name) in names {
            table.add("\(claim) is malformed", Frame.headers(1, .get("/", .field(name, "1"))), expect: .malformed(1))
        }
        let values = [
            ("a value with NUL", "a\0b"), ("a value with LF", "a\nb"), ("a value with CR", "a\rb"),
            ("a value with a line break and a field", "a\r\nx-more: b"), ("a value that begins with a blank", " a"),
            ("a value that ends with a blank", "a "), ("a value that begins with a tab", "\ta"),
            ("a value that ends with a tab", "a\t"),
        ]
        for (claim, value) in values {
            table.add(
                "\(claim) is malformed",
                Frame.headers(1, .get("/", .field("x-value", value))),
                expect: .malformed(1),
                note: value.contains(where: \.isNewline) || value.contains("\0") ? nil : blanks
            )
        }
        table.add("an empty value is accepted", Frame.headers(1, .get("/", .field("x-value", ""))), expect: .ok(1))
        table.add(
            "a blank within a value is accepted",
            Frame.headers(1, .get("/", .field("x-value", "a \t b"))),
            expect: .ok(1)
        )
        table.add(
            "every character of a token is accepted in a name",
            Frame.headers(1, .get("/", .field("x!#$%&'*+-.^`|~09", "1"))),
            expect: .ok(1)
        )
        return table.cases
    }

    private static let blanks = "RFC 9113 forbids it since 2022, and an intermediary must not forward it."

    private static func connectionFieldCases() -> [HTTP2Case] {
        var table = CaseTable("9113 §8.2.2")
        let refused = [
            ("connection", "keep-alive"), ("connection", "close"), ("proxy-connection", "keep-alive"),
            ("keep-alive", "timeout=5"), ("transfer-encoding", "chunked"), ("upgrade", "websocket"), ("te", "gzip"),
            ("te", "trailers, gzip"),
        ]
        for (name, value) in refused {
            table.add(
                "'\(name): \(value)' is malformed",
                Frame.headers(1, .get("/", .field(name, value))),
                expect: .malformed(1)
            )
        }
        table.add("'te: trailers' is accepted", Frame.headers(1, .get("/", .field("te", "trailers"))), expect: .ok(1))
        table.add(
            "'transfer-encoding: chunked' with content is malformed",
            Frame.headers(1, .post(.field("transfer-encoding", "chunked")), ends: false),
            Frame.data(1, "0\r\n\r\n", ends: true),
            expect: .malformed(1)
        )
        return table.cases
    }

    private static func cookieCases() -> [HTTP2Case] {
        var table = CaseTable("9113 §8.2.3")
        table.add(
            "a cookie in crumbs is accepted",
            Frame.headers(1, .get("/", .field(32, "a=1"), .field(32, "b=2"))),
            expect: .ok(1)
        )
        return table.cases
    }

    private static func pseudoCases() -> [HTTP2Case] {
        var table = CaseTable("9113 §8.3")
        table.add(
            "a pseudo-header field after a field is malformed",
            Frame.headers(1, .block(.get, .http, .authority(), .field("x-first", "1"), .root)),
            expect: .malformed(1)
        )
        table.add(
            "an unknown pseudo-header field is malformed",
            Frame.headers(1, .block(.get, .http, .root, .authority(), .field(":x", "1"))),
            expect: .malformed(1)
        )
        table.add(
            "a response's pseudo-header field is malformed",
            Frame.headers(1, .block(.get, .http, .root, .authority(), .indexed(8))),
            expect: .malformed(1)
        )
        table.add(
            "a pseudo-header field without a name is malformed",
            Frame.headers(1, .block(.get, .http, .root, .authority(), .field(":", "1"))),
            expect: .malformed(1)
        )
        table.add(
            "an uppercase pseudo-header field is malformed",
            Frame.headers(1, .block(.field(":Method", "GET"), .http, .root, .authority())),
            expect: .malformed(1)
        )
        let parts: [(String, FieldBlock)] = [
            ("method", .get), ("scheme", .http), ("path", .root), ("authority", .authority()),
        ]
        for (name, part) in parts {
            table.add(
                "a second :\(name) is malformed",
                Frame.headers(1, .block(.get, .http, .root, .authority(), part)),
                expect: .malformed(1)
            )
        }
        table.add(
            ":protocol without the setting is malformed",
            Frame.headers(1, .block(.get, .http, .root, .authority(), .field(":protocol", "websocket"))),
            expect: .malformed(1)
        )
        table.add(
            "pseudo-header fields may come in any order",
            Frame.headers(1, .block(.authority(), .root, .http, .get)),
            expect: .ok(1)
        )
        return table.cases
    }

    private static func requestCases() -> [HTTP2Case] {
        var table = CaseTable("9113 §8.3.1")
        func request(_ parts: FieldBlock...) -> [UInt8] { Frame.headers(1, FieldBlock(parts.flatMap(\.bytes))) }
        table.add("a request without :method is malformed", request(.http, .root, .authority()), expect: .malformed(1))
        table.add("a request without :scheme is malformed", request(.get, .root, .authority()), expect: .malformed(1))
        table.add("a request without :path is malformed", request(.get, .http, .authority()), expect: .malformed(1))
        table.add("an empty block is malformed", request(), expect: .malformed(1), note: emptyFragment)
        table.add("an empty :path is malformed", request(.get, .http, .path(""), .authority()), expect: .malformed(1))
        table.add(
            "an empty :method is malformed",
            request(.field(2, ""), .http, .root, .authority()),
            expect: .malformed(1)
        )
        table.add(
            "a :method with a blank is malformed",
            request(.field(2, "GET /x"), .http, .root, .authority()),
            expect: .malformed(1)
        )
        table.add(
            "a :path with a line break is malformed",
            request(.get, .http, .path("/ HTTP/1.1\r\nx: y"), .authority()),
            expect: .malformed(1)
        )
        table.add(
            "a :path with a blank is malformed",
            request(.get, .http, .path("/a b"), .authority()),
            expect: .malformed(1)
        )
        table.add(
            "a :path with NUL is malformed",
            request(.get, .http, .path("/a\0b"), .authority()),
            expect: .malformed(1)
        )
        table.add(
            "a :authority with user information is malformed",
            request(.get, .http, .root, .authority("user@a.example")),
            expect: .malformed(1),
            note: "It must not be there for http and https, and an origin could take it for the host."
        )
        table.add(
            "a :authority with a line break is malformed",
            request(.get, .http, .root, .authority("a.example\r\nx: y")),
            expect: .malformed(1)
        )
        table.add(
            "a :scheme with a line break is malformed",
            request(.get, .field(6, "http\r\n"), .root, .authority()),
            expect: .malformed(1)
        )
        table.add(
            "'*' is malformed but for OPTIONS",
            request(.get, .http, .path("*"), .authority()),
            expect: .malformed(1)
        )
        table.add(
            "OPTIONS of '*' is no error",
            request(.field(2, "OPTIONS"), .http, .path("*"), .authority()),
            expect: .response(1, [200, 204, 400, 404, 405, 501])
        )
        table.add(
            "a Host without :authority is accepted",
            request(.get, .http, .root, .field(38, "a.example")),
            expect: .ok(1)
        )
        table.add(
            "a Host equal to :authority is accepted",
            request(.get, .http, .root, .authority(), .field(38, "a.example")),
            expect: .ok(1)
        )
        table.add(
            "a Host that differs from :authority is malformed",
            request(.get, .http, .root, .authority(), .field(38, "b.example")),
            expect: .malformed(1)
        )
        table.add(
            "a :path with a query is accepted",
            request(.get, .http, .path("/?a=b&c"), .authority()),
            expect: .ok(1)
        )
        table.add(
            "a port in :authority is accepted",
            request(.get, .http, .root, .authority("a.example:8080")),
            expect: .ok(1)
        )
        table.add(
            "an IPv6 address in :authority is accepted",
            request(.get, .http, .root, .authority("[::1]:8080")),
            expect: .ok(1)
        )
        return table.cases
    }

    private static func connectCases() -> [HTTP2Case] {
        var table = CaseTable("9113 §8.5")
        let connect = FieldBlock.field(2, "CONNECT")
        func request(_ parts: FieldBlock...) -> [UInt8] {
            Frame.headers(1, FieldBlock(parts.flatMap(\.bytes)), ends: false)
        }
        table.add(
            "CONNECT with :path is malformed",
            request(connect, .root, .authority("a.example:80")),
            expect: .malformed(1)
        )
        table.add(
            "CONNECT with :scheme is malformed",
            request(connect, .http, .authority("a.example:80")),
            expect: .malformed(1)
        )
        table.add("CONNECT without :authority is malformed", request(connect), expect: .malformed(1))
        return table.cases
    }
}
