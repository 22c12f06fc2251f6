import HTTPCacheSemantics
import MetricsTestKit
import Testing

@testable import HTTPCache

/// What operators see of an origin's health.
@Suite struct OriginHealthTests {
    private func origin(_ host: String) throws -> Origin { Origin(try TargetURI("https://\(host)/")) }

    @Test func anOutageIsCountedOnceAndTheGaugeComesBack() throws {
        let factory = TestMetrics()
        let health = OriginHealthMetrics(factory: factory)
        let one = try origin("one.example")
        health.wentAway(one)
        let dimensions = [("origin", "https://one.example")]
        #expect(try factory.expectGauge("holdfast_origins_away", dimensions).lastValue == 1)
        health.answersAgain(one)
        #expect(try factory.expectGauge("holdfast_origins_away", dimensions).lastValue == 0)
        health.wentAway(one)
        #expect(try factory.expectCounter("holdfast_origin_outages_total", dimensions).totalValue == 2)
        #expect(try factory.expectGauge("holdfast_origins_away", dimensions).lastValue == 1)
    }

    @Test func namesAreBoundedAndWhatIsBeyondIsCountedTogether() throws {
        let factory = TestMetrics()
        let health = OriginHealthMetrics(factory: factory)
        for number in 0..<(OriginHealthMetrics.limit + 10) { health.wentAway(try origin("\(number).example")) }
        #expect(factory.counters.count == OriginHealthMetrics.limit + 1)
        let others = [("origin", "other")]
        #expect(try factory.expectGauge("holdfast_origins_away", others).lastValue == 10)
        health.answersAgain(try origin("\(OriginHealthMetrics.limit).example"))
        #expect(try factory.expectGauge("holdfast_origins_away", others).lastValue == 9)
        health.answersAgain(try origin("0.example"))
        #expect(try factory.expectGauge("holdfast_origins_away", others).lastValue == 9)
    }
}
