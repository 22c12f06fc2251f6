import FleetTier
import HTTPCache
import NIOCore
import Synchronization

extension RedisCommand.Argument {
    static func position(_ position: LogPosition) -> RedisCommand.Argument { .text("\(position)") }
}

/// Runs commands and scripts, and handles their errors.
extension RedisLog {
    func perform(_ command: RedisCommand, within limit: Duration) async throws(FleetLogError) -> RESPValue {
        try await perform([command], on: commands, within: TimeAmount(limit))[0]
    }

    /// Runs a script by its digest, or with its source if the server does not know the digest.
    func run(
        _ script: RedisScript,
        keys: [RedisCommand.Argument],
        _ arguments: [RedisCommand.Argument],
        within limit: Duration
    ) async throws(FleetLogError) -> RESPValue {
        try await script.run(keys: keys, arguments, within: limit) { command, time throws(FleetLogError) in
            try await perform([command], on: commands, within: time)[0]
        }
    }

    /// Executes commands in order on one connection.
    ///
    /// - Throws: an error for an error reply to any command.
    func perform(
        _ commands: [RedisCommand],
        on supervisor: ConnectionSupervisor,
        within time: TimeAmount
    ) async throws(FleetLogError) -> [RESPValue] {
        let replies: [RESPValue]
        do throws(RedisTierError) {
            replies = try await supervisor.execute(commands, within: time)
        } catch {
            if case .limit = error.code { readsLittle.store(true, ordering: .relaxed) }
            throw FleetLogError(error)
        }
        do throws(FleetLogError) {
            try FleetLogError.check(replies, isInCluster: connector.cluster != nil)
        } catch {
            // While a slot is migrating, its owner stays the same, and the log is not written
            // anywhere else. So there is no need to reconnect.
            if error == .unreachable, !replies.contains(where: \.isOfMovingSlot) { reconnect() }
            throw error
        }
        return replies
    }
}
