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
        let start = pending.readableBytesView.dropFirst(searched)
        guard let end = start.firstIndex(of: .lineFeed) else {
            guard pending.readableBytes <= limit else { throw tooLong }
            searched = pending.readableBytes
            return nil
        }
        let length = end - pending.readerIndex
        guard length <= limit else { throw tooLong }
        searched = 0
        guard var line = pending.readSlice(length: length + 1) else { return nil }
        let octets = line.readableBytesView.dropLast()
        guard octets.last == .carriageReturn else { throw MessageRefusal(.bareLineFeed) }
        guard !octets.dropLast().contains(.carriageReturn) else { throw MessageRefusal(.bareCarriageReturn) }
        return line.readSlice(length: length - 1)
    }
}
