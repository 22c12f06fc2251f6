import HTTPCache
import HoldfastTesting
import Logging
import MetricsTestKit
import Testing

/// Each engine counts in the telemetry that it was given.
@Suite(.timeLimit(.minutes(20))) struct TelemetryTests {
    private func engine(_ fixture: EngineFixture, _ factory: TestMetrics) -> CacheEngine {
        var options = EngineOptions()
        // It would sleep beside the prober.
        options.hardTimeout = nil
        return CacheEngine(
            store: fixture.memory,
            transport: fixture.transport,
            credentialSecret: [UInt8](repeating: 7, count: 32),
            options: options,
            parts: .init(clock: fixture.clock, sleeper: fixture.sleeper, telemetry: Telemetry(factory: factory)),
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

    /// Two probes fail, the third one gets the response that ends the outage.
    @Test func probesOfAnOutageAreCounted() async throws {
        let fixture = EngineFixture()
        let factory = TestMetrics()
        let engine = engine(fixture, factory)
        fixture.transport.script(
            EngineFixture.url,
            .failure(.connect),
            .failure(.connect),
            .failure(.connect),
            .fresh("new")
        )
        await #expect(throws: ExchangeError.self) { try await engine.respond(to: fixture.request()) }
        for number in 0..<3 {
            await fixture.sleeper.sleepers(atLeast: 1)
            fixture.sleeper.advance(by: .seconds(60))
            await fixture.transport.waitForRequests(2 + number)
        }
        try await fixture.untilStored("new")
        while engine.inFlightFetchCount > 0, !Task.isCancelled { await Task.yield() }
        func count(_ result: String) throws -> Int64 {
            let dimensions = [("origin", "https://a.example"), ("result", result)]
            return try factory.expectCounter("holdfast_origin_probes_total", dimensions).totalValue
        }
        #expect(try count("failed") == 2)
        #expect(try count("answered") == 1)
        let outages = try factory.expectCounter("holdfast_origin_outages_total", [("origin", "https://a.example")])
        #expect(outages.totalValue == 1)
    }

    @Test(arguments: [FaultyResponseStore.Operation.lookup, .beginWrite])
    func failuresOfTheStoreHaveTheirKind(operation: FaultyResponseStore.Operation) async throws {
        let fixture = EngineFixture()
        let factory = TestMetrics()
        let engine = CacheEngine(
            store: fixture.store,
            transport: fixture.transport,
            credentialSecret: [UInt8](repeating: 7, count: 32),
            parts: .init(clock: fixture.clock, sleeper: fixture.sleeper, telemetry: Telemetry(factory: factory)),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        fixture.transport.script(EngineFixture.url, .fresh("new"))
        fixture.store.fail([operation])
        _ = try await engine.respond(to: fixture.request()).body.collect(upTo: 1 << 20)
        while engine.inFlightFetchCount > 0, !Task.isCancelled { await Task.yield() }
        for (kind, isMeant) in [("read", operation == .lookup), ("write", operation == .beginWrite)] {
            let counter = try factory.expectCounter("holdfast_store_failures_total", [("operation", kind)])
            #expect((counter.totalValue > 0) == isMeant, "\(kind)")
        }
    }

    @Test func everySeriesWithoutOriginExistsFromTheStart() {
        let factory = TestMetrics()
        _ = Telemetry(factory: factory)
        #expect(factory.counters.count == 12)
    }
}
