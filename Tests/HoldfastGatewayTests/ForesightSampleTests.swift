import Testing

@testable import HoldfastGateway

@Suite("Samples of hits", .timeLimit(.minutes(20))) struct ForesightSampleTests {
    /// Mutant: samples of a route stand for hits of others.
    @Test("Samples stand for all hits of their route, whatever comes between") func samplesAreAllHits() {
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
        #expect(looks <= 100_000 / Int(RouteCounters.sampling) + 11 * RouteCounters.looksPerSecond)
    }

    @Test("Where there are few hits, each is looked at") func fewAreAllSeen() {
        var counters = RouteCounters()
        for _ in 0..<100 {
            for _ in 0..<RouteCounters.looksPerSecond { #expect(counters.takeSample(of: 1) == 1) }
            counters.renewLooks()
        }
    }
}
