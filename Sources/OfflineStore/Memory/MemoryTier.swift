import HTTPCache
import HTTPCacheSemantics
import Synchronization

/// What is read often, in memory: whole lists of variants with small bodies, and objects.
///
/// It holds what is on disk and nothing else. A change on disk removes what it is about after its
/// commit and before anybody is told (``apply(_:)``); what was read from the disk before the change
/// is not taken in after it (``Found/ticket``). An invalidation removes nothing: every entry knows
/// up to which one it was checked, and a hit compares one number.
///
/// The budget counts everything that an entry holds, and what holds it.
final class MemoryTier: Sendable {
    private final class Shard: Sendable {
        let state: Mutex<MemoryShard>
        init(budget: Int) { state = Mutex(MemoryShard(budget: budget)) }
    }

    /// A change on disk to what is stored under a key.
    enum Change: Sendable {
        /// Read again.
        case changed(Int64)
        /// The value that is now stored, whole.
        case stored(Int64, ResidentEntry)
        case everything
    }

    private let shards: [Shard]
    private let mask: Int
    private let ring: InvalidationRing
    /// Bytes of one body at most; larger ones stay on disk.
    let bodyLimit: Int

    /// - Parameters:
    ///   - budget: bytes for everything.
    ///   - ring: the last invalidations.
    init(budget: Int, bodyLimit: Int, ring: InvalidationRing) {
        let count = Self.shardCount(budget)
        shards = (0..<count).map { _ in Shard(budget: budget / count) }
        mask = count - 1
        self.ring = ring
        self.bodyLimit = bodyLimit
    }

    /// Shards are many, so that readers seldom meet in one, and each of 2 MiB or more, so that a
    /// body has room in it.
    private static func shardCount(_ budget: Int) -> Int {
        var count = 1
        while count < 64, budget / (count * 2) >= 2 << 20 { count *= 2 }
        return count
    }

    /// Bytes of a body for which a tier has room.
    static func largestBody(_ budget: Int) -> Int { budget / shardCount(budget) / 5 }

    // MARK: Reading

    /// What is found in memory, and what has to be handed in with what is read from the disk
    /// instead.
    struct Found<Value> {
        var value: Value?
        /// Read before the disk is: see ``insert(_:hash:ticket:)``.
        var ticket: UInt64
    }

    /// The responses of a key, all of them, if they are in memory.
    ///
    /// - Parameters:
    ///   - sequence: the number of the last invalidation, read before.
    ///   - recency: where the first use in a period is noted.
    func responses(_ key: CacheKey, hash: Int64, sequence: Int64, recency: RecencyLog) -> Found<[StoredResponse]> {
        let found = find(key.bytes, hash, sequence, recency)
        guard case .responses(let responses)? = found.value else { return Found(value: nil, ticket: found.ticket) }
        return Found(value: responses, ticket: found.ticket)
    }

    /// The object of a key, if it is in memory.
    func object(_ key: [UInt8], hash: Int64, sequence: Int64, recency: RecencyLog) -> Found<ResidentObject> {
        let found = find(key, hash, sequence, recency)
        guard case .object(let object)? = found.value else { return Found(value: nil, ticket: found.ticket) }
        return Found(value: object, ticket: found.ticket)
    }

    private func find(_ key: [UInt8], _ hash: Int64, _ sequence: Int64, _ recency: RecencyLog) -> Found<ResidentValue> {
        let period = recency.period
        var gone: [ResidentEntry] = []
        var isFirst = false
        let found = shard(hash).state.withLock { state -> Found<ResidentValue> in
            let ticket = state.version
            guard let place = state.find(hash, key), let found = state.use(place, period: period) else {
                return Found(value: nil, ticket: ticket)
            }
            // Something was invalidated since: this, perhaps. (Or another thread knows of more than
            // this one: then it was checked.)
            if found.sequence < sequence {
                guard let subject = state.subject(place), !ring.concerns(subject, after: found.sequence) else {
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

    private func note(_ value: ResidentValue, in recency: RecencyLog) {
        switch value {
        case .responses(let responses): for response in responses { recency.use(response.id) }
        case .object(let object): recency.use(object.id)
        }
    }

    // MARK: Taking in

    /// Whether ``insert(_:hash:ticket:)`` is worth while for something with a content of some
    /// bytes.
    func admits(_ hash: Int64, bytes: Int) -> Bool {
        shard(hash).state.withLock { $0.admits(hash, cost: bytes + MemoryShard.entryOverhead) }
    }

    /// Takes in what was read from the disk, unless something there has changed since.
    func insert(_ entry: ResidentEntry, hash: Int64, ticket: UInt64) {
        let cost = entry.cost
        var gone: [ResidentEntry] = []
        let generation = shard(hash).state.withLock { state -> UInt32? in
            guard state.version == ticket else { return nil }
            return state.insert(hash, entry, cost: cost, gone: &gone)
        }
        release(gone)
        if let generation { follow(entry, hash, generation) }
    }

    /// Makes memory agree with what was committed. To be called by the writer alone, after each
    /// commit.
    func apply(_ changes: [Change]) {
        for change in changes {
            var gone: [ResidentEntry] = []
            switch change {
            case .changed(let hash):
                shard(hash).state.withLock { $0.changed(hash, gone: &gone) }
                release(gone)
            case .stored(let hash, let entry):
                let cost = entry.cost
                let generation = shard(hash).state.withLock { state in
                    state.changed(hash, gone: &gone)
                    return state.insert(hash, entry, cost: cost, gone: &gone)
                }
                // In this order: a freshened head may go on with the values of the one before.
                release(gone)
                if let generation { follow(entry, hash, generation) }
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

    /// Has what is derived from an entry from now on counted as part of it.
    private func follow(_ entry: ResidentEntry, _ hash: Int64, _ generation: UInt32) {
        for derived in entry.derived {
            let grow: @Sendable (Int) -> Void = { [weak self] bytes in
                guard let self else { return }
                var gone: [ResidentEntry] = []
                self.shard(hash).state.withLock {
                    $0.grow(hash, generation: generation, by: bytes, gone: &gone)
                }
                self.release(gone)
            }
            let bytes = derived.countGrowth(grow)
            if bytes > 0 { grow(bytes) }
        }
    }

    /// Lets go of what left, outside every lock: the end of a derived value may run code of others.
    private func release(_ gone: [ResidentEntry]) {
        for entry in gone {
            for derived in entry.derived { _ = derived.countGrowth(nil) }
        }
    }

    private func shard(_ hash: Int64) -> Shard {
        shards[Int(truncatingIfNeeded: UInt64(bitPattern: hash) >> 40) & mask]
    }

    // MARK: Counting

    var bytes: Int { shards.reduce(0) { $0 + $1.state.withLock { $0.cost } } }
    var count: Int { shards.reduce(0) { $0 + $1.state.withLock { $0.count } } }
}
