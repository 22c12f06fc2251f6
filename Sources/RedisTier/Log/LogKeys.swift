import FleetTier
import HTTPCache

/// The names of a log's keys on the server. They share a hash tag, so a cluster keeps them in one
/// slot. The log, its epoch and the rows have no time to live, so `volatile-*` policies do not
/// evict them.
struct LogKeys: Sendable {
    private let base: String

    init(_ namespace: FleetNamespace) { base = "hf1:\(namespace):{log}:" }

    /// The slot of all keys.
    var slot: HashSlot { HashSlot(of: base) }

    /// The stream.
    var log: RedisCommand.Argument { .text(base + "s") }
    /// The current epoch, its name, and the server that began it.
    var epoch: RedisCommand.Argument { .text(base + "m") }
    /// Rows of nodes, by identity.
    var nodes: RedisCommand.Argument { .text(base + "n") }
    /// The position of a purge.
    func name(_ purge: PurgeID) -> RedisCommand.Argument { .text(base + "u:\(purge)") }
}
