/// One eviction from a store: a walk along its entries in the order of use, which chooses enough of
/// them to free a number of bytes.
///
/// Overdue entries are evicted at once. The others are remembered. If the pass examined four times
/// the bytes that it needs and 64 entries, or four times the entries that it may evict, it takes
/// the most overdue of those, so it always frees something.
///
/// ```swift
/// var pass = EvictionPass<Row>(needed: bytes, atMost: count, now: number)
/// for row in rows where !pass.isDone {
///     switch pass.examine(row, row.entry, uses: log.take(row.id), &policy) {
///     case .evict: remove(row)
///     case .move(let stamp): write(stamp, row)
///     case .keep: break
///     }
/// }
/// for row in pass.finish(&policy) { remove(row) }  // then the next pass begins at the oldest
/// ```
///
/// A pass that begins later in the order skips the entries that are too young to be overdue, and
/// continues at the oldest one. If it is not done by then, it examines the young ones too, which
/// may be large: it takes the most overdue of all.
package struct EvictionPass<Row> {
    package enum Decision: Equatable, Sendable {
        case evict
        case keep
        /// The entry was used since it was written, and moves to this position.
        case move(UseStamp)
    }

    /// How much is examined for what is needed.
    private static var breadth: Double { 4 }
    /// The entries that are examined however little is needed: a few small ones tell nothing about
    /// a large one behind them.
    private static var leastExamined: Int { 64 }
    /// The most entries that a pass evicts. It remembers four times as many.
    private static var mostEvicted: Int { 4096 }

    private let needed: Int64
    private let most: Int
    private let now: Int64
    private var freed: Int64 = 0
    private var evicted = 0
    private var keptBytes: Int64 = 0
    private var kept: [(overdue: Double, size: Int64, row: Row)] = []
    private var least = Double.infinity

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
        return max(min(ofBytes, ofLeast), Double(kept.count) / (Double(most) * Self.breadth))
    }

    /// Decides about the next entry in the order of use.
    ///
    /// - Parameter uses: its uses that are not in its stamp.
    package mutating func examine(
        _ row: Row,
        _ entry: StoreEviction.Entry,
        uses: RecordedUses?,
        _ policy: inout StoreEviction
    ) -> Decision {
        // A damaged entry is not served, however recently it was used.
        if let uses, entry.stamp.number >= 0 { return .move(policy.use(entry, uses)) }
        let overdue = policy.overdue(entry, now: now)
        guard overdue.isInfinite || policy.limit.map({ overdue >= $0 }) ?? false else {
            kept.append((overdue, entry.size, row))
            keptBytes += entry.size
            return .keep
        }
        freed += entry.size
        evicted += 1
        least = min(least, overdue)
        return .evict
    }

    /// Ends the pass.
    ///
    /// - Parameter most: the most entries that may still be evicted.
    /// - Returns: the most overdue of the entries that were kept, if the others were not enough. If
    ///   there are any, the limit fell, so the next pass begins at the oldest entry.
    package mutating func finish(atMost most: Int = .max, _ policy: inout StoreEviction) -> [Row] {
        guard !hasEnough else {
            policy.raiseLimit(examined: min(1, share), least: least)
            return []
        }
        // Equally overdue entries stay in the order of use.
        let sorted = kept.enumerated().sorted {
            ($1.element.overdue, $0.offset) < ($0.element.overdue, $1.offset)
        }
        var victims: [Row] = []
        for (_, candidate) in sorted where !hasEnough && victims.count < most {
            victims.append(candidate.row)
            freed += candidate.size
            evicted += 1
            policy.lowerLimit(to: candidate.overdue)
        }
        return victims
    }
}
