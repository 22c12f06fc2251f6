/// Decides which entries of a cache to evict: events go in, victims come out.
///
/// An entry is worth its recent uses times the cost of a miss, divided by its size
/// (``EntryWorth``). The least worthy entry is evicted, and entries lose worth while others come
/// and go (``EntryQueues``). An entry that was evicted a short while ago keeps its uses
/// (``GhostList``).
///
/// How much size and past uses count is learned. The policy estimates what a plain LRU cache would
/// have missed (``ReuseTimes``). When it misses more bytes than that, it trusts size and past uses
/// less, and becomes more like LRU.
///
/// A use increments a counter and moves nothing. Every event takes constant time (amortized). The
/// policy keeps no values, reads no clock and uses no randomness, so equal events have equal
/// victims.
///
/// ```swift
/// var policy = EvictionPolicy(budget: 1 << 30)
/// var victims: [EvictionPolicy.Slot] = []
/// if let slot = policy.slot(of: key) {
///     policy.use(slot)
/// } else if let slot = policy.insert(key, size: bytes, victims: &victims) {
///     for victim in victims { entries[victim] = nil }
///     entries[slot] = entry
/// }
/// ```
///
/// Cao and Irani, "Cost-aware WWW proxy caching algorithms", USITS 1997; Yang et al., "FIFO queues
/// are all you need for cache eviction", SOSP 2023
package struct EvictionPolicy: Sendable {
    /// The number of an entry. A victim's slot may be reused for the entry that replaces it.
    package typealias Slot = Int32

    /// The approximate bytes of memory that the policy needs for each entry, including what it
    /// remembers about one evicted entry, and spare capacity.
    package static let entryOverhead = 2 * MemoryLayout<EntryQueues.Node>.stride + 64 + GhostList.ghostOverhead
    /// More recent uses than this do not count. If popularity moves, old uses predict little.
    private static let highestUses: UInt8 = 4
    /// The share of its uses that an entry keeps when it is evicted.
    private static let rememberedShare: Float = 0.7
    /// The number of entries that are remembered in any case.
    private static let fewestGhosts = 16

    /// The most bytes that all entries may have together.
    package private(set) var budget: Int
    private var queues = EntryQueues()
    private var index: [Int64: Slot] = [:]
    private var ghosts = GhostList()
    private var reuse = ReuseTimes()
    private var worth = EntryWorth()

    package init(budget: Int) {
        self.budget = max(0, budget)
    }

    package var bytes: Int { queues.bytes }
    package var count: Int { index.count }
    /// The number of evicted entries that are remembered.
    package var ghostCount: Int { ghosts.count }
    /// How much size and past uses count, from 0 to 1.
    package var trust: Double { worth.trust }

    // MARK: Uses

    /// Returns the slot of an entry.
    package func slot(of key: Int64) -> Slot? { index[key] }

    /// Records a use of an entry.
    package mutating func use(_ slot: Slot) {
        let (size, last) = queues.use(slot, now: reuse.now, highest: Self.highestUses)
        record(size, since: last, isMiss: false)
    }

    /// Returns whether to insert an entry of a cache that can also be read from elsewhere.
    ///
    /// An entry is inserted if there is space, or if it was already read a short while ago.
    /// Otherwise its key is remembered. Inserting an entry only to evict another costs more than
    /// reading it from elsewhere once more.
    package mutating func admits(_ key: Int64, size: Int) -> Bool {
        if bytes + size <= budget || ghosts.contains(key) || index[key] != nil { return true }
        record(size, since: nil, isMiss: true)
        ghosts.add(key, uses: 0, lastUse: reuse.now, limit: ghostLimit)
        return false
    }

    // MARK: Changes

    /// Inserts an entry that is not in the cache, because it was asked for.
    ///
    /// - Parameters:
    ///   - cost: the cost of missing the entry.
    ///   - victims: receives the slots of evicted entries. The returned slot may be one of them, so
    ///     release their entries first.
    /// - Returns: the slot; `nil` if the entry is larger than the budget, or is in the cache.
    package mutating func insert(
        _ key: Int64,
        size: Int,
        cost: MissCost = .usual,
        victims: inout [Slot]
    ) -> Slot? {
        guard size <= budget, index[key] == nil else { return nil }
        let ghost = ghosts.take(key)
        record(size, since: ghost?.lastUse, isMiss: true)
        worth.note(size: size)
        // Make space before the entry is linked. A new entry is often the least worthy.
        evict(toFit: size, &victims)
        let slot = queues.add(
            key,
            size: size,
            cost: cost,
            uses: ghost.map { $0.uses + 1 } ?? worth.firstUse,
            lastUse: reuse.now,
            worth
        )
        index[key] = slot
        return slot
    }

    /// Changes the size of an entry.
    ///
    /// - Parameter victims: receives the slots of evicted entries. The entry itself may be one.
    package mutating func resize(_ slot: Slot, to size: Int, victims: inout [Slot]) {
        queues.resize(slot, to: size)
        evict(toFit: 0, &victims)
    }

    /// Changes what a miss of an entry costs.
    package mutating func setCost(_ slot: Slot, _ cost: MissCost) {
        queues.setCost(slot, cost, worth)
    }

    /// Removes an entry that the caller no longer keeps. If it comes back soon, it keeps its uses.
    package mutating func remove(_ slot: Slot) {
        forget(slot, share: 1)
    }

    package mutating func removeAll() {
        self = EvictionPolicy(budget: budget)
    }

    /// - Parameter victims: receives the slots of evicted entries.
    package mutating func setBudget(_ budget: Int, victims: inout [Slot]) {
        self.budget = max(0, budget)
        evict(toFit: 0, &victims)
    }

    // MARK: Victims

    private var ghostLimit: Int { max(Self.fewestGhosts, index.count) }

    private mutating func evict(toFit room: Int, _ victims: inout [Slot]) {
        while bytes + room > budget, let slot = queues.leastWorthy(highest: Self.highestUses, worth) {
            forget(slot, share: Self.rememberedShare)
            victims.append(slot)
        }
    }

    private mutating func forget(_ slot: Slot, share: Float) {
        let node = queues.remove(slot)
        index[node.key] = nil
        let uses = min(Float(Self.highestUses), node.uses + Float(node.newUses))
        ghosts.add(node.key, uses: uses * share, lastUse: node.lastUse, limit: ghostLimit)
    }

    private mutating func record(_ size: Int, since last: UInt32?, isMiss: Bool) {
        reuse.add(size: size, since: last, isMiss: isMiss)
        guard let lead = reuse.leadOverLRU(budget: budget) else { return }
        worth.learn(lead: lead)
    }
}
