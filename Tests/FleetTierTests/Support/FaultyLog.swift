import FleetTesting
import FleetTier
import HTTPCache
import HoldfastTesting

/// A log with one defect.
struct FaultyLog: FleetLog {
    enum Defect: CaseIterable {
        case oneEpochForEver, markerForgetsWhatItInherited, anyEpochIsAccepted, countIsIgnored, cursorIsIncluded
        case cursorIsNotLookedAt, trimRemovesAll, replicasAreNotCounted, rowsOfAnyEpoch, lengthIsNotBounded
        case epochOfAnotherServer, purgesAreAddedTwice, anyNumberAtOnce, backwards
        case oneRowForAName, rowsAreReplaced, rowsAreLost, amendsInAnyEpoch

        /// A part of the sentence that it breaks.
        var rule: String {
            switch self {
            case .oneEpochForEver: "knows a higher epoch"
            case .markerForgetsWhatItInherited: "marker inherits the last entry."
            case .anyEpochIsAccepted: "an epoch other than the current one is rejected, and not added"
            case .countIsIgnored: "at most the requested count"
            case .cursorIsIncluded: "at most the requested count"
            case .cursorIsNotLookedAt: "includes the entry at its cursor"
            case .trimRemovesAll: "'trim' to a count"
            case .replicasAreNotCounted: "'confirm' counts"
            case .rowsOfAnyEpoch: "A row for an epoch"
            case .lengthIsNotBounded: "a longer entry is rejected"
            case .epochOfAnotherServer: "although it knows the epoch's name"
            case .purgesAreAddedTwice: "is not added again"
            case .anyNumberAtOnce: "none or too many are rejected"
            case .backwards: "keep their order"
            case .oneRowForAName: "the same name have two rows"
            case .rowsAreReplaced: "only if it is the expected one"
            case .rowsAreLost: "writes a missing row"
            case .amendsInAnyEpoch: "'amend' is rejected in another epoch"
            }
        }
    }

    private let log: InMemoryFleetLog
    private let defect: Defect

    init(_ log: InMemoryFleetLog, _ defect: Defect) {
        self.log = log
        self.defect = defect
    }

    func time(within limit: Duration) async throws(FleetLogError) -> EngineTime { try await log.time(within: limit) }

    func begin(_ offer: EpochOffer, within limit: Duration) async throws(FleetLogError) -> LogEpoch {
        if defect == .oneEpochForEver, let epoch = try await log.epoch(within: limit) { return epoch }
        return try await log.begin(offer, within: limit)
    }

    func epoch(within limit: Duration) async throws(FleetLogError) -> LogEpoch? { try await log.epoch(within: limit) }

    func append(
        _ entries: [NewEntry],
        in epoch: UInt64,
        within limit: Duration
    ) async throws(FleetLogError) -> [LogPosition] {
        if defect != .anyNumberAtOnce, defect != .lengthIsNotBounded { try NewEntry.check(entries) }
        var positions: [LogPosition] = []
        for entry in defect == .backwards ? entries.reversed() : entries {
            positions.append(try await append(entry.sealed, purge: entry.purge, in: epoch, within: limit))
        }
        return positions
    }

    private func append(
        _ sealed: [UInt8],
        purge: PurgeID,
        in epoch: UInt64,
        within limit: Duration
    ) async throws(FleetLogError) -> LogPosition {
        switch defect {
        case .anyEpochIsAccepted:
            let present = try await log.epoch(within: limit)?.number
            return try await log.append(sealed, purge: purge, in: present ?? epoch, within: limit)
        case .epochOfAnotherServer:
            // As a server that compares the epoch's number alone.
            guard try await log.epoch(within: limit) == nil, let last = try await log.bounds(within: limit)?.last,
                last.epoch == epoch
            else { break }
            return LogPosition(epoch: epoch, number: last.number + 1)
        case .purgesAreAddedTwice:
            var random = SeededRandom(seed: UInt64(sealed.count) &+ UInt64(try await count(limit)))
            return try await log.append(sealed, purge: PurgeID(using: &random), in: epoch, within: limit)
        case .lengthIsNotBounded:
            let bytes = Array(sealed.prefix(LogEntry.longestSealed))
            return try await log.append(bytes, purge: purge, in: epoch, within: limit)
        default: break
        }
        return try await log.append(sealed, purge: purge, in: epoch, within: limit)
    }

    private func count(_ limit: Duration) async throws(FleetLogError) -> Int {
        try await log.follow(after: .zero, count: 512, wait: .zero, within: limit).entries.count
    }

    func follow(
        after cursor: LogPosition,
        count: Int,
        wait: Duration,
        within limit: Duration
    ) async throws(FleetLogError) -> LogBatch {
        var batch = try await log.follow(
            after: cursor,
            count: defect == .countIsIgnored ? LogBatch.mostEntries : count,
            wait: wait,
            within: limit
        )
        if defect == .cursorIsNotLookedAt { batch.atCursor = batch.entries.first }
        if defect == .cursorIsIncluded, let first = batch.atCursor { batch.entries.insert(first, at: 0) }
        if defect == .markerForgetsWhatItInherited { batch.entries = batch.entries.map(\.withoutInheritance) }
        return batch
    }

    func entry(at position: LogPosition, within limit: Duration) async throws(FleetLogError) -> LogEntry? {
        let entry = try await log.entry(at: position, within: limit)
        return defect == .markerForgetsWhatItInherited ? entry?.withoutInheritance : entry
    }

    func bounds(within limit: Duration) async throws(FleetLogError) -> LogBounds? {
        try await log.bounds(within: limit)
    }

    func trim(_ retention: LogRetention, within limit: Duration) async throws(FleetLogError) {
        var retention = retention
        if defect == .trimRemovesAll { retention.count = 1 }
        try await log.trim(retention, within: limit)
    }

    func confirm(
        replicas count: Int,
        in epoch: UInt64,
        wait: Duration,
        within limit: Duration
    ) async throws(FleetLogError) -> Int {
        let confirmed = try await log.confirm(replicas: count, in: epoch, wait: wait, within: limit)
        return defect == .replicasAreNotCounted ? count : confirmed
    }

    func announce(_ report: NodeReport, in epoch: UInt64, within limit: Duration) async throws(FleetLogError) {
        var (number, report) = (epoch, report)
        if defect == .oneRowForAName {
            report.identity.store = PurgeID(Array(repeating: 1, count: 16)) ?? report.identity.store
        }
        if defect == .oneRowForAName { report.identity.process = 1 }
        if defect == .rowsOfAnyEpoch, let present = try await log.epoch(within: limit) { number = present.number }
        try await log.announce(report, in: number, within: limit)
    }

    func amend(
        _ changes: [NodeRowChange],
        in epoch: UInt64,
        within limit: Duration
    ) async throws(FleetLogError) {
        var (number, changes) = (epoch, changes)
        if defect == .rowsAreLost { return }
        if defect == .amendsInAnyEpoch { number = try await log.epoch(within: limit)?.number ?? epoch }
        if defect == .rowsAreReplaced {
            let rows = try await log.nodes(within: limit)
            for index in changes.indices {
                changes[index].expected = rows.first { $0.report.identity == changes[index].row.report.identity }
            }
        }
        try await log.amend(changes, in: number, within: limit)
    }

    func nodes(within limit: Duration) async throws(FleetLogError) -> [NodeRow] { try await log.nodes(within: limit) }
}

extension LogEntry {
    fileprivate var withoutInheritance: LogEntry {
        var entry = self
        if case .marker(let marker) = content {
            entry.content = .marker(EpochMarker(name: marker.name, inherited: nil))
        }
        return entry
    }
}
