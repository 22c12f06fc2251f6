// RFC 9113 §3 and §5.5: how a connection begins, and what extends it.

extension HTTP2Cases {
    static func connectionCases() -> [HTTP2Case] { prefaceCases() + extensionCases() }

    private static func prefaceCases() -> [HTTP2Case] {
        var table = CaseTable("9113 §3.4")
        let settings = Frame.settings()
        table.add(
            "preface and SETTINGS are acknowledged",
            Frame.preface,
            settings,
            opening: .none,
            expect: .settingsAcks(1)
        )
        table.add(
            "SETTINGS of the preface may have entries",
            Frame.preface,
            Frame.settings((Setting.enablePush, 0), (Setting.maxConcurrentStreams, 100)),
            opening: .none,
            expect: .settingsAcks(1)
        )
        table.add(
            "a request may come before the server's SETTINGS",
            Frame.preface,
            settings,
            Frame.headers(1, .get()),
            opening: .none,
            expect: .ok(1)
        )
        table.add(
            "a wrong preface ends the connection",
            Array("PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n".utf8),
            settings,
            opening: .none,
            expect: .end
        )
        table.add(
            "a preface with another version ends the connection",
            Array("PRI * HTTP/2.1\r\n\r\nSM\r\n\r\n".utf8),
            settings,
            opening: .none,
            expect: .end
        )
        let first: [(String, [UInt8])] = [
            ("PING", Frame.ping("too soon")), ("HEADERS", Frame.headers(1, .get())),
            ("WINDOW_UPDATE", Frame.windowUpdate(0, 1)), ("SETTINGS with ACK", Frame.settingsAck),
            ("an unknown frame", Frame.frame(FrameType.unknown, on: 0)),
        ]
        for (name, frame) in first {
            table.add(
                "\(name) as the first frame is an error",
                Frame.preface,
                frame,
                opening: .none,
                expect: .connectionError(.protocolError)
            )
        }
        table.add(
            "a second preface is an error",
            Frame.preface,
            expect: .connectionError(.frameSizeError, .protocolError)
        )
        return table.cases
    }

    private static func extensionCases() -> [HTTP2Case] {
        var table = CaseTable("9113 §5.5")
        table.add(
            "an unknown frame of the connection is ignored",
            Frame.frame(FrameType.unknown, on: 0, [1, 2, 3]),
            expect: .usable
        )
        table.add(
            "an unknown frame on an idle stream is ignored",
            Frame.frame(FrameType.unknown, flags: 0xFF, on: 1, [1]),
            expect: .usable
        )
        table.add(
            "an unknown frame within a request is ignored",
            Frame.headers(1, .post(), ends: false),
            Frame.frame(FrameType.unknown, flags: 0xFF, on: 1, [1]),
            Frame.data(1, "abc", ends: true),
            expect: .ok(1)
        )
        table.add(
            "an unknown frame within a field block is an error",
            Frame.headers(1, .get(), endsBlock: false),
            Frame.frame(FrameType.unknown, on: 1, [1]),
            expect: .connectionError(.protocolError)
        )
        table.add("an unknown setting is ignored", Frame.settings((Setting.unknown, 7)), expect: .settingsAcks(2))
        return table.cases
    }
}
