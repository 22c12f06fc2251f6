/// Decides which entries of a store on disk to evict: the counterpart of ``EvictionPolicy`` for
/// entries that are too many to keep in memory.
///
/// The store keeps a ``UseStamp`` of each entry, and an index by it. An eviction walks along this
/// index from the least recently used entry on, in an ``EvictionPass``, and continues where the
/// last one stopped. An entry is due when its age exceeds its worth (``EntryWorth``) times a limit.
/// The limit adapts, so that a pass finds enough due entries among few.
///
/// How much size and past uses count is learned, as in memory (``ReuseTimes``). Misses are known,
/// with the time since the last use of an entry that was evicted a short while ago. Hits are only
/// noticed when a pass examines an entry. One of eight entries is watched: it moves whenever it was
/// used, so the times between its uses are known. The others move only when they would be evicted.
///
/// Nothing here grows with the number of entries: a ghost takes 8 bytes, and there are at most
/// 262,144. No clock or randomness is used, so equal events have equal victims.
package struct StoreEviction: Sendable {
    private static let bytesPerGhost: Int64 = 4 << 10
    private static let ghostCounts: ClosedRange<Int64> = 1024...262_144
    /// The share of its uses that an entry keeps when it is evicted, in tenths.
    private static let rememberedTenths = 7
    /// One of this many entries is watched.
    private static let watchedShare: Int64 = 8
    /// How much the limit rises after a pass that examined almost nothing, for the share of the
    /// store that it freed. So many small passes change it as much as a large one.
    private static let growth = 0.5
    /// How much it falls after a pass that found too few due entries, for the same share. Those
    /// that it takes instead are a worse choice than entries that are due, so this is rare.
    private static let decline = 6.0
    /// The most that the limit rises or falls after a pass.
    private static let step = 0.2
    /// With this limit, every entry is due one request after its last use.
    private static let lowestLimit = 1 / EntryWorth.highestValue

    private let budget: Int64
    private var worth = EntryWorth()
    private var reuse = ReuseTimes()
    private var ghosts: GhostTable
    /// The age, divided by worth, at which an entry is due; `nil` before the first pass.
    private(set) var limit: Double?
    private var evictions: Int64 = 0
    /// The running mean of the sizes of entries that passes examined.
    private var meanSize = 0.0
    private var examined = 0.0
    /// The position until which time has been counted.
    private var counted: Int64?

    /// - Parameter budget: the bytes that the store uses when it is full.
    package init(budget: Int64) {
        let count = min(max(budget / Self.bytesPerGhost, Self.ghostCounts.lowerBound), Self.ghostCounts.upperBound)
        ghosts = GhostTable(capacity: Int(truncatingIfNeeded: count))
        self.budget = budget
    }

    /// How much size and past uses count, from 0 to 1.
    package var trust: Double { worth.trust }
    /// The bytes that the table of ghosts uses.
    package var bytes: Int { ghosts.bytes }

    // MARK: Events

    /// Records that an entry was stored because it was asked for, and returns its stamp.
    ///
    /// - Parameters:
    ///   - key: a hash of the entry's key.
    ///   - number: the entry's position in the order of use.
    ///   - replaced: the uses of the entry that it replaces, in quarters.
    package mutating func insert(_ key: Int64, size: Int64, number: Int64, replacing replaced: Int?) -> UseStamp {
        worth.note(size: Int(clamping: size))
        let kind = SizeClass(size: size)
        if let replaced { return UseStamp(number: number, quarters: replaced, size: kind) }
        if counted == nil { counted = number }
        let ghost = ghosts.take(key, now: .init(number: number, evictions: evictions))
        reuse.add(bytes: Double(size), after: ghost.map { UInt32(clamping: $0.age) }, isMiss: true)
        // An older ghost would bring back old popularity.
        guard let ghost, Double(ghost.evictions) <= residents else {
            return UseStamp(number: number, quarters: 0, size: kind)
        }
        return UseStamp(number: number, quarters: ghost.quarters + 4, size: kind)
    }

    /// The approximate number of entries in a full store.
    private var residents: Double { Double(budget) / max(1024, meanSize) }

    /// Records uses of an entry that a pass found, and returns its new stamp.
    mutating func use(_ stamp: UseStamp, _ uses: RecordedUses, isWatched: Bool) -> UseStamp {
        if isWatched {
            let count = Int64(clamping: min(max(1, uses.count), UseStamp.highestQuarters))
            let gap = max(0, uses.number - stamp.number) / count
            let bytes = (stamp.size?.size ?? 0) * count * Self.watchedShare
            reuse.add(bytes: Double(bytes), after: UInt32(clamping: gap), isMiss: false)
        }
        return stamp.used(uses)
    }

    /// Records that an entry was evicted.
    package mutating func evict(_ key: Int64, _ stamp: UseStamp, now: Int64) {
        guard stamp.number >= 0 else { return }
        let quarters = (stamp.quarters * Self.rememberedTenths + 5) / 10
        ghosts.add(key, quarters: quarters, lastUse: stamp.number, now: .init(number: now, evictions: evictions))
        evictions += 1
    }

    /// Records that a pass examined an entry.
    mutating func note(examined size: Int64) {
        examined = min(examined + 1, 4096)
        meanSize += (Double(size) - meanSize) / examined
    }

    /// Learns after a pass.
    private mutating func learn(now: Int64) {
        guard let counted, now > counted else { return }
        reuse.advance(by: UInt32(clamping: now - counted))
        self.counted = now
        if let lead = reuse.leadOverLRU(budget: Int(clamping: budget)) { worth.learn(lead: lead) }
    }

    // MARK: Decisions

    /// The age of an entry, and the worth that it is compared with.
    struct Due {
        var age: Double
        var worth: Double

        var ratio: Double { age / worth }
    }

    /// Whether an entry is watched.
    package static func watches(_ id: Int64) -> Bool { id % watchedShare == 0 }

    func due(_ stamp: UseStamp, now: Int64) -> Due {
        let uses = stamp.quarters == 0 ? worth.firstUse : Float(stamp.quarters) / 4
        let step = worth.step(uses: uses, size: Int(clamping: stamp.size?.size ?? 0), cost: .usual)
        return Due(age: Double(max(0, now - stamp.number)), worth: EntryWorth.values[step])
    }

    /// Returns since when an entry is due; negative before it is. The entry with the highest number
    /// leaves first.
    ///
    /// Entries are compared by this difference and not by the ratio. If none is due, the one that
    /// will be due first leaves, as with GreedyDual. By the ratio, an old entry that has most of
    /// its time before it would leave before a new one that has little.
    func lateness(_ due: Due) -> Double { limit.map { due.age - $0 * due.worth } ?? due.ratio }

    func isDue(_ due: Due) -> Bool { limit != nil && lateness(due) >= 0 }

    /// Whether no entry of this age can be due, whatever its size. Later ones in the order of use
    /// cannot be either.
    package func isTooYoung(_ stamp: UseStamp, now: Int64) -> Bool {
        guard let limit, stamp.number >= 0 else { return false }
        let step = worth.step(uses: worth.firstUse, size: .max, cost: .usual)
        return Double(now - stamp.number) < limit * EntryWorth.values[step]
    }

    /// Adapts the limit after a pass that found enough due entries, and learns.
    ///
    /// - Parameters:
    ///   - share: how much of what it may examine it examined, from 0 to 1.
    ///   - freed: the part of the store that it freed.
    mutating func raiseLimit(examined share: Double, freed: Double, now: Int64) {
        limit = limit.map { $0 * (1 + min(Self.step, Self.growth * freed) * (1 - share)) }
        learn(now: now)
    }

    /// Lowers the limit after a pass that found too few due entries, and learns.
    ///
    /// - Parameters:
    ///   - ratio: the age and worth of the last entry that was taken anyway.
    ///   - freed: the part of the store that it freed.
    mutating func lowerLimit(_ ratio: Double, freed: Double, now: Int64) {
        if let limit {
            self.limit = max(Self.lowestLimit, limit * (1 - min(Self.step, Self.decline * freed)))
        } else if ratio > 0 {
            // If all entries may have been used just now, their ages tell nothing.
            limit = ratio
        }
        learn(now: now)
    }
}
