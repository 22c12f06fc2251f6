import HTTPCache
import Synchronization

/// Values that are being written: readers in this process see them before they are committed.
///
/// A value is here from the moment its operation enters the writer's queue until its transaction
/// ends, successfully or not. So values are in the order in which they are written, and a value
/// leaves no later than the values written after it. A value that may be affected by an
/// invalidation after its fencing number is hidden, because it will not be stored.
package final class PendingWrites: Sendable {
    private struct Pending {
        var token: Int64
        var entry: MemoryEntry
        var fencingNumber: Int64?
    }

    private let pending = Mutex<[Int64: [Pending]]>([:])
    /// Lets readers skip the lock while nothing is being written.
    private let count = Atomic(0)

    package init() {}

    /// - Parameters:
    ///   - token: distinguishes the value from other values of its key.
    ///   - fencingNumber: see ``PendingWrite/fencingNumber``.
    package func add(_ entry: MemoryEntry, hash: Int64, token: Int64, fencingNumber: Int64?) {
        pending.withLock {
            $0[hash, default: []].append(Pending(token: token, entry: entry, fencingNumber: fencingNumber))
        }
        count.add(1, ordering: .releasing)
    }

    /// Removes a value; a second call does nothing.
    package func remove(hash: Int64, token: Int64) {
        let gone = pending.withLock { pending -> Pending? in
            guard let index = pending[hash]?.firstIndex(where: { $0.token == token }) else { return nil }
            let gone = pending[hash]?.remove(at: index)
            if pending[hash]?.isEmpty == true { pending[hash] = nil }
            return gone
        }
        guard gone != nil else { return }
        count.subtract(1, ordering: .releasing)
    }

    /// Returns the values that are being written under a key, in the order in which they are
    /// written.
    ///
    /// - Parameters:
    ///   - sequence: the number of the last invalidation.
    ///   - known: the last invalidations.
    ///   - wide: computed only for invalidations by prefix and principal. It must be as exact as
    ///     the writer's own check. A value that is hidden here but stored anyway would appear,
    ///     disappear and appear again.
    package func values(
        _ key: [UInt8],
        hash: Int64,
        sequence: Int64,
        known: KnownInvalidations,
        wide: @autoclosure () -> WideHashes? = nil
    ) -> [MemoryValue] {
        guard count.load(ordering: .acquiring) > 0 else { return [] }
        let found = pending.withLock { pending in (pending[hash] ?? []).filter { $0.entry.key == key } }
        return found.filter { pending in
            guard let fencingNumber = pending.fencingNumber, fencingNumber != sequence else { return true }
            return !known.concerns(pending.entry.subject, after: fencingNumber, wide: wide())
        }.map(\.entry.value)
    }
}

/// A value that readers see while it is written.
package struct PendingWrite: Sendable {
    package var writes: PendingWrites
    package var entry: MemoryEntry
    package var hash: Int64
    package var token: Int64
    /// The number of the last invalidation when the value was requested. A later invalidation that
    /// affects the value prevents storing it; `nil` stores the value regardless of invalidations.
    package var fencingNumber: Int64?

    package init(
        writes: PendingWrites,
        entry: MemoryEntry,
        hash: Int64,
        token: Int64,
        fencingNumber: Int64?
    ) {
        self.writes = writes
        self.entry = entry
        self.hash = hash
        self.token = token
        self.fencingNumber = fencingNumber
    }

    package func begin() { writes.add(entry, hash: hash, token: token, fencingNumber: fencingNumber) }
    package func end() { writes.remove(hash: hash, token: token) }
}
