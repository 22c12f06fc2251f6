import HTTPCacheSemantics

/// Remembers why requests to origins failed, and decides when to log it. Such an origin need not be
/// unreachable: a client may have chosen a target that always fails. A pure value.
/// docs/decisions/0053
struct OriginFailures: Sendable {
    private struct Entry: Sendable {
        var notes = FailureNotes()
        var last: OriginCondition.Failure
    }

    /// The maximum number of remembered origins. Failures of additional origins are not logged.
    static let limit = 64

    private var entries: [Origin: Entry] = [:]

    /// Records a failed request.
    ///
    /// - Returns: whether to log it.
    mutating func note(_ cause: FailureCause, of origin: Origin, at now: Timestamp) -> Bool {
        let failure = OriginCondition.Failure(cause: cause, at: now)
        if entries[origin] == nil, entries.count >= Self.limit {
            // An origin that responds again is kept only to show its last failure, and so that it
            // is not logged too often.
            guard let ended = entries.first(where: { $0.value.notes.last == nil })?.key else { return false }
            entries[ended] = nil
        }
        entries[origin, default: Entry(last: failure)].last = failure
        return entries[origin]?.notes.note(cause, at: now) ?? false
    }

    /// Records a response that can be used.
    mutating func succeed(_ origin: Origin) {
        if !entries.isEmpty { entries[origin]?.notes.succeed() }
    }

    /// Forgets an origin to which no route leads anymore.
    mutating func forget(_ origin: Origin) { entries[origin] = nil }

    /// Why the last request to each origin failed; origins whose last request succeeded are left
    /// out.
    var causes: [Origin: FailureCause] { entries.compactMapValues(\.notes.last) }

    /// The last failure of each origin, whether or not later requests succeeded.
    var last: [Origin: OriginCondition.Failure] { entries.mapValues(\.last) }
}
