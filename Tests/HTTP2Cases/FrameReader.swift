/// A frame of the server.
package struct ReceivedFrame: Sendable {
    package var type: UInt8
    package var flags: UInt8
    package var stream: UInt32
    package var payload: [UInt8]

    package func has(_ flag: UInt8) -> Bool { flags & flag != 0 }

    /// The number of 32 bits at this place of the payload, without its first bit.
    package func number(at index: Int) -> UInt32? {
        guard payload.count >= index + 4 else { return nil }
        return payload[index..<index + 4].reduce(0) { $0 << 8 | UInt32($1) } & 0x7FFF_FFFF
    }

    /// The error code at this place of the payload.
    package func code(at index: Int) -> UInt32? {
        guard payload.count >= index + 4 else { return nil }
        return payload[index..<index + 4].reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// The parameters of SETTINGS.
    package var settings: [(id: UInt16, value: UInt32)] {
        stride(from: 0, to: payload.count - payload.count % 6, by: 6).map { index in
            (UInt16(payload[index]) << 8 | UInt16(payload[index + 1]), code(at: index + 2) ?? 0)
        }
    }

    /// The field block of HEADERS, without padding and priority.
    package var block: [UInt8] {
        var block = payload[...]
        if has(FrameFlag.padded), let count = block.popFirst() { block = block.dropLast(Int(count)) }
        return Array(block.dropFirst(has(FrameFlag.priority) ? 5 : 0))
    }

    /// The status at the beginning of the block of HEADERS; `nil` for a trailer section. RFC 9113
    /// §8.3.2
    package var status: Int? {
        var block = block[...]
        // Updates of the table's size come first.
        while let first = block.first, first & 0xE0 == 0x20 {
            block = block.dropFirst()
            if first == 0x3F { block = block.drop { $0 & 0x80 != 0 }.dropFirst() }
        }
        guard let first = block.popFirst() else { return nil }
        // The static table has ':status' from 8 to 14.
        if (0x88...0x8E).contains(first) { return [200, 204, 206, 304, 400, 404, 500][Int(first) - 0x88] }
        guard [0x48, 0x08, 0x18].contains(where: { (0...6).contains(Int(first) - $0) }), let length = block.popFirst()
        else { return nil }
        let bytes = Array(block.prefix(Int(length & 0x7F)))
        return length & 0x80 == 0
            ? Int(String(decoding: bytes, as: UTF8.self)) : HuffmanCode.decodeDigits(bytes).flatMap { Int($0) }
    }
}

/// Cuts a server's bytes into frames.
package struct FrameReader: Sendable {
    private var bytes: [UInt8] = []
    private var start = 0
    /// Whether the server has sent a message of HTTP/1 instead.
    package private(set) var isHTTP1 = false

    package init() {}

    package mutating func append(_ more: [UInt8]) {
        if start > 0 {
            bytes.removeFirst(start)
            start = 0
        }
        bytes += more
        if bytes.starts(with: Array("HTTP/1.".utf8)) { isHTTP1 = true }
    }

    /// The next frame, if it has come completely.
    package mutating func next() -> ReceivedFrame? {
        guard !isHTTP1, bytes.count - start >= 9 else { return nil }
        let head = Array(bytes[start..<start + 9])
        let length = Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])
        guard bytes.count - start >= 9 + length else { return nil }
        let stream = head[5..<9].reduce(UInt32(0)) { $0 << 8 | UInt32($1) } & 0x7FFF_FFFF
        let payload = Array(bytes[start + 9..<start + 9 + length])
        start += 9 + length
        return ReceivedFrame(type: head[3], flags: head[4], stream: stream, payload: payload)
    }
}
