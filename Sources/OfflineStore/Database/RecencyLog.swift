import Synchronization

/// Which entries were used lately, and in which order.
///
/// Reading writes here and never to disk. Eviction asks here before it removes an entry that the
/// disk's order calls old; what is left is written in batches when the store is closed. The order
/// is a counter and no time, so a clock that jumps does not turn it around.
final class RecencyLog: Sendable {
    /// Uses kept in each of two generations; the older one is forgotten when the newer one is full.
    static let generationLimit = 32_768
    /// Uses written in one transaction.
    static let flushCount = 512

    private struct State {
        var recent: [Int64: Int64] = [:]
        var older: [Int64: Int64] = [:]
        var last: Int64
        /// The last number of the period before this one.
        var periodStart = Int64.min
    }

    private let state: Mutex<State>
    private let currentPeriod = Atomic<UInt32>(1)
    /// Whether every use is noted, and not only the first in a period.
    private let isExact: Bool

    /// - Parameters:
    ///   - last: the highest number on disk.
    ///   - isExact: whether every use is noted: what is in memory is not, see ``period``.
    init(last: Int64, isExact: Bool) {
        state = Mutex(State(last: last))
        self.isExact = isExact
    }

    /// Goes up when uses are taken or forgotten, so that what is used all the time need not be
    /// noted each time: once in a period is enough.
    var period: UInt32 { currentPeriod.load(ordering: .relaxed) }

    /// Notes that an entry was used.
    func use(_ entryID: Int64) {
        state.withLock { use(entryID, &$0) }
    }

    /// Notes that some entries were used, one after the other.
    func use(_ entryIDs: [Int64]) {
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
        // Its room is needed again at once.
        state.recent.removeAll(keepingCapacity: true)
        currentPeriod.wrappingAdd(1, ordering: .relaxed)
    }

    /// The number for an entry that is stored now.
    func next() -> Int64 {
        state.withLock { state in
            state.last += 1
            return state.last
        }
    }

    /// Takes the number of an entry's last use, if it was used lately; ``endTaking()`` is to be
    /// called when all are taken.
    ///
    /// Where one use may stand for many, nobody knows which was the last: it counts as if it were
    /// of this moment, once. Else what is used all the time would go with what was stored when it
    /// was used first.
    func take(_ entryID: Int64) -> Int64? {
        state.withLock { state in
            guard let noted = state.recent.removeValue(forKey: entryID) ?? state.older.removeValue(forKey: entryID)
            else { return nil }
            if isExact { return noted }
            state.last += 1
            return state.last
        }
    }

    /// Has the next use of what was taken noted again.
    func endTaking() {
        currentPeriod.wrappingAdd(1, ordering: .relaxed)
    }

    /// An entry's use as far as it was noted.
    struct Use: Sendable {
        var number: Int64
        /// It may have been used again since, without being noted.
        var isInPeriod: Bool
    }

    /// The last use of an entry that was noted, if it was used lately; it stays noted.
    func lastUse(of entryID: Int64) -> Use? {
        state.withLock { state in
            guard let number = state.recent[entryID] ?? state.older[entryID] else { return nil }
            return Use(number: number, isInPeriod: number > state.periodStart)
        }
    }

    /// Has everything that is used from now on noted anew.
    func beginPeriod() {
        state.withLock { $0.periodStart = $0.last }
        currentPeriod.wrappingAdd(1, ordering: .relaxed)
    }

    /// Takes some uses, the newest generation first; empty when there are none left.
    func takeSome() -> [Int64: Int64] {
        state.withLock { state in
            if state.recent.isEmpty { swap(&state.recent, &state.older) }
            let some = state.recent.prefix(Self.flushCount)
            for (entryID, _) in some { state.recent[entryID] = nil }
            return Dictionary(uniqueKeysWithValues: some.map { ($0.key, $0.value) })
        }
    }

    /// Puts back what could not be written; later uses stay.
    func putBack(_ used: [Int64: Int64]) {
        state.withLock { state in
            guard state.recent.count + used.count < Self.generationLimit else { return }
            state.recent.merge(used) { max($0, $1) }
        }
    }
}
