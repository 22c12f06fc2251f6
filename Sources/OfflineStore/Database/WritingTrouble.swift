import HTTPCacheSemantics

/// What is known of a disk that took no more: whether what passes is to be stored again. A value:
/// it is told what happened, and looks at nothing.
///
/// A response that is declined says in its head that it is not stored; one that fails later has
/// said that it is. RFC 9211 §2.5
struct WritingTrouble: Sendable {
    private struct Failing {
        /// Bytes that could not be written, at most.
        var bytes: Int64
        /// When it is tried next, whatever the file system tells.
        var nextTrial: Timestamp
        /// Milliseconds before the trial after that.
        var wait: Int64
        /// Failures although the file system told of room.
        var contradictions: Int
    }

    /// What to do with a response that comes.
    enum Admission: Equatable {
        case accept
        /// Declined. With `triesAgain`, the writer writes so many bytes that belong to no response,
        /// to see whether the disk takes them.
        case decline(triesAgain: Int64?)
    }

    private var failing: Failing?
    static let firstWait: Int64 = 1000
    static let longestWait: Int64 = 60_000
    /// So often the file system is believed that has room and takes nothing: a fault that passes.
    /// After that it is a quota, say, of which it does not tell.
    static let contradictionLimit = 32

    /// Whether everything is taken.
    var isOver: Bool { failing == nil }

    /// Whether a file system with so much room takes some bytes, with what the log and the tables
    /// need beside them.
    private static func hasRoom(_ free: Int64?, for bytes: Int64) -> Bool {
        free.map { $0 >= bytes &* 2 &+ (256 << 10) } ?? true
    }

    /// The disk did not take some bytes.
    ///
    /// - Parameter free: bytes that the file system has, where it tells.
    mutating func failed(bytes: Int64, free: Int64?, at now: Timestamp) {
        let bytes = max(bytes, failing?.bytes ?? 0)
        let wait = failing.map { min($0.wait * 2, Self.longestWait) } ?? Self.firstWait
        let contradictions = (failing?.contradictions ?? 0) + (Self.hasRoom(free, for: bytes) ? 1 : 0)
        failing = Failing(
            bytes: bytes,
            nextTrial: now.adding(milliseconds: wait),
            wait: wait,
            contradictions: contradictions
        )
    }

    /// It took some: as many as it did not take before, or more.
    mutating func succeeded(bytes: Int64) {
        if let failing, bytes >= failing.bytes { self.failing = nil }
    }

    /// - Parameter free: bytes that the file system has now, where it tells.
    mutating func admit(free: Int64?, at now: Timestamp) -> Admission {
        guard let failing else { return .accept }
        if failing.contradictions <= Self.contradictionLimit, Self.hasRoom(free, for: failing.bytes) {
            return .accept
        }
        // A clock that was set back makes no trial wait for ever.
        guard now >= failing.nextTrial || failing.nextTrial.milliseconds(since: now) > failing.wait else {
            return .decline(triesAgain: nil)
        }
        self.failing?.nextTrial = now.adding(milliseconds: failing.wait)
        return .decline(triesAgain: failing.bytes)
    }
}
