import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics

/// The outages of origins since the process started: the current outages, and the last outages that
/// ended.
struct OutageLog: Sendable {
    /// A period in which an origin was unreachable. The numbers cover the whole gateway in that
    /// period.
    struct Outage: Sendable, Hashable {
        var origin: String
        var since: Timestamp
        /// The time when the outage ended; `nil` while it lasts.
        var until: Timestamp?
        /// The totals when the outage began.
        fileprivate var start: OutageTotals
        /// The number of stale responses served from the store in that period because an origin was
        /// unreachable.
        fileprivate(set) var served: Int64 = 0
        /// The number of requests that could not be answered.
        fileprivate(set) var refused: Int64 = 0
        /// The age of the oldest stale response that was served, in seconds.
        fileprivate(set) var oldestServed: Int64 = 0
    }

    /// An unreachable origin.
    struct Away: Sendable, Hashable {
        var origin: String
        var since: Timestamp
    }

    /// The maximum number of outages that are kept. To make room, the oldest outage that has ended
    /// is dropped.
    static let limit = 100

    private(set) var outages: [Outage] = []
    /// The totals of the last seconds, oldest first. They begin with totals of zero.
    private var recent = [(at: Timestamp(milliseconds: 0), totals: OutageTotals())]
    /// The number of the last recorded outage that ended.
    private var lastEnded = 0

    /// The time that totals are kept, in milliseconds. They are needed because an outage begins
    /// with the first failed request, some time before the outage is noticed.
    private static let memory: Int64 = 16_000

    /// The current outages.
    var present: [Outage] { outages.filter { $0.until == nil } }

    /// Records which origins are unreachable now. Call this function every second. The numbers of
    /// an outage count from the second in which it began.
    ///
    /// - Parameter ended: the last outages that ended, read after `away`. An outage may have begun
    ///   and ended since the last sample.
    mutating func note(_ away: [Away], ended: [OriginOutage] = [], _ totals: OutageTotals, at now: Timestamp) {
        let new = ended.filter { $0.number > lastEnded }
        lastEnded = new.last?.number ?? lastEnded
        // If the clock was set back, the recorded times are in the future.
        if let last = recent.last, last.at > now {
            let totals = OutageTotals(served: last.totals.served, refused: last.totals.refused, oldest: 0)
            recent = [(now, totals)]
        }
        // Keep the last totals, even if the process was suspended for a long time.
        while recent.count > 1, now.milliseconds(since: recent[0].at) > Self.memory { recent.removeFirst() }
        recent.append((now, totals))
        for outage in away + new.map(Away.init) where !present.contains(where: { Away($0) == outage }) {
            var begun = Outage(origin: outage.origin, since: outage.since, start: start(outage.since))
            begun.oldestServed = recent.filter { $0.at > outage.since }.map(\.totals.oldest).max() ?? 0
            outages.append(begun)
        }
        for index in outages.indices where outages[index].until == nil {
            let outage = outages[index]
            outages[index].served = totals.served - outage.start.served
            outages[index].refused = totals.refused - outage.start.refused
            outages[index].oldestServed = max(outage.oldestServed, totals.oldest)
            let end = new.last { Away($0) == Away(outage) }?.until
            if end != nil || !away.contains(Away(outage)) { outages[index].until = end ?? now }
        }
        while outages.count > Self.limit {
            outages.remove(at: outages.firstIndex { $0.until != nil } ?? 0)
        }
    }

    /// Returns the newest totals that are at least as old as the outage, or the oldest totals if
    /// none are.
    private func start(_ since: Timestamp) -> OutageTotals {
        (recent.last { $0.at <= since } ?? recent[0]).totals
    }
}

extension OutageLog.Away {
    fileprivate init(_ outage: OutageLog.Outage) { self.init(origin: outage.origin, since: outage.since) }

    fileprivate init(_ outage: OriginOutage) { self.init(origin: outage.origin, since: outage.since) }
}

/// The outages of origins, newest first, as returned by the control plane.
struct OutagesReport: Sendable, Hashable, Codable {
    struct Outage: Sendable, Hashable, Codable {
        var origin: String
        var since: String
        /// The time when the outage ended; `nil` while it lasts.
        var until: String?
        var seconds: Int64
        /// The number of stale responses that came from the store because an origin was
        /// unreachable.
        var fromStore: Int64
        /// The number of requests that could not be answered.
        var refused: Int64
        /// The age of the oldest stale response that was served, in seconds.
        var oldestSeconds: Int64
    }

    /// The time when the process began to record outages.
    var since: String
    var outages: [Outage]

    init(_ log: OutageLog, since start: Timestamp, at now: Timestamp) {
        since = EndTime.text(start)
        outages = log.outages.reversed().map { outage in
            Outage(
                origin: outage.origin,
                since: EndTime.text(outage.since),
                until: outage.until.map(EndTime.text),
                seconds: max(0, (outage.until ?? now).milliseconds(since: outage.since) / 1000),
                fromStore: outage.served,
                refused: outage.refused,
                oldestSeconds: outage.oldestServed
            )
        }
    }
}
