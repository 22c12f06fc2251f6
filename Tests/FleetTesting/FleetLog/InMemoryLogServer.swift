import FleetTier
import HTTPCache

/// The data of one server in the form that a replica receives.
struct LogData: Sendable {
    var entries: [LogEntry] = []
    /// The highest position ever assigned, including trimmed entries; `nil` if there is no log.
    var last: LogPosition?
    var epoch: LogEpoch?
    /// The server that began the epoch.
    var owner: Int?
    var names: [PurgeID: LogPosition] = [:]
    var nodes: [NodeIdentity: NodeRow] = [:]

    func index(of position: LogPosition) -> Int? {
        let index = entries.partitioningIndex { $0.position >= position }
        return index < entries.count && entries[index].position == position ? index : nil
    }
}

/// A server and the operations that its replica has not received yet.
struct InMemoryLogServer: Sendable {
    typealias Operation = @Sendable (inout LogData) -> Void

    let identity: Int
    var data = LogData()
    var isAlive = true
    /// The replica's data; `nil` after the replica was promoted.
    var replica: LogData? = LogData()
    var unsent: [Operation] = []

    /// The epoch, if this server began it and still has the log.
    var epoch: LogEpoch? { data.owner == identity && data.last != nil ? data.epoch : nil }

    mutating func perform(_ operation: @escaping Operation) {
        operation(&data)
        if replica != nil { unsent.append(operation) }
    }

    /// Sends the oldest pending operations to the replica.
    mutating func send(_ count: Int = .max) {
        guard var copy = replica else { return }
        replica = nil
        for operation in unsent.prefix(count) { operation(&copy) }
        unsent.removeFirst(min(count, unsent.count))
        replica = copy
    }

    mutating func begin(_ offer: EpochOffer, at time: EngineTime) throws(FleetLogError) -> LogEpoch {
        if let epoch, epoch.number >= offer.highestKnown { return epoch }
        let candidate = offer.candidate
        let highest = max(data.epoch?.number ?? 0, data.last?.epoch ?? 0, offer.highestKnown)
        guard candidate.number > highest else { throw .lowEpoch(highest) }
        let (identity, inherited) = (identity, data.last)
        perform { data in
            data.epoch = candidate
            data.owner = identity
            let position = LogPosition(epoch: candidate.number, number: 1)
            data.entries.append(
                LogEntry(
                    position: position,
                    addedAt: time,
                    content: .marker(EpochMarker(name: candidate.name, inherited: inherited))
                )
            )
            data.last = position
        }
        return candidate
    }

    mutating func append(_ sealed: [UInt8], _ purge: PurgeID, at time: EngineTime) -> LogPosition {
        if let known = data.names[purge], data.index(of: known) != nil { return known }
        let last = data.last ?? .zero
        let position = LogPosition(epoch: last.epoch, number: last.number + 1)
        perform { data in
            data.entries.append(LogEntry(position: position, addedAt: time, content: .purge(sealed)))
            data.last = position
            data.names[purge] = position
        }
        return position
    }

    func batch(after cursor: LogPosition, count: Int) -> LogBatch {
        let start = data.entries.partitioningIndex { $0.position > cursor }
        return LogBatch(
            entries: Array(data.entries[start...].prefix(count)),
            epoch: epoch,
            atCursor: data.index(of: cursor).map { data.entries[$0] }
        )
    }

    mutating func trim(_ retention: LogRetention) {
        perform { data in
            let old = retention.since.map { since in data.entries.prefix { $0.addedAt < since }.count } ?? 0
            let tooMany = retention.count.map { max(0, data.entries.count - max(1, $0)) } ?? 0
            data.entries.removeFirst(min(max(old, tooMany), max(0, data.entries.count - 1)))
            if let since = retention.nodesSince { data.nodes = data.nodes.filter { $0.value.seenAt >= since } }
        }
    }
}

extension Array {
    /// Returns the first index whose element satisfies the predicate. All later elements must also
    /// satisfy it.
    fileprivate func partitioningIndex(where isSecond: (Element) -> Bool) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if isSecond(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
