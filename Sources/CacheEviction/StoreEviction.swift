/// Decides which entries of a store on disk to evict: the counterpart of ``EvictionPolicy`` for
/// entries that are too many to keep in memory.
///
/// The store keeps a ``UseStamp`` of each entry, and an index by it. An eviction walks along this
/// index from the least recently used entry on, in an ``EvictionPass``, and continues where the
/// last one stopped. An entry is overdue when its age, divided by its worth (``EntryWorth``),
/// exceeds a limit. The limit adapts, so that a pass finds enough overdue entries among few.
///
/// How much size and past uses count is learned. The mean age of victims, weighted by their bytes,
/// is close to the age at which LRU would evict. Hits on older entries are bytes that LRU would
/// have missed. Entries that come back at a smaller age are bytes that LRU would have kept.
///
/// Nothing here grows with the number of entries: a ghost takes 8 bytes, and there are at most
/// 262,144. No clock or randomness is used, so equal events have equal victims.
package struct StoreEviction: Sendable {
    /// An entry of the store.
    package struct Entry: Sendable {
        package var stamp: UseStamp
        package var size: Int64

        package init(stamp: UseStamp, size: Int64) {
            self.stamp = stamp
            self.size = size
        }
    }

    private static let bytesPerGhost: Int64 = 16 << 10
    private static let ghostCounts: ClosedRange<Int64> = 1024...262_144
    /// The share of its uses that an entry keeps when it is evicted, in tenths.
    private static let rememberedTenths = 7
    /// The number of requests after which trust changes.
    private static let period = 2048
    /// How much of past requests counts in the next period.
    private static let kept = 0.7
    /// The most that the limit rises after a pass that examined almost nothing.
    private static let growth = 0.05

    private var worth = EntryWorth()
    private var ghosts: GhostTable
    /// The age, divided by worth, at which an entry is overdue; `nil` before the first pass.
    private(set) var limit: Double?
    /// The age at which LRU would evict; `nil` before the first eviction.
    private(set) var ageOfLRU: Double?
    private var victimBytes = 0.0
    private var gained = 0.0
    private var lost = 0.0
    private var requested = 0.0
    private var requests = 0

    /// - Parameter budget: the bytes that the store may use.
    package init(budget: Int64) {
        let count = min(max(budget / Self.bytesPerGhost, Self.ghostCounts.lowerBound), Self.ghostCounts.upperBound)
        ghosts = GhostTable(capacity: Int(truncatingIfNeeded: count))
    }

    /// How much size and past uses count, from 0 to 1.
    package var trust: Double { worth.trust }
    /// The bytes that the table of ghosts uses.
    package var bytes: Int { ghosts.bytes }

    // MARK: Events

    /// Records that an entry was stored because it was asked for, and returns its uses.
    ///
    /// - Parameters:
    ///   - key: a hash of the entry's key.
    ///   - number: the entry's position in the order of use.
    ///   - replaced: the uses of the entry that it replaces, in quarters.
    package mutating func insert(_ key: Int64, size: Int64, number: Int64, replacing replaced: Int?) -> UseStamp {
        worth.note(size: Int(clamping: size))
        if let replaced { return UseStamp(number: number, quarters: replaced) }
        let ghost = ghosts.take(key)
        if let ghost, let ageOfLRU, Double(Self.low(number) &- ghost.lastUse) <= ageOfLRU { lost += Double(size) }
        request(bytes: Double(size), count: 1)
        return UseStamp(number: number, quarters: ghost.map { $0.quarters + 4 } ?? 0)
    }

    /// Records uses of an entry that a pass found, and returns its new stamp.
    mutating func use(_ entry: Entry, _ uses: RecordedUses) -> UseStamp {
        let count = max(1, uses.count)
        let gap = Double(uses.number &- entry.stamp.number) / Double(count)
        if let ageOfLRU, gap > ageOfLRU { gained += Double(entry.size) }
        request(bytes: Double(entry.size) * Double(count), count: min(count, 4))
        return entry.stamp.used(uses)
    }

    /// Records that an entry was evicted.
    package mutating func evict(_ key: Int64, _ entry: Entry, now: Int64) {
        guard entry.stamp.number >= 0 else { return }
        let age = Double(max(0, now - entry.stamp.number))
        let size = Double(max(1, entry.size))
        // A running mean of about the last sixty-four victims of usual size.
        victimBytes += (size - victimBytes) / 64
        let share = min(0.2, size / (64 * max(1, victimBytes)))
        ageOfLRU = ageOfLRU.map { $0 + (age - $0) * share } ?? age
        let quarters = (entry.stamp.quarters * Self.rememberedTenths + 5) / 10
        ghosts.add(key, .init(quarters: quarters, lastUse: Self.low(entry.stamp.number)), now: Self.low(now))
    }

    private mutating func request(bytes: Double, count: Int) {
        requested += bytes
        requests += count
        guard requests >= Self.period else { return }
        requests = 0
        guard requested > 0 else { return }
        worth.learn(lead: (gained - lost) / requested)
        gained *= Self.kept
        lost *= Self.kept
        requested *= Self.kept
    }

    private static func low(_ number: Int64) -> UInt32 { UInt32(truncatingIfNeeded: number) }

    // MARK: Decisions

    /// Returns how overdue an entry is: its age, divided by its worth.
    func overdue(_ entry: Entry, now: Int64) -> Double {
        guard entry.stamp.number >= 0 else { return .infinity }
        let uses = entry.stamp.quarters == 0 ? worth.firstUse : Float(entry.stamp.quarters) / 4
        let step = worth.step(uses: uses, size: Int(clamping: entry.size), cost: .usual)
        return Double(max(0, now - entry.stamp.number)) / EntryWorth.values[step]
    }

    /// Whether no entry of this age can be overdue, whatever its size. Later ones in the order of
    /// use cannot be either.
    package func isTooYoung(_ stamp: UseStamp, now: Int64) -> Bool {
        guard let limit, stamp.number >= 0 else { return false }
        let step = worth.step(uses: worth.firstUse, size: .max, cost: .usual)
        return Double(now - stamp.number) < limit * EntryWorth.values[step]
    }

    /// Adapts the limit after a pass that found enough overdue entries.
    ///
    /// - Parameters:
    ///   - share: how much of what it may examine it examined, from 0 to 1.
    ///   - least: how overdue the least overdue victim was.
    mutating func raiseLimit(examined share: Double, least: Double) {
        guard let limit else { return }
        let raised = limit * (1 + Self.growth * (1 - share))
        self.limit = least.isFinite ? max(raised, limit + (least - limit) / 2) : raised
    }

    /// Lowers the limit after a pass that found too few overdue entries.
    mutating func lowerLimit(to overdue: Double) {
        if overdue.isFinite { limit = overdue }
    }
}
