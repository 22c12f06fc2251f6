import CoreMetrics
import Logging
import Testing
import Tracing

@testable import HoldfastTracing

/// A collector that wants to be left alone.
@Suite(.timeLimit(.minutes(20))) struct RetryAfterTests {
    /// 1994-11-06 08:49:37
    private static let now: Int64 = 784_111_777

    static let values: [(String, Int64?)] = [
        ("0", 0), ("7", 7), ("300", 300), ("301", 300), ("99999999999999999999", 300), ("", nil), ("-1", nil),
        ("1.5", nil),
        ("Sun, 06 Nov 1994 08:49:37 GMT", 0), ("Sun, 06 Nov 1994 08:50:39 GMT", 62),
        ("Sun, 06 Nov 1994 08:00:00 GMT", 0), ("Mon, 29 Feb 2096 00:00:00 GMT", 300),
        ("Sun, 06 Nov 1994 08:49:37", nil), ("Sun, 6 Nov 1994 08:49:37 GMT", nil),
        ("Sun, 06 Nov 1994 24:00:00 GMT", nil), ("Sun, 06 nov 1994 08:49:37 GMT", nil), ("soon", nil),
    ]

    @Test(arguments: values) func itIsANumberOrADate(_ value: String, _ seconds: Int64?) {
        #expect(RetryAfter.wait(value, at: Self.now) == seconds.map { .seconds($0) })
    }

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
