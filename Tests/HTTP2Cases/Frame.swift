/// The types of frames. RFC 9113 §6
package enum FrameType {
    package static let data: UInt8 = 0
    package static let headers: UInt8 = 1
    package static let priority: UInt8 = 2
    package static let resetStream: UInt8 = 3
    package static let settings: UInt8 = 4
    package static let pushPromise: UInt8 = 5
    package static let ping: UInt8 = 6
    package static let goAway: UInt8 = 7
    package static let windowUpdate: UInt8 = 8
    package static let continuation: UInt8 = 9
    /// A type that no specification defines.
    package static let unknown: UInt8 = 0xF0
}

/// The flags of frames. RFC 9113 §6
package enum FrameFlag {
    package static let ack: UInt8 = 0x1
    package static let endStream: UInt8 = 0x1
    package static let endHeaders: UInt8 = 0x4
    package static let padded: UInt8 = 0x8
    package static let priority: UInt8 = 0x20
}

/// The error codes. RFC 9113 §7
package enum ErrorCode: UInt32, Sendable {
    case noError, protocolError, internalError, flowControlError, settingsTimeout, streamClosed, frameSizeError
    case refusedStream, cancel, compressionError, connectError, enhanceYourCalm, inadequateSecurity, http11Required

    /// Its name in RFC 9113; the number of a code that has none.
    package static func name(_ code: UInt32) -> String {
        switch ErrorCode(rawValue: code) {
        case .noError: "NO_ERROR"
        case .protocolError: "PROTOCOL_ERROR"
        case .internalError: "INTERNAL_ERROR"
        case .flowControlError: "FLOW_CONTROL_ERROR"
        case .settingsTimeout: "SETTINGS_TIMEOUT"
        case .streamClosed: "STREAM_CLOSED"
        case .frameSizeError: "FRAME_SIZE_ERROR"
        case .refusedStream: "REFUSED_STREAM"
        case .cancel: "CANCEL"
        case .compressionError: "COMPRESSION_ERROR"
        case .connectError: "CONNECT_ERROR"
        case .enhanceYourCalm: "ENHANCE_YOUR_CALM"
        case .inadequateSecurity: "INADEQUATE_SECURITY"
        case .http11Required: "HTTP_1_1_REQUIRED"
        case nil: "error \(code)"
        }
    }
}

/// The parameters of SETTINGS. RFC 9113 §6.5.2, RFC 8441 §3, RFC 9218 §2.1
package enum Setting {
    package static let headerTableSize: UInt16 = 1
    package static let enablePush: UInt16 = 2
    package static let maxConcurrentStreams: UInt16 = 3
    package static let initialWindowSize: UInt16 = 4
    package static let maxFrameSize: UInt16 = 5
    package static let maxHeaderListSize: UInt16 = 6
    package static let enableConnectProtocol: UInt16 = 8
    package static let noRFC7540Priorities: UInt16 = 9
    /// A parameter that no specification defines.
    package static let unknown: UInt16 = 0xF0F0
}

/// Writes frames, valid and invalid ones. Nothing is checked: a case says what it means.
package enum Frame {
    /// The first bytes of a client. RFC 9113 §3.4
    package static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

    /// Any frame.
    ///
    /// - Parameter length: the stated length, if it is not that of the payload.
    package static func frame(
        _ type: UInt8,
        flags: UInt8 = 0,
        on stream: UInt32,
        _ payload: [UInt8] = [],
        length: Int? = nil
    ) -> [UInt8] {
        let length = length ?? payload.count
        let head: [UInt8] = [UInt8(length >> 16 & 0xFF), UInt8(length >> 8 & 0xFF), UInt8(length & 0xFF), type, flags]
        return head + number(stream) + payload
    }

    /// A number of 32 bits.
    package static func number(_ value: UInt32) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
    }

    package static func data(_ stream: UInt32, _ content: String = "", ends: Bool = false, flags: UInt8 = 0) -> [UInt8]
    {
        data(stream, Array(content.utf8), ends: ends, flags: flags)
    }

    package static func data(_ stream: UInt32, _ content: [UInt8], ends: Bool = false, flags: UInt8 = 0) -> [UInt8] {
        frame(FrameType.data, flags: flags | (ends ? FrameFlag.endStream : 0), on: stream, content)
    }

    /// Content behind its pad length, followed by zeros.
    package static func padded(_ content: [UInt8], by count: Int) -> [UInt8] {
        [UInt8(count)] + content + [UInt8](repeating: 0, count: count)
    }

    package static func headers(
        _ stream: UInt32,
        _ block: FieldBlock,
        ends: Bool = true,
        endsBlock: Bool = true,
        flags: UInt8 = 0
    ) -> [UInt8] {
        let flags = flags | (ends ? FrameFlag.endStream : 0) | (endsBlock ? FrameFlag.endHeaders : 0)
        return frame(FrameType.headers, flags: flags, on: stream, block.bytes)
    }

    package static func continuation(_ stream: UInt32, _ block: FieldBlock, endsBlock: Bool = true) -> [UInt8] {
        frame(FrameType.continuation, flags: endsBlock ? FrameFlag.endHeaders : 0, on: stream, block.bytes)
    }

    /// The five bytes of a priority. RFC 9113 §6.3
    package static func priorityFields(dependsOn stream: UInt32, weight: UInt8 = 15) -> [UInt8] {
        number(stream) + [weight]
    }

    package static func priority(_ stream: UInt32, dependsOn parent: UInt32 = 0) -> [UInt8] {
        frame(FrameType.priority, on: stream, priorityFields(dependsOn: parent))
    }

    package static func resetStream(_ stream: UInt32, _ code: UInt32 = ErrorCode.cancel.rawValue) -> [UInt8] {
        frame(FrameType.resetStream, on: stream, number(code))
    }

    package static func settings(_ entries: (UInt16, UInt32)..., flags: UInt8 = 0) -> [UInt8] {
        let payload = entries.flatMap { id, value in [UInt8(id >> 8), UInt8(id & 0xFF)] + number(value) }
        return frame(FrameType.settings, flags: flags, on: 0, payload)
    }

    /// The acknowledgement of the server's SETTINGS.
    package static let settingsAck = frame(FrameType.settings, flags: FrameFlag.ack, on: 0)

    /// - Parameter payload: eight characters.
    package static func ping(_ payload: String, flags: UInt8 = 0, on stream: UInt32 = 0) -> [UInt8] {
        frame(FrameType.ping, flags: flags, on: stream, Array(payload.utf8))
    }

    package static func goAway(
        last: UInt32 = 0,
        _ code: UInt32 = 0,
        debug: String = "",
        on stream: UInt32 = 0
    ) -> [UInt8] {
        frame(FrameType.goAway, on: stream, number(last) + number(code) + Array(debug.utf8))
    }

    package static func windowUpdate(_ stream: UInt32, _ increment: UInt32) -> [UInt8] {
        frame(FrameType.windowUpdate, on: stream, number(increment))
    }
}
