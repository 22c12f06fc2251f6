import NIOCore

/// Cuts lines that end in CRLF out of bytes that arrive in pieces.
///
/// A line feed without its carriage return, or the reverse, is refused: programs that read such
/// lines differently can be made to see different messages (RFC 9112 §2.2 and §11.2).
struct LineCutter: Hashable {
    /// Bytes at the beginning that were searched already.
    private var searched = 0

    /// The next line without its CRLF, or `nil` when it has not arrived whole.
    ///
    /// - Parameter limit: bytes before the line feed; one more and `tooLong` is thrown, whether the
    ///   line's end has arrived or not.
    mutating func next(
        in pending: inout ByteBuffer,
        limit: Int,
        tooLong: MessageRefusal
    ) throws(MessageRefusal) -> ByteBuffer? {
        let length = try pending.withUnsafeReadableBytes { bytes throws(MessageRefusal) in
            try next(in: bytes, limit: limit, tooLong: tooLong)
        }
        guard let length, let line = pending.readSlice(length: length) else { return nil }
        pending.moveReaderIndex(forwardBy: 2)
        return line
    }

    /// Bytes in the line that these begin with, its CRLF not counted; see
    /// ``next(in:limit:tooLong:)``.
    mutating func next(
        in bytes: UnsafeRawBufferPointer,
        limit: Int,
        tooLong: MessageRefusal
    ) throws(MessageRefusal) -> Int? {
        guard let end = bytes.firstIndex(of: .lineFeed, from: searched) else {
            guard bytes.count <= limit else { throw tooLong }
            searched = bytes.count
            return nil
        }
        guard end <= limit else { throw tooLong }
        searched = 0
        guard end > 0, bytes[end - 1] == .carriageReturn else { throw MessageRefusal(.bareLineFeed) }
        guard bytes.part(0..<(end - 1)).firstIndex(of: .carriageReturn, from: 0) == nil else {
            throw MessageRefusal(.bareCarriageReturn)
        }
        return end - 1
    }
}
