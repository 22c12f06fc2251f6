/// The number of entries that the next read of a fleet log asks for.
///
/// A page that takes longer than the time limit would time out on every attempt. Each timeout makes
/// the next page smaller, down to one entry, and each full page that arrives in time doubles it.
struct PageSize: Sendable, Hashable {
    private static let divisor = 8

    private(set) var count = LogBatch.mostEntries
    /// The number of timeouts that made a page smaller. A page of one entry cannot be smaller.
    private(set) var reductions = 0

    mutating func timedOut() {
        if count > 1 { reductions += 1 }
        count = max(1, count / Self.divisor)
    }

    mutating func arrived(_ entries: Int) {
        if entries >= count { count = min(count * 2, LogBatch.mostEntries) }
    }
}
