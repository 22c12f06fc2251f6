import HTTPCache

/// The log's confirmations that were heard last, and the calls that wait for the next ones.
///
/// All calls share one question to the log at a time, so many purges that wait do not load it.
struct ReachState {
    /// Replicas that have everything up to a position.
    struct Confirmation {
        var epoch: UInt64
        var position: LogPosition
        var replicas: Int
    }

    /// The rows of all nodes, also of those that the log has lost. The log was in the epoch after
    /// they were read.
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
    /// When the log was asked for its replicas, or until when an answer is waited for.
    var replicasAsked: Duration?
    /// The same for the nodes.
    var nodesAsked: Duration?
    /// The epoch in which this node follows, and since when it does.
    private var followed: (epoch: UInt64, since: Duration)?

    mutating func note(following epoch: UInt64, at now: Duration) {
        if followed?.epoch != epoch { followed = (epoch, now) }
    }

    /// Whether a contact that counts for a time has ended if it was in an earlier epoch than this
    /// one.
    ///
    /// The rows of nodes do not tell: a log that was lost has none, and another server has another
    /// clock.
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
