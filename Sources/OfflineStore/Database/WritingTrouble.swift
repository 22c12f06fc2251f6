import HTTPCacheSemantics

/// Tracks whether the disk, or the budget, accepts writes, and decides whether to store a new
/// response. A pure value: it changes only through the events that it receives.
///
/// A declined response states in its head that it is not stored. A response that fails later has
/// already claimed to be stored. RFC 9211 §2.5
struct WritingTrouble: Sendable {
    private struct Failing {
        /// The most bytes that could not be written.
        var bytes: Int64
        /// The fewest bytes that could not be written. Much smaller writes may still succeed.
        var fewest: Int64
        /// The time of the next trial, regardless of the file system's free space.
        var nextTrial: Timestamp
        /// The milliseconds before the trial after that.
        var wait: Int64
        /// The number of failures although the file system reported enough space.
        var contradictions: Int
    }

    /// The decision on a new response.
    enum Admission: Equatable {
        case accept
        /// The response is declined. With `triesAgain`, the writer writes that many bytes that
        /// belong to no response, to find out whether the disk accepts them.
        case decline(triesAgain: Int64?)
    }

    private var failing: Failing?
    static let firstWait: Int64 = 1000
    static let longestWait: Int64 = 60_000
    /// How many failures despite free space count as temporary faults. After that, the reason is
    /// assumed to be one that the file system does not report, such as a quota.
    static let contradictionLimit = 32

    /// Whether the disk accepts writes.
    var isOver: Bool { failing == nil }

    /// Whether the free space is enough for some bytes, including the overhead of the log and the
    /// tables.
    private static func hasRoom(_ free: Int64?, for bytes: Int64) -> Bool {
        free.map { $0 >= bytes &* 2 &+ (256 << 10) } ?? true
    }

    /// Whether as many bytes as failed fit now. `false` if a write failed although they fit: the
    /// reason is then one that the file system does not report, such as a quota.
    func hasRoomAgain(free: Int64) -> Bool {
        failing.map { $0.contradictions == 0 && Self.hasRoom(free, for: $0.bytes) } ?? true
    }

    /// Records that the disk did not accept some bytes.
    ///
    /// - Parameter free: the free bytes of the file system, if known.
    mutating func recordFailure(bytes: Int64, free: Int64?, at now: Timestamp) {
        let fewest = min(bytes, failing?.fewest ?? bytes)
        let bytes = max(bytes, failing?.bytes ?? 0)
        let wait = failing.map { min($0.wait * 2, Self.longestWait) } ?? Self.firstWait
        let contradictions = (failing?.contradictions ?? 0) + (Self.hasRoom(free, for: bytes) ? 1 : 0)
        failing = Failing(
            bytes: bytes,
            fewest: fewest,
            nextTrial: now.adding(milliseconds: wait),
            wait: wait,
            contradictions: contradictions
        )
    }

    /// Records that the disk accepted some bytes. The trouble ends if they are as many as failed
    /// before.
    mutating func recordSuccess(bytes: Int64) {
        if let failing, bytes >= failing.bytes { self.failing = nil }
    }

    /// Allows a trial now, because something may have made room.
    mutating func allowTrial(at now: Timestamp) {
        failing?.nextTrial = now
        failing?.wait = Self.firstWait
    }

    /// Decides on a new response.
    ///
    /// A response that is too large for the remaining space must not keep out those that fit. So a
    /// response is accepted if it has at most half of the bytes that failed. At most a few sizes
    /// can fail this way before all are declined.
    ///
    /// - Parameters:
    ///   - bytes: the bytes of the response that one transaction writes, if known.
    ///   - free: the free bytes of the file system now, if known.
    mutating func admit(bytes: Int64? = nil, free: Int64?, at now: Timestamp) -> Admission {
        guard let failing else { return .accept }
        if let bytes, bytes <= failing.fewest / 2, Self.hasRoom(free, for: bytes) { return .accept }
        if failing.contradictions <= Self.contradictionLimit, Self.hasRoom(free, for: failing.bytes) {
            return .accept
        }
        // If the clock was set back, trials must not wait indefinitely.
        guard now >= failing.nextTrial || failing.nextTrial.milliseconds(since: now) > failing.wait else {
            return .decline(triesAgain: nil)
        }
        self.failing?.nextTrial = now.adding(milliseconds: failing.wait)
        return .decline(triesAgain: failing.bytes)
    }
}
