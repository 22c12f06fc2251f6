import NIOCore

/// Handles the commands and replies of one connection, on its event loop.
///
/// Commands go into one buffer, which is flushed once per event loop tick. The flush comes after
/// the replies read in the same tick, because the replies' callbacks may submit more commands.
final class RedisChannelHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let list: SubmissionList
    private let budget: FlightBudget
    private let onPush: @Sendable ([RESPValue]) -> Void
    private var parser: RESPParser
    private var encoder = CommandEncoder()
    private var pipeline: CommandPipeline<ReplyCallback>
    private var context: ChannelHandlerContext?
    private var ending: EventLoopPromise<RedisTierError>?
    private var endingError: RedisTierError?
    private var isReading = false
    private var willFlush = false
    private var timer: Scheduled<Void>?
    private var alarm: NIODeadline?

    init(_ settings: RedisConnectionSettings, list: SubmissionList, budget: FlightBudget) {
        self.list = list
        self.budget = budget
        onPush = settings.onPush
        parser = RESPParser(limits: settings.limits)
        pipeline = CommandPipeline(stallLimit: settings.stallLimit)
    }

    // MARK: Commands

    /// Accepts the commands that other threads submitted, and flushes them together.
    func takeSubmissions() {
        for submission in list.take() { enqueue(submission) }
        flush()
    }

    /// Accepts a command that was submitted on the event loop.
    ///
    /// - Throws: the error that ended the connection.
    func submit(_ submission: Submission) throws(RedisTierError) {
        if let endingError { throw endingError }
        enqueue(submission)
        // During a read, the flush follows the replies.
        guard !isReading, !willFlush, let context else { return }
        willFlush = true
        context.eventLoop.assumeIsolated().execute {
            self.willFlush = false
            self.flush()
        }
    }

    private func enqueue(_ submission: Submission) {
        guard endingError == nil, let context else {
            budget.release(submission.byteCount)
            return submission.completion(.failure(endingError ?? .connectionClosed))
        }
        guard submission.deadline > context.eventLoop.now else {
            budget.release(submission.byteCount)
            return submission.completion(.failure(.late))
        }
        pipeline.append(submission.completion, byteCount: submission.byteCount, deadline: submission.deadline)
        encoder.append(submission.command)
        setAlarm(submission.deadline)
    }

    private func flush() {
        guard !encoder.isEmpty, !isReading, endingError == nil, let context else { return }
        for buffer in encoder.take() { context.write(wrapOutboundOut(buffer), promise: nil) }
        context.flush()
    }

    // MARK: Replies

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        isReading = true
        parser.append(unwrapInboundIn(data))
        do throws(RedisTierError) {
            while endingError == nil, let message = try parser.next() {
                try receive(message, at: context.eventLoop.now)
            }
        } catch {
            end(error)
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        isReading = false
        flush()
        context.fireChannelReadComplete()
    }

    private func receive(_ message: RESPMessage, at now: NIODeadline) throws(RedisTierError) {
        switch message {
        case .push(let elements): onPush(elements)
        case .reply(let value):
            switch pipeline.receive(at: now) {
            case .complete(let completion, let byteCount):
                budget.release(byteCount)
                completion(.success(value))
            case .drop(let byteCount): budget.release(byteCount)
            case .reject:
                throw RedisTierError(
                    .unexpected,
                    "The server sent a reply without a command. The connection was closed."
                )
            }
        }
    }

    // MARK: Deadlines

    private func setAlarm(_ deadline: NIODeadline) {
        if let alarm, alarm <= deadline { return }
        timer?.cancel()
        alarm = deadline
        timer = context?.eventLoop.assumeIsolated().scheduleTask(deadline: deadline) { self.expire() }
    }

    private func expire() {
        guard endingError == nil, let context else { return }
        alarm = nil
        let expiry = pipeline.expire(at: context.eventLoop.now)
        for completion in expiry.late { completion(.failure(.late)) }
        if expiry.isStalled {
            return end(RedisTierError(.closed, "The server's replies are too slow. The connection was closed."))
        }
        if let next = expiry.next { setAlarm(next) }
    }

    // MARK: Start and end

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
    }

    /// Completes a promise when the connection ends.
    func whenEnded(_ promise: EventLoopPromise<RedisTierError>) { ending = promise }

    func channelInactive(context: ChannelHandlerContext) {
        end(.connectionClosed)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        end(RedisTierError(.closed, "The connection failed: \(RedisTierError.clause(error))."))
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        // A channel that never connected does not report that it has ended.
        self.context = nil
        end(.connectionClosed)
    }

    /// Ends the connection and fails every waiting command, once. Bytes that arrive later are
    /// ignored.
    func end(_ error: RedisTierError) {
        guard endingError == nil else { return }
        endingError = error
        timer?.cancel()
        let submitted = list.end(error)
        let pending = pipeline.end()
        budget.release(
            submitted.reduce(pending.byteCount) { $0 + $1.byteCount },
            commands: pending.count + submitted.count
        )
        for completion in pending.waiting + submitted.map(\.completion) { completion(.failure(error)) }
        context?.close(promise: nil)
        ending?.succeed(error)
        ending = nil
    }
}

extension RedisTierError {
    static let connectionClosed = RedisTierError(.closed, "The connection to the server was closed.")
    static let late = RedisTierError(.timedOut, "The server did not reply within the command's time limit.")
}
