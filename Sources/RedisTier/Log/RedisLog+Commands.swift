import HTTPCache
import NIOCore
import SharedTier
import Synchronization

extension RedisCommand.Argument {
    static func position(_ position: LogPosition) -> RedisCommand.Argument { .text("\(position)") }
}

/// Commands and scripts, and what becomes of their errors.
extension RedisLog {
    func perform(_ command: RedisCommand, within limit: Duration) async throws(SharedLogError) -> RESPValue {
        try await perform([command], on: commands, within: TimeAmount(limit))[0]
    }

    /// Runs a script by its digest, and with its source if the server does not know it.
    func run(
        _ script: LogScript,
        keys: [RedisCommand.Argument],
        _ arguments: [RedisCommand.Argument],
        within limit: Duration
    ) async throws(SharedLogError) -> RESPValue {
        let end = NIODeadline.now() + TimeAmount(limit)
        do throws(SharedLogError) {
            return try await perform(script.command(isLoaded: true, keys: keys, arguments), within: limit)
        } catch .refused("NOSCRIPT") {
            let whole = script.command(isLoaded: false, keys: keys, arguments)
            return try await perform([whole], on: commands, within: end - .now())[0]
        }
    }

    /// Performs commands behind one another on one connection.
    ///
    /// - Throws: also for an error reply to any of them.
    func perform(
        _ commands: [RedisCommand],
        on keeper: ConnectionKeeper,
        within time: TimeAmount
    ) async throws(SharedLogError) -> [RESPValue] {
        let replies: [RESPValue]
        do throws(RedisTierError) {
            replies = try await keeper.execute(commands, within: time)
        } catch {
            if case .limit = error.code { readsLittle.store(true, ordering: .relaxed) }
            throw SharedLogError(error)
        }
        for case .error(let error) in replies {
            switch error.code {
            // A primary that became a replica, or that is not the server of before.
            case "READONLY", "MASTERDOWN", "LOADING":
                reconnect()
                throw .unreachable
            default: throw .refused(error.word)
            }
        }
        return replies
    }
}

extension RESPServerError {
    /// The first word, if it is one such as `WRONGTYPE`. The rest may quote arguments.
    fileprivate var word: String {
        let word = code.prefix(32)
        return word.utf8.allSatisfy { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) } ? String(word) : "ERR"
    }
}

extension SharedLogError {
    fileprivate init(_ error: RedisTierError) {
        switch error.code {
        case .timedOut: self = .timedOut
        case .cancelled: self = .cancelled
        case .malformed, .limit, .unexpected: self = .malformed("the server's bytes")
        case .busy: self = .refused("BUSY")
        case .unreachable, .rejected, .closed, .unavailable: self = .unreachable
        }
    }
}
