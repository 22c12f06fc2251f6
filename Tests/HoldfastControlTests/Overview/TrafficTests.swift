import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics
import HoldfastMetrics
import Testing

@testable import HoldfastControl

/// The numbers that the page shows of the past, as values.
@Suite(.timeLimit(.minutes(20))) struct TrafficTests {
    private static let bounds = MetricDescription.durationBounds

    private func family(_ name: String, _ series: [([(String, String)], Int64)]) -> MetricFamily {
        MetricFamily(
            MetricDescription(name, .counter, name),
            series.map { MetricSeries(MetricLabels($0.0), .integer($0.1)) }
        )
    }

    private func durations(_ counts: [Int: UInt64]) -> MetricFamily {
        var buckets = [UInt64](repeating: 0, count: Self.bounds.count + 1)
        for (bucket, count) in counts { buckets[bucket] = count }
        return MetricFamily(
            MetricDescription("http_server_request_duration_seconds", .histogram(bounds: Self.bounds), ""),
            [MetricSeries(.histogram(counts: buckets, sum: 1))]
        )
    }

    private func totals(requests: Int64) -> TrafficTotals {
        var totals = TrafficTotals()
        (totals[.requests], totals[.exchanges], totals[.hits]) = (requests, requests, requests / 2)
        return totals
    }

    private func time(_ seconds: Int64) -> Timestamp { Timestamp(milliseconds: 1_000_000 + seconds * 1000) }

    // MARK: Totals

    @Test func totalsAreThoseOfTheMetrics() throws {
        let totals = TrafficTotals([
            family(
                "holdfast_exchanges_total",
                [([("outcome", "hit")], 90), ([("outcome", "stale-hit")], 3), ([("outcome", "fetched")], 7)]
            ),
            durations([0: 60, 4: 40]),
            family(
                "holdfast_stale_served_total",
                [([("detail", "unreachable")], 2), ([("detail", "despite-no-cache")], 1), ([("detail", "slow")], 5)]
            ),
            family("holdfast_offline_refused_total", [([("reason", "not-stored")], 4)]),
            family("http_client_request_duration_seconds", [([], 12)]),
            family(
                "holdfast_offline_answerable_total",
                [
                    ([("answer", "yes")], 64), ([("answer", "no"), ("reason", "no-cache")], 16),
                    ([("answer", "no"), ("reason", "new")], 20),
                ]
            ),
            family("holdfast_offline_answerable_later_total", [([("outage", "1h")], 50), ([("outage", "1d")], 25)]),
            family("holdfast_other_total", [([], 99)]),
        ])
        #expect(totals[.exchanges] == 100 && totals.hitRatio == 0.93 && totals[.requests] == 100)
        #expect(totals[.staleServed] == 8 && totals[.errorServed] == 0 && totals[.refused] == 4)
        #expect(totals[.originRequests] == 12 && totals[.forecast] == 100)
        #expect(totals.share(of: .answerable, in: .forecast) == 0.64)
        #expect(totals.share(of: .answerableAfterHour, in: .forecast) == 0.5)
        #expect(totals.share(of: .answerableAfterDay, in: .forecast) == 0.25)
        let noCache = try #require(TrafficTotals.reasons.firstIndex(of: "no-cache"))
        #expect(totals[reason: noCache] == 16 && totals[reason: TrafficTotals.reasons.count - 1] == 20)
        #expect(TrafficTotals().hitRatio == nil && TrafficTotals().quantile(0.5) == nil)
    }

    @Test func whatStandsInForAnErrorIsNoHit() {
        let totals = TrafficTotals([
            family(
                "holdfast_exchanges_total",
                [([("outcome", "hit")], 6), ([("outcome", "stale-hit")], 3), ([("outcome", "fetched")], 1)]
            ),
            family(
                "holdfast_stale_served_total",
                [([("detail", "stale-if-error")], 2), ([("detail", "unreachable")], 1)]
            ),
        ])
        #expect(totals[.errorServed] == 2 && totals[.staleServed] == 3)
        #expect(totals.hitRatio == 0.7)
    }

    @Test func quantileIsInterpolatedInItsBucket() throws {
        let half = TrafficTotals([durations([0: 50, 1: 50])])
        #expect(half.quantile(0.5) == Self.bounds[0])
        let expected = [0.25: Self.bounds[0] / 2, 0.75: (Self.bounds[0] + Self.bounds[1]) / 2]
        for (share, seconds) in expected { #expect(abs(try #require(half.quantile(share)) - seconds) < 1e-9) }
        let slow = TrafficTotals([durations([Self.bounds.count: 1])])
        #expect(slow.quantile(0.5) == Self.bounds.last)
    }

    @Test func differenceIsNeverNegative() {
        let difference = totals(requests: 10) - totals(requests: 12)
        #expect(difference == TrafficTotals())
    }

    // MARK: History

    @Test func curvesHaveAValueForEachStep() {
        var history = TrafficHistory()
        for step in 0...3 {
            history.record(.init(at: time(Int64(step) * 10), totals: totals(requests: Int64(step) * 50), storeBytes: 7))
        }
        let curves = history.curves(.hour)
        #expect(curves.series.requestsPerSecond == [5, 5, 5] && curves.series.hitRatio == [0.5, 0.5, 0.5])
        #expect(curves.series.storeBytes == [7, 7, 7] && curves.series.p50Seconds == [nil, nil, nil])
        #expect(curves.end == EndTime.text(time(30)) && curves.start == EndTime.text(time(0)))
        #expect(history.curves(.day).series.requestsPerSecond.isEmpty && history.curves(.day).end != nil)
    }

    @Test func timeWithoutStepsIsAGap() {
        var history = TrafficHistory()
        for (at, requests) in [(0, 0), (10, 10), (40, 70), (50, 80)] as [(Int64, Int64)] {
            history.record(.init(at: time(at), totals: totals(requests: requests)))
        }
        #expect(history.curves(.hour).series.requestsPerSecond == [1, nil, nil, 2, 1])
    }

    @Test func clockThatWasSetBackLeavesNoNegativeRate() {
        var history = TrafficHistory()
        for (at, requests) in [(10, 0), (100, 5), (110, 6), (20, 10), (30, 20)] as [(Int64, Int64)] {
            history.record(.init(at: time(at), totals: totals(requests: requests)))
        }
        // Points of times that are still to come are gone.
        #expect(history.curves(.hour).series.requestsPerSecond == [1, 1])
        #expect(history.curves(.hour).end == EndTime.text(time(30)))
        #expect(history.point(within: 1_000_000, of: time(40))?.at == time(10))
    }

    @Test func memoryOfTheHistoryIsFixed() {
        var history = TrafficHistory()
        for step in 0..<10_000 {
            history.record(.init(at: time(Int64(step) * 10), totals: totals(requests: Int64(step))))
        }
        #expect(history.curves(.hour).series.hitRatio.count == 360 && history.curves(.day).series.hitRatio.count == 288)
        #expect(history.curves(.day).series.requestsPerSecond.allSatisfy { $0 == 0.1 })
        #expect(TrafficHistory.bytes < 300_000, "\(TrafficHistory.bytes)")
    }

    @Test func stretchBeginsWithTheOldestPointInIt() {
        var history = TrafficHistory()
        for step in 0...10 { history.record(.init(at: time(Int64(step) * 10), totals: totals(requests: Int64(step)))) }
        #expect(history.point(within: 65_000, of: time(100))?.at == time(40))
        #expect(history.point(within: 1_000_000, of: time(100))?.at == time(0))
        #expect(history.point(within: 5000, of: time(200)) == nil)
    }

    @Test(arguments: [
        (0.0, 0.0), (812.4321, 812.4), (0.00012345, 0.0001235), (1_234_567.8, 1_234_568), (0.97, 0.97), (1e-20, 0),
    ])
    func numbersAreShort(_ number: Double, _ expected: Double) { #expect(number.toDigits == expected) }

    @Test(arguments: [
        (0, "0"), (999, "999"), (1000, "1,000"), (3410, "3,410"), (1_234_567, "1,234,567"), (-1000, "-1,000"),
    ])
    func numbersInSentencesHaveSeparators(_ number: Int64, _ expected: String) {
        #expect(StatusReport.number(number) == expected)
    }

    // MARK: Outages

    private func away(_ origin: String, _ since: Int64) -> OutageLog.Away { .init(origin: origin, since: time(since)) }

    private func over(_ number: Int, _ origin: String, _ since: Int64, _ until: Int64) -> OriginOutage {
        OriginOutage(number: number, origin: origin, since: time(since), until: time(until))
    }

    /// Each second one response is served and one request is refused, which is as old as the second
    /// says, whatever origin it is about.
    private func second(_ seconds: Int64) -> OutageTotals {
        OutageTotals(served: seconds, refused: seconds, oldest: seconds)
    }

    /// An outage is noticed seconds after it began, and other origins' outages continue meanwhile.
    @Test(arguments: 0...15) func outageCountsFromTheSecondInWhichItBegan(_ delay: Int64) throws {
        var log = OutageLog()
        for at in 0..<100 as Range<Int64> { log.note([], second(at), at: time(at)) }
        for at in 100...110 as ClosedRange<Int64> { log.note([away("a", 100 - delay)], second(at), at: time(at)) }
        let outage = try #require(log.outages.first)
        #expect(outage.served == 10 + delay && outage.refused == 10 + delay && outage.oldestServed == 110)
        let report = OutagesReport(log, since: time(0), at: time(110))
        #expect(report.outages.map(\.fromStore) == [10 + delay] && report.outages.map(\.seconds) == [10 + delay])
        let present = try #require(OutageReport(log.present))
        #expect(present.fromStore == 10 + delay && present.refused == 10 + delay && present.oldestSeconds == 110)
    }

    @Test func outageCountsToItsEndAlone() throws {
        var log = OutageLog()
        let (a, b) = (away("a", 5), away("b", 30))
        for at in 0...60 as ClosedRange<Int64> {
            let origins = (at >= 5 && at < 50 ? [a] : []) + (at >= 30 ? [b] : [])
            log.note(origins, second(at), at: time(at))
        }
        let report = OutagesReport(log, since: time(0), at: time(60))
        #expect(report.outages.map(\.origin) == ["b", "a"] && report.outages.map(\.seconds) == [30, 45])
        #expect(report.outages.map(\.fromStore) == [30, 45] && report.outages.map(\.oldestSeconds) == [60, 50])
        #expect(report.outages[0].until == nil && report.outages[1].until == EndTime.text(time(50)))
        let present = try #require(OutageReport(log.present))
        #expect(present.fromStore == 30 && present.since == EndTime.text(time(30)) && present.oldestSeconds == 60)
    }

    @Test func clockThatWasSetBackLeavesTheNumbersRight() throws {
        var log = OutageLog()
        for at in 1000...1100 as ClosedRange<Int64> { log.note([], second(at), at: time(at)) }
        log.note([away("a", 20)], OutageTotals(served: 1101, refused: 1101, oldest: 0), at: time(21))
        log.note([away("a", 20)], OutageTotals(served: 1103, refused: 1104, oldest: 7), at: time(22))
        let outage = try #require(log.outages.first)
        #expect(outage.served == 3 && outage.refused == 4 && outage.oldestServed == 7)
    }

    @Test func outageAfterALongPauseOfTheProcessCountsFromTheLastLook() throws {
        var log = OutageLog()
        log.note([], second(100), at: time(100))
        log.note([away("a", 400)], second(107), at: time(500))
        #expect(try #require(log.outages.first).served == 7)
    }

    @Test func outageBetweenTwoLooksIsNoted() {
        var log = OutageLog()
        func note(_ away: [OutageLog.Away], _ ended: [OriginOutage], at seconds: Int64) {
            log.note(away, ended: ended, second(seconds), at: time(seconds))
        }
        note([], [], at: 0)
        note([away("a", 1)], [], at: 10)
        let ended = [over(1, "a", 1, 12), over(2, "c", 13, 15)]
        // 'a' ended between the two questions.
        note([away("a", 1)], ended, at: 20)
        #expect(log.present.isEmpty)
        #expect(log.outages.map(\.origin) == ["a", "c"] && log.outages.map(\.until) == [time(12), time(15)])
        #expect(log.outages.map(\.served) == [20, 10])
        note([away("b", 30)], ended, at: 31)
        note([], ended + [over(3, "b", 30, 32), over(4, "b", 33, 34)], at: 40)
        #expect(log.outages.map(\.origin) == ["a", "c", "b", "b"])
        #expect(log.outages.map(\.until) == [12, 15, 32, 34].map(time))
    }

    @Test func outagesAreBoundedAndPresentOnesStay() {
        var log = OutageLog()
        let long = away("long", 0)
        for number in 0..<300 {
            log.note([long, away("a", Int64(number))], OutageTotals(), at: time(0))
            log.note([long], OutageTotals(), at: time(Int64(number)))
        }
        #expect(log.outages.count == OutageLog.limit && log.present.map(\.origin) == ["long"])
    }

    @Test func sameOriginAwayAgainIsAnotherOutage() {
        var log = OutageLog()
        log.note([away("a", 0)], OutageTotals(), at: time(1))
        log.note([away("a", 8)], OutageTotals(), at: time(9))
        #expect(log.outages.map(\.until) == [time(9), nil])
    }

    // MARK: Where responses come from

    /// Every combination of phase, mode, origins that are away, and errors that stored responses
    /// replace.
    @Test func responsesFromNamesOriginOrStore() {
        typealias ResponsesFrom = OverviewReport.ResponsesFrom
        for mode in OfflineMode.allCases {
            for (away, all) in [(0, 0), (0, 2), (1, 2), (2, 2), (1, 1)] {
                for standsIn in [false, true] {
                    func responsesFrom(_ phase: String) -> ResponsesFrom {
                        ResponsesFrom(phase: phase, mode, unreachable: away, of: all, standsIn: standsIn)
                    }
                    #expect(responsesFrom("starting") == .starting && responsesFrom("ending") == .ending)
                    let expected: ResponsesFrom =
                        if mode == .offline || away > 0 && away == all {
                            .store
                        } else if away > 0 || mode == .preferStored || standsIn {
                            .mixed
                        } else {
                            .origin
                        }
                    #expect(responsesFrom("serving") == expected, "\(mode) \(away) of \(all) \(standsIn)")
                }
            }
        }
    }
}
