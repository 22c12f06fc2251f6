import CacheEviction

/// The policy of the store on disk, over an index in memory instead of SQLite's.
///
/// Like the store, it evicts down to 95 % of its budget at a time, and records a use once between
/// two evictions.
struct StoreCache: ReplayedCache {
    private struct Resident {
        var entry: StoreEviction.Entry
        var uses: RecordedUses?
    }

    private let budget: Int64
    private var bytes: Int64 = 0
    private var policy: StoreEviction
    private var residents: [Int64: Resident] = [:]
    /// The positions of entries in the order of use, and those that entries had before.
    private var index: [(position: Int64, key: Int64)] = []
    /// Where the next eviction continues.
    private var place = Int64.min
    private var now: Int64 = 0
    /// The time of the last eviction.
    private var periodStart: Int64 = 0
    /// How many entries were examined and evicted.
    private(set) var examined = 0
    private(set) var evicted = 0

    init(budget: Int) {
        self.budget = Int64(budget)
        policy = StoreEviction(budget: Int64(budget))
    }

    mutating func request(_ request: Trace.Request) -> Bool {
        now += 1
        if residents[request.key] != nil {
            recordUse(of: request.key)
            return true
        }
        let size = Int64(request.size)
        guard size <= budget else { return false }
        if bytes + size > budget { evict(downTo: max(0, budget / 20 * 19 - size)) }
        let stamp = policy.insert(hash(request.key), size: size, number: now, replacing: nil)
        residents[request.key] = Resident(entry: .init(stamp: stamp, size: size))
        index.append((stamp.stored, request.key))
        bytes += size
        return false
    }

    private mutating func recordUse(of key: Int64) {
        guard let uses = residents[key]?.uses else {
            residents[key]?.uses = RecordedUses(count: 1, number: now)
            return
        }
        if uses.number <= periodStart { residents[key]?.uses = RecordedUses(count: uses.count + 1, number: now) }
    }

    private mutating func evict(downTo target: Int64) {
        while bytes > target, !residents.isEmpty {
            let before = bytes
            let moved = pass(needed: bytes - target)
            periodStart = now
            if moved == 0, bytes == before { break }
        }
        let residents = residents
        index.removeAll { residents[$0.key]?.entry.stamp.stored != $0.position }
    }

    /// - Returns: how many entries moved.
    private mutating func pass(needed: Int64) -> Int {
        var pass = EvictionPass<Int64>(needed: needed, now: now)
        var moves: [(stamp: UseStamp, key: Int64)] = []
        let start = index.firstIndex { $0.position > place } ?? index.count
        let end = place > .min ? firstYoung(from: start) : index.count
        // In the order of the store: from the place on, up to the place, young entries.
        for number in [start..<end, 0..<start, end..<index.count].joined() where !pass.isDone {
            let (position, key) = index[number]
            guard let resident = residents[key], resident.entry.stamp.stored == position else { continue }
            place = position
            examined += 1
            var uses = resident.uses
            if let number = uses?.number, number > periodStart { uses?.number = now }
            switch pass.examine(key, resident.entry, uses: uses, &policy) {
            case .keep: break
            case .evict: remove(key)
            case .move(let stamp):
                residents[key] = Resident(entry: .init(stamp: stamp, size: resident.entry.size))
                moves.append((stamp, key))
            }
        }
        let rest = pass.finish(&policy)
        if !rest.isEmpty { place = .min }
        for key in rest { remove(key) }
        index += moves.map { ($0.stamp.stored, $0.key) }
        if !moves.isEmpty { index.sort { $0.position < $1.position } }
        return moves.count
    }

    /// The first place in the index whose entry is too young to be overdue.
    private func firstYoung(from start: Int) -> Int {
        index[start...].firstIndex { position, key in
            guard let stamp = residents[key]?.entry.stamp, stamp.stored == position else { return false }
            return policy.isTooYoung(stamp, now: now)
        } ?? index.count
    }

    private mutating func remove(_ key: Int64) {
        guard let entry = residents.removeValue(forKey: key)?.entry else { return }
        policy.evict(hash(key), entry, now: now)
        bytes -= entry.size
        evicted += 1
    }

    private func hash(_ key: Int64) -> Int64 {
        var random = SeededRandom(seed: UInt64(bitPattern: key))
        return Int64(bitPattern: random.next())
    }
}
