/// Where an entry stands in line when room is needed: who is smaller goes first.
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

/// The first in line of many entries that are looked at in any order: as many as come to some
/// bytes.
///
/// Looking at a million entries takes no more memory than holding those that will go, and never
/// more than 65,536 at a time.
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

    /// - Parameter bytes: what has to go.
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

    /// Those that go, the first in line last, so that they can be taken from the end.
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
