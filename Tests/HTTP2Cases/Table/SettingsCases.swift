// RFC 9113 §6.5, RFC 9218 §2.1: SETTINGS.

extension HTTP2Cases {
    static func settingsCases() -> [HTTP2Case] { formatCases() + valueCases() }

    private static func formatCases() -> [HTTP2Case] {
        var table = CaseTable("9113 §6.5")
        table.add("empty SETTINGS are acknowledged", Frame.settings(), expect: .settingsAcks(2))
        table.add(
            "each SETTINGS is acknowledged",
            Frame.settings(),
            Frame.settings((Setting.enablePush, 0)),
            Frame.settings(),
            expect: .settingsAcks(4)
        )
        table.add(
            "an acknowledgement with a payload is an error",
            Frame.settings((Setting.enablePush, 0), flags: FrameFlag.ack),
            expect: .connectionError(.frameSizeError)
        )
        table.add(
            "SETTINGS on a stream are an error",
            Frame.headers(1, .post(), ends: false),
            Frame.frame(FrameType.settings, on: 1),
            expect: .connectionError(.protocolError)
        )
        table.add(
            "SETTINGS on an idle stream are an error",
            Frame.frame(FrameType.settings, on: 1),
            expect: .connectionError(.protocolError)
        )
        for length in [3, 5, 7] {
            table.add(
                "SETTINGS of \(length) bytes are an error",
                Frame.frame(FrameType.settings, on: 0, [UInt8](repeating: 0, count: length)),
                expect: .connectionError(.frameSizeError)
            )
        }
        table.add(
            "the last value of a parameter counts",
            Frame.settings((Setting.initialWindowSize, 0), (Setting.initialWindowSize, 100)),
            Frame.headers(1, .get()),
            expect: .content(1, 16)
        )
        return table.cases
    }

    private static func valueCases() -> [HTTP2Case] {
        var table = CaseTable("9113 §6.5.2")
        let refused: [(String, UInt16, UInt32, ErrorCode)] = [
            ("ENABLE_PUSH 2", Setting.enablePush, 2, .protocolError),
            ("INITIAL_WINDOW_SIZE 2^31", Setting.initialWindowSize, 0x8000_0000, .flowControlError),
            ("INITIAL_WINDOW_SIZE 2^32-1", Setting.initialWindowSize, 0xFFFF_FFFF, .flowControlError),
            ("MAX_FRAME_SIZE 0", Setting.maxFrameSize, 0, .protocolError),
            ("MAX_FRAME_SIZE 16,383", Setting.maxFrameSize, 16_383, .protocolError),
            ("MAX_FRAME_SIZE 2^24", Setting.maxFrameSize, 1 << 24, .protocolError),
        ]
        for (name, id, value, code) in refused {
            table.add("\(name) is an error", Frame.settings((id, value)), expect: .connectionError([code]))
        }
        let accepted: [(String, UInt16, UInt32)] = [
            ("ENABLE_PUSH 0", Setting.enablePush, 0), ("ENABLE_PUSH 1", Setting.enablePush, 1),
            ("INITIAL_WINDOW_SIZE 2^31-1", Setting.initialWindowSize, 0x7FFF_FFFF),
            ("MAX_FRAME_SIZE 16,384", Setting.maxFrameSize, 16_384),
            ("MAX_FRAME_SIZE 2^24-1", Setting.maxFrameSize, 1 << 24 - 1),
            ("MAX_CONCURRENT_STREAMS 0", Setting.maxConcurrentStreams, 0),
            ("HEADER_TABLE_SIZE 0", Setting.headerTableSize, 0),
            ("HEADER_TABLE_SIZE 2^32-1", Setting.headerTableSize, .max),
            ("MAX_HEADER_LIST_SIZE 2^32-1", Setting.maxHeaderListSize, .max),
        ]
        for (name, id, value) in accepted {
            table.add(
                "\(name) is accepted",
                Frame.settings((id, value)),
                Frame.headers(1, .get()),
                expect: .all([.settingsAcks(2), .response(1, [200])])
            )
        }
        var priorities = CaseTable("9218 §2.1")
        priorities.add(
            "NO_RFC7540_PRIORITIES 1 is accepted",
            Frame.preface,
            Frame.settings((Setting.noRFC7540Priorities, 1)),
            opening: .none,
            expect: .settingsAcks(1)
        )
        priorities.add(
            "NO_RFC7540_PRIORITIES 2 is an error",
            Frame.preface,
            Frame.settings((Setting.noRFC7540Priorities, 2)),
            opening: .none,
            expect: .connectionError(.protocolError),
            note:
                "Who knows the setting must refuse other values than 0 and 1; who does not, ignores it (RFC 9113 §6.5.2)."
        )
        return table.cases + priorities.cases
    }
}
