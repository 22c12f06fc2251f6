import HTTPCache
import HTTPCacheSemantics

/// The origin outages since the process started: current ones, and the last ones that ended.
struct OutageLog: Sendable {
    /// A period in which an origin was unreachable. The numbers are those of the whole gateway in
    /// that period.
    struct Outage: Sendable, Hashable {
        var origin: String
        var since: Timestamp
        /// `nil` while it lasts.
        var until: Timestamp?
        /// The totals when it began.
        fileprivate var start: OutageTotals
        /// The stale responses served from the store in that period because an origin was
        /// unreachable.
        fileprivate(set) var served: Int64 = 0
        /// The requests that could not be answered.
        fileprivate(set) var refused: Int64 = 0
        /// The greatest age in seconds of a stale response that was served.
        fileprivate(set) var oldestServed: Int64 = 0
    }

    /// An unreachable origin.
    struct Away: Sendable, Hashable {
        var origin: String
        var since: Timestamp
    }

    /// The most outages that are kept. Beyond it, the oldest ended outage is dropped.
    static let limit = 100

    private(set) var outages: [Outage] = []
    /// The totals of the last seconds, oldest first. Empty before the first sample.
    private var recent = [(at: Timestamp(milliseconds: 0), totals: OutageTotals())]
    /// The number of the last recorded outage that ended.
    private var lastEnded = 0

    /// How long totals are kept, in milliseconds. An outage begins with the first request that
    /// fails, before it is noticed.
    private static let memory: Int64 = 16_000

    /// The current outages.
    var present: [Outage] { outages.filter { $0.until == nil } }

    /// Records which origins are unreachable now. Call it every second. An outage counts from the
    /// totals of the second in which it began.
    ///
    /// - Parameter ended: the last outages that ended, read after `away`. One of them may have
    ///   begun and ended since the last sample.
    mutating func note(_ away: [Away], ended: [OriginOutage] = [], _ totals: OutageTotals, at now: Timestamp) {
        let new = ended.filter { $0.number > lastEnded }
        lastEnded = new.last?.number ?? lastEnded
        // The clock was set back, so these times are in the future.
        if let last = recent.last, last.at > now {
            let totals = OutageTotals(served: last.totals.served, refused: last.totals.refused, oldest: 0)
            recent = [(now, totals)]
        }
        // The last totals stay, even if the process was suspended for a long time.
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

    /// The newest totals that are at least as old as the outage, or the oldest that are kept.
    private func start(_ since: Timestamp) -> OutageTotals {
        (recent.last { $0.at <= since } ?? recent[0]).totals
    }
}

extension OutageLog.Away {
    fileprivate init(_ outage: OutageLog.Outage) { self.init(origin: outage.origin, since: outage.since) }

    fileprivate init(_ outage: OriginOutage) { self.init(origin: outage.origin, since: outage.since) }
}

/// The origin outages as clients of the control plane receive them, newest first.
struct OutagesReport: Sendable, Hashable, Codable {
    struct Outage: Sendable, Hashable, Codable {
        var origin: String
        var since: String
        /// `nil` while it lasts.
        var until: String?
        var seconds: Int64
        /// Stale responses from the store because the origin was unreachable.
        var fromStore: Int64
        /// Requests that could not be answered.
        var refused: Int64
        /// The greatest age in seconds of a response that was served.
        var oldestSeconds: Int64
    }

    /// When the process began to record outages.
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
