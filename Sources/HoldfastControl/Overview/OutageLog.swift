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
        fileprivate var start: TrafficTotals
        /// The changes of the totals in it.
        fileprivate(set) var totals = TrafficTotals()
        /// The greatest age in seconds of a stale response that was served.
        fileprivate(set) var oldestServed: Int64 = 0

        /// The changes of the totals in it, up to a reading or up to its end.
        func totals(at reading: TrafficTotals) -> TrafficTotals { until == nil ? reading - start : totals }
    }

    /// An origin that cannot be reached.
    struct Away: Sendable, Hashable {
        var origin: String
        var since: Timestamp
    }

    /// The most outages that are kept. The oldest of those that are over goes first.
    static let limit = 100

    private(set) var outages: [Outage] = []
    /// The totals of the last reading: those from before an outage that is new.
    private var last = TrafficTotals()
    /// The number of the last ended outage that was noted.
    private var lastEnded = 0

    /// The outages that last.
    var present: [Outage] { outages.filter { $0.until == nil } }

    /// Whether an outage lasts, begins, or is over since the last look.
    func concerns(_ away: [Away], ended: [OriginOutage]) -> Bool {
        !away.isEmpty || !present.isEmpty || (ended.last?.number ?? 0) > lastEnded
    }

    /// Notes which origins cannot be reached now. Call it each second while that concerns it: the
    /// totals of the call before are those at the beginning of an outage.
    ///
    /// - Parameter ended: the last outages that are over, read after `away`. One of them may have
    ///   begun and ended since the last look.
    mutating func note(
        _ away: [Away],
        ended: [OriginOutage] = [],
        _ totals: TrafficTotals,
        oldestServed: Int64,
        at now: Timestamp
    ) {
        let new = ended.filter { $0.number > lastEnded }
        lastEnded = new.last?.number ?? lastEnded
        for outage in away + new.map(Away.init) where !present.contains(where: { Away($0) == outage }) {
            outages.append(Outage(origin: outage.origin, since: outage.since, start: last))
        }
        for index in outages.indices where outages[index].until == nil {
            let outage = outages[index]
            outages[index].totals = totals - outage.start
            outages[index].oldestServed = max(outage.oldestServed, oldestServed)
            let end = new.last { Away($0) == Away(outage) }?.until
            if end != nil || !away.contains(Away(outage)) { outages[index].until = end ?? now }
        }
        while outages.count > Self.limit {
            outages.remove(at: outages.firstIndex { $0.until != nil } ?? 0)
        }
        last = totals
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
                fromStore: outage.totals[.offlineServed],
                refused: outage.totals[.refused],
                oldestSeconds: outage.oldestServed
            )
        }
    }
}
