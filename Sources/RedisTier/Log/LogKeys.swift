import HTTPCache
import SharedTier

/// The names of a log's keys on the server. All have one hash tag, so that a cluster keeps them in
/// one slot. The log, its epoch and the rows have no time to live, so that `volatile-*` policies do
/// not evict them.
struct LogKeys: Sendable {
    private let base: String

    init(_ namespace: FleetNamespace) { base = "hf1:\(namespace):{log}:" }

    /// The slot of all of them.
    var slot: HashSlot { HashSlot(of: base) }

    /// The stream.
    var log: RedisCommand.Argument { .text(base + "s") }
    /// The present epoch, its name, and the server that began it.
    var epoch: RedisCommand.Argument { .text(base + "m") }
    /// Rows of nodes, by their identities.
    var nodes: RedisCommand.Argument { .text(base + "n") }
    /// The place of a purge.
    func name(_ purge: PurgeID) -> RedisCommand.Argument { .text(base + "u:\(purge)") }
}
