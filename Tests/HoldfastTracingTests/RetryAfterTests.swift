import CoreMetrics
import Logging
import TestSupport
import Testing
import Tracing

@testable import HoldfastTracing

/// A collector that wants to be left alone.
@Suite(.timeLimit(.minutes(20))) struct RetryAfterTests {
    private static func date(inAnHour: Bool) -> String { inAnHour ? "Thu, 01 Jan 2998 00:00:00 GMT" : "3600" }

    /// Spans that come after the refused batch wait, too.
    @Test(arguments: [false, true]) func noFurtherBatchIsSentBeforeItsTime(isDate: Bool) async throws {
        let collector = try FakeCollector(replies: ["429 Slow\r\nRetry-After: \(Self.date(inAnHour: isDate))"])
        defer { collector.stop() }
        let environment = [
            "OTEL_EXPORTER_OTLP_ENDPOINT": collector.endpoint, "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "1",
            "OTEL_BSP_SCHEDULE_DELAY": "20",
        ]
        let configuration = try TracingConfiguration(environment: environment) { Issue.record("\($0)") }
        let tracer = RequestTracer(
            try #require(configuration),
            version: "1",
            metrics: NOOPMetricsHandler.instance,
            logger: Logger(label: "traces") { _ in SwiftLogNoOpLogHandler() }
        )
        let trace = try #require(TraceID(high: 1, low: 2))
        func addSpan() { tracer.startSpan("a", of: .server, in: trace, below: nil).end() }
        addSpan()
        while tracer.droppedCount < 1 {
            try await Task.sleep(for: .milliseconds(5))  // lets time pass
        }
        for _ in 0..<30 { addSpan() }
        // At the end what waits would be sent, too.
        await tracer.shutDown()
        #expect(collector.heads.count == 1 && tracer.droppedCount == 31)
    }
}
