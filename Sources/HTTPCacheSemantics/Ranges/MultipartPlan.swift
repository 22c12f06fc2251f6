package import HTTPTypes

/// A `multipart/byteranges` body as a sequence of literal bytes and slices of the stored body. RFC
/// 9110 §14.6
package struct MultipartPlan: Sendable, Hashable {
    /// A section of the body.
    package enum Piece: Sendable, Hashable {
        /// Literal bytes.
        case literal([UInt8])
        /// A slice of the stored body, as offsets in that body (not in the representation).
        case body(Range<StatedLength>)
    }
    /// The pieces to send, in order.
    package var pieces: [Piece]
    /// The length of the body in bytes: the response's `Content-Length`.
    package var length: StatedLength

    /// Creates the plan for a response with several parts.
    ///
    /// - Parameters:
    ///   - ranges: offsets in the representation, each within the stored part.
    ///   - contentType: the stored response's `Content-Type`, which each part repeats.
    ///   - boundary: random text that does not occur in the body; see ``boundary(_:)``.
    ///   - bodyOffset: the offset of the stored body in the representation: 0, or the start of a
    ///     partial response.
    package init(
        ranges: [Range<StatedLength>],
        completeLength: StatedLength,
        contentType: HTTPField?,
        boundary: String,
        bodyOffset: StatedLength = 0
    ) {
        let delimiter = Array("--\(Self.boundary(boundary))".utf8)
        let lineEnd: [UInt8] = [0x0D, 0x0A]
        pieces = []
        length = 0
        for (index, range) in ranges.enumerated() {
            var head = index == 0 ? [] : lineEnd
            head += delimiter + lineEnd
            if let contentType {
                head += Array("Content-Type: ".utf8)
                contentType.withUnsafeBytesOfValue { head.append(contentsOf: $0) }
                head += lineEnd
            }
            let contentRange = ContentRange(range: range, completeLength: completeLength).fieldValue
            head += Array("Content-Range: \(contentRange)".utf8) + lineEnd + lineEnd
            add(literal: head)
            let slice = range.counted(from: bodyOffset) ?? 0..<0
            pieces.append(.body(slice))
            add(slice.length)
        }
        add(literal: lineEnd + delimiter + Array("--".utf8) + lineEnd)
    }

    private mutating func add(literal bytes: [UInt8]) {
        pieces.append(.literal(bytes))
        add(StatedLength(clamping: bytes.count))
    }

    private mutating func add(_ count: StatedLength) { length = length.adding(count) ?? .maximum }

    /// Returns the boundary to send: up to 70 letters, digits, `-` and `_` from the text (RFC 2046
    /// §5.1.1), or `holdfast` if none is left.
    ///
    /// Such a boundary needs no quotes and cannot break the framing.
    package static func boundary(_ text: String) -> String {
        let bytes = text.utf8.filter { byte in
            byte.isAlpha || byte.isDigit || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
        }
        return bytes.isEmpty ? "holdfast" : String(decoding: bytes.prefix(70), as: UTF8.self)
    }
}
