/// The sentinels' replies about the primary's address. A pure value.
///
/// The address that most sentinels report wins. So the other sentinels outvote one that is cut off
/// and still reports the old primary.
struct SentinelBallot: Sendable {
    private let sentinels: Int
    private var votes: [(sentinel: Int, endpoint: RedisEndpoint)] = []
    private var replies = 0

    init(sentinels: Int) { self.sentinels = sentinels }

    /// - Parameters:
    ///   - sentinel: the sentinel's index in the list.
    ///   - endpoint: the reported address; `nil` if the sentinel did not reply or does not know the
    ///     primary.
    mutating func add(_ endpoint: RedisEndpoint?, from sentinel: Int) {
        replies += 1
        if let endpoint { votes.append((sentinel, endpoint)) }
    }

    /// Whether the winner is certain, no matter what the other sentinels reply.
    var isDecided: Bool {
        replies >= sentinels || counts.contains { $0.count * 2 > sentinels }
    }

    /// The winning address. In a tie, the address reported by the first sentinel in the list wins.
    var winner: RedisEndpoint? {
        counts.min { ($1.count, $0.first) < ($0.count, $1.first) }?.endpoint
    }

    private var counts: [(endpoint: RedisEndpoint, count: Int, first: Int)] {
        Dictionary(grouping: votes, by: \.endpoint).map { endpoint, votes in
            (endpoint, votes.count, votes.map(\.sentinel).min() ?? 0)
        }
    }
}
