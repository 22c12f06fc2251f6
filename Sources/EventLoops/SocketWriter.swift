import HTTPCache
import LibC
package import NIOCore

/// Writes to a connection's socket with one system call as long as the kernel accepts all bytes
/// immediately. The channel writes the bytes that the kernel does not accept, and all bytes that
/// arrive before the channel has written these. Used on the connection's event loop.
///
/// Writing through the channel's pipeline and promise queue would take a tenth of a request's time.
package final class SocketWriter {
    /// The maximum number of pieces in one system call.
    private static let pieceLimit = 16

    /// `nil` if the channel has no socket, or has handlers that change the bytes.
    private var socket: (any NIOTransportAccessibleChannelCore<NIOBSDSocket.Handle>)?
    /// Whether bytes are passed on in parts the size of a TLS record.
    private var isCut = false
    /// Whether a write failed because the peer had reset the connection. Such a write takes the
    /// error from the socket, so that the channel reports only the end of the connection.
    package private(set) var isReset = false
    /// The number of flushes that the channel has not completed.
    private var backlog: Int32 = 0
    /// The only unflushed piece. Most responses are one piece, and the connection would keep the
    /// memory of an array.
    private var single: ByteBuffer?
    /// The unflushed pieces if there are several.
    private var pending: [ByteBuffer] = []
    /// The last flush's array, kept for its memory.
    private var emptied: [ByteBuffer] = []
    /// The number of unflushed bytes.
    private(set) var pendingCount = 0

    package init() {}

    /// - Parameter isDirect: whether the bytes are sent unchanged.
    package func open(_ channel: any Channel, isDirect: Bool = true) {
        socket = isDirect && EnvironmentSwitch.socketWriter.isOn ? channel.socket : nil
        isCut = !isDirect
    }

    /// Releases everything.
    package func release() {
        socket = nil
        single = nil
        pending = []
        pendingCount = 0
    }

    /// Writes bytes with the next flush.
    package func put(_ bytes: ByteBuffer) {
        pendingCount += bytes.readableBytes
        if pending.isEmpty {
            guard let first = single.take() else {
                single = bytes
                return
            }
            pending.append(first)
        }
        pending.append(bytes)
    }

    package func flush(_ context: ChannelHandlerContext) {
        // Pieces are moved away before any write, because a handler that learns of the connection's
        // end may flush again.
        if let bytes = single.take() {
            guard !isCut else {
                pending.append(bytes)
                return passAll(to: context)
            }
            let count = pendingCount
            pendingCount = 0
            let taken = backlog > 0 ? 0 : writeDirectly(bytes)
            if taken < count { pass([bytes], after: taken, to: context) }
            return
        }
        guard !pending.isEmpty else { return }
        if isCut { return passAll(to: context) }
        var bytes = emptied
        emptied = []
        swap(&bytes, &pending)
        let count = pendingCount
        pendingCount = 0
        let taken = backlog > 0 ? 0 : writeDirectly(bytes)
        if taken < count { pass(bytes, after: taken, to: context) }
        bytes.removeAll(keepingCapacity: bytes.count <= Self.pieceLimit)
        emptied = bytes
    }

    private func writeDirectly(_ bytes: ByteBuffer) -> Int {
        writeDirectly { handle in bytes.withUnsafeReadableBytes { write($0, to: handle) } }
    }

    private func writeDirectly(_ bytes: [ByteBuffer]) -> Int {
        guard bytes.count <= Self.pieceLimit else { return 0 }
        return writeDirectly { handle in
            withUnsafeTemporaryAllocation(of: iovec.self, capacity: Self.pieceLimit) { pieces in
                for (index, piece) in bytes.enumerated() {
                    // The array keeps the bytes in place until the end of the call.
                    piece.withUnsafeReadableBytes { piece in
                        let base = UnsafeMutableRawPointer(mutating: piece.baseAddress)
                        pieces.initializeElement(at: index, to: iovec(iov_base: base, iov_len: piece.count))
                    }
                }
                return write(UnsafeMutableBufferPointer(rebasing: pieces[..<bytes.count]), to: handle)
            }
        }
    }

    /// Writes bytes to the socket.
    ///
    /// - Returns: the number of bytes that the kernel accepted; 0 on failure. Then the channel gets
    ///   the error.
    private func writeDirectly(_ write: (NIOBSDSocket.Handle) -> Int) -> Int {
        guard let socket else { return 0 }
        let result = try? socket.withUnsafeTransport(write)
        guard let sent = result, sent >= 0 else {
            if result != nil, errno == ECONNRESET { isReset = true }
            return 0
        }
        return sent
    }

    /// The maximum number of bytes to pass at once. A TLS record with this many bytes fits in 16
    /// KiB.
    private static let recordLimit = (16 << 10) - 64

    /// Passes everything to the channel, in parts.
    ///
    /// TLS makes at least one record from each piece, so short pieces, such as a head and its
    /// content, are joined. Long pieces are cut and flushed: NIOSSL encrypts everything in a flush
    /// into one buffer, and the connection keeps that buffer at its largest size.
    private func passAll(to context: ChannelHandlerContext) {
        var bytes = emptied
        emptied = []
        swap(&bytes, &pending)
        var left = pendingCount
        pendingCount = 0
        var part = ByteBuffer()
        for piece in bytes {
            var rest = piece
            while rest.readableBytes > 0 {
                let whole = min(Self.recordLimit, left)
                if part.readableBytes == 0, let slice = rest.readSlice(length: whole) {
                    part = slice
                } else {
                    if part.readableBytes == 0 { part = context.channel.allocator.buffer(capacity: whole) }
                    var slice = rest.readSlice(length: min(rest.readableBytes, whole - part.readableBytes)) ?? rest
                    part.writeBuffer(&slice)
                }
                guard part.readableBytes == whole else { continue }
                context.writeAndFlush(NIOAny(part), promise: nil)
                left -= whole
                part = ByteBuffer()
            }
        }
        bytes.removeAll(keepingCapacity: bytes.count <= Self.pieceLimit)
        emptied = bytes
    }

    /// Passes the bytes that the kernel did not accept to the channel.
    private func pass(_ bytes: [ByteBuffer], after taken: Int, to context: ChannelHandlerContext) {
        backlog += 1
        let written = context.eventLoop.makePromise(of: Void.self)
        // On failure, the connection ends.
        written.futureResult.assumeIsolated().whenComplete { result in
            switch result {
            case .success: self.backlog -= 1
            case .failure(let error): if (error as? IOError)?.errnoCode == ECONNRESET { self.isReset = true }
            }
        }
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

extension Channel {
    /// The socket; `nil` if the channel has none.
    ///
    /// This is the channel's core instead of its descriptor. After the channel is closed, its
    /// descriptor may belong to another connection, and only the core knows this.
    package var socket: (any NIOTransportAccessibleChannelCore<NIOBSDSocket.Handle>)? {
        _channelCore as? any NIOTransportAccessibleChannelCore<NIOBSDSocket.Handle>
    }

    /// The number of written bytes that the kernel has not accepted.
    package var untaken: Int { (try? syncOptions?.getOption(.bufferedWritableBytes)) ?? 0 }
}

#if canImport(Darwin)
    /// NIO configures its sockets not to raise a signal.
    private let flags: Int32 = 0
#else
    /// A closed connection causes an error instead of a signal.
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
