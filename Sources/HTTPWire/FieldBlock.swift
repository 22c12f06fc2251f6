import HTTPCacheSemantics
package import HTTPTypes
import NIOCore

/// The field lines of a head, or of a trailer section, read line by line. RFC 9112 §5
///
/// Names keep their case, and values keep their bytes.
package struct FieldBlock {
    /// The fields read so far, in wire order.
    private(set) var fields = HTTPFields()
    private var rest: Int
    private var restCount: Int
    // The parts of a refusal, in few bytes: decoders copy their states, which contain the block.
    private let reason: MessageRefusal.Reason
    private let status: UInt16
    private let limit: UInt32
    private let maximumCount: UInt32
    private var cutter = LineCutter()

    /// Whether no bytes of the block have been read.
    private(set) var isEmpty = true

    /// - Parameters:
    ///   - limit: the maximum number of bytes in all lines.
    ///   - count: the maximum number of lines.
    init(limit: Int, count: Int, tooLarge: MessageRefusal) {
        self.rest = limit
        self.restCount = count
        reason = tooLarge.reason
        status = UInt16(clamping: tooLarge.status)
        self.limit = UInt32(clamping: limit)
        maximumCount = UInt32(clamping: count)
    }

    private func refusal(_ detail: MessageRefusal.Detail) -> MessageRefusal {
        MessageRefusal(reason, status: Int(clamping: status), detail)
    }

    /// Reads more lines. Returns whether it reached the empty line that ends the block.
    mutating func read(_ pending: inout ByteBuffer) throws(MessageRefusal) -> Bool {
        isEmpty = false
        var length = 0
        let isComplete = try pending.withUnsafeReadableBytes { bytes throws(MessageRefusal) in
            try read(bytes, &length)
        }
        pending.moveReaderIndex(forwardBy: length)
        return isComplete
    }

    /// - Parameter length: set to the number of bytes in the lines that were read.
    private mutating func read(
        _ bytes: UnsafeRawBufferPointer,
        _ length: inout Int
    ) throws(MessageRefusal) -> Bool {
        // Reserves memory for the fields of most messages. Growing later would copy all fields.
        if fields.isEmpty, bytes.first != .carriageReturn { fields.reserveCapacity(8) }
        let tooLong = refusal(.bytes(Int(clamping: limit)))
        while true {
            let rests = bytes.part(length..<bytes.count)
            guard let count = try cutter.next(in: rests, limit: max(rest, 1), tooLong: tooLong) else { return false }
            length += count + 2
            if count == 0 { return true }
            guard restCount > 0 else { throw refusal(.lines(Int(clamping: maximumCount))) }
            restCount -= 1
            rest = max(rest - count - 2, 0)
            fields.append(try Self.field(rests.part(0..<count)))
        }
    }

    /// Parses a line `field-name ":" OWS field-value OWS`. Whitespace before the colon (RFC 9112
    /// §5.1) and folded lines (§5.2) are rejected.
    static func field(_ line: UnsafeRawBufferPointer) throws(MessageRefusal) -> HTTPField {
        guard let first = line.first, !first.isWhitespace else { throw MessageRefusal(.fieldFolding) }
        guard let colon = line.firstIndex(of: UInt8(ascii: ":"), from: 0) else {
            throw MessageRefusal(.fieldLine, .missingColon)
        }
        return try field(line.part(0..<colon), line.part(colon + 1..<line.count))
    }

    /// Validates a name and a value in any protocol. RFC 9110 §5.1 and §5.5
    package static func field(
        _ name: UnsafeRawBufferPointer,
        _ value: UnsafeRawBufferPointer
    ) throws(MessageRefusal) -> HTTPField {
        guard let known = FieldNameTable.name(name) else {
            throw MessageRefusal(.fieldLine, name.last?.isWhitespace == true ? .spaceBeforeColon : nil)
        }
        guard value.allSatisfy(\.isFieldValueByte) else { throw MessageRefusal(.fieldValue) }
        var (start, end) = (0, value.count)
        while start < end, value[start].isWhitespace { start += 1 }
        while end > start, value[end - 1].isWhitespace { end -= 1 }
        let value = value.part(start..<end)
        // Nearly all values are ASCII, which every reader decodes the same way.
        guard value.allSatisfy({ $0 < 0x7F && ($0 >= 0x20 || $0 == 0x09) }) else {
            return HTTPField(name: known, lenientValue: value)
        }
        return HTTPField(name: known, value: String(decoding: value, as: UTF8.self))
    }
}
