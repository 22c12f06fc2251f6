package import NIOCore
package import SharedTier

/// Shared responses and leases in plain keys of Redis 7 or Valkey.
///
/// It has two connections: one for values and leases, and one for chunks, so that a long body never
/// stands before a small reply. It works while ``run()`` runs.
package final class RedisValues: SharedValues {
    let small: ConnectionKeeper
    let large: ConnectionKeeper
    private let turns: ChunkTurns
    private let connector: RedisConnector
    private let sleep: @Sendable () async throws -> Void

    /// - Parameters:
    ///   - connector: with limits that admit a value of ``SharedTier/ValueLimits/longestValue``
    ///     bytes, as the defaults do.
    ///   - pollInterval: how often sentinels are asked whether the primary has moved.
    ///   - clock: supplies the time of pauses.
    ///   - random: supplies numbers from 0 to 1, for jitter.
    ///   - onChange: called with each new state of the connection for values. It must return at
    ///     once.
    ///   - onFailure: called when a connection cannot be made, with a reason for an operator.
    package init<C: Clock>(
        _ connector: RedisConnector,
        pollInterval: Duration = .seconds(2),
        policy: KeeperPolicy = KeeperPolicy(),
        clock: C,
        random: @escaping @Sendable () -> Double,
        onChange: @escaping @Sendable (KeeperState) -> Void = { _ in },
        onFailure: @escaping @Sendable (RedisTierError) -> Void = { _ in }
    ) where C.Duration == Duration {
        self.connector = connector
        sleep = { try await clock.sleep(for: pollInterval) }
        turns = ChunkTurns(clock: clock)
        func keeper(_ onChange: @escaping @Sendable (KeeperState) -> Void) -> ConnectionKeeper {
            ConnectionKeeper(policy: policy, clock: clock, random: random, onChange: onChange) {
                () throws(RedisTierError) in
                do throws(RedisTierError) {
                    return try await connector.connect()
                } catch {
                    onFailure(error)
                    throw error
                }
            }
        }
        small = keeper(onChange)
        large = keeper { _ in }
    }

    /// Whether values and leases can be asked for, as of now. Asking costs nothing.
    package var state: KeeperState { small.state }

    /// Connects until its task is cancelled. Call it once.
    package func run() async {
        await withTaskGroup { group in
            for keeper in [small, large] { group.addTask { await keeper.run() } }
            group.addTask { await self.connector.watch(every: self.sleep) { self.reconnect() } }
        }
    }

    private func reconnect() {
        for keeper in [small, large] { keeper.reconnect() }
    }

    // MARK: Values

    package func values(_ names: [ValueName], within limit: Duration) async throws(SharedLogError) -> [ByteBuffer?] {
        guard names.count <= ValueLimits.mostNames else { throw .limit("names") }
        guard !names.isEmpty else { return [] }
        // Of one command, so that they are of one moment. A key of another type is not there.
        let command = RedisCommand("MGET", names.map { .text($0.text) })
        return try ValueReplies.values(try await perform(command, within: limit), count: names.count)
    }

    package func put(
        _ value: ByteBuffer,
        as name: ValueName,
        for lifetime: Duration,
        releasing lease: FillLease?,
        within limit: Duration
    ) async throws(SharedLogError) -> Bool {
        guard value.readableBytes <= ValueLimits.longestValue, ValueHeader(value) != nil else { throw .limit("value") }
        let reply = try await run(
            .put,
            // A script has always the same number of keys. Without a lease the second is not used.
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
    ) async throws(SharedLogError) -> Bool {
        guard names.count <= ValueLimits.mostExtended else { throw .limit("names") }
        let time = try lifetime.lifetime()
        guard !names.isEmpty else { return true }
        let commands = names.map { RedisCommand("PEXPIRE", .text($0.text), .integer(time)) }
        var wereAllThere = true
        for reply in try await perform(commands, on: small, within: TimeAmount(limit)) {
            if try !ValueReplies.flag(reply) { wereAllThere = false }
        }
        return wereAllThere
    }

    // MARK: Chunks

    package func chunks(_ names: [ValueName], within limit: Duration) async throws(SharedLogError) -> [ByteBuffer?] {
        guard names.count <= ValueLimits.mostChunks else { throw .limit("names") }
        return try await inTurn(names.map { RedisCommand("GET", .text($0.text)) }, within: limit)
            .map { reply throws(SharedLogError) in try ValueReplies.value(reply) }
    }

    package func putChunks(
        _ chunks: [SealedChunk],
        for lifetime: Duration,
        within limit: Duration
    ) async throws(SharedLogError) {
        guard chunks.count <= ValueLimits.mostChunks else { throw .limit("chunks") }
        guard chunks.allSatisfy({ $0.bytes.readableBytes <= ValueLimits.longestChunk }) else { throw .limit("chunk") }
        let time = try lifetime.lifetime()
        let commands = chunks.map {
            RedisCommand("SET", .text($0.name.text), .bytes($0.bytes), "PX", .integer(time))
        }
        for reply in try await inTurn(commands, within: limit) { try ValueReplies.done(reply) }
    }

    /// Performs commands about chunks when no others are in flight: more of them would delay the
    /// small values of all nodes.
    private func inTurn(
        _ commands: [RedisCommand],
        within limit: Duration
    ) async throws(SharedLogError) -> [RESPValue] {
        guard !commands.isEmpty else { return [] }
        let end = NIODeadline.now() + TimeAmount(limit)
        // Without a connection there is nothing to wait for.
        guard large.state == .ready else { throw .unreachable }
        try await turns.begin(within: limit)
        defer { turns.end() }
        return try await perform(commands, on: large, within: end - .now())
    }

    // MARK: Commands

    func perform(_ command: RedisCommand, within limit: Duration) async throws(SharedLogError) -> RESPValue {
        try await perform([command], on: small, within: TimeAmount(limit))[0]
    }

    /// Runs a script by its digest, and with its source if the server does not know it.
    func run(
        _ script: RedisScript,
        keys: [RedisCommand.Argument],
        _ arguments: [RedisCommand.Argument],
        within limit: Duration
    ) async throws(SharedLogError) -> RESPValue {
        try await script.run(keys: keys, arguments, within: limit) { command, time throws(SharedLogError) in
            try await perform([command], on: small, within: time)[0]
        }
    }

    private func perform(
        _ commands: [RedisCommand],
        on keeper: ConnectionKeeper,
        within time: TimeAmount
    ) async throws(SharedLogError) -> [RESPValue] {
        let replies: [RESPValue]
        do throws(RedisTierError) {
            replies = try await keeper.execute(commands, within: time)
        } catch {
            throw SharedLogError(error)
        }
        do throws(SharedLogError) {
            try SharedLogError.check(replies)
        } catch {
            if error == .unreachable { reconnect() }
            throw error
        }
        return replies
    }
}

extension Duration {
    /// In whole milliseconds.
    func lifetime() throws(SharedLogError) -> Int {
        let (seconds, attoseconds) = components
        // More than a year is a mistake, and the server would reject much more.
        guard seconds >= 0, seconds <= 366 * 86_400 else { throw .limit("lifetime") }
        let milliseconds = Int(seconds) * 1000 + Int(attoseconds / 1_000_000_000_000_000)
        guard milliseconds >= 1 else { throw .limit("lifetime") }
        return milliseconds
    }
}
