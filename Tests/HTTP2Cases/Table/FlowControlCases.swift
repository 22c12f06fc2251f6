// RFC 9113 §6.9: windows. The client counts them: content beyond a window fails any case.

extension HTTP2Cases {
    static func flowControlCases() -> [HTTP2Case] { updateCases() + windowCases() + initialWindowCases() }

    private static let largest: UInt32 = 0x7FFF_FFFF

    private static func window(_ size: UInt32) -> HTTP2Case.Opening { .settings([(Setting.initialWindowSize, size)]) }

    private static func updateCases() -> [HTTP2Case] {
        var table = CaseTable("9113 §6.9")
        let head = Frame.headers(1, .post(), ends: false)
        table.add(
            "an increment of 0 for the connection is an error",
            Frame.windowUpdate(0, 0),
            expect: .connectionError(.protocolError)
        )
        table.add(
            "an increment of 0 for a stream is an error",
            head,
            Frame.windowUpdate(1, 0),
            expect: .streamError(1, .protocolError)
        )
        table.add(
            "WINDOW_UPDATE of three bytes is an error",
            Frame.frame(FrameType.windowUpdate, on: 0, [0, 0, 1]),
            expect: .connectionError(.frameSizeError)
        )
        table.add(
            "WINDOW_UPDATE of five bytes is an error",
            Frame.frame(FrameType.windowUpdate, on: 0, [0, 0, 0, 1, 0]),
            expect: .connectionError(.frameSizeError)
        )
        table.add(
            "WINDOW_UPDATE of three bytes on a stream is an error",
            head,
            Frame.frame(FrameType.windowUpdate, on: 1, [0, 0, 1]),
            expect: .connectionError(.frameSizeError)
        )
        table.add("the reserved bit of an increment is ignored", Frame.windowUpdate(0, 0x8000_0001), expect: .usable)
        table.add(
            "an increment of 0 with the reserved bit is an error",
            Frame.windowUpdate(0, 0x8000_0000),
            expect: .connectionError(.protocolError)
        )
        return table.cases
    }

    private static func windowCases() -> [HTTP2Case] {
        var table = CaseTable("9113 §6.9.1")
        let get = Frame.headers(1, .get())
        let head = Frame.headers(1, .post(), ends: false)
        table.add(
            "content stays in a window of one byte",
            [.send(get), .content(1, 1), .send(Frame.windowUpdate(1, 100))],
            opening: window(1),
            expect: .content(1, 16)
        )
        table.add(
            "content waits for a window of nothing",
            [
                .send(get), .head(1), .send(Frame.ping("no data!")), .await { $0.pings.contains("no data!") },
                .send(Frame.windowUpdate(1, 100)),
            ],
            opening: window(0),
            expect: .content(1, 16)
        )
        table.add(
            "a window may open byte by byte",
            [.send(get), .content(1, 1)] + (2...8).flatMap { [.send(Frame.windowUpdate(1, 1)), .content(1, $0)] } + [
                .send(Frame.windowUpdate(1, 100))
            ],
            opening: window(1),
            expect: .content(1, 16)
        )
        table.add(
            "content that fills its window ends the response",
            [.send(get), .content(1, 1), .send(Frame.windowUpdate(1, 15))],
            opening: window(1),
            expect: .content(1, 16)
        )
        table.add(
            "a response without content needs no window",
            Frame.headers(1, .block(.field(2, "HEAD"), .http, .root, .authority())),
            opening: window(0),
            expect: .content(1, 0)
        )
        table.add(
            "content stays in the window of the connection",
            [.send(Frame.headers(1, .get("/large"))), .content(1, 65_535), .send(Frame.windowUpdate(0, 100_000))],
            opening: window(largest),
            expect: .content(1, 100_000)
        )
        table.add(
            "the largest window of the connection is accepted",
            Frame.windowUpdate(0, largest - 65_535),
            expect: .usable
        )
        table.add(
            "a window of the connection beyond 2^31-1 is an error",
            Frame.windowUpdate(0, largest),
            expect: .connectionError(.flowControlError)
        )
        table.add(
            "updates that exceed 2^31-1 together are an error",
            Frame.windowUpdate(0, largest - 65_535),
            Frame.windowUpdate(0, 1),
            expect: .connectionError(.flowControlError)
        )
        table.add(
            "the largest window of a stream is accepted",
            head,
            Frame.windowUpdate(1, largest - 65_535),
            Frame.data(1, "a", ends: true),
            expect: .ok(1)
        )
        table.add(
            "a window of a stream beyond 2^31-1 is an error",
            head,
            Frame.windowUpdate(1, largest),
            expect: .streamError(1, .flowControlError)
        )
        return table.cases
    }

    private static func initialWindowCases() -> [HTTP2Case] {
        var table = CaseTable("9113 §6.9.2")
        let get = Frame.headers(1, .get())
        table.add(
            "a larger initial window opens streams",
            [.send(get), .head(1), .send(Frame.settings((Setting.initialWindowSize, 100)))],
            opening: window(0),
            expect: .content(1, 16)
        )
        table.add(
            "a smaller initial window makes a window negative",
            [
                .send(get), .content(1, 10), .send(Frame.settings((Setting.initialWindowSize, 5))), .settingsAcks(2),
                .send(Frame.windowUpdate(1, 5)), .send(Frame.ping("no data!")),
                .await { $0.pings.contains("no data!") },
                .send(Frame.windowUpdate(1, 100)),
            ],
            opening: window(10),
            expect: .content(1, 16)
        )
        table.add(
            "an initial window of nothing stops a stream",
            [
                .send(get), .content(1, 4), .send(Frame.settings((Setting.initialWindowSize, 0))), .settingsAcks(2),
                .send(Frame.settings((Setting.initialWindowSize, 100))),
            ],
            opening: window(4),
            expect: .content(1, 16)
        )
        table.add(
            "the initial window does not change that of the connection",
            [
                .send(Frame.headers(1, .get("/large"))), .content(1, 65_535),
                .send(Frame.settings((Setting.initialWindowSize, 200_000))), .settingsAcks(2),
                .send(Frame.ping("no data!")), .await { $0.pings.contains("no data!") },
                .send(Frame.windowUpdate(0, 100_000)),
            ],
            opening: window(100_000),
            expect: .content(1, 100_000)
        )
        table.add(
            "an initial window that exceeds 2^31-1 with an update is an error",
            Frame.headers(1, .post(), ends: false),
            Frame.windowUpdate(1, largest - 65_535),
            Frame.settings((Setting.initialWindowSize, 65_536)),
            expect: .connectionError(.flowControlError),
            note: "Such SETTINGS are an error of the connection; RST_STREAM is for WINDOW_UPDATE alone (§6.9.1).",
            defect: .always("The stream gets RST_STREAM FLOW_CONTROL_ERROR, and the connection goes on.")
        )
        return table.cases
    }
}
