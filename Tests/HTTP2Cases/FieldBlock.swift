/// A field block, as its client encodes it: representations in the order in which they are sent.
/// RFC 7541 §6
///
/// It never looks into a table, so that a case decides each byte.
package struct FieldBlock: Sendable {
    package var bytes: [UInt8] = []

    package init(_ bytes: [UInt8] = []) { self.bytes = bytes }

    /// Representations one after the other.
    package static func block(_ parts: FieldBlock...) -> FieldBlock { FieldBlock(parts.flatMap(\.bytes)) }

    /// The same part again and again.
    package static func repeated(_ part: FieldBlock, _ count: Int) -> FieldBlock {
        FieldBlock((0..<count).flatMap { _ in part.bytes })
    }

    /// How a decoder treats a literal. RFC 7541 §6.2
    package enum Indexing: Sendable {
        case incremental, without, never

        /// The first bits of the representation, and the bits that are left for the name's index.
        var prefix: (bits: UInt8, count: Int) {
            switch self {
            case .incremental: (0x40, 6)
            case .without: (0, 4)
            case .never: (0x10, 4)
            }
        }
    }

    // MARK: Representations

    /// A field of the tables. RFC 7541 §6.1
    package static func indexed(_ index: Int) -> FieldBlock { FieldBlock(integer(index, prefix: 7, first: 0x80)) }

    /// A literal. RFC 7541 §6.2
    package static func field(_ name: String, _ value: String, _ indexing: Indexing = .without) -> FieldBlock {
        FieldBlock([indexing.prefix.bits] + string(name) + string(value))
    }

    /// A literal whose name is in a table.
    package static func field(_ index: Int, _ value: String, _ indexing: Indexing = .without) -> FieldBlock {
        FieldBlock(integer(index, prefix: indexing.prefix.count, first: indexing.prefix.bits) + string(value))
    }

    /// A literal whose name is in a table, and whose value is encoded already.
    package static func field(_ index: Int, encoded value: [UInt8]) -> FieldBlock {
        FieldBlock(integer(index, prefix: 4, first: 0) + value)
    }

    /// A new size of the dynamic table. RFC 7541 §6.3
    package static func tableSize(_ size: Int) -> FieldBlock { FieldBlock(integer(size, prefix: 5, first: 0x20)) }

    // MARK: Primitives

    /// An integer. RFC 7541 §5.1
    ///
    /// - Parameter first: the bits in front of it.
    package static func integer(_ value: Int, prefix: Int, first: UInt8) -> [UInt8] {
        let most = 1 << prefix - 1
        guard value >= most else { return [first | UInt8(value)] }
        var bytes = [first | UInt8(most)]
        var rest = value - most
        while rest >= 128 {
            bytes.append(UInt8(rest & 0x7F) | 0x80)
            rest >>= 7
        }
        return bytes + [UInt8(rest)]
    }

    /// A string without Huffman's code. RFC 7541 §5.2
    package static func string(_ text: String) -> [UInt8] {
        integer(text.utf8.count, prefix: 7, first: 0) + Array(text.utf8)
    }

    /// A string of encoded bytes.
    package static func huffman(encoded bytes: [UInt8]) -> [UInt8] {
        integer(bytes.count, prefix: 7, first: 0x80) + bytes
    }

    /// A string in Huffman's code.
    package static func huffman(_ text: String) -> [UInt8] { huffman(encoded: HuffmanCode.encode(text)) }
}

// MARK: Requests

extension FieldBlock {
    /// Fields of the static table. RFC 7541 Appendix A
    package static let (get, post, root, http) = (indexed(2), indexed(3), indexed(4), indexed(6))

    package static func authority(_ name: String = "a.example") -> FieldBlock { field(1, name) }

    package static func path(_ path: String) -> FieldBlock { field(4, path) }

    /// A GET, with further fields.
    package static func get(_ path: String = "/", _ more: FieldBlock...) -> FieldBlock {
        block(get, http, path == "/" ? root : .path(path), authority(), FieldBlock(more.flatMap(\.bytes)))
    }

    /// A POST to '/', with further fields.
    package static func post(_ more: FieldBlock...) -> FieldBlock {
        block(post, http, root, authority(), FieldBlock(more.flatMap(\.bytes)))
    }

    /// A POST that states its length.
    package static func post(length: String) -> FieldBlock { post(field(28, length)) }

    /// The bytes before an index, and those from it on.
    package func split(at index: Int) -> (FieldBlock, FieldBlock) {
        (FieldBlock(Array(bytes[..<index])), FieldBlock(Array(bytes[index...])))
    }
}

/// The part of Huffman's code that host names, paths and numbers need. RFC 7541 Appendix B
package enum HuffmanCode {
    private static let codes: [UInt8: (code: UInt32, bits: Int)] = {
        var codes: [UInt8: (code: UInt32, bits: Int)] = [:]
        for (offset, letter) in "012aceiost".utf8.enumerated() { codes[letter] = (UInt32(offset), 5) }
        for (offset, letter) in " %-./3456789=A_bdfghlmnpru".utf8.enumerated() {
            codes[letter] = (0x14 + UInt32(offset), 6)
        }
        for (offset, letter) in ":BCDEFGHIJKLMNOPQRSTUVWYjkqvwxyz".utf8.enumerated() {
            codes[letter] = (0x5C + UInt32(offset), 7)
        }
        return codes
    }()

    /// Letters, digits and a few signs; any other byte is left out.
    package static func encode(_ text: String) -> [UInt8] {
        var (bytes, rest, count) = ([UInt8](), UInt32(0), 0)
        for byte in text.utf8 {
            guard let (code, bits) = codes[byte] else { continue }
            rest = rest << UInt32(bits) | code
            count += bits
            while count >= 8 {
                bytes.append(UInt8(truncatingIfNeeded: rest >> UInt32(count - 8)))
                count -= 8
            }
        }
        // The padding is the beginning of the code's end: ones. RFC 7541 §5.2
        if count > 0 { bytes.append(UInt8(truncatingIfNeeded: rest << UInt32(8 - count)) | (0xFF >> UInt8(count))) }
        return bytes
    }

    /// Three digits, such as a status.
    package static func decodeDigits(_ bytes: [UInt8]) -> String? {
        var text = ""
        var (code, bits) = (UInt32(0), 0)
        for bit in bytes.flatMap({ byte in (0..<8).reversed().map { UInt32(byte >> $0) & 1 } }) {
            (code, bits) = (code << 1 | bit, bits + 1)
            guard bits <= 6 else { break }
            if let digit = codes.first(where: { $0.value.bits == bits && $0.value.code == code })?.key {
                text.unicodeScalars.append(Unicode.Scalar(digit))
                (code, bits) = (0, 0)
            }
            if text.count == 3 { return text }
        }
        return nil
    }
}
