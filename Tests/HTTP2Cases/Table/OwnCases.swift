// Where the RFC leaves it to the server, Holdfast judges as for HTTP/1, and keeps the limits of
// docs/limits.md.

extension HTTP2Cases {
    /// The section of these cases.
    package static let own = "Holdfast"

    static func ownCases() -> [HTTP2Case] {
        var table = CaseTable(own)
        func request(_ parts: FieldBlock...) -> [UInt8] { Frame.headers(1, FieldBlock(parts.flatMap(\.bytes))) }
        func post(_ length: String) -> [UInt8] {
            Frame.headers(1, .post(length: length), ends: false) + Frame.data(1, "abcdef", ends: true)
        }
        for length in ["+6", "-6", "6.0", "0x6", "6, 7", "", "99999999999999999999"] {
            table.add("'content-length: \(length)' is refused", post(length), expect: .malformed(1))
        }
        table.add(
            "a :path without a slash is refused",
            request(.get, .http, .path("x"), .authority()),
            expect: .malformed(1)
        )
        table.add(
            "a :path that is a URI is refused",
            request(.get, .http, .path("http://b.example/"), .authority()),
            expect: .malformed(1)
        )
        table.add(
            "a Host that differs from :authority is refused with 400",
            request(.get, .http, .root, .authority(), .field(38, "b.example")),
            expect: .response(1, [400])
        )
        table.add(
            "a Host with another port is refused with 400",
            request(.get, .http, .root, .authority("a.example:80"), .field(38, "a.example:81")),
            expect: .response(1, [400])
        )
        table.add(
            "a second Host is refused",
            request(.get, .http, .root, .field(38, "a.example"), .field(38, "a.example")),
            expect: .malformed(1)
        )
        table.add("a request without authority is refused", request(.get, .http, .root), expect: .malformed(1))
        table.add("an empty :authority is refused", request(.get, .http, .root, .authority("")), expect: .malformed(1))
        table.add(
            "a :scheme that is not HTTP is refused",
            request(.get, .field(6, "ftp"), .root, .authority()),
            expect: .malformed(1)
        )
        table.add(
            "CONNECT gets 501",
            Frame.headers(1, .block(.field(2, "CONNECT"), .authority("a.example:80")), ends: false),
            expect: .response(1, [501])
        )
        table.add(
            "a path of more than 8 KiB gets 414",
            request(.get, .http, .path("/" + String(repeating: "a", count: 8_192)), .authority()),
            expect: .response(1, [414])
        )
        table.add(
            "more than 128 fields get 431",
            Frame.headers(1, .get("/", .repeated(.field("x", "1"), 129))),
            expect: .response(1, [431])
        )
        table.add(
            "as many as 128 fields are accepted",
            Frame.headers(1, .get("/", .repeated(.field("x", "1"), 128))),
            expect: .ok(1)
        )
        table.add("fields of more than 64 KiB get 431", largeFields(1), expect: .response(1, [431]))
        table.add(
            "a request that is too large changes the table",
            Frame.headers(1, .get("/", .repeated(.field("x", "1"), 129), .field("x-kept", "1", .incremental))),
            Frame.headers(3, .get("/", .indexed(62))),
            expect: .all([.response(1, [431]), .response(3, [200])])
        )
        table.add(
            "fields that grow without end are refused",
            Frame.headers(
                1,
                .get(
                    "/",
                    .field("x-bomb", String(repeating: "a", count: 3_000), .incremental),
                    .repeated(.indexed(62), 10_000)
                )
            ),
            expect: .either([.response(1, [431]), .connectionError(.enhanceYourCalm)])
        )
        table.add(
            "CONTINUATION without end is refused",
            Frame.headers(1, .get(), endsBlock: false),
            (0..<2_000).flatMap { _ in Frame.continuation(1, FieldBlock(), endsBlock: false) },
            expect: .connectionError(.enhanceYourCalm, .protocolError, .internalError)
        )
        table.add(
            "an expectation that is unknown gets 417",
            Frame.headers(1, .post(.field("expect", "more"))),
            expect: .response(1, [417])
        )
        table.add(
            "a :method in lowercase is forwarded",
            request(.field(2, "get"), .http, .root, .authority()),
            expect: .response(1, [200, 400, 405])
        )
        return table.cases
    }

    /// A request of 65 fields with 1 KiB, in frames of 16 KiB.
    private static func largeFields(_ stream: UInt32) -> [UInt8] {
        let field = FieldBlock.field("x-large", String(repeating: "a", count: 1_024))
        var rest = FieldBlock.get("/", .repeated(field, 65)).bytes[...]
        var frames = Frame.headers(stream, FieldBlock(Array(rest.prefix(16_384))), endsBlock: false)
        rest = rest.dropFirst(16_384)
        while !rest.isEmpty {
            let piece = FieldBlock(Array(rest.prefix(16_384)))
            rest = rest.dropFirst(16_384)
            frames += Frame.continuation(stream, piece, endsBlock: rest.isEmpty)
        }
        return frames
    }
}
