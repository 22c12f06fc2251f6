package import NIOCore
import Synchronization

/// A link to a server that accepts commands and may end: a connection, or its test double.
package protocol RedisLink: Sendable {
    /// Submits a command from any thread.
    ///
    /// - Parameters:
    ///   - time: the time limit for the reply. For a command that blocks on purpose, it must exceed
    ///     the blocking time, because a late reply counts as a failure of the server.
    ///   - completion: called exactly once, on the event loop, unless this method throws. It must
    ///     not block.
    /// - Throws: ``RedisTierError/Code/busy`` or ``RedisTierError/Code/closed``; in both cases
    ///   nothing was sent.
    func send(
        _ command: RedisCommand,
        within time: TimeAmount,
        completion: @escaping ReplyCallback
    ) throws(RedisTierError)

    /// Calls an action with the error that ended the link, once: when the link ends, or immediately
    /// if it has already ended.
    func whenClosed(_ action: @escaping @Sendable (RedisTierError) -> Void)

    /// Ends the link. Commands that are still waiting for a reply fail.
    func close()
}

extension RedisLink {
    /// Executes a command and waits for its reply. An error reply is returned as a value, not
    /// thrown.
    ///
    /// - Throws: ``RedisTierError/Code/busy``, ``RedisTierError/Code/closed``,
    ///   ``RedisTierError/Code/timedOut`` or ``RedisTierError/Code/cancelled``, or a parsing error.
    package func execute(_ command: RedisCommand, within time: TimeAmount) async throws(RedisTierError) -> RESPValue {
        try await PendingReply.wait { completion throws(RedisTierError) in
            try send(command, within: time, completion: completion)
        }
    }
}

/// The reply that a task waits for. If the task is canceled, the wait ends without a reply.
final class PendingReply: Sendable {
    typealias Reply = Result<RESPValue, RedisTierError>

    private enum State {
        case waiting(CheckedContinuation<Reply, Never>?)
        case ended(Reply)
    }

    private let state = Mutex(State.waiting(nil))

    /// Calls `submit`, which submits a command, and waits for the command's reply.
    static func wait(
        for submit: (@escaping ReplyCallback) throws(RedisTierError) -> Void
    ) async throws(RedisTierError) -> RESPValue {
        guard !Task.isCancelled else { throw .cancelled }
        let pending = PendingReply()
        let reply = await withTaskCancellationHandler {
            do throws(RedisTierError) {
                try submit { pending.end($0) }
            } catch {
                return Reply.failure(error)
            }
            return await withCheckedContinuation { pending.begin($0) }
        } onCancel: {
            pending.end(.failure(.cancelled))
        }
        return try reply.get()
    }

    private func begin(_ continuation: CheckedContinuation<Reply, Never>) {
        let reply: Reply? = state.withLock { state in
            if case .ended(let reply) = state { return reply }
            state = .waiting(continuation)
            return nil
        }
        if let reply { continuation.resume(returning: reply) }
    }

    private func end(_ reply: Reply) {
        let continuation: CheckedContinuation<Reply, Never>? = state.withLock { state in
            guard case .waiting(let continuation) = state else { return nil }
            state = .ended(reply)
            return continuation
        }
        continuation?.resume(returning: reply)
    }
}

extension RedisTierError {
    fileprivate static let cancelled = RedisTierError(.cancelled, "The task that waited for the reply was canceled.")
}
