import HTTPCache
import HTTPCacheSemantics

/// The outages of origins since the start of the process: the present ones, and the last that are
/// over.
struct OutageLog: Sendable {
    /// The time in which an origin could not be reached. The numbers are those of the whole gateway
    /// in that time.
    struct Outage: Sendable, Hashable {
        var origin: String
        var since: Timestamp
        /// `nil` while it lasts.
        var until: Timestamp?
        /// The totals at its beginning.
        fileprivate var start: OutageTotals
        /// The responses that were served from the store in it, because an origin could not be
        /// reached.
        fileprivate(set) var served: Int64 = 0
        /// The requests that could not be answered.
        fileprivate(set) var refused: Int64 = 0
        /// The greatest age in seconds of a stale response that was served.
        fileprivate(set) var oldestServed: Int64 = 0
    }

    /// An origin that cannot be reached.
    struct Away: Sendable, Hashable {
        var origin: String
        var since: Timestamp
    }

    /// The most outages that are kept. The oldest of those that are over goes first.
    static let limit = 100

    private(set) var outages: [Outage] = []
    /// The totals of the last seconds, the oldest first. Empty before the first sample.
    private var recent = [(at: Timestamp(milliseconds: 0), totals: OutageTotals())]
    /// The number of the last ended outage that was noted.
    private var lastEnded = 0

    /// For so many milliseconds totals are kept: an outage begins before it is noticed, by the
    /// first request that failed.
    private static let memory: Int64 = 16_000

    /// The outages that last.
    var present: [Outage] { outages.filter { $0.until == nil } }

    /// Notes which origins cannot be reached now. Call it each second: an outage counts from the
    /// totals of the second in which it began.
    ///
    /// - Parameter ended: the last outages that are over, read after `away`. One of them may have
    ///   begun and ended since the last sample.
    mutating func note(_ away: [Away], ended: [OriginOutage] = [], _ totals: OutageTotals, at now: Timestamp) {
        let new = ended.filter { $0.number > lastEnded }
        lastEnded = new.last?.number ?? lastEnded
        // Of a clock that was set back: their times are still to come.
        if let last = recent.last, last.at > now {
            let totals = OutageTotals(served: last.totals.served, refused: last.totals.refused, oldest: 0)
            recent = [(now, totals)]
        }
        // The last ones stay, however long the process has been suspended.
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

    /// The last totals that are no younger than an outage, else the first that are kept.
    private func start(_ since: Timestamp) -> OutageTotals {
        (recent.last { $0.at <= since } ?? recent[0]).totals
    }
}

extension OutageLog.Away {
    fileprivate init(_ outage: OutageLog.Outage) { self.init(origin: outage.origin, since: outage.since) }

    fileprivate init(_ outage: OriginOutage) { self.init(origin: outage.origin, since: outage.since) }
}

/// The outages of origins, as clients of the control plane get them: the newest first.
struct OutagesReport: Sendable, Hashable, Codable {
    struct Outage: Sendable, Hashable, Codable {
        var origin: String
        var since: String
        /// `nil` while it lasts.
        var until: String?
        var seconds: Int64
        /// Responses from the store, stale because the origin could not be reached.
        var fromStore: Int64
        /// Requests that could not be answered.
        var refused: Int64
        /// The greatest age in seconds of a response that was served.
        var oldestSeconds: Int64
    }

    /// When the process began to watch.
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
