package import CacheEviction
import Synchronization

/// The order in which entries were used recently.
///
/// Reads record uses here and never on disk. Before eviction removes an entry that is old according
/// to the disk, it checks here. The remaining uses are written in batches when the store closes.
/// The order is a counter, so clock changes do not affect it. An entry's uses are counted up to 15:
/// with a memory tier, the periods in which it was used.
package final class RecencyLog: Sendable {
    /// The number of uses in each of two generations. When the newer generation is full, the older
    /// one is dropped.
    static let generationLimit = 32_768
    /// The number of uses written in one transaction.
    static let flushCount = 512
    /// The most numbers in a period. Within a period, the order is that of the first uses, so an
    /// entry in constant use is at most two periods old.
    static let periodLength: Int64 = 8192

    /// The number of an entry's last use, and the number of uses, in 8 bytes.
    private struct Record {
        private static let highestCount: Int64 = 15
        private var packed: Int64

        init(number: Int64, count: Int) {
            packed = number << 4 | min(Int64(clamping: count), Self.highestCount)
        }

        var number: Int64 { packed >> 4 }
        var count: Int { Int(truncatingIfNeeded: packed & 15) }

        func adding(_ more: Int) -> Record { Record(number: number, count: count + more) }
    }

    private struct State {
        var recent: [Int64: Record] = [:]
        var older: [Int64: Record] = [:]
        var last: Int64
        /// The last number before the period of a round of quotas.
        var roundStart: Int64
        /// The last number before the current period.
        var periodStart: Int64

        init(last: Int64) {
            self.last = last
            roundStart = last
            periodStart = last
        }

        func record(of entryID: Int64) -> Record? {
            guard let record = recent[entryID] else { return older[entryID] }
            return older[entryID].map { record.adding($0.count) } ?? record
        }

        mutating func remove(_ entryID: Int64) {
            recent[entryID] = nil
            older[entryID] = nil
        }
    }

    private let state: Mutex<State>
    private let currentPeriod = Atomic<UInt32>(1)
    /// Whether every use is recorded, instead of only the first in a period.
    private let isExact: Bool

    /// - Parameters:
    ///   - last: the highest number on disk.
    ///   - isExact: whether every use is recorded. With a memory tier, only the first use in a
    ///     ``period`` is.
    package init(last: Int64, isExact: Bool) {
        state = Mutex(State(last: last))
        self.isExact = isExact
    }

    /// The current period. An entry in constant use is recorded once per period. A new period
    /// begins when uses are taken or dropped, and after ``periodLength`` numbers.
    var period: UInt32 { currentPeriod.load(ordering: .relaxed) }

    /// Records that an entry was used.
    package func use(_ entryID: Int64) {
        state.withLock { use(entryID, &$0) }
    }

    /// Records that some entries were used, in this order.
    package func use(_ entryIDs: [Int64]) {
        if entryIDs.isEmpty { return }
        state.withLock { state in
            for entryID in entryIDs { use(entryID, &state) }
        }
    }

    private func use(_ entryID: Int64, _ state: inout State) {
        state.last += 1
        state.recent[entryID] = Record(number: state.last, count: (state.recent[entryID]?.count ?? 0) + 1)
        if state.recent.count >= Self.generationLimit {
            swap(&state.recent, &state.older)
            // The capacity is needed again immediately.
            state.recent.removeAll(keepingCapacity: true)
        } else if state.last - state.periodStart < Self.periodLength {
            return
        }
        state.periodStart = state.last
        currentPeriod.wrappingAdd(1, ordering: .relaxed)
    }

    /// Returns the number for an entry that is being stored.
    package func next() -> Int64 {
        state.withLock { state in
            state.last += 1
            return state.last
        }
    }

    /// The number of the last use or of the last stored entry.
    package var last: Int64 { state.withLock { $0.last } }

    /// Returns the uses of an entry, if it was used recently; the record stays.
    ///
    /// If only the first use in a period is recorded, and this period has not ended, the last use
    /// is unknown, so the entry counts as used now. Otherwise an entry in constant use would be
    /// evicted with the entries stored at its first use.
    package func uses(of entryID: Int64) -> RecordedUses? {
        state.withLock { uses(of: entryID, $0) }
    }

    /// Removes and returns the uses of an entry, like ``uses(of:)``. The caller calls
    /// ``endTaking()`` after the last one.
    package func take(_ entryID: Int64) -> RecordedUses? {
        state.withLock { state in
            let uses = uses(of: entryID, state)
            state.remove(entryID)
            return uses
        }
    }

    private func uses(of entryID: Int64, _ state: State) -> RecordedUses? {
        guard let record = state.record(of: entryID) else { return nil }
        let isExact = isExact || record.number <= state.periodStart
        return RecordedUses(
            count: record.count,
            number: isExact ? record.number : state.last,
            isExpiring: state.older[entryID] != nil
        )
    }

    /// Begins a new period, so that the next use of the taken entries is recorded.
    package func endTaking() {
        state.withLock { $0.periodStart = $0.last }
        currentPeriod.wrappingAdd(1, ordering: .relaxed)
    }

    /// A recorded use of an entry.
    package struct Use: Sendable {
        package var number: Int64
        /// Whether the entry may have been used again since, without a record.
        package var isInPeriod: Bool
    }

    /// Returns the last recorded use of an entry, if it was used recently; the record stays.
    package func lastUse(of entryID: Int64) -> Use? {
        state.withLock { state in
            guard let number = state.record(of: entryID)?.number else { return nil }
            return Use(number: number, isInPeriod: number > state.roundStart)
        }
    }

    /// Begins a period, so that the next use of every entry is recorded.
    package func beginPeriod() {
        state.withLock { state in
            state.roundStart = state.last
            state.periodStart = state.last
        }
        currentPeriod.wrappingAdd(1, ordering: .relaxed)
    }

    /// Removes and returns the uses of some entries, from the newest generation first; empty if
    /// none are left.
    package func takeSome() -> [Int64: RecordedUses] {
        state.withLock { state in
            if state.recent.isEmpty { swap(&state.recent, &state.older) }
            let some = state.recent.prefix(Self.flushCount)
            for (entryID, _) in some { state.recent[entryID] = nil }
            return some.reduce(into: [:]) { $0[$1.key] = RecordedUses(count: $1.value.count, number: $1.value.number) }
        }
    }

    /// Puts back uses that could not be written; later uses stay.
    package func putBack(_ used: [Int64: RecordedUses]) {
        state.withLock { state in
            guard state.recent.count + used.count < Self.generationLimit else { return }
            for (entryID, uses) in used {
                let later = state.recent[entryID]
                state.recent[entryID] = Record(
                    number: max(uses.number, later?.number ?? uses.number),
                    count: uses.count + (later?.count ?? 0)
                )
            }
        }
    }
}
