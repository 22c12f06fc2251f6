import HTTPCache
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

    private func totals(requests: Int64, offline: Int64 = 0) -> TrafficTotals {
        var totals = TrafficTotals()
        (totals[.requests], totals[.exchanges], totals[.hits]) = (requests, requests, requests / 2)
        totals[.offlineServed] = offline
        return totals
    }

    private func time(_ seconds: Int64) -> Timestamp { Timestamp(milliseconds: 1_000_000 + seconds * 1000) }

    // MARK: Totals

    @Test func totalsAreThoseOfTheMetrics() {
        let totals = TrafficTotals([
            family(
                "holdfast_exchanges_total",
                [([("outcome", "hit")], 90), ([("outcome", "stale-hit")], 3), ([("outcome", "fetched")], 7)]
            ),
            durations([0: 60, 4: 40]),
            family(
                "holdfast_stale_served_total",
                [([("detail", "offline")], 2), ([("detail", "despite-no-cache")], 1), ([("detail", "slow")], 5)]
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
        #expect(totals[.staleServed] == 8 && totals[.offlineServed] == 3 && totals[.refused] == 4)
        #expect(totals[.originRequests] == 12 && totals[.foreseen] == 100)
        #expect(totals.share(of: .answerable, in: .foreseen) == 0.64)
        #expect(totals.share(of: .answerableAfterHour, in: .foreseen) == 0.5)
        #expect(totals.share(of: .answerableAfterDay, in: .foreseen) == 0.25)
        #expect(totals[reason: 3] == 16 && totals[reason: TrafficTotals.reasons.count - 1] == 20)
        #expect(TrafficTotals().hitRatio == nil && TrafficTotals().quantile(0.5) == nil)
    }

    @Test func whatStandsInForAnErrorIsNoHit() {
        let totals = TrafficTotals([
            family(
                "holdfast_exchanges_total",
                [([("outcome", "hit")], 6), ([("outcome", "stale-hit")], 3), ([("outcome", "fetched")], 1)]
            ),
            family("holdfast_stale_served_total", [([("detail", "stale-if-error")], 2), ([("detail", "offline")], 1)]),
        ])
        #expect(totals[.errorServed] == 2 && totals[.offlineServed] == 1 && totals[.staleServed] == 3)
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

    @Test func outageCountsFromTheReadingBeforeIt() throws {
        var log = OutageLog()
        let (a, b) = (OutageLog.Away(origin: "a", since: time(5)), OutageLog.Away(origin: "b", since: time(30)))
        log.note([], totals(requests: 10), oldestServed: 0, at: time(0))
        #expect(!log.concerns([], ended: []) && log.concerns([a], ended: []))
        log.note([a], totals(requests: 20, offline: 4), oldestServed: 60, at: time(10))
        log.note([a, b], totals(requests: 40, offline: 9), oldestServed: 30, at: time(40))
        log.note([b], totals(requests: 50, offline: 10), oldestServed: 20, at: time(50))
        let report = OutagesReport(log, since: time(0), at: time(60))
        #expect(report.outages.map(\.origin) == ["b", "a"] && report.outages.map(\.seconds) == [30, 45])
        #expect(report.outages.map(\.fromStore) == [6, 10] && report.outages.map(\.oldestSeconds) == [30, 60])
        #expect(report.outages[0].until == nil && report.outages[1].until == EndTime.text(time(50)))
        let present = try #require(OverviewReport.Outage(log.present, totals(requests: 60, offline: 11)))
        #expect(present.fromStore == 7 && present.since == EndTime.text(time(30)) && present.oldestSeconds == 30)
    }

    @Test func outageBetweenTwoLooksIsNoted() {
        var log = OutageLog()
        func over(_ number: Int, _ origin: String, _ since: Int64, _ until: Int64) -> OriginOutage {
            OriginOutage(number: number, origin: origin, since: time(since), until: time(until))
        }
        func note(_ away: [OutageLog.Away], _ ended: [OriginOutage], offline: Int64, at seconds: Int64) {
            let totals = totals(requests: 100, offline: offline)
            log.note(away, ended: ended, totals, oldestServed: 7, at: time(seconds))
        }
        let (a, b) = (OutageLog.Away(origin: "a", since: time(1)), OutageLog.Away(origin: "b", since: time(30)))
        note([a], [], offline: 1, at: 10)
        #expect(log.concerns([], ended: []))
        let ended = [over(1, "a", 1, 12), over(2, "c", 13, 15)]
        // 'a' ended between the two questions.
        note([a], ended, offline: 4, at: 20)
        #expect(log.present.isEmpty && !log.concerns([], ended: ended))
        #expect(log.concerns([], ended: ended + [over(3, "b", 30, 32)]))
        #expect(log.outages.map(\.origin) == ["a", "c"] && log.outages.map(\.until) == [time(12), time(15)])
        #expect(log.outages.map { $0.totals[.offlineServed] } == [4, 3])
        note([b], ended, offline: 4, at: 31)
        note([], ended + [over(3, "b", 30, 32), over(4, "b", 33, 34)], offline: 5, at: 40)
        #expect(log.outages.map(\.origin) == ["a", "c", "b", "b"])
        #expect(log.outages.map(\.until) == [12, 15, 32, 34].map(time))
    }

    @Test func outagesAreBoundedAndPresentOnesStay() {
        var log = OutageLog()
        let long = OutageLog.Away(origin: "long", since: time(0))
        for number in 0..<300 {
            log.note(
                [long, .init(origin: "a", since: time(Int64(number)))],
                TrafficTotals(),
                oldestServed: 0,
                at: time(0)
            )
            log.note([long], TrafficTotals(), oldestServed: 0, at: time(Int64(number)))
        }
        #expect(log.outages.count == OutageLog.limit && log.present.map(\.origin) == ["long"])
    }

    @Test func sameOriginAwayAgainIsAnotherOutage() {
        var log = OutageLog()
        log.note([.init(origin: "a", since: time(0))], TrafficTotals(), oldestServed: 0, at: time(1))
        log.note([.init(origin: "a", since: time(8))], TrafficTotals(), oldestServed: 0, at: time(9))
        #expect(log.outages.map(\.until) == [time(9), nil])
    }
}
