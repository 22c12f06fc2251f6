/// The sentinels' answers about where the primary is. Pure.
///
/// The address that most sentinels name wins. So a sentinel that is cut off and still names the old
/// primary is outvoted.
struct SentinelBallot: Sendable {
    private let sentinels: Int
    private var votes: [(sentinel: Int, endpoint: RedisEndpoint)] = []
    private var replies = 0

    init(sentinels: Int) { self.sentinels = sentinels }

    /// - Parameters:
    ///   - sentinel: its index in the list.
    ///   - endpoint: `nil` if it did not reply or does not know the primary.
    mutating func add(_ endpoint: RedisEndpoint?, from sentinel: Int) {
        replies += 1
        if let endpoint { votes.append((sentinel, endpoint)) }
    }

    /// Whether further replies cannot change the winner.
    var isDecided: Bool {
        replies >= sentinels || counts.contains { $0.count * 2 > sentinels }
    }

    /// The winner. In a tie, the one that the first sentinel names.
    var winner: RedisEndpoint? {
        counts.min { ($1.count, $0.first) < ($0.count, $1.first) }?.endpoint
    }

    private var counts: [(endpoint: RedisEndpoint, count: Int, first: Int)] {
        Dictionary(grouping: votes, by: \.endpoint).map { endpoint, votes in
            (endpoint, votes.count, votes.map(\.sentinel).min() ?? 0)
        }
    }
}
