import FleetTesting
import FleetTier
import HTTPCache
import Synchronization

/// A log whose pages take time for each entry. No time passes: a page that would take longer than
/// its limit times out at once.
final class SlowLog: FleetLog {
    struct Page: Equatable {
        var position: LogPosition
        /// The number of entries that were asked for.
        var count: Int
        /// Whether it arrived and has entries.
        var isWhole: Bool
    }

    private struct State {
        var pages: [Page] = []
        var wholeUntilCut = Int.max
    }

    private let log: InMemoryFleetLog
    private let entryTime: Duration
    private let state: Mutex<State>

    init(_ log: InMemoryFleetLog, entryTime: Duration) {
        self.log = log
        self.entryTime = entryTime
        state = Mutex(State())
    }

    /// The pages that were asked for.
    var pages: [Page] { state.withLock { $0.pages } }

    /// Fails once after a number of whole pages, as if the connection was lost.
    func cut(afterPages count: Int) { state.withLock { $0.wholeUntilCut = count } }

    func follow(
        after cursor: LogPosition,
        count: Int,
        wait: Duration,
        within limit: Duration
    ) async throws(FleetLogError) -> LogBatch {
        let batch = try await log.follow(after: cursor, count: count, wait: wait, within: limit)
        let isInTime = entryTime * batch.entries.count <= limit
        let fault: FleetLogError? = state.withLock { state in
            let isCut = isInTime && !batch.entries.isEmpty && state.wholeUntilCut == 0
            let isWhole = isInTime && !isCut && !batch.entries.isEmpty
            if isWhole { state.wholeUntilCut -= 1 }
            if isCut { state.wholeUntilCut = .max }
            state.pages.append(Page(position: cursor, count: count, isWhole: isWhole))
            return isCut ? .unreachable : isInTime ? nil : .timedOut
        }
        if let fault { throw fault }
        return batch
    }

    func time(within limit: Duration) async throws(FleetLogError) -> EngineTime { try await log.time(within: limit) }

    func begin(_ offer: EpochOffer, within limit: Duration) async throws(FleetLogError) -> LogEpoch {
        try await log.begin(offer, within: limit)
    }

    func epoch(within limit: Duration) async throws(FleetLogError) -> LogEpoch? { try await log.epoch(within: limit) }

    func append(
        _ entries: [NewEntry],
        in epoch: UInt64,
        within limit: Duration
    ) async throws(FleetLogError) -> [LogPosition] {
        try await log.append(entries, in: epoch, within: limit)
    }

    func entry(at position: LogPosition, within limit: Duration) async throws(FleetLogError) -> LogEntry? {
        try await log.entry(at: position, within: limit)
    }

    func bounds(within limit: Duration) async throws(FleetLogError) -> LogBounds? {
        try await log.bounds(within: limit)
    }

    func trim(_ retention: LogRetention, within limit: Duration) async throws(FleetLogError) {
        try await log.trim(retention, within: limit)
    }

    func confirm(
        replicas count: Int,
        in epoch: UInt64,
        wait: Duration,
        within limit: Duration
    ) async throws(FleetLogError) -> Int {
        try await log.confirm(replicas: count, in: epoch, wait: wait, within: limit)
    }

    func announce(_ report: NodeReport, in epoch: UInt64, within limit: Duration) async throws(FleetLogError) {
        try await log.announce(report, in: epoch, within: limit)
    }

    func amend(
        _ changes: [NodeRowChange],
        in epoch: UInt64,
        within limit: Duration
    ) async throws(FleetLogError) {
        try await log.amend(changes, in: epoch, within: limit)
    }

    func nodes(within limit: Duration) async throws(FleetLogError) -> [NodeRow] { try await log.nodes(within: limit) }
}
