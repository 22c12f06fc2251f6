import HTTPCache
import Synchronization

/// What is on its way into the database: readers of this process see it before it is committed.
///
/// A value is here from the moment its operation stands in the writer's queue until its transaction
/// has ended, whatever the end; so values are here in the order in which they are written, and none
/// of them longer than what is written after it. One that an invalidation after its fence may be
/// about is not shown: it will not be stored.
final class PendingWrites: Sendable {
    private struct Pending {
        var token: Int64
        var entry: ResidentEntry
        var fence: Int64?
    }

    private let pending = Mutex<[Int64: [Pending]]>([:])
    /// So that nobody takes the lock while nothing is being written.
    private let count = Atomic(0)

    /// - Parameters:
    ///   - token: tells it from others under its key.
    ///   - fence: see ``PendingWrite/fence``.
    func add(_ entry: ResidentEntry, hash: Int64, token: Int64, fence: Int64?) {
        pending.withLock { $0[hash, default: []].append(Pending(token: token, entry: entry, fence: fence)) }
        count.add(1, ordering: .releasing)
    }

    /// Removes a value; a second call does nothing.
    func remove(hash: Int64, token: Int64) {
        let gone = pending.withLock { pending -> Pending? in
            guard let index = pending[hash]?.firstIndex(where: { $0.token == token }) else { return nil }
            let gone = pending[hash]?.remove(at: index)
            if pending[hash]?.isEmpty == true { pending[hash] = nil }
            return gone
        }
        guard gone != nil else { return }
        count.subtract(1, ordering: .releasing)
    }

    /// What is being written under a key, in the order in which it is written.
    ///
    /// - Parameters:
    ///   - sequence: the number of the last invalidation.
    ///   - ring: the last invalidations.
    ///   - originHash: asked for seldom. What is hidden here and stored all the same would be seen,
    ///     not seen, and seen again: so this is as exact as what the writer asks.
    func values(
        _ key: [UInt8],
        hash: Int64,
        sequence: Int64,
        ring: InvalidationRing,
        originHash: @autoclosure () -> Int64? = nil
    ) -> [ResidentValue] {
        guard count.load(ordering: .acquiring) > 0 else { return [] }
        let found = pending.withLock { pending in (pending[hash] ?? []).filter { $0.entry.key == key } }
        return found.filter { pending in
            guard let fence = pending.fence, fence != sequence else { return true }
            return !ring.concerns(pending.entry.subject, after: fence, originHash: originHash())
        }.map(\.entry.value)
    }

    /// The responses of a key with those that are being written, each in place of the variant that
    /// it will replace.
    func merged(_ responses: [StoredResponse], with values: [ResidentValue]) -> [StoredResponse] {
        var merged = responses
        for case .responses(let written) in values {
            for response in written {
                let variant = VariantKey.bytes(of: response.head)
                merged.removeAll { VariantKey.bytes(of: $0.head) == variant }
                merged.append(response)
            }
        }
        return merged
    }
}

/// A value that is seen while it is written.
struct PendingWrite: Sendable {
    var writes: PendingWrites
    var entry: ResidentEntry
    var hash: Int64
    var token: Int64
    /// An invalidation after this one that is about the value keeps it from being stored; `nil`:
    /// none does.
    var fence: Int64?

    func begin() { writes.add(entry, hash: hash, token: token, fence: fence) }
    func end() { writes.remove(hash: hash, token: token) }
}
