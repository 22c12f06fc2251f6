import EventLoops
import NIOCore

/// Collects the frames for one client. nghttp2 supplies them piece by piece. Each piece goes to the
/// ``ConnectionOutput`` when no call to nghttp2 is running. Used on the connection's event loop.
final class HTTP2Output {
    /// The number of bytes that a connection may send before other connections on its event loop
    /// get their turn, and before it checks whether its client accepts them. RFC 9113 §5.2.2
    private static let (turn, piece) = (256 << 10, 64 << 10)
    /// Content up to this size is copied after its frame header. That costs less than passing
    /// another piece to the kernel.
    private static let copied = 4 << 10
    /// The initial memory for bytes to send.
    private static let small = 2 << 10

    private let output: ConnectionOutput
    /// Bytes to send that are not in ``output`` yet.
    private var pending = ByteBuffer()
    /// The numbers of bytes sent in this turn, and in this piece.
    private var (turnCount, pieceCount) = (0, 0)

    init(_ output: ConnectionOutput) { self.output = output }

    func beginTurn() { turnCount = 0 }

    func beginPiece() { pieceCount = 0 }

    var isTurnOver: Bool { turnCount >= Self.turn }

    var isPieceEmpty: Bool { pieceCount == 0 }

    /// Accepts bytes.
    ///
    /// - Returns: `false` if the piece is full.
    func take(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        guard pieceCount < Self.piece else { return false }
        count(bytes.count)
        // The first bytes are the fields of a response. A response from memory rarely needs more
        // room.
        if pending.capacity == 0 { pending.reserveCapacity(Self.small) }
        pending.writeBytes(bytes)
        return true
    }

    /// Accepts the header of a DATA frame. Its content must be added next.
    ///
    /// - Returns: `false` if the piece is full.
    func take(_ head: UnsafeBufferPointer<UInt8>, before length: Int) -> Bool {
        guard pieceCount < Self.piece else { return false }
        count(head.count + length)
        pending.writeBytes(head)
        return true
    }

    /// Adds content after the header of its frame.
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

    /// Passes the piece on, and checks whether the client reads. A flush that fails makes the
    /// channel read the remaining bytes and close before this returns.
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
