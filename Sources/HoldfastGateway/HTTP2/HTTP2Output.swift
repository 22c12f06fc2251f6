import NIOCore

/// The frames on their way to one client. nghttp2 fills it piece by piece; each piece goes to the
/// ``ConnectionOutput`` when nghttp2 is not being called. It is used on the connection's event
/// loop.
final class HTTP2Output {
    /// Bytes that are sent before other connections have their turn, and before the system is
    /// asked whether the client takes them. RFC 9113 §5.2.2
    private static let (turn, piece) = (256 << 10, 64 << 10)
    /// Content up to this size is copied behind its frame's head, which costs less than one more
    /// piece for the system.
    private static let copied = 4 << 10
    /// The memory for bytes to send, at first.
    private static let small = 2 << 10

    private let output: ConnectionOutput
    /// Bytes to send that are not in ``output`` yet.
    private var pending = ByteBuffer()
    /// The bytes sent in this turn, and in this piece.
    private var (turnCount, pieceCount) = (0, 0)

    init(_ output: ConnectionOutput) { self.output = output }

    func beginTurn() { turnCount = 0 }

    func beginPiece() { pieceCount = 0 }

    var isTurnOver: Bool { turnCount >= Self.turn }

    var isPieceEmpty: Bool { pieceCount == 0 }

    /// Takes bytes.
    ///
    /// - Returns: `false` if the piece is full.
    func take(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        guard pieceCount < Self.piece else { return false }
        count(bytes.count)
        // A response from memory follows its fields, and seldom needs more.
        if pending.capacity == 0 { pending.reserveCapacity(Self.small) }
        pending.writeBytes(bytes)
        return true
    }

    /// Takes the first bytes of a DATA frame, whose content is put next.
    ///
    /// - Returns: `false` if the piece is full.
    func take(_ head: UnsafeBufferPointer<UInt8>, before length: Int) -> Bool {
        guard pieceCount < Self.piece else { return false }
        count(head.count + length)
        pending.writeBytes(head)
        return true
    }

    /// Puts content behind the head of its frame.
    func put(_ bytes: ByteBuffer) {
        if bytes.readableBytes <= Self.copied {
            pending.writeImmutableBuffer(bytes)
        } else {
            collect()
            output.collect(bytes)
        }
    }

    private func count(_ bytes: Int) {
        turnCount += bytes
        pieceCount += bytes
    }

    /// Passes the piece on, and looks whether the client reads. A flush that fails makes the
    /// channel read what is left, and close, before this returns.
    func passOn() {
        collect()
        output.flushIfLong()
        output.holdBack()
    }

    private func collect() {
        guard pending.readableBytes > 0 else { return }
        output.collect(pending)
        pending = ByteBuffer()
    }
}
