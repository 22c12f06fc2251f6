import NIOCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Writes to a connection's socket with one system call and nothing beside it, as long as the
/// system takes all at once. What it does not take is the channel's to write, and all that comes
/// while the channel has some left. Used on the connection's event loop alone.
///
/// A channel's own way, through its pipeline and a queue of promises, takes a tenth of what a
/// request costs.
final class SocketWriter {
    /// Pieces that go out with one system call.
    private static let pieceLimit = 16

    /// `nil` where the channel has no socket, or handlers that change what is written.
    private var socket: (any NIOTransportAccessibleChannelCore<NIOBSDSocket.Handle>)?
    private var pending: [ByteBuffer] = []
    /// The room of the last flush.
    private var emptied: [ByteBuffer] = []
    /// Bytes that were put and not flushed.
    private(set) var pendingCount = 0
    /// Flushes that were handed to the channel, and that it has not written to their end.
    private var backlog = 0

    /// - Parameter isDirect: whether what is put goes out as it is.
    func open(_ channel: any Channel, isDirect: Bool = true) {
        // The channel's core, and not its descriptor: it knows when that is closed, and another's.
        socket = isDirect ? channel._channelCore as? any NIOTransportAccessibleChannelCore<NIOBSDSocket.Handle> : nil
    }

    /// Lets go of everything.
    func release() {
        socket = nil
        pending = []
        pendingCount = 0
    }

    /// Writes bytes with the next flush.
    func put(_ bytes: ByteBuffer) {
        pending.append(bytes)
        pendingCount += bytes.readableBytes
    }

    func flush(_ context: ChannelHandlerContext) {
        guard !pending.isEmpty else { return }
        // Out of sight before anything is written: who hears of an end of the connection may come
        // here again.
        var bytes = emptied
        emptied = []
        swap(&bytes, &pending)
        let count = pendingCount
        pendingCount = 0
        let taken = backlog > 0 ? 0 : take(bytes)
        if taken < count { hand(bytes, after: taken, to: context) }
        bytes.removeAll(keepingCapacity: bytes.count <= Self.pieceLimit)
        emptied = bytes
    }

    /// - Returns: bytes that the system has taken: of what it refuses for good, none; the channel
    ///   meets the error then.
    private func take(_ bytes: [ByteBuffer]) -> Int {
        guard let socket, bytes.count <= Self.pieceLimit else { return 0 }
        let sent = try? socket.withUnsafeTransport { handle in
            if bytes.count == 1 {
                return bytes[0].withUnsafeReadableBytes { write($0, to: handle) }
            }
            return withUnsafeTemporaryAllocation(of: iovec.self, capacity: Self.pieceLimit) { pieces in
                for (index, piece) in bytes.enumerated() {
                    // The array keeps them where they are to the end of the call.
                    piece.withUnsafeReadableBytes { piece in
                        let base = UnsafeMutableRawPointer(mutating: piece.baseAddress)
                        pieces.initializeElement(at: index, to: iovec(iov_base: base, iov_len: piece.count))
                    }
                }
                return write(UnsafeMutableBufferPointer(rebasing: pieces[..<bytes.count]), to: handle)
            }
        }
        return max(sent ?? 0, 0)
    }

    /// The rest is the channel's.
    private func hand(_ bytes: [ByteBuffer], after taken: Int, to context: ChannelHandlerContext) {
        backlog += 1
        let written = context.eventLoop.makePromise(of: Void.self)
        // Where it fails, the connection ends.
        written.futureResult.assumeIsolated().whenSuccess { self.backlog -= 1 }
        var skipped = taken
        for (index, piece) in bytes.enumerated() {
            var rest = piece
            let skips = min(skipped, rest.readableBytes)
            rest.moveReaderIndex(forwardBy: skips)
            skipped -= skips
            let isLast = index == bytes.count - 1
            if rest.readableBytes > 0 || isLast { context.write(NIOAny(rest), promise: isLast ? written : nil) }
        }
        context.flush()
    }
}

#if canImport(Darwin)
    /// NIO has told its sockets to raise no signal.
    private let flags: Int32 = 0
#else
    /// A connection that is closed is an error and no signal.
    private let flags = Int32(MSG_NOSIGNAL)
#endif

private func write(_ bytes: UnsafeRawBufferPointer, to handle: NIOBSDSocket.Handle) -> Int {
    send(handle, bytes.baseAddress, bytes.count, flags)
}

private func write(_ pieces: UnsafeMutableBufferPointer<iovec>, to handle: NIOBSDSocket.Handle) -> Int {
    var message = msghdr()
    message.msg_iov = pieces.baseAddress
    message.msg_iovlen = .init(pieces.count)
    return sendmsg(handle, &message, flags)
}
