import CacheEviction
import HTTPCache

/// A shard of the memory tier: the entries whose hashes belong to it.
///
/// ``EvictionPolicy`` decides which entries leave. Reading many entries once does not evict entries
/// that are read often. When the memory is full, an entry read from disk is not inserted before it
/// is read again (``admits(_:cost:)``).
struct MemoryShard {
    private struct Resident {
        var entry: MemoryEntry
        var cost: Int
        /// Distinguishes the entry from previous entries in the same slot.
        var generation: UInt32
        /// The period of the recency log in which its last use was recorded.
        var period: UInt32 = 0
    }

    /// The number of bytes for an entry's bookkeeping, including their share of spare capacity and
    /// of evicted entries that are remembered.
    static let entryOverhead = 2 * MemoryLayout<Resident?>.stride + EvictionPolicy.entryOverhead

    private var policy: EvictionPolicy
    /// The entries by their slots.
    private var residents: [Resident?] = []
    /// The number of changes to stored entries. An entry that was read before a change is not
    /// inserted after the change.
    private(set) var version: UInt64 = 0
    private var lastGeneration: UInt32 = 0

    init(budget: Int) {
        policy = EvictionPolicy(budget: budget)
    }

    var budget: Int { policy.budget }
    var cost: Int { policy.bytes }
    var count: Int { policy.count }

    // MARK: Reading

    /// Returns the slot of an entry.
    func find(_ hash: Int64, _ key: [UInt8]) -> Int32? {
        guard let slot = policy.slot(of: hash), residents[Int(slot)]?.entry.key == key else { return nil }
        return slot
    }

    /// Records a use and returns the value.
    ///
    /// - Returns: the value, the sequence number that it was last checked against, and whether this
    ///   is its first use in a period of the recency log.
    mutating func use(_ slot: Int32, period: UInt32) -> (value: MemoryValue, sequence: Int64, isFirst: Bool)? {
        guard let resident = residents[Int(slot)] else { return nil }
        policy.use(slot)
        let isFirst = resident.period != period
        if isFirst { residents[Int(slot)]?.period = period }
        return (resident.entry.value, resident.entry.sequence, isFirst)
    }

    func subject(_ slot: Int32) -> InvalidationSubject? { residents[Int(slot)]?.entry.subject }

    /// Records the number of the last invalidation that an entry was checked against.
    mutating func setSequence(_ sequence: Int64, _ slot: Int32) {
        residents[Int(slot)]?.entry.sequence = sequence
    }

    // MARK: Changing

    /// Returns whether to insert an entry read from disk.
    ///
    /// - Parameter cost: the entry's approximate size, in bytes.
    mutating func admits(_ hash: Int64, cost: Int) -> Bool {
        policy.admits(hash, size: cost)
    }

    /// Inserts an entry. It replaces the entry with the same hash.
    ///
    /// - Parameter gone: receives the evicted entries, which the caller releases outside the lock.
    /// - Returns: the generation to pass to ``grow(_:generation:by:gone:)``; `nil` if the entry is
    ///   too large.
    mutating func insert(_ hash: Int64, _ entry: MemoryEntry, cost: Int, gone: inout [MemoryEntry]) -> UInt32? {
        guard cost <= budget / 4 else {
            remove(hash, gone: &gone)
            return nil
        }
        lastGeneration &+= 1
        var resident = Resident(entry: entry, cost: cost, generation: lastGeneration)
        var victims: [Int32] = []
        if let slot = policy.slot(of: hash) {
            if let old = residents[Int(slot)] {
                resident.period = old.period
                gone.append(old.entry)
            }
            residents[Int(slot)] = resident
            policy.resize(slot, to: cost, victims: &victims)
            release(victims, &gone)
        } else {
            guard let slot = policy.insert(hash, size: cost, victims: &victims) else { return nil }
            // The entry may take the slot of a victim.
            release(victims, &gone)
            if Int(slot) == residents.count { residents.append(nil) }
            residents[Int(slot)] = resident
        }
        return lastGeneration
    }

    /// Adds the bytes of a value derived from an entry.
    mutating func grow(_ hash: Int64, generation: UInt32, by bytes: Int, gone: inout [MemoryEntry]) {
        guard let slot = policy.slot(of: hash), let resident = residents[Int(slot)], resident.generation == generation
        else { return }
        let cost = resident.cost + bytes
        // Otherwise, it would evict all other entries first.
        guard cost <= budget else { return remove(hash, gone: &gone) }
        residents[Int(slot)]?.cost = cost
        var victims: [Int32] = []
        policy.resize(slot, to: cost, victims: &victims)
        release(victims, &gone)
    }

    /// Removes an entry because its stored entry changed. Reads in progress cannot insert the old
    /// entry again.
    mutating func removeChanged(_ hash: Int64, gone: inout [MemoryEntry]) {
        version &+= 1
        remove(hash, gone: &gone)
    }

    mutating func remove(_ hash: Int64, gone: inout [MemoryEntry]) {
        guard let slot = policy.slot(of: hash) else { return }
        policy.remove(slot)
        release([slot], &gone)
    }

    /// Removes everything.
    mutating func removeAll() {
        version &+= 1
        policy.removeAll()
        residents = []
    }

    private mutating func release(_ slots: [Int32], _ gone: inout [MemoryEntry]) {
        for slot in slots {
            if let resident = residents[Int(slot)] { gone.append(resident.entry) }
            residents[Int(slot)] = nil
        }
    }
}
