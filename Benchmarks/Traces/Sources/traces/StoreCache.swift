import CacheEviction

/// The policy of the store on disk, over an index in memory instead of SQLite's.
///
/// Like the store, it evicts down to 95 % of its budget at a time, and records a use once between
/// two evictions.
struct StoreCache: ReplayedCache {
    private struct Resident {
        var id: Int64
        var stamp: UseStamp
        var size: Int64
        var uses: RecordedUses?
    }

    private let budget: Int64
    private var bytes: Int64 = 0
    private var policy: StoreEviction
    private var residents: [Int64: Resident] = [:]
    private var lastID: Int64 = 0
    /// The positions of entries in the order of use, and those that entries had before.
    private var index: [(position: Int64, key: Int64)] = []
    /// Where the next eviction continues.
    private var place = Int64.min
    private var now: Int64 = 0
    /// The time of the last eviction.
    private var periodStart: Int64 = 0
    /// The bytes held at each request since the first eviction.
    private var heldBytes = 0.0
    private var heldRequests = 0.0
    /// How many entries were examined, evicted and written.
    private(set) var examined = 0
    private(set) var evicted = 0
    private(set) var moved = 0

    init(budget: Int) {
        self.budget = Int64(budget)
        policy = StoreEviction(budget: Int64(budget) / 40 * 39)
    }

    /// The share of its budget that the cache held on average since it was full.
    var held: Double { heldRequests > 0 ? heldBytes / heldRequests / Double(max(1, budget)) : 1 }

    mutating func request(_ request: Trace.Request) -> Bool {
        now += 1
        if periodStart > 0 {
            heldBytes += Double(bytes)
            heldRequests += 1
        }
        if residents[request.key] != nil {
            recordUse(of: request.key)
            return true
        }
        let size = Int64(request.size)
        guard size <= budget else { return false }
        if bytes + size > budget { evict(downTo: max(0, budget / 20 * 19 - size)) }
        let stamp = policy.insert(hash(request.key), size: size, number: now, replacing: nil)
        lastID += 1
        residents[request.key] = Resident(id: lastID, stamp: stamp, size: size)
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
            let moves = pass(needed: bytes - target)
            moved += moves
            periodStart = now
            if moves == 0, bytes == before { break }
        }
        let residents = residents
        index.removeAll { residents[$0.key]?.stamp.stored != $0.position }
    }

    /// - Returns: how many entries moved.
    private mutating func pass(needed: Int64) -> Int {
        var pass = EvictionPass(needed: needed, now: now)
        var moves: [(stamp: UseStamp, key: Int64)] = []
        let start = index.firstIndex { $0.position > place } ?? index.count
        let end = place > .min ? firstYoung(from: start) : index.count
        // In the order of the store: from the place on, up to the place, young entries.
        for number in [start..<end, 0..<start, end..<index.count].joined() where !pass.isDone {
            let (position, key) = index[number]
            guard let resident = residents[key], resident.stamp.stored == position else { continue }
            place = position
            examined += 1
            var uses = resident.uses
            if let number = uses?.number, number > periodStart { uses?.number = now }
            let isWatched = StoreEviction.watches(resident.id)
            switch pass.examine(key, resident.stamp, uses: uses, isWatched: isWatched, &policy) {
            case .keep: break
            case .evict: pass.count(remove(key))
            case .move(let stamp):
                residents[key]?.stamp = stamp
                residents[key]?.uses = nil
                moves.append((stamp, key))
            }
        }
        while let key = pass.next(policy) { pass.count(remove(key)) }
        pass.finish(&policy, of: bytes)
        index += moves.map { ($0.stamp.stored, $0.key) }
        if !moves.isEmpty { index.sort { $0.position < $1.position } }
        return moves.count
    }

    /// The first place in the index whose entry is too young to be due.
    private func firstYoung(from start: Int) -> Int {
        index[start...].firstIndex { policy.isTooYoung(UseStamp(stored: $0.position), now: now) } ?? index.count
    }

    /// - Returns: its size.
    private mutating func remove(_ key: Int64) -> Int64 {
        guard let resident = residents.removeValue(forKey: key) else { return 0 }
        policy.evict(hash(key), resident.uses.map(resident.stamp.used) ?? resident.stamp, now: now)
        bytes -= resident.size
        evicted += 1
        return resident.size
    }

    private func hash(_ key: Int64) -> Int64 {
        var random = SeededRandom(seed: UInt64(bitPattern: key))
        return Int64(bitPattern: random.next())
    }
}
