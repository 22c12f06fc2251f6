import NIOCore

/// The commands of one connection that have no reply yet, in the order in which they were sent.
/// Pure: events go in, actions come out.
///
/// A command whose deadline has passed stays in the queue, because its reply still arrives and must
/// be dropped. The connection counts as stalled if no reply came for ``stallLimit`` and the first
/// command is late by as much.
struct CommandPipeline<Completion> {
    private struct Pending {
        /// `nil` after the deadline.
        var completion: Completion?
        let byteCount: Int
        let deadline: NIODeadline
    }

    /// The action after a reply.
    enum ReplyAction {
        case complete(Completion, byteCount: Int)
        /// The command's deadline has passed.
        case drop(byteCount: Int)
        /// No command waits for a reply.
        case reject
    }

    /// The actions due at a point in time.
    struct Expiry {
        /// The commands whose deadline has passed since the last check.
        var late: [Completion] = []
        var isStalled = false
        /// When to check again.
        var next: NIODeadline?
    }

    /// The actions at the end of the connection.
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

    /// Receives a reply for the first command.
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
