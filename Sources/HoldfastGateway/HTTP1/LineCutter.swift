import NIOCore

/// Cuts lines that end in CRLF out of octets that arrive in pieces.
///
/// A line feed without its carriage return, or the reverse, is refused: programs that read such lines differently can be made to see
/// different messages (RFC 9112 §2.2 and §11.2).
struct LineCutter: Hashable {
    /// Octets at the beginning that were searched already.
    private var searched = 0

    /// The next line without its CRLF, or `nil` when it has not arrived whole.
    ///
    /// - Parameter limit: octets before the line feed; one more and `tooLong` is thrown, whether the line's end has arrived or not.
    mutating func next(
        in pending: inout ByteBuffer,
        limit: Int,
        tooLong: MessageRefusal
    ) throws(MessageRefusal) -> ByteBuffer? {
        let length = try pending.withUnsafeReadableBytes { octets throws(MessageRefusal) in
            try next(in: octets, limit: limit, tooLong: tooLong)
        }
        guard let length, let line = pending.readSlice(length: length) else { return nil }
        pending.moveReaderIndex(forwardBy: 2)
        return line
    }

    /// Octets in the line that these begin with, its CRLF not counted; see ``next(in:limit:tooLong:)``.
    mutating func next(
        in octets: UnsafeRawBufferPointer,
        limit: Int,
        tooLong: MessageRefusal
    ) throws(MessageRefusal) -> Int? {
        guard let end = octets.firstIndex(of: .lineFeed, from: searched) else {
            guard octets.count <= limit else { throw tooLong }
            searched = octets.count
            return nil
        }
        guard end <= limit else { throw tooLong }
        searched = 0
        guard end > 0, octets[end - 1] == .carriageReturn else { throw MessageRefusal(.bareLineFeed) }
        guard octets.part(0..<(end - 1)).firstIndex(of: .carriageReturn, from: 0) == nil else {
            throw MessageRefusal(.bareCarriageReturn)
        }
        return end - 1
    }
}
