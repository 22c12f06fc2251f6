// RFC 9113 §4: heads of frames, sizes, field blocks.

extension HTTP2Cases {
    static func frameCases() -> [HTTP2Case] { headCases() + sizeCases() + blockCases() }

    private static func headCases() -> [HTTP2Case] {
        var table = CaseTable("9113 §4.1")
        table.add(
            "unknown flags of PING are ignored",
            Frame.ping("flagged.", flags: 0xFE),
            expect: .pingAck("flagged.")
        )
        table.add(
            "the reserved bit of stream 0 is ignored",
            Frame.ping("reserved", on: 0x8000_0000),
            expect: .pingAck("reserved")
        )
        table.add(
            "the reserved bit of a request's stream is ignored",
            Frame.headers(0x8000_0001, .get()),
            expect: .ok(1)
        )
        table.add("unknown flags of HEADERS are ignored", Frame.headers(1, .get(), flags: 0xD2), expect: .ok(1))
        table.add(
            "unknown flags of DATA are ignored",
            Frame.headers(1, .post(), ends: false),
            Frame.data(1, "abc", ends: true, flags: 0xF6),
            expect: .ok(1)
        )
        table.add("unknown flags of SETTINGS are ignored", Frame.settings(flags: 0xFE), expect: .settingsAcks(2))
        table.add(
            "unknown flags of WINDOW_UPDATE are ignored",
            Frame.frame(FrameType.windowUpdate, flags: 0xFF, on: 0, Frame.number(1)),
            expect: .usable
        )
        return table.cases
    }

    private static func sizeCases() -> [HTTP2Case] {
        var table = CaseTable("9113 §4.2")
        let large = [UInt8](repeating: 0x61, count: 16_385)
        table.add(
            "a frame of 16,384 bytes is accepted",
            Frame.headers(1, .post(), ends: false),
            Frame.data(1, Array(large.dropLast()), ends: true),
            expect: .ok(1)
        )
        table.add(
            "an unknown frame of 16,384 bytes is ignored",
            Frame.frame(FrameType.unknown, on: 0, Array(large.dropLast())),
            expect: .usable
        )
        table.add(
            "a larger DATA frame is an error",
            Frame.headers(1, .post(), ends: false),
            Frame.data(1, large),
            expect: .streamError(1, .frameSizeError)
        )
        table.add(
            "a larger HEADERS frame is an error of the connection",
            Frame.headers(1, FieldBlock(large)),
            expect: .connectionError(.frameSizeError)
        )
        table.add(
            "a larger CONTINUATION frame is an error of the connection",
            Frame.headers(1, .get(), endsBlock: false),
            // 16,385 bytes.
            Frame.continuation(1, .field("x-large", String(repeating: "a", count: 16_373))),
            expect: .connectionError(.frameSizeError),
            defect: .always("CONTINUATION of any size is accepted, up to the limit of the fields.")
        )
        table.add(
            "larger SETTINGS are an error of the connection",
            Frame.frame(FrameType.settings, on: 0, [UInt8](repeating: 0xF1, count: 6 * 2_731)),
            expect: .connectionError(.frameSizeError)
        )
        table.add(
            "a larger unknown frame is an error",
            Frame.frame(FrameType.unknown, on: 0, large),
            expect: .connectionError(.frameSizeError)
        )
        return table.cases
    }

    private static func blockCases() -> [HTTP2Case] {
        var table = CaseTable("9113 §4.3")
        let intruders: [(String, [UInt8])] = [
            ("PRIORITY", Frame.priority(1)), ("HEADERS of another stream", Frame.headers(3, .get())),
            ("SETTINGS", Frame.settings()), ("PING", Frame.ping("intruder")), ("DATA", Frame.data(1, "a")),
            ("WINDOW_UPDATE", Frame.windowUpdate(0, 1)), ("RST_STREAM", Frame.resetStream(1)),
        ]
        for (name, frame) in intruders {
            table.add(
                "\(name) within a field block is an error",
                Frame.headers(1, .get(), endsBlock: false),
                frame,
                expect: .connectionError(.protocolError)
            )
        }
        let named = FieldBlock.block(.get(), .field("x-kept", "1", .incremental))
        table.add(
            "a second request uses the table of the first",
            Frame.headers(1, named),
            Frame.headers(3, .get("/", .indexed(62))),
            expect: .ok(1, 3)
        )
        table.add(
            "the block of a malformed request changes the table",
            Frame.headers(1, .get("/", .field("X-Upper", "1", .incremental), .field("x-kept", "1", .incremental))),
            Frame.headers(3, .get("/", .indexed(62))),
            expect: .all([.malformed(1), .response(3, [200])])
        )
        table.add(
            "the block of a trailer section changes the table",
            Frame.headers(1, .post(), ends: false),
            Frame.headers(1, .field("x-kept", "1", .incremental)),
            Frame.headers(3, .get("/", .indexed(62))),
            expect: .ok(1, 3)
        )
        return table.cases
    }
}
