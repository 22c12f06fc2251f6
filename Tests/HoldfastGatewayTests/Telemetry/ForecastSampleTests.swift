import HTTPCache
import HTTPCacheSemantics
import Testing

@testable import HoldfastGateway

/// Samples of hits.
@Suite(.timeLimit(.minutes(20))) struct ForecastSampleTests {
    /// This holds whatever comes between.
    /// Mutant: samples of a route stand for hits of others.
    @Test func samplesStandForAllHitsOfTheirRoute() {
        var counters = RouteCounters()
        var (hits, seen, looks) = ([UInt64](repeating: 0, count: 4), [UInt64](repeating: 0, count: 4), 0)
        for number in 0..<100_000 {
            // Routes with many hits, and with few.
            let route = number % 97 == 0 ? 3 : number % 7 == 0 ? 2 : 1
            hits[route] += 1
            if let weight = counters.takeSample(of: route) {
                #expect(weight >= 1 && weight <= RouteCounters.sampling)
                seen[route] += weight
                looks += 1
            }
            if number % 10_000 == 0 { counters.renewLooks() }
        }
        for route in 1...3 { #expect(hits[route] - seen[route] < RouteCounters.sampling) }
        #expect(looks <= 100_000 / Int(RouteCounters.sampling) + 11 * (RouteCounters.looksPerSecond + 3))
    }

    /// A route with a hit now and then would otherwise be known by one hit in 64: for hours not at
    /// all.
    /// This holds whatever hits other routes have.
    @Test func samplesFirstHitOfEachRouteInEachSecond() {
        var counters = RouteCounters()
        for second in 0..<100 {
            for _ in 0..<1000 { _ = counters.takeSample(of: 1) }
            // The one that was not looked at counts with the next one.
            #expect(counters.takeSample(of: 2) == (second == 0 ? 1 : 2))
            #expect(counters.takeSample(of: 2) == nil)
            counters.renewLooks()
        }
    }

    @Test func sampleOfGETDoesNotStandForHEADs() {
        var counters = RouteCounters()
        var (hits, seen) = (UInt64(0), UInt64(0))
        for number in 0..<10_000 {
            let isGET = number % 10 == 0
            if isGET { hits += 1 }
            let weight = counters.addHotHit(1, of: 1, isForecast: isGET)
            #expect(isGET || weight == nil)
            seen += weight ?? 0
        }
        #expect(seen <= hits && hits - seen < RouteCounters.sampling)
    }

    /// A rule that overrides a directive gives a response for an error of its origin the detail
    /// that it has in an outage.
    @Test(arguments: [true, false]) func responseServedInsteadOfAnErrorIsNoOutage(_ isError: Bool) {
        for detail in [
            CacheOutcome.Detail.despite("must-revalidate"), .despite("no-cache"), .despite("s-maxage"), .invalidated,
        ] {
            var outcome = CacheOutcome(isHit: true, detail: detail)
            outcome.standsInForError = isError
            #expect(outcome.isOfOutage == !isError)
            let asError = RouteCounters.staleDetail(CacheOutcome(detail: .staleIfError))
            #expect((RouteCounters.staleDetail(outcome) == asError) == isError)
        }
    }

    @Test func samplesEveryHitWhereThereAreFew() {
        var counters = RouteCounters()
        for _ in 0..<100 {
            for _ in 0..<RouteCounters.looksPerSecond { #expect(counters.takeSample(of: 1) == 1) }
            counters.renewLooks()
        }
    }
}
