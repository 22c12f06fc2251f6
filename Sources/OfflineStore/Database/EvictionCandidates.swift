/// The rank of an entry for eviction: the smallest is evicted first.
struct EvictionRank: Comparable, Sendable {
    private let isKept: Bool
    private let order: Int64

    init(_ order: CacheManager.EvictionOrder, isUsableStale: Bool, expiresAt: Int64, recency: Int64) {
        switch order {
        case .leastRecentlyUsed: (isKept, self.order) = (true, recency)
        case .keepingOfflineCopies: (isKept, self.order) = (isUsableStale, isUsableStale ? recency : expiresAt)
        }
    }

    static func < (left: Self, right: Self) -> Bool {
        left.isKept == right.isKept ? left.order < right.order : right.isKept
    }
}

/// The first entries to evict, selected from many that are added in any order: as many as add up to
/// a number of bytes.
///
/// Memory use depends on the entries to evict, not on the entries ranked: at most 65,536 entries
/// are selected, and at most about twice as many are in memory at a time.
struct EvictionCandidates: Sendable {
    struct Candidate: Sendable {
        var id: Int64
        var rank: EvictionRank
        var recency: Int64
        var size: Int64
    }

    static let maximumCount = 65_536

    private let bytes: Int64
    private var candidates: [Candidate] = []
    private var trimCount = 1024

    /// - Parameter bytes: the bytes to evict.
    init(bytes: Int64) {
        self.bytes = bytes
    }

    mutating func add(_ candidate: Candidate) {
        candidates.append(candidate)
        if candidates.count >= trimCount {
            trim()
            trimCount = 2 * candidates.count + 1024
        }
    }

    /// Returns the entries to evict in reverse order, so that the caller can pop them.
    mutating func take() -> [Candidate] {
        trim()
        defer { candidates = [] }
        return candidates.reversed()
    }

    private mutating func trim() {
        candidates.sort { $0.rank < $1.rank }
        var sum: Int64 = 0
        let end = candidates.firstIndex { candidate in
            defer { sum += candidate.size }
            return sum >= bytes
        }
        let count = min(end ?? candidates.count, Self.maximumCount)
        candidates.removeLast(candidates.count - count)
    }
}
