import HTTPCacheSemantics

/// What is known of a disk that took no more: whether what passes is to be stored again. A value: it is told what happened, and looks at nothing.
///
/// A response that is declined says in its head that it is not stored; one that fails later has said that it is. RFC 9211 §2.5
struct WritingTrouble: Sendable {
    private enum State {
        case none
        /// - Parameters:
        ///   - octets: that could not be written.
        ///   - free: octets that the file system had, where it told.
        ///   - nextTrial: when it is tried next, whatever the file system tells.
        ///   - wait: milliseconds before the trial after that.
        case failing(octets: Int64, free: Int64?, nextTrial: Timestamp, wait: Int64)
    }

    /// What to do with a response that comes.
    enum Admission: Equatable {
        case accept
        /// Declined; with `triesAgain`, so many octets are to be written for nobody, to see whether that works.
        case decline(triesAgain: Int64?)
    }

    private var state = State.none
    static let firstWait: Int64 = 1000
    static let longestWait: Int64 = 60_000

    /// Whether everything is taken.
    var isOver: Bool { if case .none = state { true } else { false } }

    /// The disk did not take some octets.
    mutating func failed(octets: Int64, free: Int64?, at now: Timestamp) {
        var wait = Self.firstWait
        var octets = octets
        if case .failing(let before, _, _, let last) = state {
            wait = min(last * 2, Self.longestWait)
            octets = max(octets, before)
        }
        state = .failing(octets: octets, free: free, nextTrial: now.adding(milliseconds: wait), wait: wait)
    }

    /// It took some: as many as it did not take before, or more.
    mutating func succeeded(octets: Int64) {
        if case .failing(let missing, _, _, _) = state, octets >= missing { state = .none }
    }

    /// - Parameter free: octets that the file system has now, where it tells.
    mutating func admit(free: Int64?, at now: Timestamp) -> Admission {
        guard case .failing(let octets, let before, let nextTrial, let wait) = state else { return .accept }
        // Somebody made room.
        if let free, let before, free - before >= octets { return .accept }
        // A clock that was set back makes no trial wait for ever.
        guard now >= nextTrial || nextTrial.milliseconds(since: now) > wait else { return .decline(triesAgain: nil) }
        state = .failing(octets: octets, free: before, nextTrial: now.adding(milliseconds: wait), wait: wait)
        return .decline(triesAgain: octets)
    }
}
