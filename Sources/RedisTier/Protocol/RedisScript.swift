import Crypto
import FleetTier
import NIOCore

/// A script that a server runs as one atomic step, called by its digest.
///
/// <https://redis.io/docs/latest/develop/interact/programmability/eval-intro/>
struct RedisScript: Sendable {
    let source: String
    private let digest: String

    init(_ source: String) {
        self.source = source
        let digits = Array("0123456789abcdef".utf8)
        // Redis requires SHA-1. No security depends on it.
        digest = String(
            decoding: Insecure.SHA1.hash(data: Array(source.utf8))
                .flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] },
            as: UTF8.self
        )
    }

    /// Returns the command that calls the script.
    ///
    /// - Parameter isLoaded: whether to call the script by its digest, which the server must know.
    ///   Otherwise the command includes the script's source.
    func command(
        isLoaded: Bool,
        keys: [RedisCommand.Argument],
        _ arguments: [RedisCommand.Argument]
    ) -> RedisCommand {
        RedisCommand(
            isLoaded ? "EVALSHA" : "EVAL",
            [.text(isLoaded ? digest : source), .integer(keys.count)] + keys + arguments
        )
    }

    /// Calls the script by its digest, or with its source if the server does not know the digest.
    ///
    /// - Parameter perform: executes a command within a time limit.
    func run(
        keys: [RedisCommand.Argument],
        _ arguments: [RedisCommand.Argument],
        within limit: Duration,
        _ perform: (RedisCommand, TimeAmount) async throws(FleetLogError) -> RESPValue
    ) async throws(FleetLogError) -> RESPValue {
        let end = NIODeadline.now() + TimeAmount(limit)
        do throws(FleetLogError) {
            return try await perform(command(isLoaded: true, keys: keys, arguments), TimeAmount(limit))
        } catch .refused("NOSCRIPT") {
            return try await perform(command(isLoaded: false, keys: keys, arguments), end - .now())
        }
    }
}
