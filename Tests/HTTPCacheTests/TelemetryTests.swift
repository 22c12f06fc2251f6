import HTTPCache
import HoldfastTesting
import Logging
import MetricsTestKit
import Testing

/// Each engine counts in the telemetry that it was given.
@Suite struct TelemetryTests {
    private func engine(_ fixture: EngineFixture, _ factory: TestMetrics) -> CacheEngine {
        CacheEngine(
            store: fixture.memory,
            transport: fixture.transport,
            credentialSecret: [UInt8](repeating: 7, count: 32),
            clock: fixture.clock,
            sleeper: fixture.sleeper,
            telemetry: Telemetry(factory: factory),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
    }

    private func count(_ outcome: String, in factory: TestMetrics) throws -> Int64 {
        try factory.expectCounter("holdfast_exchanges_total", [("outcome", outcome)]).totalValue
    }

    @Test func twoEnginesCountInTheirOwnFactories() async throws {
        let fixture = EngineFixture()
        let (first, second) = (TestMetrics(), TestMetrics())
        let (one, two) = (engine(fixture, first), engine(fixture, second))
        fixture.transport.script(EngineFixture.url, .fresh("stored"))
        for engine in [one, two, two] {
            let response = try await engine.respond(to: fixture.request())
            _ = try await response.body.collect(upTo: 1 << 20)
            try await fixture.untilStored("stored")
        }
        #expect(try count("fetched", in: first) == 1)
        #expect(try count("hit", in: first) == 0)
        #expect(try count("fetched", in: second) == 0)
        #expect(try count("hit", in: second) == 2)
    }

    @Test func everySeriesWithoutOriginExistsFromTheStart() {
        let factory = TestMetrics()
        _ = Telemetry(factory: factory)
        #expect(factory.counters.count == 10)
    }
}
