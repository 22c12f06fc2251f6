import HTTPCache
import HTTPTypes
import HoldfastConfiguration
import HoldfastMetrics
import HoldfastTracing
import Logging
import NIOPosix
import Testing

@testable import HoldfastGateway
@testable import OriginConnections

/// Requests of a gateway with traces. `HoldfastTracesTests` has what a collector gets.
@Suite(.timeLimit(.minutes(20))) struct TracedRequestTests {
    private static let logger = Logger(label: "traces") { _ in SwiftLogNoOpLogHandler() }

    /// Makes spans that no collector takes.
    private func withTracer(
        _ environment: [String: String] = [:],
        _ body: (RequestTracer) async throws -> Void
    ) async throws {
        // No time for a batch: nothing is sent again.
        let always = ["OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_BSP_EXPORT_TIMEOUT": "1"]
        let configuration = try TracingConfiguration(environment: always.merging(environment) { $1 }) {
            Issue.record("\($0)")
        }
        let tracer = RequestTracer(
            try #require(configuration),
            version: "1",
            metrics: MetricsRegistry(),
            logger: Self.logger
        )
        do {
            try await body(tracer)
            await tracer.shutDown()
        } catch {
            await tracer.shutDown()
            throw error
        }
    }

    /// A request that may begin a trace is not looked up among the kept responses. Its response
    /// must not be kept under the bytes of the request before it, which may have left them behind
    /// when it was refused at once.
    @Test(arguments: RawClient.counts) func refusedRequestNeverGetsTheResponseOfTheNextOne(clients: Int) async throws {
        try await RawOrigin.with(respond: { _ in .ok("a", fields: "Cache-Control: max-age=60\r\n") }) { origin in
            let sampler = ["OTEL_TRACES_SAMPLER": "parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0.5"]
            try await withTracer(sampler) { tracer in
                try await RunningGateway.with(
                    origin: origin.url,
                    tracer: tracer,
                    configure: { $0.trustedClients = [AddressRange("127.0.0.0/8")].compactMap(\.self) }
                ) { gateway in
                    _ = try await gateway.get("/a")
                    // Of a trace that is not recorded, whatever the sampler says of a new one.
                    let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"
                    try await RawClient.onEach(of: clients, port: gateway.port) { client, _ in
                        for _ in 0..<60 {
                            try await client.send("PURGE /a HTTP/1.1\r\nHost: g\r\n\r\n")
                            #expect(try await client.response().status == 405)
                            try await client.send("GET /a HTTP/1.1\r\nHost: g\r\ntraceparent: \(parent)\r\n\r\n")
                            #expect(try await client.response().status == 200)
                        }
                    }
                }
            }
        }
    }

    /// The hot table makes no spans.
    @Test func recordedRequestsAreNeverHotHits() async throws {
        try await RawOrigin.with(respond: { _ in .ok("a", fields: "Cache-Control: max-age=60\r\n") }) { origin in
            try await withTracer(["OTEL_TRACES_SAMPLER": "parentbased_always_off"]) { tracer in
                try await RunningGateway.with(
                    origin: origin.url,
                    tracer: tracer,
                    configure: { $0.trustedClients = [AddressRange("127.0.0.0/8")].compactMap(\.self) }
                ) { gateway in
                    _ = try await gateway.get("/a")
                    let trace = "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331"
                    for (sampled, hotCount) in [("01", 0), ("00", 2)] {
                        try await RawClient.with(port: gateway.port) { client in
                            for _ in 0..<4 {
                                try await client.send("GET /a HTTP/1.1\r\nHost: g\r\n\(trace)-\(sampled)\r\n\r\n")
                                #expect(try await client.response().status == 200)
                            }
                        }
                        #expect(await gateway.server.hotResponseCount() == hotCount)
                    }
                }
            }
        }
    }

    private func traceparent(_ request: TransportRequest) -> String {
        request.head.headerFields.first { $0.name.canonicalName == "traceparent" }?.value ?? ""
    }

    @Test func probeHasNoSpanAndSaysSo() async throws {
        try await withTracer { tracer in
            let transport = try OriginTransport(
                group: MultiThreadedEventLoopGroup.singleton,
                logger: Self.logger,
                tracer: tracer
            )
            let trace = try #require(TraceID(high: 1, low: 2))
            let head = HTTPRequest(method: .get, scheme: "http", authority: "a.example", path: "/")
            var request = TransportRequest(head: head)
            let parent = TraceContext(traceID: trace, spanID: 3, isSampled: true)
            request.context = RequestTracer.unsampledContext(below: parent)
            let (sent, span) = transport.traced(request)
            #expect(span != nil && traceparent(sent).hasPrefix("00-\(trace)-"))
            request.isProbe = true
            let (probe, none) = transport.traced(request)
            #expect(none == nil && traceparent(probe).hasSuffix("-00"))
            #expect(!traceparent(probe).contains("\(trace)"))
            await transport.shutDown()
        }
    }
}
