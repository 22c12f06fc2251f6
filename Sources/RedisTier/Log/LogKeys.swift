import FleetTier
import HTTPCache

/// The names of a log's keys on the server. They share a hash tag, so a cluster keeps them in one
/// slot. The log, its epoch and the node rows have no expiry, so `volatile-*` policies do not evict
/// them.
struct LogKeys: Sendable {
    private let base: String

    init(_ namespace: FleetNamespace) { base = "hf1:\(namespace):{log}:" }

    /// The slot that holds all of these keys.
    var slot: HashSlot { HashSlot(of: base) }

    /// The key of the stream.
    var log: RedisCommand.Argument { .text(base + "s") }
    /// The key of the current epoch, its name, and the server that began it.
    var epoch: RedisCommand.Argument { .text(base + "m") }
    /// The key of the node rows, by identity.
    var nodes: RedisCommand.Argument { .text(base + "n") }
    /// Returns the key that stores a purge's position.
    func name(_ purge: PurgeID) -> RedisCommand.Argument { .text(base + "u:\(purge)") }
}
