import HoldfastConfiguration
import HoldfastTesting
import NIOCore
import Testing

@testable import HoldfastGateway

/// The buckets of a rate, as a value with a manual time.
@Suite(.timeLimit(.minutes(20))) struct RateBucketsTests {
    typealias Rate = HoldfastConfiguration.Configuration.RequestRate

    private static let millisecond: UInt64 = 1_000_000

    private static func at(_ milliseconds: UInt64) -> NIODeadline {
        .uptimeNanoseconds(milliseconds * millisecond)
    }

    /// A table whose requests all come at times in milliseconds.
    private final class Table {
        private(set) var buckets: RateBuckets
        /// Where each client's bucket was last, as its connection knows it.
        private var places: [UInt32: Int] = [:]

        init(_ rate: Rate, limit: Int = RateBuckets.limit) { buckets = RateBuckets(rate, limit: limit) }

        /// Returns the milliseconds to wait; 0 if the request passes.
        func take(_ client: UInt32, at milliseconds: UInt64) -> UInt64 {
            let now = RateBucketsTests.at(milliseconds)
            let decision = buckets.take(.ipv4(client), at: now, lastAt: places[client] ?? -1)
            if let place = decision.place { places[client] = place }
            return (decision.wait ?? 0) / RateBucketsTests.millisecond
        }
    }

    /// Mutant: `rate-is-halved`.
    @Test func burstIsServedAndThenTheRate() {
        let table = Table(Rate(10, per: .second, burst: 3))
        #expect((0..<3).map { _ in table.take(1, at: 1000) } == [0, 0, 0])
        #expect(table.take(1, at: 1000) == 100 && table.take(1, at: 1099) == 1)
        #expect(table.take(1, at: 1100) == 0 && table.take(1, at: 1100) == 100)
        #expect(table.take(2, at: 1100) == 0, "each client has its own bucket")
        #expect((0..<3).map { _ in table.take(1, at: 1300) } == [0, 0, 100])
        #expect((0..<4).map { _ in table.take(1, at: 3_600_000) } == [0, 0, 0, 100], "a bucket holds the burst")
    }

    @Test(arguments: [(.second, 20), (.minute, 1200), (.hour, 72_000)] as [(Rate.Period, UInt64)])
    func periodsAreTimes(_ period: Rate.Period, _ wait: UInt64) {
        let table = Table(Rate(50, per: period, burst: 1))
        #expect(table.take(1, at: 5) == 0 && table.take(1, at: 5) == wait && table.take(1, at: 5 + wait) == 0)
    }

    /// Event loops read the clock at different times. Mutant: `earlier-time-empties-buckets`.
    @Test func earlierTimeFillsNothing() {
        let table = Table(Rate(10, per: .second, burst: 2))
        #expect(table.take(1, at: 1000) == 0 && table.take(1, at: 500) == 0)
        #expect(table.take(1, at: 500) == 100 && table.take(1, at: 0) == 100 && table.take(1, at: 1000) == 100)
        #expect(table.take(1, at: 1100) == 0 && table.take(1, at: 1100) == 100)
    }

    @Test func extremesDoNotTrap() {
        let rates = [
            Rate(1, per: .hour, burst: 1_000_000), Rate(1_000_000, per: .second, burst: 1), Rate(0, per: .second),
        ]
        for rate in rates {
            var buckets = RateBuckets(rate)
            for time in [0, UInt64(Int64.max), 0] {
                for _ in 0..<3 { _ = buckets.take(.unknown, at: .uptimeNanoseconds(time)) }
            }
            #expect(buckets.count == 1)
        }
    }

    /// Mutant: `wait-forgets-the-shared-bucket`.
    @Test func waitIsThatOfTheNextRequest() {
        let rate = Rate(10, per: .second, burst: 2)
        var generator = SeededRandom(seed: 57)
        var buckets = RateBuckets(rate, limit: 3)
        for step in UInt64(0)..<500 {
            let group = RateGroup.ipv4(.random(in: 1...6, using: &generator))
            let time = Self.at(step * 20)
            let waits = (0..<2).map { _ in buckets.wait(of: group, at: time) }
            #expect(waits[0] == waits[1], "it takes nothing")
            #expect(buckets.take(group, at: time).wait == waits[0], "step \(step)")
        }
    }

    // MARK: The table

    /// Mutant: `full-table-forgets-clients`.
    @Test func clientsOfAFullTableShareABucket() {
        let table = Table(Rate(1, per: .second, burst: 2), limit: 4)
        for client in UInt32(1)...4 { #expect(table.take(client, at: 1000) == 0) }
        #expect(table.take(5, at: 1000) == 0 && table.take(6, at: 1000) == 0)
        #expect(table.take(7, at: 1000) == 1000 && table.take(5, at: 1000) == 1000)
        #expect(table.take(1, at: 1000) == 0 && table.take(1, at: 1000) == 1000, "it still has its own")
        // Clients 2, 3 and 4 have used one token, which is back.
        #expect((0..<3).map { _ in table.take(5, at: 2000) } == [0, 0, 1000])
        #expect(table.buckets.count == 4)
    }

    /// Mutant: `full-table-forgets-clients`.
    @Test func clientCannotResetItsLimitFromOtherAddresses() {
        let table = Table(Rate(1, per: .minute, burst: 3), limit: 16)
        for _ in 0..<3 { #expect(table.take(0, at: 1000) == 0) }
        for other in UInt32(1)...1000 { _ = table.take(other, at: 1000 + UInt64(other)) }
        #expect(table.take(0, at: 2000) == 59_000)
    }

    /// Mutant: `place-of-another-client-is-used`.
    @Test func placeThatAnotherClientHasNowIsNotUsed() {
        var buckets = RateBuckets(Rate(1, per: .second, burst: 2), limit: 1)
        let first = buckets.take(.ipv4(1), at: Self.at(1000))
        #expect(first.place == 0)
        // The first client's bucket is full again, so the second client replaces it.
        for _ in 0..<2 { #expect(buckets.take(.ipv4(2), at: Self.at(9000)).wait == nil) }
        let shared = buckets.take(.ipv4(1), at: Self.at(9000), lastAt: 0)
        #expect(shared.wait == nil && shared.place == nil, "it shares a bucket, and does not wait for the other client")
        #expect(buckets.take(.ipv4(2), at: Self.at(9000), lastAt: 7).wait == 1_000_000_000, "no such place")
    }

    @Test func millionAddressesNeedOneTable() {
        let table = Table(Rate(1, per: .second, burst: 1))
        for client in UInt32(0)..<1_000_000 { _ = table.take(client, at: 1000) }
        #expect(table.buckets.count == RateBuckets.limit)
        for client in UInt32(2_000_000)..<2_001_000 { #expect(table.take(client, at: 2000) == 0) }
        #expect(table.buckets.count == RateBuckets.limit)
    }

    @Test func fullBucketsAreReusedBeforeTheTableGrows() {
        let table = Table(Rate(1, per: .second, burst: 1))
        for client in UInt32(0)..<10_000 { #expect(table.take(client, at: UInt64(client) * 1000) == 0) }
        #expect(table.buckets.count < 4)
    }

    @Test func changesAreReportedOnceAMinute() {
        var buckets = RateBuckets(Rate(1, per: .hour, burst: 1), limit: 1)
        func changes(_ groups: [RateGroup], at milliseconds: UInt64) -> [RateBuckets.Change?] {
            groups.map { buckets.take($0, at: Self.at(milliseconds)).change }
        }
        #expect(changes([.unix, .unix, .unix], at: 1000) == [nil, .limiting, nil])
        #expect(changes([.unknown, .unknown, .ipv4(1)], at: 2000) == [.sharing, nil, nil])
        #expect(changes([.unix], at: 61_999) == [nil], "59,999 ms after the last one")
        #expect(changes([.unix], at: 121_999) == [.limiting])
    }

    // MARK: A model

    /// A bucket that is filled step by step.
    private struct Model {
        private let interval: UInt64
        private let whole: UInt64
        private var level: UInt64
        private var last: UInt64 = 0

        init(interval: UInt64, burst: UInt64) {
            self.interval = interval
            whole = interval * burst
            level = whole
        }

        mutating func take(at now: UInt64) -> UInt64? {
            level = min(whole, level + (max(now, last) - last))
            last = max(now, last)
            guard level >= interval else { return interval - level }
            level -= interval
            return nil
        }
    }

    /// Mutant: `rate-is-halved`.
    @Test(arguments: UInt64(1)...30) func decisionsEqualAModel(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let (count, burst) = (Int.random(in: 1...1000, using: &random), Int.random(in: 1...20, using: &random))
        let rate = Rate(count, per: .second, burst: burst)
        let interval = 1_000_000_000 / UInt64(count)
        var buckets = RateBuckets(rate, limit: 40)
        var models = Array(repeating: Model(interval: interval, burst: UInt64(burst)), count: 40)
        var now: UInt64 = 0
        for step in 0..<3000 {
            // Sometimes the time stands still, and sometimes a bucket becomes full.
            now += UInt64.random(in: 0...3, using: &random) * interval / UInt64.random(in: 1...60, using: &random)
            if Int.random(in: 0..<300, using: &random) == 0 { now += interval * UInt64(burst) }
            let client = Int.random(in: 0..<40, using: &random)
            let decision = buckets.take(.ipv4(UInt32(client)), at: .uptimeNanoseconds(now))
            let expected = models[client].take(at: now)
            #expect(decision.wait == expected, "seed \(seed), step \(step)")
        }
        #expect(buckets.count <= 40)
    }

    /// A client keeps its bucket as long as it is not full, however many others come.
    @Test(arguments: UInt64(1)...30) func decisionsOfAnActiveClientEqualAModelInAFlood(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let interval: UInt64 = 1_000_000_000
        var buckets = RateBuckets(Rate(1, per: .second, burst: 3), limit: 8)
        var model = Model(interval: interval, burst: 3)
        var now: UInt64 = 1
        for step in 0..<3000 {
            let decision = buckets.take(.unix, at: .uptimeNanoseconds(now))
            let expected = model.take(at: now)
            #expect(decision.wait == expected, "seed \(seed), step \(step)")
            for _ in 0..<Int.random(in: 0..<12, using: &random) {
                _ = buckets.take(.ipv6(.random(in: 0..<100, using: &random)), at: .uptimeNanoseconds(now))
            }
            #expect(buckets.count <= 8)
            now += .random(in: 0..<interval, using: &random)
        }
    }

    /// Thirty clients at half, once and four times the rate, for a minute.
    @Test(arguments: [
        Rate(50, per: .second, burst: 5), Rate(600, per: .minute, burst: 5), Rate(3600, per: .hour, burst: 2),
    ])
    func eachClientGetsItsRate(_ rate: Rate) {
        var random = SeededRandom(seed: 57)
        let perMinute = rate.count * 60 / rate.period.seconds
        let interval = 60_000_000_000 / UInt64(perMinute)
        var buckets = RateBuckets(rate)
        var (served, sent) = (Array(repeating: 0, count: 30), Array(repeating: 0, count: 30))
        // The pauses in quarters of the interval.
        let pauses: [UInt64] = (0..<30).map { [8, 4, 1][$0 % 3] }
        for tick in UInt64(0)..<UInt64(perMinute) * 4 {
            for client in 0..<30 where tick % pauses[client] == 0 {
                let time = tick * interval / 4 + .random(in: 0..<interval / 8, using: &random)
                sent[client] += 1
                let wait = buckets.take(.ipv4(UInt32(client)), at: .uptimeNanoseconds(time)).wait
                if wait == nil { served[client] += 1 }
            }
        }
        for client in 0..<30 {
            let expected = min(sent[client], perMinute + rate.burst)
            #expect(abs(served[client] - expected) * 50 <= expected, "client \(client): \(served[client])")
        }
    }
}
