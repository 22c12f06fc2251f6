import HTTPCache
import Testing

@testable import HoldfastGateway
@testable import OriginConnections

/// The value that decides which servers may get a request, and in which order.
@Suite(.timeLimit(.minutes(20))) struct ServerChoiceTests {
    /// A server, written as its turn and letters: `a` set aside, `d` drained, `m` a mirror.
    private static func server(_ text: String) -> Failover.Server {
        Failover.Server(
            availability: text.contains("a") ? .aside : .available,
            isMirror: text.contains("m"),
            isDrained: text.contains("d"),
            turn: UInt64(text.prefix { $0.isNumber }) ?? 0
        )
    }

    struct Row: Sendable, CustomTestStringConvertible {
        var servers: [String]
        var inUse: [Int]
        var aside: [Int] = []
        var isDrained = false
        var testDescription: String { "\(servers)" }
    }

    static let rows = [
        Row(servers: ["", "", "m"], inUse: [0, 1, 2]),
        Row(servers: ["a", "", "ma", "m"], inUse: [1, 3], aside: [0, 2]),
        Row(servers: ["3", "1", "2m"], inUse: [1, 2, 0]),
        Row(servers: ["3", "", "2m", ""], inUse: [1, 3, 2, 0]),
        Row(servers: ["3a", "1a", "2"], inUse: [2], aside: [1, 0]),
        Row(servers: ["d", "", "m"], inUse: [1, 2]),
        Row(servers: ["1d", "3", "2"], inUse: [2, 1]),
        Row(servers: ["ad", "a"], inUse: [], aside: [1]),
        Row(servers: ["d", "ad", "md"], inUse: [], isDrained: true),
        Row(servers: ["d"], inUse: [], isDrained: true),
    ]

    /// Mutant: `drained-server-gets-requests`.
    @Test(arguments: rows) func turnHealthAndDrainDecideTheOrder(_ row: Row) {
        let choice = ServerChoice(among: row.servers.map(Self.server)) { _ in true }
        #expect(choice.inUse == row.inUse && choice.aside == row.aside && choice.isDrained == row.isDrained)
    }

    /// Mirrors get no changes, so these fail while the origin's own server is drained. That shows
    /// nothing about the origin.
    ///
    /// Mutant: `drained-origin-opens-the-breaker`.
    @Test func requestFailsIfEveryServerThatMayHaveItIsDrained() {
        let servers = ["d", "m"].map(Self.server)
        var change = Failover(servers, Failover.Request(isSafe: false, isRepeatable: true))
        let none = change.first()
        #expect(none == nil && change.isDrained && change.isRestricted)
        var read = Failover(servers, Failover.Request(isSafe: true, isRepeatable: true))
        let mirror = read.first()
        #expect(mirror?.server == 1 && mirror?.shares == 1 && !read.isDrained && !read.isRestricted)
        let next = read.next(after: .failure(.connect, isUnsent: true), of: 1, isTimeOver: false)
        #expect(next == nil, "a drained server is no way out")
        let all = Failover(["d", "ad"].map(Self.server), Failover.Request(isSafe: true, isRepeatable: true))
        #expect(all.isDrained && all.isRestricted && all.firstServer == nil)
    }

    /// A counter would favor a server if every second request may go to only some of the servers.
    @Test func turnsAreFairWithRequestsForSomeServers() {
        var turns: [UInt64] = [0, 0, 0]
        var reads = [0, 0, 0]
        var last: UInt64 = 0
        for number in 0..<300 {
            let servers = turns.enumerated().map { Failover.Server(isMirror: $0 == 2, turn: $1) }
            let choice = ServerChoice(among: servers) { number.isMultiple(of: 2) || !$0.isMirror }
            let first = choice.inUse[0]
            last += 1
            turns[first] = last
            if number.isMultiple(of: 2) { reads[first] += 1 }
        }
        #expect(reads.min() ?? 0 >= 30, "\(reads)")
    }
}
