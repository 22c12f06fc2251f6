import NIOCore
import Synchronization

/// Receives the result of a command.
package typealias ReplyCallback = @Sendable (Result<RESPValue, RedisTierError>) -> Void

/// A command on its way to the connection's event loop.
struct Submission: Sendable {
    let command: RedisCommand
    let byteCount: Int
    let deadline: NIODeadline
    let completion: ReplyCallback
}

/// Commands that other threads have submitted and the event loop has not yet accepted. Only the
/// first command in the list wakes the loop.
final class SubmissionList: Sendable {
    private struct State {
        var waiting: [Submission] = []
        var ending: RedisTierError?
    }

    private let state = Mutex(State())

    /// - Returns: whether the caller must wake the event loop.
    /// - Throws: the error that ended the connection.
    func append(_ submission: Submission) throws(RedisTierError) -> Bool {
        let result = state.withLock { state -> Result<Bool, RedisTierError> in
            if let ending = state.ending { return .failure(ending) }
            state.waiting.append(submission)
            return .success(state.waiting.count == 1)
        }
        return try result.get()
    }

    func take() -> [Submission] {
        state.withLock { exchange(&$0.waiting, with: []) }
    }

    /// Rejects all later submissions.
    ///
    /// - Returns: the submissions that the event loop did not accept.
    func end(_ error: RedisTierError) -> [Submission] {
        state.withLock { state in
            state.ending = error
            return exchange(&state.waiting, with: [])
        }
    }
}
