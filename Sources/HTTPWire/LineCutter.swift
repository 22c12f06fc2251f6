import NIOCore

/// Extracts lines that end in CRLF from bytes that arrive in pieces.
///
/// A line feed without a carriage return is rejected, and so is the reverse. Programs read such
/// lines differently, so an attacker could make them see different messages (RFC 9112 §2.2 and
/// §11.2).
struct LineCutter: Hashable {
    /// The number of bytes already searched.
    private var searched = 0

    /// Returns the next line without its CRLF; `nil` if the line is incomplete.
    ///
    /// - Parameter limit: the maximum number of bytes before the line feed. If there are more,
    ///   `tooLong` is thrown, even if the line is incomplete.
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

    /// Returns the length of the first line without its CRLF; see ``next(in:limit:tooLong:)``.
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
