import HTTPTypes
import NIOCore

/// The field lines of a head, or of a trailer section, read line by line. RFC 9112 §5
///
/// Names keep their case and values their octets.
struct FieldBlock {
    /// What was read so far, in wire order.
    private(set) var fields = HTTPFields()
    private var rest: Int
    private var restCount: Int
    private let tooLarge: MessageRefusal
    private var cutter = LineCutter()

    /// - Parameters:
    ///   - limit: octets in all lines.
    ///   - count: lines.
    init(limit: Int, count: Int, tooLarge: MessageRefusal) {
        self.rest = limit
        self.restCount = count
        self.tooLarge = tooLarge
    }

    /// Reads on; answers whether the empty line that ends the block was reached.
    mutating func read(_ pending: inout ByteBuffer) throws(MessageRefusal) -> Bool {
        while let line = try cutter.next(in: &pending, limit: max(rest, 1), tooLong: tooLarge) {
            if line.readableBytes == 0 { return true }
            guard restCount > 0 else { throw tooLarge }
            restCount -= 1
            rest = max(rest - line.readableBytes - 2, 0)
            fields.append(try Self.field(line))
        }
        return false
    }

    /// `field-name ":" OWS field-value OWS`. RFC 9112 §5.1 has whitespace before the colon refused, §5.2 folded lines.
    static func field(_ line: ByteBuffer) throws(MessageRefusal) -> HTTPField {
        let octets = line.readableBytesView
        guard let first = octets.first, !first.isWhitespace else { throw MessageRefusal(.fieldFolding) }
        guard let colon = octets.firstIndex(of: UInt8(ascii: ":")) else { throw MessageRefusal(.fieldLine) }
        let name = octets[..<colon]
        guard name.allSatisfy(\.isTokenOctet), let name = HTTPField.Name(String(decoding: name, as: UTF8.self)) else {
            throw MessageRefusal(.fieldLine)
        }
        let value = octets[(colon + 1)...]
        guard value.allSatisfy(\.isFieldValueOctet) else { throw MessageRefusal(.fieldValue) }
        return HTTPField(name: name, lenientValue: value.trimmingWhitespace())
    }
}
