import Synchronization

/// The order in which entries were used recently.
///
/// Reads record uses here and never on disk. Before eviction removes an entry that is old according
/// to the disk, it checks here. The remaining uses are written in batches when the store closes.
/// The order is a counter, so clock changes do not affect it.
package final class RecencyLog: Sendable {
    /// The number of uses in each of two generations. When the newer generation is full, the older
    /// one is dropped.
    static let generationLimit = 32_768
    /// The number of uses written in one transaction.
    static let flushCount = 512

    private struct State {
        var recent: [Int64: Int64] = [:]
        var older: [Int64: Int64] = [:]
        var last: Int64
        /// The last number of the previous period.
        var periodStart = Int64.min
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
    /// begins when uses are taken or dropped.
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
        state.recent[entryID] = state.last
        guard state.recent.count >= Self.generationLimit else { return }
        swap(&state.recent, &state.older)
        // The capacity is needed again immediately.
        state.recent.removeAll(keepingCapacity: true)
        currentPeriod.wrappingAdd(1, ordering: .relaxed)
    }

    /// Returns the number for an entry that is being stored.
    package func next() -> Int64 {
        state.withLock { state in
            state.last += 1
            return state.last
        }
    }

    /// Removes and returns the number of an entry's last use, if it was used recently. The caller
    /// calls ``endTaking()`` after the last one.
    ///
    /// If only the first use in a period is recorded, the last use is unknown, so the entry counts
    /// once as used now. Otherwise an entry in constant use would be evicted with the entries
    /// stored at its first use.
    package func take(_ entryID: Int64) -> Int64? {
        state.withLock { state in
            guard let noted = state.recent.removeValue(forKey: entryID) ?? state.older.removeValue(forKey: entryID)
            else { return nil }
            if isExact { return noted }
            state.last += 1
            return state.last
        }
    }

    /// Begins a new period, so that the next use of the taken entries is recorded.
    package func endTaking() {
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
            guard let number = state.recent[entryID] ?? state.older[entryID] else { return nil }
            return Use(number: number, isInPeriod: number > state.periodStart)
        }
    }

    /// Begins a period, so that the next use of every entry is recorded.
    package func beginPeriod() {
        state.withLock { $0.periodStart = $0.last }
        currentPeriod.wrappingAdd(1, ordering: .relaxed)
    }

    /// Removes and returns some uses, from the newest generation first; empty if none are left.
    package func takeSome() -> [Int64: Int64] {
        state.withLock { state in
            if state.recent.isEmpty { swap(&state.recent, &state.older) }
            let some = state.recent.prefix(Self.flushCount)
            for (entryID, _) in some { state.recent[entryID] = nil }
            return Dictionary(uniqueKeysWithValues: some.map { ($0.key, $0.value) })
        }
    }

    /// Puts back uses that could not be written; later uses stay.
    package func putBack(_ used: [Int64: Int64]) {
        state.withLock { state in
            guard state.recent.count + used.count < Self.generationLimit else { return }
            state.recent.merge(used) { max($0, $1) }
        }
    }
}
