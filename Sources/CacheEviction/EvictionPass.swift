/// One eviction from a store: a walk along its entries in the order of use, which chooses enough of
/// them to free a number of bytes.
///
/// Due entries are evicted at once. The others are remembered. If the pass examined 48 times the
/// bytes that it needs and 64 entries, or 48 times the entries that it may evict, it takes those of
/// them that are due first, so it always frees something. All it needs of an entry is the stamp, so
/// the caller reads the index alone, and only the rows of victims. An entry whose stamp has no size
/// counts 12 times, because the caller reads its row.
///
/// ```swift
/// var pass = EvictionPass(needed: bytes, atMost: count, now: number)
/// for (id, stamp) in index where !pass.isDone {
///     let isWatched = StoreEviction.watches(id)
///     switch pass.examine(id, stamp, uses: log.uses(of: id), isWatched: isWatched, &policy) {
///     case .evict: pass.count(remove(id).size)
///     case .move(let stamp): write(stamp, id)
///     case .keep: break
///     }
/// }
/// while let id = pass.next(policy) { pass.count(remove(id).size) }
/// pass.finish(&policy, of: held)
/// ```
///
/// A pass that begins later in the order skips the entries that are too young to be due, and
/// continues at the oldest one. If it is not done by then, it examines the young ones too, which
/// may be large: it takes those that are due first of all.
package struct EvictionPass {
    package enum Decision: Equatable, Sendable {
        case evict
        case keep
        /// The entry was used since it was written, and moves to this position.
        case move(UseStamp)
    }

    private struct Candidate {
        var due: StoreEviction.Due
        var row: Int64
    }

    /// How much is examined for what is needed.
    private static var breadth: Double { 48 }
    /// The entries that are examined however little is needed: a few small ones tell nothing about
    /// a large one behind them.
    private static var leastExamined: Int { 64 }
    /// How many entries of the index may be read in the time that a row takes.
    private static var costOfRow: Int64 { 12 }
    /// The most entries that a pass evicts. It remembers 48 times as many.
    private static var mostEvicted: Int { 4096 }

    private let needed: Int64
    private let most: Int
    private let now: Int64
    private var freed: Int64 = 0
    private var evicted = 0
    /// The kept entries and their bytes, as often as they count.
    private var keptCost: Int64 = 0
    private var keptBytes: Int64 = 0
    private var kept: [Candidate] = []
    /// The places of kept entries that ``next(_:)`` has not returned, the first at the end.
    private var rest: [Int]?
    private var last: StoreEviction.Due?

    /// - Parameters:
    ///   - needed: the bytes to free.
    ///   - most: the most entries to evict.
    ///   - now: the present position in the order of use.
    package init(needed: Int64, atMost most: Int = .max, now: Int64) {
        self.needed = max(1, needed)
        self.most = min(max(1, most), Self.mostEvicted)
        self.now = now
    }

    /// Whether the pass has found enough, or has examined enough.
    package var isDone: Bool { hasEnough || share >= 1 }

    private var hasEnough: Bool { freed >= needed || evicted >= most }

    /// How much of what the pass may examine it has kept.
    private var share: Double {
        let ofBytes = Double(keptBytes) / (Double(needed) * Self.breadth)
        let ofLeast = Double(kept.count) / Double(Self.leastExamined)
        return max(min(ofBytes, ofLeast), Double(keptCost) / (Double(most) * Self.breadth))
    }

    /// Decides about the next entry in the order of use.
    ///
    /// - Parameters:
    ///   - stamp: its stamp.
    ///   - sizeInRow: its size, if the stamp has none.
    ///   - uses: its uses that are not in its stamp.
    ///   - isWatched: whether its uses are always written (``StoreEviction/watches(_:)``).
    package mutating func examine(
        _ row: Int64,
        _ stamp: UseStamp,
        sizeInRow: Int64? = nil,
        uses: RecordedUses?,
        isWatched: Bool,
        _ policy: inout StoreEviction
    ) -> Decision {
        // A damaged entry is not served, however recently it was used.
        guard stamp.number >= 0 else { return .evict }
        let stamp = sizeInRow.map(stamp.sized) ?? stamp
        let size = stamp.size?.size ?? 0
        policy.note(examined: size)
        var due = policy.due(stamp, now: now)
        var moved: UseStamp?
        if let uses {
            let mustMove = isWatched || uses.isExpiring || policy.isDue(due)
            let used = policy.use(stamp, uses, isWatched: isWatched)
            due = policy.due(used, now: now)
            moved = mustMove ? used : nil
        }
        if policy.isDue(due) { return .evict }
        if let moved { return .move(moved) }
        kept.append(Candidate(due: due, row: row))
        let cost = sizeInRow == nil ? 1 : Self.costOfRow
        keptCost += cost
        keptBytes += size * cost
        return .keep
    }

    /// Records that an entry was evicted.
    package mutating func count(_ size: Int64) {
        freed += size
        evicted += 1
    }

    /// Returns the next of the kept entries to evict; `nil` if the pass has found enough, or there
    /// are none.
    package mutating func next(_ policy: StoreEviction) -> Int64? {
        if hasEnough { return nil }
        if rest == nil {
            // Of two entries that are due at the same time, the one used earlier leaves.
            let order = kept.indices.map { (lateness: policy.lateness(kept[$0].due), index: $0) }
            rest = order.sorted { ($0.lateness, $1.index) < ($1.lateness, $0.index) }.map(\.index)
        }
        guard let candidate = rest?.popLast().map({ kept[$0] }) else { return nil }
        last = candidate.due
        return candidate.row
    }

    /// Ends the pass.
    ///
    /// - Parameter held: the bytes that the store uses. If the disk is small, they are far fewer
    ///   than its budget.
    package func finish(_ policy: inout StoreEviction, of held: Int64) {
        let part = Double(freed) / Double(max(1, held))
        if let last {
            policy.lowerLimit(last.ratio, freed: part, now: now)
        } else {
            policy.raiseLimit(examined: min(1, share), freed: part, now: now)
        }
    }
}
