import HTTPCacheSemantics
import MetricsTestKit
import Testing

@testable import HTTPCache

/// The metrics of an origin's health.
@Suite struct OriginHealthTests {
    private func origin(_ host: String) throws -> Origin { Origin(try TargetURI("https://\(host)/")) }

    @Test func outageIsCountedOnceAndGaugeReturnsToZero() throws {
        let factory = TestMetrics()
        let health = OriginHealthMetrics(factory: factory)
        let one = try origin("one.example")
        health.becameUnreachable(one)
        let dimensions = [("origin", "https://one.example")]
        #expect(try factory.expectGauge("holdfast_origins_away", dimensions).lastValue == 1)
        health.becameReachable(one)
        #expect(try factory.expectGauge("holdfast_origins_away", dimensions).lastValue == 0)
        health.becameUnreachable(one)
        #expect(try factory.expectCounter("holdfast_origin_outages_total", dimensions).totalValue == 2)
        #expect(try factory.expectGauge("holdfast_origins_away", dimensions).lastValue == 1)
    }

    @Test func originsBeyondLimitAreCountedTogether() throws {
        let factory = TestMetrics()
        let health = OriginHealthMetrics(factory: factory)
        for number in 0..<(OriginHealthMetrics.limit + 10) { health.becameUnreachable(try origin("\(number).example")) }
        #expect(factory.counters.count == OriginHealthMetrics.limit + 1)
        let others = [("origin", "other")]
        #expect(try factory.expectGauge("holdfast_origins_away", others).lastValue == 10)
        health.becameReachable(try origin("\(OriginHealthMetrics.limit).example"))
        #expect(try factory.expectGauge("holdfast_origins_away", others).lastValue == 9)
        health.becameReachable(try origin("0.example"))
        #expect(try factory.expectGauge("holdfast_origins_away", others).lastValue == 9)
    }
}
