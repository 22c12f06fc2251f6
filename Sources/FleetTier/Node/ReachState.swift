import HTTPCache

/// The log's latest confirmations, and the calls that wait for the next ones.
///
/// All calls share their requests to the log, so many waiting purges do not overload it.
struct ReachState {
    /// The number of replicas that have everything up to a position.
    struct Confirmation {
        var epoch: UInt64
        var position: LogPosition
        var replicas: Int
    }

    /// The rows of all nodes, including rows that the log has lost. The epoch was checked after the
    /// rows were read.
    struct Rows {
        var epoch: UInt64
        var rows: [NodeRow]
        var time: EngineTime
        /// When the epoch began; `nil` if its first entry was removed.
        var beganAt: EngineTime?
    }

    var waiters = Waiters()
    var confirmation: Confirmation?
    var rows: Rows?
    /// When the last request about the replicas ended, or the deadline of the pending request.
    var replicasAsked: Duration?
    /// When the last request about the nodes ended, or the deadline of the pending request.
    var nodesAsked: Duration?
    /// The epoch that this node follows, and when the node began to follow it.
    private var followed: (epoch: UInt64, since: Duration)?

    mutating func note(following epoch: UInt64, at now: Duration) {
        if followed?.epoch != epoch { followed = (epoch, now) }
    }

    /// Returns whether every contact from before `epoch` has expired, if a contact lasts for
    /// `contact`.
    ///
    /// The node rows cannot answer this: a log that was lost has no rows, and another server has a
    /// different clock.
    func hasOutlasted(_ contact: Duration, before epoch: UInt64, at now: Duration) -> Bool {
        guard let followed, followed.epoch == epoch else { return false }
        return now - followed.since > contact
    }
}

/// Tasks that wait for an event.
struct Waiters {
    private var continuations: [UInt64: CheckedContinuation<Void, Never>] = [:]
    private var next: UInt64 = 0

    mutating func makeNumber() -> UInt64 {
        next += 1
        return next
    }

    mutating func add(_ continuation: CheckedContinuation<Void, Never>, _ number: UInt64) {
        continuations[number] = continuation
    }

    mutating func wake(_ number: UInt64) { continuations.removeValue(forKey: number)?.resume() }

    mutating func wakeAll() {
        let woken = continuations
        continuations = [:]
        for continuation in woken.values { continuation.resume() }
    }
}
