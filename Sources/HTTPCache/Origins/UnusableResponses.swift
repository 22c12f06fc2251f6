import HTTPCacheSemantics

/// Remembers which origins sent a response that is not valid HTTP, and decides when to log it. Such
/// an origin is not unreachable: a client may have chosen a target that always fails. A pure value.
/// docs/decisions/0053
struct UnusableResponses: Sendable {
    /// The maximum number of remembered origins. Failures of additional origins are not logged.
    static let limit = 64

    private var notes: [Origin: FailureNotes] = [:]

    /// Records a response that cannot be used.
    ///
    /// - Returns: whether to log it.
    mutating func note(_ cause: FailureCause, of origin: Origin, at now: Timestamp) -> Bool {
        if notes[origin] == nil, notes.count >= Self.limit {
            // An origin that responds well again is kept only so that it is not logged too often.
            guard let ended = notes.first(where: { $0.value.last == nil })?.key else { return false }
            notes[ended] = nil
        }
        return notes[origin, default: FailureNotes()].note(cause, at: now)
    }

    /// Records a response that can be used.
    mutating func succeed(_ origin: Origin) {
        if !notes.isEmpty { notes[origin]?.succeed() }
    }

    /// Forgets an origin to which no route leads anymore.
    mutating func forget(_ origin: Origin) { notes[origin] = nil }

    /// The failures of the last responses, by origin.
    var causes: [Origin: FailureCause] { notes.compactMapValues(\.last) }
}
