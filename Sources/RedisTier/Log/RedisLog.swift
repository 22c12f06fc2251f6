package import FleetTier
package import HTTPCache
import NIOCore
import Synchronization

/// A fleet log in a stream on Redis 7 or Valkey.
///
/// It uses three connections, because two kinds of commands block their connection: one for `XREAD
/// BLOCK`, one for `WAIT`, and one for everything else. It works only while ``run()`` runs.
package final class RedisLog: FleetLog {
    let keys: LogKeys
    let commands: ConnectionSupervisor
    let reader: ConnectionSupervisor
    let confirmer: ConnectionSupervisor
    /// Whether a reply has exceeded a limit of its connection. From then on, batches are small.
    let readsLittle = Atomic(false)
    private let nameLifetime: Int
    let connector: RedisConnector
    private let sleep: @Sendable () async throws -> Void

    /// - Parameters:
    ///   - nameLifetime: the time that the server remembers the IDs of purges, in seconds.
    ///   - pollInterval: the interval at which sentinels or cluster nodes are asked whether the
    ///     primary has moved.
    ///   - clock: the clock for pauses.
    ///   - random: returns numbers from 0 to 1, for jitter.
    ///   - onChange: called with each new state of the command connection. It must return
    ///     immediately.
    ///   - onFailure: called when a connection attempt fails, with the reason, which is worded for
    ///     the operator.
    package init<C: Clock>(
        _ connector: RedisConnector,
        namespace: FleetNamespace,
        nameLifetime: Int = 3600,
        pollInterval: Duration = .seconds(2),
        policy: SupervisorPolicy = SupervisorPolicy(),
        clock: C,
        random: @escaping @Sendable () -> Double,
        onChange: @escaping @Sendable (SupervisorState) -> Void = { _ in },
        onFailure: @escaping @Sendable (RedisTierError) -> Void = { _ in }
    ) where C.Duration == Duration {
        self.nameLifetime = nameLifetime
        keys = LogKeys(namespace)
        // In a cluster, the log is on the primary that owns its slot.
        let connector = connector.following(keys.slot)
        self.connector = connector
        sleep = { try await clock.sleep(for: pollInterval) }
        func supervisor(_ onChange: @escaping @Sendable (SupervisorState) -> Void) -> ConnectionSupervisor {
            ConnectionSupervisor(policy: policy, clock: clock, random: random, onChange: onChange) {
                () throws(RedisTierError) in
                do throws(RedisTierError) {
                    return try await connector.connect()
                } catch {
                    onFailure(error)
                    throw error
                }
            }
        }
        commands = supervisor(onChange)
        reader = supervisor { _ in }
        confirmer = supervisor { _ in }
    }

    /// Maintains the connections until its task is canceled. Call it once.
    package func run() async {
        await withTaskGroup { group in
            for supervisor in [commands, reader, confirmer] { group.addTask { await supervisor.run() } }
            group.addTask { await self.connector.watch(every: self.sleep) { self.reconnect() } }
        }
    }

    /// Whether the log can be read now.
    package var isReady: Bool { commands.state == .ready && reader.state == .ready }

    func reconnect() {
        for supervisor in [commands, reader, confirmer] { supervisor.reconnect() }
    }

    // MARK: Epochs

    package func time(within limit: Duration) async throws(FleetLogError) -> EngineTime {
        try LogReplies.time(try await perform(RedisCommand("TIME"), within: limit))
    }

    package func begin(_ offer: EpochOffer, within limit: Duration) async throws(FleetLogError) -> LogEpoch {
        let arguments: [RedisCommand.Argument] = [
            .text(String(offer.candidate.number)), .text("\(offer.candidate.name)"),
            .text(String(offer.highestKnown)),
        ]
        return try LogReplies.begin(
            try await run(.begin, keys: [keys.log, keys.epoch], arguments, within: limit)
        )
    }

    package func epoch(within limit: Duration) async throws(FleetLogError) -> LogEpoch? {
        let reply = try await run(.peek, keys: [keys.log, keys.epoch], [.position(.zero)], within: limit)
        return try LogReplies.peek(reply).epoch
    }

    // MARK: Entries

    package func append(
        _ entries: [NewEntry],
        in epoch: UInt64,
        within limit: Duration
    ) async throws(FleetLogError) -> [LogPosition] {
        try NewEntry.check(entries)
        let reply = try await run(
            .append,
            keys: [keys.log, keys.epoch] + entries.map { keys.name($0.purge) },
            [.text(String(epoch)), .integer(nameLifetime)] + entries.map { .bytes(ByteBuffer(bytes: $0.sealed)) },
            within: limit
        )
        let words = try LogReplies.written(reply)
        let positions = words.compactMap { LogPosition($0) }
        guard positions.count == words.count, (1...entries.count).contains(positions.count) else {
            throw .malformed("positions")
        }
        return positions
    }

    package func entry(at position: LogPosition, within limit: Duration) async throws(FleetLogError) -> LogEntry? {
        let command = RedisCommand("XRANGE", keys.log, .position(position), .position(position))
        return try LogReplies.range(try await perform(command, within: limit)).first
    }

    package func bounds(within limit: Duration) async throws(FleetLogError) -> LogBounds? {
        let replies = try await perform(
            [
                RedisCommand("XRANGE", keys.log, "-", "+", "COUNT", 1),
                RedisCommand("XREVRANGE", keys.log, "+", "-", "COUNT", 1),
            ],
            on: commands,
            within: TimeAmount(limit)
        )
        guard let first = try LogReplies.range(replies[0]).first, let last = try LogReplies.range(replies[1]).first
        else { return nil }
        return LogBounds(first: first.position, last: last.position)
    }

    package func trim(_ retention: LogRetention, within limit: Duration) async throws(FleetLogError) {
        let arguments: [RedisCommand.Argument] = [
            .text(retention.since.map { String($0.milliseconds) } ?? ""),
            .text(retention.count.map { String(max(1, $0)) } ?? ""),
            .text(retention.nodesSince.map { String($0.milliseconds) } ?? ""),
        ]
        let reply = try await run(.trim, keys: [keys.log, keys.epoch, keys.nodes], arguments, within: limit)
        _ = try LogReplies.written(reply)
    }

    // MARK: Nodes

    package func announce(_ report: NodeReport, in epoch: UInt64, within limit: Duration) async throws(FleetLogError) {
        let reply = try await run(
            .announce,
            keys: [keys.log, keys.epoch, keys.nodes],
            [.text(String(epoch)), .text("\(report.identity)"), .text(report.encoded)],
            within: limit
        )
        _ = try LogReplies.written(reply)
    }

    package func amend(
        _ changes: [NodeRowChange],
        in epoch: UInt64,
        within limit: Duration
    ) async throws(FleetLogError) {
        try NodeRowChange.check(changes)
        let rows = changes.flatMap { change -> [RedisCommand.Argument] in
            [
                .text("\(change.row.report.identity)"), .text(change.expected?.encoded ?? ""),
                .text(change.row.encoded),
            ]
        }
        let reply = try await run(
            .amend,
            keys: [keys.log, keys.epoch, keys.nodes],
            [.text(String(epoch))] + rows,
            within: limit
        )
        _ = try LogReplies.written(reply)
    }

    package func nodes(within limit: Duration) async throws(FleetLogError) -> [NodeRow] {
        try LogReplies.rows(try await perform(RedisCommand("HGETALL", keys.nodes), within: limit))
    }
}
