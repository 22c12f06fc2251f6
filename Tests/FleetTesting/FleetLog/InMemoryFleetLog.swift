package import FleetTier
package import HTTPCache
import Synchronization

/// A node's connection to an ``InMemoryLogEngine``. Like a real connection, it stays with one
/// server. When that server stops, the connection moves to the primary.
package final class InMemoryFleetLog: FleetLog {
    private struct Link {
        var server: Int?
        var isCut = false
        var lostReplies = 0
    }

    private let engine: InMemoryLogEngine
    private let link: Mutex<Link>

    init(engine: InMemoryLogEngine) {
        self.engine = engine
        link = Mutex(Link(server: engine.primary))
    }

    // MARK: Faults

    /// Drops the connection: the next call connects to the primary.
    package func disconnect() { link.withLock { $0.server = nil } }

    /// Cuts the node off from the engine, so that all calls fail.
    package func cut() {
        link.withLock { link in
            link.server = nil
            link.isCut = true
        }
    }

    /// Reverses ``cut()``.
    package func mend() { link.withLock { $0.isCut = false } }

    /// Loses the replies to the next calls: the calls take effect but time out.
    package func loseReplies(_ count: Int) { link.withLock { $0.lostReplies = count } }

    // MARK: Calls

    private func server() throws(FleetLogError) -> Int {
        let number: Int? = link.withLock { link in
            guard !link.isCut else { return nil }
            if let server = link.server {
                guard engine.isAlive(server) else {
                    link.server = nil
                    return nil
                }
                return server
            }
            let primary = engine.primary
            link.server = primary
            return primary
        }
        guard let number else { throw .unreachable }
        return number
    }

    private func perform<Value>(
        _ body: (inout InMemoryLogServer, EngineTime) throws(FleetLogError) -> sending Value
    ) throws(FleetLogError) -> sending Value {
        let value = try engine.with(try server(), body)
        try loseReply()
        return value
    }

    private func loseReply() throws(FleetLogError) {
        let isLost = link.withLock { link in
            defer { link.lostReplies = max(0, link.lostReplies - 1) }
            return link.lostReplies > 0
        }
        if isLost { throw .timedOut }
    }

    package func time(within limit: Duration) async throws(FleetLogError) -> EngineTime {
        try perform { _, now throws(FleetLogError) in now }
    }

    package func begin(_ offer: EpochOffer, within limit: Duration) async throws(FleetLogError) -> LogEpoch {
        try perform { server, now throws(FleetLogError) in try server.begin(offer, at: now) }
    }

    package func epoch(within limit: Duration) async throws(FleetLogError) -> LogEpoch? {
        try perform { server, _ throws(FleetLogError) in server.epoch }
    }

    package func append(
        _ entries: [NewEntry],
        in epoch: UInt64,
        within limit: Duration
    ) async throws(FleetLogError) -> [LogPosition] {
        try NewEntry.check(entries)
        let taken = entries.prefix(engine.entriesTaken)
        return try perform { server, now throws(FleetLogError) in
            try server.check(epoch)
            return taken.map { server.append($0.sealed, $0.purge, at: now) }
        }
    }

    package func follow(
        after cursor: LogPosition,
        count: Int,
        wait: Duration,
        within limit: Duration
    ) async throws(FleetLogError) -> LogBatch {
        guard (1...LogBatch.mostEntries).contains(count) else { throw .limit("count") }
        let number = try server()
        if wait > .zero { await engine.wait(on: number, after: cursor, for: wait) }
        if Task.isCancelled { throw .cancelled }
        // If the connection has ended in the meantime, the reply does not arrive.
        guard try server() == number else { throw .unreachable }
        return try perform { server, _ throws(FleetLogError) in server.batch(after: cursor, count: count) }
    }

    package func entry(at position: LogPosition, within limit: Duration) async throws(FleetLogError) -> LogEntry? {
        try perform { server, _ throws(FleetLogError) in
            server.data.index(of: position).map { server.data.entries[$0] }
        }
    }

    package func bounds(within limit: Duration) async throws(FleetLogError) -> LogBounds? {
        try perform { server, _ throws(FleetLogError) in
            guard let first = server.data.entries.first, let last = server.data.entries.last else { return nil }
            return LogBounds(first: first.position, last: last.position)
        }
    }

    package func trim(_ retention: LogRetention, within limit: Duration) async throws(FleetLogError) {
        try perform { server, _ throws(FleetLogError) in server.trim(retention) }
    }

    package func confirm(
        replicas count: Int,
        in epoch: UInt64,
        wait: Duration,
        within limit: Duration
    ) async throws(FleetLogError) -> Int {
        let number = try server()
        try perform { server, _ throws(FleetLogError) in try server.check(epoch) }
        return engine.confirm(number)
    }

    package func announce(
        _ report: NodeReport,
        in epoch: UInt64,
        within limit: Duration
    ) async throws(FleetLogError) {
        try perform { server, now throws(FleetLogError) in
            try server.check(epoch)
            server.perform { $0.nodes[report.identity] = NodeRow(report: report, seenAt: now) }
        }
    }

    package func amend(
        _ changes: [NodeRowChange],
        in epoch: UInt64,
        within limit: Duration
    ) async throws(FleetLogError) {
        try NodeRowChange.check(changes)
        try perform { server, _ throws(FleetLogError) in
            try server.check(epoch)
            // Compare with this server's data; the replica gets the result.
            let nodes = server.data.nodes
            let rows = changes.filter { nodes[$0.row.report.identity] == $0.expected }.map(\.row)
            server.perform { data in
                for row in rows { data.nodes[row.report.identity] = row }
            }
        }
    }

    package func nodes(within limit: Duration) async throws(FleetLogError) -> [NodeRow] {
        try perform { server, _ throws(FleetLogError) in
            server.data.nodes.values.inOrder
        }
    }
}

extension InMemoryLogServer {
    fileprivate func check(_ epoch: UInt64) throws(FleetLogError) {
        guard self.epoch?.number == epoch else { throw .wrongEpoch }
    }
}
