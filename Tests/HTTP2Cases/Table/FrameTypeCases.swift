// RFC 9113 §6.1 to §6.4, §6.6 to §6.8 and §6.10: the frames but SETTINGS and WINDOW_UPDATE.

extension HTTP2Cases {
    static func frameTypeCases() -> [HTTP2Case] {
        dataCases() + headersCases() + priorityCases() + resetCases() + pushCases() + pingCases() + goAwayCases()
            + continuationCases() + errorCodeCases()
    }

    private static func dataCases() -> [HTTP2Case] {
        var table = CaseTable("9113 §6.1")
        let head = Frame.headers(1, .post(), ends: false)
        table.add("DATA on stream 0 is an error", Frame.data(0, "a"), expect: .connectionError(.protocolError))
        table.add(
            "padding is dropped",
            Frame.headers(1, .post(length: "3"), ends: false),
            Frame.data(1, Frame.padded([1, 2, 3], by: 6), ends: true, flags: FrameFlag.padded),
            expect: .ok(1)
        )
        table.add(
            "a frame may be all padding",
            head,
            Frame.data(1, Frame.padded([], by: 5), ends: true, flags: FrameFlag.padded),
            expect: .ok(1)
        )
        table.add(
            "padding may have no bytes",
            head,
            Frame.data(1, [0, 0x61], ends: true, flags: FrameFlag.padded),
            expect: .ok(1)
        )
        table.add(
            "padding as long as the payload is an error",
            head,
            Frame.data(1, [4, 0, 0, 0], flags: FrameFlag.padded),
            expect: .connectionError(.protocolError)
        )
        table.add(
            "padding longer than the payload is an error",
            head,
            Frame.data(1, [255, 0, 0], flags: FrameFlag.padded),
            expect: .connectionError(.protocolError)
        )
        table.add(
            "a padded frame without a pad length is an error",
            head,
            Frame.data(1, [], flags: FrameFlag.padded),
            expect: .connectionError(.frameSizeError, .protocolError)
        )
        table.add("empty DATA may end the request", head, Frame.data(1, "", ends: true), expect: .ok(1))
        table.add(
            "content may come in many frames",
            head,
            (0..<20).flatMap { _ in Frame.data(1, "a") },
            Frame.data(1, "", ends: true),
            expect: .ok(1)
        )
        return table.cases
    }

    private static func headersCases() -> [HTTP2Case] {
        var table = CaseTable("9113 §6.2")
        let block = FieldBlock.get().bytes
        func headers(_ flags: UInt8, _ payload: [UInt8], on stream: UInt32 = 1) -> [UInt8] {
            Frame.frame(
                FrameType.headers,
                flags: flags | FrameFlag.endHeaders | FrameFlag.endStream,
                on: stream,
                payload
            )
        }
        table.add(
            "HEADERS on stream 0 are an error",
            headers(0, block, on: 0),
            expect: .connectionError(.protocolError)
        )
        table.add("padding is dropped", headers(FrameFlag.padded, Frame.padded(block, by: 9)), expect: .ok(1))
        table.add(
            "a priority is accepted",
            headers(FrameFlag.priority, Frame.priorityFields(dependsOn: 0) + block),
            expect: .ok(1)
        )
        table.add(
            "padding and a priority are accepted together",
            headers(
                FrameFlag.priority | FrameFlag.padded,
                Frame.padded(Frame.priorityFields(dependsOn: 3) + block, by: 2)
            ),
            expect: .ok(1)
        )
        table.add(
            "padding as long as the payload is an error",
            headers(FrameFlag.padded, [UInt8(block.count + 1)] + block),
            expect: .connectionError(.protocolError)
        )
        table.add(
            "padding longer than the payload is an error",
            headers(FrameFlag.padded, [255] + block),
            expect: .connectionError(.protocolError)
        )
        table.add(
            "padding that reaches into the priority is an error",
            headers(FrameFlag.padded | FrameFlag.priority, [4, 0, 0, 0, 0, 0, 0, 0]),
            expect: .connectionError(.protocolError, .frameSizeError)
        )
        table.add(
            "a padded frame without a pad length is an error",
            headers(FrameFlag.padded, []),
            expect: .connectionError(.frameSizeError, .protocolError)
        )
        table.add(
            "a frame too short for its priority is an error",
            headers(FrameFlag.priority, [0, 0, 0]),
            expect: .connectionError(.frameSizeError, .protocolError)
        )
        // RFC 7540 §5.3.1 made it an error. RFC 9113 has no priorities to judge.
        table.add(
            "a stream that depends on itself does no harm",
            headers(FrameFlag.priority, Frame.priorityFields(dependsOn: 1) + block),
            expect: .either([.response(1, [200]), .streamError(1, .protocolError)])
        )
        return table.cases
    }

