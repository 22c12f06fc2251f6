package import HTTPCache
package import HTTPCacheSemantics
import Synchronization

/// The memory tier: objects, and complete lists of variants with their small bodies, which are read
/// often.
///
/// It contains only data that is on disk. A change on disk removes the changed entries here after
/// its commit, and before the change is reported (``apply(_:)``). An entry that was read before the
/// change is not inserted after it (``Found/ticket``). An invalidation removes nothing: every entry
/// records the number of the invalidation that it was last checked against, and a hit compares one
/// number.
///
/// The budget includes everything in an entry, and its bookkeeping.
package final class MemoryTier: Sendable {
    private final class Shard: Sendable {
        let state: Mutex<MemoryShard>
        init(budget: Int) { state = Mutex(MemoryShard(budget: budget)) }
    }

    /// A change on disk to the entries of a key.
    package enum Change: Sendable {
        /// The entry changed, and must be read again.
        case changed(Int64)
        /// The whole value that is now stored.
        case stored(Int64, MemoryEntry)
        case everything
    }

    private let shards: [Shard]
    private let mask: Int
    private let known: KnownInvalidations
    /// The maximum length of a body that is kept in memory, in bytes. Larger bodies stay on disk.
    package let bodyLimit: Int

    /// - Parameters:
    ///   - budget: the budget for everything, in bytes.
    ///   - known: the last invalidations.
    package init(budget: Int, bodyLimit: Int, known: KnownInvalidations) {
        let count = Self.shardCount(budget)
        shards = (0..<count).map { _ in Shard(budget: budget / count) }
        mask = count - 1
        self.known = known
        self.bodyLimit = bodyLimit
    }

    /// Returns the number of shards. It is large, so that readers rarely contend for a shard, but
    /// each shard has at least 2 MiB, so that a body fits.
    private static func shardCount(_ budget: Int) -> Int {
        var count = 1
        while count < 64, budget / (count * 2) >= 2 << 20 { count *= 2 }
        return count
    }

    /// Returns the maximum length of a body in a tier with this budget, in bytes.
    package static func largestBody(_ budget: Int) -> Int { budget / shardCount(budget) / 5 }

    // MARK: Reading

    /// The value found in memory, with the ticket for inserting a value read from disk instead.
    package struct Found<Value> {
        package var value: Value?
        /// The shard's version, read before the disk: see ``insert(_:hash:ticket:)``.
        package var ticket: UInt64
    }

    /// Returns the responses of a key, if all of them are in memory.
    ///
    /// - Parameters:
    ///   - sequence: the number of the last invalidation, read before this call.
    ///   - recency: the log that records the first use in a period.
    package func responses(_ key: StoreKey, hash: Int64, sequence: Int64, recency: RecencyLog) -> Found<
        [StoredResponse]
    > {
        let found = find(key.bytes, hash, sequence, recency)
        guard case .responses(let responses)? = found.value else { return Found(value: nil, ticket: found.ticket) }
        return Found(value: responses, ticket: found.ticket)
    }

    /// Returns the object of a key, if it is in memory.
    package func object(_ key: [UInt8], hash: Int64, sequence: Int64, recency: RecencyLog) -> Found<LoadedObject> {
        let found = find(key, hash, sequence, recency)
        guard case .object(let object)? = found.value else { return Found(value: nil, ticket: found.ticket) }
        return Found(value: object, ticket: found.ticket)
    }

    private func find(_ key: [UInt8], _ hash: Int64, _ sequence: Int64, _ recency: RecencyLog) -> Found<MemoryValue> {
        let period = recency.period
        var gone: [MemoryEntry] = []
        var isFirst = false
        let found = shard(hash).state.withLock { state -> Found<MemoryValue> in
            let ticket = state.version
            guard let place = state.find(hash, key), let found = state.use(place, period: period) else {
                return Found(value: nil, ticket: ticket)
            }
            // An invalidation since the last check may affect this entry. (If another thread knew a
            // later number, it has already checked the entry.)
            if found.sequence < sequence {
                guard let subject = state.subject(place), !known.concerns(subject, after: found.sequence) else {
                    state.remove(hash, gone: &gone)
                    return Found(value: nil, ticket: ticket)
                }
                state.setSequence(sequence, place)
            }
            isFirst = found.isFirst
            return Found(value: found.value, ticket: ticket)
        }
        release(gone)
        if isFirst, let value = found.value { note(value, in: recency) }
        return found
    }

    private func note(_ value: MemoryValue, in recency: RecencyLog) {
        switch value {
        case .responses(let responses): for response in responses { recency.use(response.id) }
        case .object(let object): recency.use(object.id)
        }
    }

    // MARK: Taking in

    /// Returns whether ``insert(_:hash:ticket:)`` is worthwhile for content of this size.
    package func admits(_ hash: Int64, bytes: Int) -> Bool {
        shard(hash).state.withLock { $0.admits(hash, cost: bytes + MemoryShard.entryOverhead) }
    }

    /// Inserts an entry read from disk, unless stored entries of the shard have changed since.
    package func insert(_ entry: MemoryEntry, hash: Int64, ticket: UInt64) {
        let cost = entry.cost
        var gone: [MemoryEntry] = []
        let generation = shard(hash).state.withLock { state -> UInt32? in
            guard state.version == ticket else { return nil }
            return state.insert(hash, entry, cost: cost, gone: &gone)
        }
        release(gone)
        if let generation { trackGrowth(entry, hash, generation) }
    }

    /// Applies committed changes to memory. Only the writer calls this, after each commit.
    package func apply(_ changes: [Change]) {
        for change in changes {
            var gone: [MemoryEntry] = []
            switch change {
            case .changed(let hash):
                shard(hash).state.withLock { $0.removeChanged(hash, gone: &gone) }
                release(gone)
            case .stored(let hash, let entry):
                let cost = entry.cost
                let generation = shard(hash).state.withLock { state in
                    state.removeChanged(hash, gone: &gone)
                    return state.insert(hash, entry, cost: cost, gone: &gone)
                }
                // In this order, because a freshened head may take over values derived from the
                // previous head.
                release(gone)
                if let generation { trackGrowth(entry, hash, generation) }
            case .everything: removeAll()
            }
        }
    }

    func removeAll() {
        for shard in shards {
            let old = shard.state.withLock { state in
                let old = state
                state.removeAll()
                return old
            }
            withExtendedLifetime(old) {}
        }
    }

    /// Adds the bytes of values that are later derived from an entry to the entry's cost.
    private func trackGrowth(_ entry: MemoryEntry, _ hash: Int64, _ generation: UInt32) {
        for derived in entry.derived {
            let grow: @Sendable (Int) -> Void = { [weak self] bytes in
                guard let self else { return }
                var gone: [MemoryEntry] = []
                self.shard(hash).state.withLock {
                    $0.grow(hash, generation: generation, by: bytes, gone: &gone)
                }
                self.release(gone)
            }
            let bytes = derived.countGrowth(grow)
            if bytes > 0 { grow(bytes) }
        }
    }

    /// Releases evicted entries, outside every lock: releasing a derived value may run the caller's
    /// code.
    private func release(_ gone: [MemoryEntry]) {
        for entry in gone {
            for derived in entry.derived { _ = derived.countGrowth(nil) }
        }
    }

    private func shard(_ hash: Int64) -> Shard {
        shards[Int(truncatingIfNeeded: UInt64(bitPattern: hash) >> 40) & mask]
    }

    // MARK: Counting

    package var bytes: Int { shards.reduce(0) { $0 + $1.state.withLock { $0.cost } } }
    package var count: Int { shards.reduce(0) { $0 + $1.state.withLock { $0.count } } }
}
