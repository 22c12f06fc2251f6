import CacheEviction

/// A cache without contents: it says whether a request is a hit.
protocol ReplayedCache {
    init(budget: Int)
    mutating func request(_ request: Trace.Request) -> Bool
}

/// The shares of requests and of bytes that a cache missed.
struct MissRatios {
    var objects: Double
    var bytes: Double

    init<Cache: ReplayedCache>(of type: Cache.Type, budget: Int, on trace: Trace) {
        var cache = Cache(budget: budget)
        self.init(of: &cache, on: trace)
    }

    init(of cache: inout some ReplayedCache, on trace: Trace) {
        var (missed, missedBytes, bytes) = (0, 0, 0)
        for request in trace.requests {
            bytes += request.size
            if !cache.request(request) {
                missed += 1
                missedBytes += request.size
            }
        }
        objects = Double(missed) / Double(max(1, trace.requests.count))
        self.bytes = Double(missedBytes) / Double(max(1, bytes))
    }
}

/// The policy of this project.
struct PolicyCache: ReplayedCache {
    private(set) var policy: EvictionPolicy
    private var victims: [EvictionPolicy.Slot] = []

    init(budget: Int) { policy = EvictionPolicy(budget: budget) }

    mutating func request(_ request: Trace.Request) -> Bool { self.request(request, cost: .usual) }

    mutating func request(_ request: Trace.Request, cost: MissCost) -> Bool {
        let key = Self.hash(request.key)
        if let slot = policy.slot(of: key) {
            policy.use(slot)
            if cost != .usual { policy.setCost(slot, cost) }
            return true
        }
        victims.removeAll(keepingCapacity: true)
        _ = policy.insert(key, size: request.size, cost: cost, victims: &victims)
        return false
    }

    private static func hash(_ key: Int64) -> Int64 {
        var random = SeededRandom(seed: UInt64(bitPattern: key))
        return Int64(bitPattern: random.next())
    }
}

/// Plain LRU, to compare with.
struct LRUCache: ReplayedCache {
    private let budget: Int
    private var bytes = 0
    private var clock = 0
    private var entries: [Int64: (size: Int, use: Int)] = [:]
    /// Every use in order, of which the last of each entry counts.
    private var uses: [(key: Int64, use: Int)] = []
    private var oldest = 0

    init(budget: Int) { self.budget = budget }

    mutating func request(_ request: Trace.Request) -> Bool {
        let isHit = entries[request.key] != nil
        guard isHit || request.size <= budget else { return false }
        if !isHit { bytes += request.size }
        clock += 1
        entries[request.key] = (request.size, clock)
        uses.append((request.key, clock))
        while bytes > budget {
            let (key, use) = uses[oldest]
            oldest += 1
            guard let entry = entries[key], entry.use == use else { continue }
            entries[key] = nil
            bytes -= entry.size
        }
        return isHit
    }
}