    private static func priorityCases() -> [HTTP2Case] {
        var table = CaseTable("9113 §6.3")
        table.add(
            "PRIORITY on stream 0 is an error",
            Frame.priority(0),
            expect: .connectionError(.protocolError),
            defect: .always("The frame is ignored, as all PRIORITY frames are.")
        )
        table.add(
            "PRIORITY of four bytes is an error",
            Frame.headers(1, .post(), ends: false),
            Frame.frame(FrameType.priority, on: 1, [0, 0, 0, 0]),
            expect: .streamError(1, .frameSizeError)
        )
        table.add(
            "PRIORITY of six bytes is an error",
            Frame.headers(1, .post(), ends: false),
            Frame.frame(FrameType.priority, on: 1, [0, 0, 0, 0, 0, 0]),
            expect: .streamError(1, .frameSizeError)
        )
        table.add(
            "PRIORITY within a request is accepted",
            Frame.headers(1, .post(), ends: false),
            Frame.priority(1, dependsOn: 7),
            Frame.data(1, "a", ends: true),
            expect: .ok(1)
        )
        table.add(
            "PRIORITY that depends on itself does no harm",
            Frame.priority(1, dependsOn: 1),
            expect: .either([.usable, .streamError(1, .protocolError), .connectionError(.protocolError)])
        )
        return table.cases
    }

    private static func resetCases() -> [HTTP2Case] {
        var table = CaseTable("9113 §6.4")
        let head = Frame.headers(1, .post(), ends: false)
        table.add("RST_STREAM on stream 0 is an error", Frame.resetStream(0), expect: .connectionError(.protocolError))
        table.add(
            "RST_STREAM of three bytes is an error",
            head,
            Frame.frame(FrameType.resetStream, on: 1, [0, 0, 8]),
            expect: .connectionError(.frameSizeError)
        )
        table.add(
            "RST_STREAM of five bytes is an error",
            head,
            Frame.frame(FrameType.resetStream, on: 1, [0, 0, 0, 8, 0]),
            expect: .connectionError(.frameSizeError)
        )
        table.add("RST_STREAM ends a request", head, Frame.resetStream(1), Frame.headers(3, .get()), expect: .ok(3))
        return table.cases
    }

    private static func pushCases() -> [HTTP2Case] {
        var table = CaseTable("9113 §6.6")
        let promise = Frame.frame(
            FrameType.pushPromise,
            flags: FrameFlag.endHeaders,
            on: 1,
            Frame.number(2) + FieldBlock.get().bytes
        )
        table.add(
            "a client's PUSH_PROMISE is an error",
            Frame.headers(1, .post(), ends: false),
            promise,
            expect: .connectionError(.protocolError)
        )
        table.add(
            "a client's PUSH_PROMISE on an idle stream is an error",
            promise,
            expect: .connectionError(.protocolError)
        )
        return table.cases
    }

    private static func pingCases() -> [HTTP2Case] {
        var table = CaseTable("9113 §6.7")
        table.add("PING is acknowledged with its payload", Frame.ping("12345678"), expect: .pingAck("12345678"))
        table.add(
            "each PING is acknowledged",
            Frame.ping("aaaaaaaa"),
            Frame.ping("bbbbbbbb"),
            expect: .all([.pingAck("aaaaaaaa"), .pingAck("bbbbbbbb")])
        )
        table.add(
            "an acknowledgement that was not asked for is ignored",
            Frame.ping("no ping!", flags: FrameFlag.ack),
            expect: .all([.usable, .not(.pingAck("no ping!"))])
        )
        table.add(
            "PING on a stream is an error",
            Frame.headers(1, .post(), ends: false),
            Frame.ping("12345678", on: 1),
            expect: .connectionError(.protocolError)
        )
        for length in [0, 7, 9] {
            table.add(
                "PING of \(length) bytes is an error",
                Frame.frame(FrameType.ping, on: 0, [UInt8](repeating: 0, count: length)),
                expect: .connectionError(.frameSizeError)
            )
        }
        return table.cases
    }

