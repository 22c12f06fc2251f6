import HTTPCacheSemantics
import MetricsTestKit
import Testing

@testable import HTTPCache

/// The metrics of an origin's health.
@Suite(.timeLimit(.minutes(20))) struct OriginHealthTests {
    private func origin(_ host: String) throws -> Origin { Origin(try TargetURI("https://\(host)/")) }

    @Test func outagesAreCounted() throws {
        let factory = TestMetrics()
        let health = OriginHealthMetrics(factory: factory)
        let one = try origin("one.example")
        for _ in 0..<2 { health.becameUnreachable(one) }
        let dimensions = [("origin", "https://one.example")]
        #expect(try factory.expectCounter("holdfast_origin_outages_total", dimensions).totalValue == 2)
    }

    @Test func probesAreCountedByTheirResult() throws {
        let factory = TestMetrics()
        let health = OriginHealthMetrics(factory: factory)
        let one = try origin("one.example")
        for result in [OriginHealthMetrics.ProbeResult.failed, .failed, .answered] { health.probed(one, result) }
        func count(_ result: String) throws -> Int64 {
            let dimensions = [("origin", "https://one.example"), ("result", result)]
            return try factory.expectCounter("holdfast_origin_probes_total", dimensions).totalValue
        }
        #expect(try count("failed") == 2)
        #expect(try count("answered") == 1)
    }

    @Test func originsBeyondLimitAreCountedTogether() throws {
        let factory = TestMetrics()
        let health = OriginHealthMetrics(factory: factory)
        for number in 0..<(OriginLabels.limit + 10) { health.becameUnreachable(try origin("\(number).example")) }
        health.becameUnreachable(try origin("0.example"))
        #expect(factory.counters.filter { $0.label == "holdfast_origin_outages_total" }.count == OriginLabels.limit + 1)
        func count(_ origin: String) throws -> Int64 {
            try factory.expectCounter("holdfast_origin_outages_total", [("origin", origin)]).totalValue
        }
        #expect(try count("other") == 10)
        #expect(try count("https://0.example") == 2)
    }
}
