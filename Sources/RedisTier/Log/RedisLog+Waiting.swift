package import FleetTier
package import HTTPCache
import NIOCore
import Synchronization

/// Calls that block their connection on purpose. They always send the source of their script: if
/// the server did not know the digest, retrying a blocking call would take twice the time.
extension RedisLog {
    package func follow(
        after cursor: LogPosition,
        count: Int,
        wait: Duration,
        within limit: Duration
    ) async throws(FleetLogError) -> LogBatch {
        guard (1...LogBatch.mostEntries).contains(count) else { throw .limit("count") }
        var arguments: [RedisCommand.Argument] = []
        // Zero would block indefinitely.
        if wait > .zero { arguments += ["BLOCK", .integer(wait.wholeMilliseconds)] }
        let most = readsLittle.load(ordering: .relaxed) ? min(count, Self.fewEntries) : count
        arguments += ["COUNT", .integer(most), "STREAMS", keys.log, .position(cursor)]
        let read = RedisCommand("XREAD", arguments)
        let peek = RedisScript.peek.command(
            isLoaded: false,
            keys: [keys.log, keys.epoch],
            [.position(cursor)]
        )
        let replies: [RESPValue]
        do throws(FleetLogError) {
            // Both commands go to the same server, and the second runs after the first has
            // finished.
            replies = try await perform([read, peek], on: reader, within: TimeAmount(max(wait, .zero) + limit))
        } catch {
            // Reconnect, so that the next batch does not wait for this call to finish.
            if error == .cancelled { reader.reconnect() }
            throw error
        }
        let (epoch, atCursor) = try LogReplies.peek(replies[1])
        return LogBatch(entries: try LogReplies.read(replies[0]), epoch: epoch, atCursor: atCursor)
    }

    /// The number of entries of maximum length that fit within the limits of a connection.
    private static var fewEntries: Int { 32 }

    package func confirm(
        replicas count: Int,
        in epoch: UInt64,
        wait: Duration,
        within limit: Duration
    ) async throws(FleetLogError) -> Int {
        guard (0...1024).contains(count) else { throw .limit("replicas") }
        // `WAIT` covers only writes on its own connection, so a write must precede it.
        let waiting = RedisCommand("WAIT", .integer(count), .integer(wait.wholeMilliseconds))
        let touch = RedisScript.touch.command(
            isLoaded: false,
            keys: [keys.log, keys.epoch],
            [.text(String(epoch))]
        )
        let replies = try await perform(
            [touch, waiting],
            on: confirmer,
            within: TimeAmount(max(wait, .zero) + limit)
        )
        _ = try LogReplies.written(replies[0])
        guard case .integer(let confirmed) = replies[1], confirmed >= 0 else { throw .malformed("replicas") }
        return Int(clamping: confirmed)
    }
}

extension Duration {
    /// The duration in milliseconds, at least 1 and at most an hour. Zero would mean no time limit.
    fileprivate var wholeMilliseconds: Int {
        let (seconds, attoseconds) = components
        guard seconds < 3600 else { return 3_600_000 }
        return max(1, Int(seconds) * 1000 + Int(attoseconds / 1_000_000_000_000_000))
    }
}