    private static func goAwayCases() -> [HTTP2Case] {
        var table = CaseTable("9113 §6.8")
        table.add(
            "requests under way are served after a client's GOAWAY",
            Frame.headers(1, .get()),
            Frame.goAway(),
            expect: .lastResponse(1, [200])
        )
        table.add(
            "a request goes on after a client's GOAWAY",
            Frame.headers(1, .post(), ends: false),
            Frame.goAway(debug: "no more pushes"),
            Frame.data(1, "abc", ends: true),
            expect: .lastResponse(1, [200])
        )
        table.add(
            "GOAWAY on a stream is an error",
            Frame.headers(1, .post(), ends: false),
            Frame.goAway(on: 1),
            expect: .connectionError(.protocolError)
        )
        table.add(
            "GOAWAY of seven bytes is an error",
            Frame.frame(FrameType.goAway, on: 0, [0, 0, 0, 0, 0, 0, 0]),
            expect: .connectionError(.frameSizeError)
        )
        return table.cases
    }

    private static func continuationCases() -> [HTTP2Case] {
        var table = CaseTable("9113 §6.10")
        let (first, rest) = FieldBlock.get().split(at: 2)
        let begun = Frame.headers(1, first, endsBlock: false)
        table.add("a block may go on in CONTINUATION", begun, Frame.continuation(1, rest), expect: .ok(1))
        table.add(
            "a block may be cut at every byte",
            Frame.headers(1, FieldBlock(), endsBlock: false),
            FieldBlock.get().bytes.dropLast(9).flatMap { Frame.continuation(1, FieldBlock([$0]), endsBlock: false) },
            Frame.continuation(1, FieldBlock(FieldBlock.get().bytes.suffix(9))),
            expect: .ok(1),
            note: emptyFragment
        )
        table.add(
            "CONTINUATION may be empty",
            begun,
            Frame.continuation(1, FieldBlock(), endsBlock: false),
            Frame.continuation(1, rest),
            expect: .ok(1)
        )
        table.add(
            "CONTINUATION after the end of a block is an error",
            Frame.headers(1, .post(), ends: false),
            Frame.continuation(1, rest),
            expect: .connectionError(.protocolError)
        )
        table.add(
            "CONTINUATION after a CONTINUATION that ends the block is an error",
            begun,
            Frame.continuation(1, rest),
            Frame.continuation(1, rest),
            expect: .connectionError(.protocolError, .streamClosed)
        )
        table.add(
            "CONTINUATION on stream 0 is an error",
            begun,
            Frame.continuation(0, rest),
            expect: .connectionError(.protocolError)
        )
        table.add(
            "CONTINUATION on another stream is an error",
            begun,
            Frame.continuation(3, rest),
            expect: .connectionError(.protocolError)
        )
        table.add(
            "CONTINUATION after DATA is an error",
            Frame.headers(1, .post(), ends: false),
            Frame.data(1, "a"),
            Frame.continuation(1, rest),
            expect: .connectionError(.protocolError)
        )
        table.add(
            "a trailer section may go on in CONTINUATION",
            Frame.headers(1, .post(), ends: false),
            Frame.headers(1, FieldBlock([0]), endsBlock: false),
            Frame.continuation(1, FieldBlock([1, 0x78, 1, 0x31])),
            expect: .ok(1)
        )
        return table.cases
    }

    static let emptyFragment =
        "A fragment of a field block may be empty: §6.2 states no least length, so that it is no FRAME_SIZE_ERROR."

    private static func errorCodeCases() -> [HTTP2Case] {
        var table = CaseTable("9113 §7")
        table.add(
            "RST_STREAM with an unknown code is accepted",
            Frame.headers(1, .post(), ends: false),
            Frame.resetStream(1, 0xFFFF_FFFF),
            Frame.headers(3, .get()),
            expect: .ok(3)
        )
        table.add(
            "GOAWAY with an unknown code is accepted",
            Frame.headers(1, .get()),
            Frame.goAway(0xFFFF_FFFF),
            expect: .lastResponse(1, [200])
        )
        return table.cases
    }
}
