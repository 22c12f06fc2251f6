import NIOCore

/// The commands of one connection that have no reply yet, in the order in which they were sent. A
/// pure value: events go in, actions come out.
///
/// A command stays in the queue after its deadline, because its reply will still arrive and must be
/// dropped. The connection counts as stalled when both of these are true:
/// - no reply arrived for ``stallLimit``
/// - the first command's deadline passed at least ``stallLimit`` ago
struct CommandPipeline<Completion> {
    private struct Pending {
        /// The completion to call; `nil` after the deadline.
        var completion: Completion?
        let byteCount: Int
        let deadline: NIODeadline
    }

    /// The action for a reply.
    enum ReplyAction {
        case complete(Completion, byteCount: Int)
        /// Drop it, because the command's deadline has passed.
        case drop(byteCount: Int)
        /// Close the connection, because no command is waiting for a reply.
        case reject
    }

    /// The actions that are due at a point in time.
    struct Expiry {
        /// The commands whose deadline has passed since the last check.
        var late: [Completion] = []
        var isStalled = false
        /// The time of the next check.
        var next: NIODeadline?
    }

    /// The actions when the connection ends.
    struct Ending {
        var waiting: [Completion]
        var byteCount: Int
        var count: Int
    }

    private let stallLimit: TimeAmount
    private var pending = CircularBuffer<Pending>()
    private var lastReply = NIODeadline.uptimeNanoseconds(0)

    init(stallLimit: TimeAmount) { self.stallLimit = stallLimit }

    var count: Int { pending.count }

    mutating func append(_ completion: Completion, byteCount: Int, deadline: NIODeadline) {
        pending.append(Pending(completion: completion, byteCount: byteCount, deadline: deadline))
    }

    /// Matches a reply to the first pending command.
    mutating func receive(at now: NIODeadline) -> ReplyAction {
        guard let command = pending.popFirst() else { return .reject }
        lastReply = now
        return command.completion.map { .complete($0, byteCount: command.byteCount) }
            ?? .drop(byteCount: command.byteCount)
    }

    mutating func expire(at now: NIODeadline) -> Expiry {
        var expiry = Expiry()
        for index in pending.indices {
            guard let completion = pending[index].completion else { continue }
            if pending[index].deadline <= now {
                expiry.late.append(completion)
                pending[index].completion = nil
            } else {
                expiry.next = min(expiry.next ?? .distantFuture, pending[index].deadline)
            }
        }
        if let first = pending.first {
            let stalled = max(first.deadline, lastReply) + stallLimit
            expiry.isStalled = stalled <= now
            expiry.next = min(expiry.next ?? .distantFuture, stalled)
        }
        return expiry
    }

    mutating func end() -> Ending {
        defer { pending.removeAll() }
        return Ending(
            waiting: pending.compactMap(\.completion),
            byteCount: pending.reduce(0) { $0 + $1.byteCount },
            count: pending.count
        )
    }
}
