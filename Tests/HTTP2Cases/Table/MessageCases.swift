// RFC 9113 §8.1: requests, trailer sections, lengths.

extension HTTP2Cases {
    static func messageCases() -> [HTTP2Case] { framingCases() + lengthCases() }

    private static func framingCases() -> [HTTP2Case] {
        var table = CaseTable("9113 §8.1")
        let head = Frame.headers(1, .post(), ends: false)
        let content = Frame.data(1, "abc")
        table.add("a GET is served", Frame.headers(1, .get()), expect: .content(1, 16))
        table.add("a POST is served", head, Frame.data(1, "abc", ends: true), expect: .ok(1))
        table.add(
            "a HEAD gets no content",
            Frame.headers(1, .block(.field(2, "HEAD"), .http, .root, .authority())),
            expect: .content(1, 0)
        )
        table.add(
            "a trailer section ends a request",
            head,
            content,
            Frame.headers(1, .field("x-sum", "1")),
            expect: .ok(1)
        )
        table.add(
            "a trailer section may follow without content",
            head,
            Frame.headers(1, .field("x-sum", "1")),
            expect: .ok(1)
        )
        table.add(
            "a trailer section may be empty",
            head,
            content,
            Frame.headers(1, FieldBlock()),
            expect: .ok(1),
            note: emptyFragment
        )
        table.add(
            "a second HEADERS frame that does not end the stream is malformed",
            head,
            content,
            Frame.headers(1, .field("x-sum", "1"), ends: false),
            expect: .malformed(1)
        )
        table.add("a second request on the stream is malformed", head, Frame.headers(1, .get()), expect: .malformed(1))
        table.add(
            "a pseudo-header field in a trailer section is malformed",
            head,
            content,
            Frame.headers(1, .block(.field("x-sum", "1"), .get)),
            expect: .malformed(1)
        )
        table.add(
            "an uppercase name in a trailer section is malformed",
            head,
            content,
            Frame.headers(1, .field("X-Sum", "1")),
            expect: .malformed(1)
        )
        table.add(
            "a connection field in a trailer section is malformed",
            head,
            content,
            Frame.headers(1, .field("connection", "x-sum")),
            expect: .malformed(1)
        )
        table.add(
            "a line break in a trailer section is malformed",
            head,
            content,
            Frame.headers(1, .field("x-sum", "1\r\nx-more: 2")),
            expect: .malformed(1)
        )
        table.add(
            "DATA after a trailer section is an error",
            head,
            Frame.headers(1, .field("x-sum", "1")),
            Frame.data(1, "abc"),
            opening: noWindow,
            expect: .streamError(1, .streamClosed)
        )
        return table.cases
    }

    private static func lengthCases() -> [HTTP2Case] {
        var table = CaseTable("9113 §8.1.1")
        func post(_ length: String) -> [UInt8] { Frame.headers(1, .post(length: length), ends: false) }
        table.add("content as long as stated is accepted", post("3"), Frame.data(1, "abc", ends: true), expect: .ok(1))
        table.add(
            "content as long as stated may come in frames",
            post("6"),
            Frame.data(1, "abc"),
            Frame.data(1, "def", ends: true),
            expect: .ok(1)
        )
        table.add("a length of 0 is accepted", Frame.headers(1, .post(length: "0")), expect: .ok(1))
        table.add("a length of 0 with empty DATA is accepted", post("0"), Frame.data(1, "", ends: true), expect: .ok(1))
        table.add(
            "a length with a trailer section is accepted",
            post("3"),
            Frame.data(1, "abc"),
            Frame.headers(1, .field("x-sum", "1")),
            expect: .ok(1)
        )
        table.add(
            "more content than stated is malformed",
            post("3"),
            Frame.data(1, "abcd", ends: true),
            expect: .malformed(1)
        )
        table.add(
            "less content than stated is malformed",
            post("4"),
            Frame.data(1, "abc", ends: true),
            expect: .malformed(1)
        )
        table.add(
            "no content although some is stated is malformed",
            Frame.headers(1, .post(length: "1")),
            expect: .malformed(1)
        )
        table.add(
            "more content in a second frame is malformed",
            post("3"),
            Frame.data(1, "abc"),
            Frame.data(1, "d", ends: true),
            expect: .malformed(1)
        )
        table.add(
            "content although 0 is stated is malformed",
            post("0"),
            Frame.data(1, "a", ends: true),
            expect: .malformed(1)
        )
        table.add(
            "less content before a trailer section is malformed",
            post("4"),
            Frame.data(1, "abc"),
            Frame.headers(1, .field("x-sum", "1")),
            expect: .malformed(1)
        )
        table.add(
            "two lengths that differ are malformed",
            Frame.headers(1, .post(.field(28, "3"), .field(28, "4")), ends: false),
            Frame.data(1, "abc", ends: true),
            expect: .malformed(1)
        )
        table.add(
            "a GET that states content and has none is malformed",
            Frame.headers(1, .get("/", .field(28, "3"))),
            expect: .malformed(1)
        )
        table.add(
            "padding does not count as content",
            post("3"),
            Frame.data(1, Frame.padded(Array("abc".utf8), by: 4), ends: true, flags: FrameFlag.padded),
            expect: .ok(1)
        )
        table.add(
            "padding does not make up for content",
            post("8"),
            Frame.data(1, Frame.padded(Array("abc".utf8), by: 4), ends: true, flags: FrameFlag.padded),
            expect: .malformed(1)
        )
        return table.cases
    }
}
