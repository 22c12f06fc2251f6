/// A span as it is read from `ExportTraceServiceRequest`, by a reader that shares nothing with the
/// encoder.
package struct DecodedSpan: Sendable {
    package var resource: [String: String] = [:]
    package var traceID = ""
    package var spanID = ""
    package var state = ""
    package var parentID = ""
    package var name = ""
    package var kind: UInt64 = 0
    package var start: UInt64 = 0
    package var end: UInt64 = 0
    package var attributes: [String: String] = [:]
    package var statusCode: UInt64 = 0
    package var flags: UInt64 = 0

    /// - Returns: `nil` if the bytes are not such a message.
    package static func decode(_ bytes: [UInt8]) -> [DecodedSpan]? {
        guard let request = WireMessage(bytes[...]) else { return nil }
        var spans: [DecodedSpan] = []
        for resourceSpans in request.messages(1) {
            let resource = attributes(resourceSpans.messages(1).first?.messages(1) ?? [])
            for message in resourceSpans.messages(2).flatMap({ $0.messages(2) }) {
                spans.append(DecodedSpan(message, resource))
            }
        }
        return spans
    }

    private init(_ message: WireMessage, _ resource: [String: String]) {
        self.resource = resource
        traceID = Self.hexadecimal(message.bytes(1))
        spanID = Self.hexadecimal(message.bytes(2))
        state = String(decoding: message.bytes(3), as: UTF8.self)
        parentID = Self.hexadecimal(message.bytes(4))
        name = String(decoding: message.bytes(5), as: UTF8.self)
        kind = message.number(6)
        start = message.number(7)
        end = message.number(8)
        attributes = Self.attributes(message.messages(9))
        statusCode = message.messages(15).first?.number(3) ?? 0
        flags = message.number(16)
    }

    private static func attributes(_ pairs: [WireMessage]) -> [String: String] {
        var attributes: [String: String] = [:]
        for pair in pairs {
            guard let value = pair.messages(2).first else { continue }
            let text =
                value.has(1)
                ? String(decoding: value.bytes(1), as: UTF8.self) : value.has(3) ? "\(value.number(3))" : "?"
            attributes[String(decoding: pair.bytes(1), as: UTF8.self)] = text
        }
        return attributes
    }

    private static func hexadecimal(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}

/// The fields of a message, by the encoding of protobuf.
private struct WireMessage {
    private enum Value {
        case number(UInt64)
        case bytes(ArraySlice<UInt8>)
    }

    private var fields: [(number: UInt64, value: Value)] = []

    init?(_ bytes: ArraySlice<UInt8>) {
        var rest = bytes
        func varint() -> UInt64? {
            var value: UInt64 = 0
            for place in 0..<10 {
                guard let byte = rest.popFirst() else { return nil }
                value |= UInt64(byte & 0x7f) << (7 * UInt64(place))
                if byte < 0x80 { return value }
            }
            return nil
        }
        func fixed(_ count: Int) -> UInt64? {
            guard rest.count >= count else { return nil }
            defer { rest = rest.dropFirst(count) }
            return rest.prefix(count).reversed().reduce(0) { $0 << 8 | UInt64($1) }
        }
        while !rest.isEmpty {
            guard let tag = varint() else { return nil }
            let value: Value?
            switch tag & 7 {
            case 0: value = varint().map { .number($0) }
            case 1: value = fixed(8).map { .number($0) }
            case 5: value = fixed(4).map { .number($0) }
            case 2:
                guard let count = varint(), count <= UInt64(rest.count) else { return nil }
                value = .bytes(rest.prefix(Int(count)))
                rest = rest.dropFirst(Int(count))
            default: value = nil
            }
            guard let value else { return nil }
            fields.append((tag >> 3, value))
        }
    }

    func has(_ number: UInt64) -> Bool { fields.contains { $0.number == number } }

    func number(_ number: UInt64) -> UInt64 {
        for field in fields where field.number == number { if case .number(let value) = field.value { return value } }
        return 0
    }

    func bytes(_ number: UInt64) -> [UInt8] {
        for field in fields where field.number == number {
            if case .bytes(let value) = field.value { return Array(value) }
        }
        return []
    }

    func messages(_ number: UInt64) -> [WireMessage] {
        fields.compactMap { field in
            guard field.number == number, case .bytes(let bytes) = field.value else { return nil }
            return WireMessage(bytes)
        }
    }
}
