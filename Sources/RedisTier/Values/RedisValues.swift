package import FleetTier
package import NIOCore

/// Shared responses and leases in plain keys of Redis 7 or Valkey, on one server or on a cluster.
///
/// It works only while ``run()`` runs.
package final class RedisValues: FleetValues {
    /// The server or cluster that holds the values.
    enum Home: Sendable {
        case server(ValuesNode)
        case cluster(ValuesCluster)
    }

    let home: Home
    private let connector: RedisConnector
    private let sleep: @Sendable () async throws -> Void

    /// - Parameters:
    ///   - connector: opens the connections. Its limits must allow values of
    ///     ``FleetTier/ValueLimits/longestValue`` bytes, as the default limits do.
    ///   - pollInterval: the interval at which sentinels or cluster nodes are asked whether a
    ///     primary has moved.
    ///   - clock: the clock for pauses.
    ///   - random: returns numbers from 0 to 1, for jitter.
    ///   - onChange: called with each new state of a connection for values. It must return
    ///     immediately.
    ///   - onFailure: called when a connection attempt fails, with the reason, which is worded for
    ///     the operator.
    package init<C: Clock>(
        _ connector: RedisConnector,
        pollInterval: Duration = .seconds(2),
        policy: SupervisorPolicy = SupervisorPolicy(),
        clock: C,
        random: @escaping @Sendable () -> Double,
        onChange: @escaping @Sendable (SupervisorState) -> Void = { _ in },
        onFailure: @escaping @Sendable (RedisTierError) -> Void = { _ in }
    ) where C.Duration == Duration {
        self.connector = connector
        sleep = { try await clock.sleep(for: pollInterval) }
        let makeNode: ValuesCluster.MakeNode = { connector, waits, onMore in
            ValuesNode(
                connector,
                waitsForFirst: waits,
                policy: policy,
                clock: clock,
                random: random,
                onChange: {
                    onChange($0)
                    onMore($0)
                },
                onFailure: onFailure
            )
        }
        if let directory = connector.cluster {
            home = .cluster(
                ValuesCluster(
                    directory,
                    pollInterval: pollInterval,
                    sleep: { try await clock.sleep(for: $0) },
                    onFailure: onFailure
                ) { endpoint, onChange in makeNode(connector.at(endpoint), true, onChange) }
            )
        } else {
            home = .server(makeNode(connector, false) { _ in })
        }
    }

    /// Whether values and leases are currently available.
    package var state: SupervisorState {
        switch home {
        case .server(let node): node.small.state
        case .cluster(let cluster): cluster.state
        }
    }

    /// Maintains the connections until its task is canceled. Call it once.
    package func run() async {
        switch home {
        case .cluster(let cluster): await cluster.run()
        case .server(let node):
            await withTaskGroup { group in
                group.addTask { await node.run() }
                group.addTask { await self.connector.watch(every: self.sleep) { node.reconnect() } }
            }
        }
    }

    // MARK: Values

    package func values(_ names: [ValueName], within limit: Duration) async throws(FleetLogError) -> [ByteBuffer?] {
        guard names.count <= ValueLimits.mostNames else { throw .limit("names") }
        guard !names.isEmpty else { return [] }
        // A single command returns all values as of the same moment. A key of another type counts
        // as missing.
        let command = RedisCommand("MGET", names.map { .text($0.text) })
        return try ValueReplies.values(
            try await perform(command, about: names[0], within: limit),
            count: names.count
        )
    }

    package func put(
        _ value: ByteBuffer,
        as name: ValueName,
        for lifetime: Duration,
        releasing lease: FetchLease?,
        within limit: Duration
    ) async throws(FleetLogError) -> Bool {
        guard value.readableBytes <= ValueLimits.longestValue, ValueHeader(value) != nil else { throw .limit("value") }
        let reply = try await run(
            .put,
            about: name,
            // A script always gets the same number of keys. Without a lease, the second key is
            // unused.
            keys: [.text(name.text), .text((lease?.name ?? name).text)],
            [.bytes(value), .integer(try lifetime.lifetime()), .text(lease?.token.description ?? "")],
            within: limit
        )
        return try ValueReplies.flag(reply)
    }

    package func extend(
        _ names: [ValueName],
        for lifetime: Duration,
        within limit: Duration
    ) async throws(FleetLogError) -> Bool {
        guard names.count <= ValueLimits.mostExtended else { throw .limit("names") }
        let time = try lifetime.lifetime()
        guard !names.isEmpty else { return true }
        let commands = names.map { RedisCommand("PEXPIRE", .text($0.text), .integer(time)) }
        var wereAllThere = true
        for reply in try await perform(commands, about: names[0], within: TimeAmount(limit)) {
            if try !ValueReplies.flag(reply) { wereAllThere = false }
        }
        return wereAllThere
    }

    // MARK: Chunks

    package func chunks(_ names: [ValueName], within limit: Duration) async throws(FleetLogError) -> [ByteBuffer?] {
        guard names.count <= ValueLimits.mostChunks else { throw .limit("names") }
        guard let first = names.first else { return [] }
        let commands = names.map { RedisCommand("GET", .text($0.text)) }
        return try await perform(commands, about: first, inTurn: true, within: TimeAmount(limit))
            .map { reply throws(FleetLogError) in try ValueReplies.value(reply) }
    }

    package func putChunks(
        _ chunks: [SealedChunk],
        for lifetime: Duration,
        within limit: Duration
    ) async throws(FleetLogError) {
        guard chunks.count <= ValueLimits.mostChunks else { throw .limit("chunks") }
        guard chunks.allSatisfy({ $0.bytes.readableBytes <= ValueLimits.longestChunk }) else { throw .limit("chunk") }
        let time = try lifetime.lifetime()
        let commands = chunks.map {
            RedisCommand("SET", .text($0.name.text), .bytes($0.bytes), "PX", .integer(time))
        }
        guard let first = chunks.first else { return }
        for reply in try await perform(commands, about: first.name, inTurn: true, within: TimeAmount(limit)) {
            try ValueReplies.done(reply)
        }
    }

    // MARK: Commands

    func perform(
        _ command: RedisCommand,
        about name: ValueName,
        within limit: Duration
    ) async throws(FleetLogError) -> RESPValue {
        try await perform([command], about: name, within: TimeAmount(limit))[0]
    }

    /// Runs a script by its digest, or with its source if the server does not know the digest.
    func run(
        _ script: RedisScript,
        about name: ValueName,
        keys: [RedisCommand.Argument],
        _ arguments: [RedisCommand.Argument],
        within limit: Duration
    ) async throws(FleetLogError) -> RESPValue {
        try await script.run(keys: keys, arguments, within: limit) { command, time throws(FleetLogError) in
            try await perform([command], about: name, within: time)[0]
        }
    }

    /// - Parameters:
    ///   - name: one of the names in the commands. All names belong to one cache key, and therefore
    ///     to one slot.
    ///   - inTurn: whether the commands are about chunks, and so use the connection for chunks.
    private func perform(
        _ commands: [RedisCommand],
        about name: ValueName,
        inTurn: Bool = false,
        within time: TimeAmount
    ) async throws(FleetLogError) -> [RESPValue] {
        let replies: [RESPValue]
        switch home {
        case .cluster(let cluster):
            replies = try await cluster.perform(commands, on: HashSlot(of: name.text), inTurn: inTurn, within: time)
        case .server(let node):
            replies = try await node.perform(commands, inTurn: inTurn, within: time)
            do throws(FleetLogError) {
                try FleetLogError.check(replies)
            } catch {
                if error == .unreachable { node.reconnect() }
                throw error
            }
        }
        return replies
    }
}

extension Duration {
    /// Returns the lifetime in whole milliseconds.
    func lifetime() throws(FleetLogError) -> Int {
        let (seconds, attoseconds) = components
        // A lifetime of more than a year is a mistake, and the server would reject a much longer
        // one.
        guard seconds >= 0, seconds <= 366 * 86_400 else { throw .limit("lifetime") }
        let milliseconds = Int(seconds) * 1000 + Int(attoseconds / 1_000_000_000_000_000)
        guard milliseconds >= 1 else { throw .limit("lifetime") }
        return milliseconds
    }
}
