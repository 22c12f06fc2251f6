import LibC
package import NIOCore
package import NIOSSL

/// Sends bytes to one client. It flushes once per round of the event loop, and holds back the next
/// request while the client does not read. Used on the connection's event loop.
package final class ConnectionOutput: Flushing {
    private let socket = SocketWriter()
    private let round: LoopRound
    /// The time that the client gets to read some of the written bytes.
    private let patience: TimeAmount
    /// Created when the client first leaves bytes unread, because an idle connection should need
    /// little memory.
    private var deadline: WriteDeadline?
    private var context: ChannelHandlerContext?
    private var tls: NIOSSLServerHandler?
    private var writability: EventLoopPromise<Void>?
    private var isFlushScheduled = false
    /// Whether the channel is delivering bytes that it has read. It flushes afterwards.
    private var isReading = false
    /// Whether the connection ends once the client has read everything.
    private var isClosing = false
    private var holdsBack = false

    /// The number of pending bytes beyond which they are flushed before the end of the round.
    private static let pendingLimit = 64 << 10
    /// The maximum number of bytes of a stream that wait for the end of the round.
    private static let roundLimit = 16 << 10

    /// Whether the next request waits because the client has not read earlier responses.
    ///
    /// Computed, because each access to a stored property that other modules see would be checked
    /// at run time.
    package var isHeldBack: Bool { holdsBack }

    package init(round: LoopRound, patience: TimeAmount) {
        self.round = round
        self.patience = patience
    }

    /// - Parameter tls: encrypts the written bytes; `nil` without TLS.
    package func open(_ context: ChannelHandlerContext, _ tls: NIOSSLServerHandler? = nil) {
        self.context = context
        self.tls = tls
        socket.open(context.channel, isDirect: tls == nil)
    }

    /// Releases everything after the connection has ended.
    package func release() {
        deadline?.release()
        socket.release()
        context = nil
        tls = nil
        holdsBack = false
        writability.take()?.fail(CancellationError())
    }

    // MARK: Writing

    /// Writes bytes with the next flush.
    package func put(_ bytes: ByteBuffer) {
        collect(bytes)
        flushIfLong()
    }

    /// Writes bytes with the next flush, like ``put(_:)``, but never flushes. A flush that fails
    /// makes the channel read the remaining bytes and close, all before the flush returns.
    package func collect(_ bytes: ByteBuffer) { socket.put(bytes) }

    /// Flushes if many bytes are pending. Otherwise many responses would wait for the end of a
    /// round, and the gateway would not notice that the client does not read them.
    package func flushIfLong() {
        if socket.pendingCount > Self.pendingLimit, let context { socket.flush(context) }
    }

    /// Flushes at the end of the loop's current round, together with all bytes written until then:
    /// often the end of the response.
    package func flushSoon() {
        guard socket.pendingCount > 0, !isReading, !isFlushScheduled else { return }
        isFlushScheduled = true
        round.flush(self)
    }

    package func flush() {
        isFlushScheduled = false
        if let context { socket.flush(context) }
    }

    package func beginReading() { isReading = true }

    package func endReading() {
        isReading = false
        flush()
    }

    // MARK: Slow clients

    /// Returns a future that completes when the kernel has accepted the written part of a stream.
    /// Returns `nil` if it already has, or if little is unsent. So at most one piece of a stream
    /// waits for its client.
    package func untilWritable() -> EventLoopFuture<Void>? {
        guard let context else { return nil }
        if socket.pendingCount <= Self.roundLimit, context.channel.untaken == 0 {
            flushSoon()
            return nil
        }
        flush()
        guard context.channel.isActive, context.channel.untaken > 0 else { return nil }
        if let writability { return writability.futureResult }
        let promise = context.eventLoop.makePromise(of: Void.self)
        writability = promise
        let taken = context.eventLoop.makePromise(of: Void.self)
        taken.futureResult.assumeIsolated().whenComplete { _ in self.endWaiting() }
        // Bypasses TLS, so that the promise completes when the kernel has accepted the encrypted
        // bytes.
        let below = tls.flatMap { try? context.pipeline.syncOperations.context(handler: $0) }
        (below ?? context).writeAndFlush(NIOAny(ByteBuffer()), promise: taken)
        if writability != nil { beginDeadline(context.channel) }
        return promise.futureResult
    }

    /// Completes the wait, because the kernel has accepted all written bytes of a stream.
    private func endWaiting() {
        guard let writability = writability.take() else { return }
        if !holdsBack, !isClosing { deadline?.stop() }
        writability.succeed()
    }

    /// Holds back the next request if the client does not read.
    package func holdBack() {
        guard let context, !context.channel.isWritable else { return }
        flush()
        guard !context.channel.isWritable, context.channel.isActive else { return }
        holdsBack = true
        beginDeadline(context.channel)
    }

    private func beginDeadline(_ channel: any Channel) {
        let deadline = deadline ?? WriteDeadline()
        self.deadline = deadline
        deadline.begin(patience, on: channel)
    }

    /// Continues, because the client has read enough.
    ///
    /// - Returns: whether the next request was held back.
    package func resume() -> Bool {
        // The client must still read the rest of a response that ends the connection.
        if isClosing || writability != nil, let context {
            beginDeadline(context.channel)
        } else {
            deadline?.stop()
        }
        defer { holdsBack = false }
        return holdsBack
    }

    // MARK: The end

    /// Closes the connection when the kernel has accepted all bytes. Closing it earlier would lose
    /// some of them.
    package func close() {
        guard let context else { return }
        isClosing = true
        socket.flush(context)
        // This empty write completes after all earlier writes.
        let taken = context.eventLoop.makePromise(of: Void.self)
        taken.futureResult.assumeIsolated().whenComplete { _ in self.closeBehindFlush() }
        context.writeAndFlush(NIOAny(ByteBuffer()), promise: taken)
        // A slow client gets as much time for these bytes as for any others.
        if self.context?.channel.isActive == true { beginDeadline(context.channel) }
    }

    /// Closes the connection; called during a flush. With TLS, the close waits for the end of the
    /// flush: TLS would add its alert to the flush, and if the client has sent its own alert, TLS
    /// would close before the flush is sent.
    private func closeBehindFlush() {
        guard let context else { return }
        guard tls != nil else { return context.close(promise: nil) }
        context.eventLoop.assumeIsolated().execute { self.context?.close(promise: nil) }
    }

    /// Closes the sending side when the kernel has accepted all bytes.
    ///
    /// Closing the connection while client bytes are unread would reset it and lose the response.
    /// RFC 9112 §9.6
    ///
    /// - Parameter completion: called when the side is closed. After that, the client must close
    ///   its side.
    package func closeSending(_ completion: @escaping () -> Void) {
        flush()
        // A flush that fails ends the connection. Then no deadline is needed.
        guard let context else { return }
        isClosing = true
        beginDeadline(context.channel)
        let shut = context.eventLoop.makePromise(of: Void.self)
        shut.futureResult.assumeIsolated().whenSuccess { _ in
            self.deadline?.stop()
            completion()
        }
        context.close(mode: .output, promise: shut)
    }

    /// Closes the connection immediately.
    ///
    /// - Parameter resetting: whether the client gets a reset.
    package func abort(resetting: Bool) {
        flush()
        guard let context else { return }
        if resetting {
            _ = (context.channel as? any SocketOptionProvider)?.setSoLinger(linger(l_onoff: 1, l_linger: 0))
        }
        breakOff(nil)
    }

    /// Closes the connection immediately, in the middle of a response.
    ///
    /// TLS sends no close alert, because the alert would mean that the response is complete. RFC
    /// 9112 §9.8
    package func breakOff(_ promise: EventLoopPromise<Void>?) {
        guard let context else {
            promise?.succeed()
            return
        }
        guard let tls, let below = try? context.pipeline.syncOperations.context(handler: tls) else {
            return context.close(promise: promise)
        }
        below.close(promise: promise)
    }
}
