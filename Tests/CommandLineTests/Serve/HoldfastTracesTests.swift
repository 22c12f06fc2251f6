import Foundation
import SampleOrigin
import TestSupport
import Testing

/// Traces of the built gateway, as a collector gets them.
@Suite(.timeLimit(.minutes(20))) struct HoldfastTracesTests {
    private static let trace = "0af7651916cd43dd8448eb211c80319c"

    private func traceparent(_ client: Int, flags: String = "01") -> String {
        let number = String(client + 1, radix: 16)
        return "00-\(Self.trace)-\(String(repeating: "0", count: 16 - number.count) + number)-\(flags)"
    }

    /// Runs a gateway with a collector until the body has ended, then ends it: what it has is sent
    /// then at the latest.
    ///
    /// - Parameter isTrusted: whether clients may decide what is recorded.
    /// - Returns: its access log.
    @discardableResult
    private func withGateway(
        _ collector: FakeCollector?,
        _ environment: [String: String] = [:],
        isTrusted: Bool = true,
        _ body: (RunningServer, RunningOrigin) async throws -> Void
    ) async throws -> String {
        var log = ""
        try await PurgedGateway.Folder.with { folder in
            try await SampleOrigin.withOrigin { origin in
                let trusted = isTrusted ? "\nclients: {trusted: [127.0.0.0/8]}" : ""
                try folder.write(origin, "log: {to: access.log, format: json, access: all}\(trusted)")
                origin.respond("v1")
                var all = environment
                all["OTEL_EXPORTER_OTLP_ENDPOINT"] = environment["OTEL_EXPORTER_OTLP_ENDPOINT"] ?? collector?.endpoint
                let ending = try await RunningServer.with(["--config", folder.file], environment: all) { server in
                    try await body(server, origin)
                    server.signal(SIGTERM)
                }
                #expect(ending.status == 0)
                log = try String(contentsOfFile: folder.path + "/access.log", encoding: .utf8)
            }
        }
        return log
    }

    private func get(_ path: String, _ server: RunningServer, _ fields: String = "") async throws -> String {
        try await ServerProcess.get(path, at: server.port, host: "a.test", fields)
    }

    @Test func aTraceLeadsFromTheClientToTheOrigin() async throws {
        let collector = try FakeCollector()
        defer { collector.stop() }
        let environment = [
            "OTEL_EXPORTER_OTLP_HEADERS": "x-key=s3cret", "OTEL_SERVICE_NAME": "shop",
            "OTEL_RESOURCE_ATTRIBUTES": "zone=a",
        ]
        var passed: [String?] = []
        let log = try await withGateway(collector, environment) { server, origin in
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for client in 0..<30 {
                    tasks.addTask {
                        let fields = "traceparent: \(traceparent(client))\r\ntracestate: v=\(client)\r\n"
                        let response = try await get("/item/\(client)?key=s3cret", server, fields)
                        #expect(response.hasPrefix("HTTP/1.1 200"), "\(response)")
                    }
                }
                try await tasks.waitForAll()
            }
            passed = origin.requests.map { "\($0["traceparent"] ?? "-") \($0["tracestate"] ?? "-")" }
        }
        let spans = collector.spans
        let servers = spans.filter { $0.kind == 2 }
        let clients = spans.filter { $0.kind == 3 }
        #expect(servers.count == 30 && clients.count == 30 && spans.allSatisfy { $0.traceID == Self.trace })
        for client in 0..<30 {
            let parent = String(traceparent(client).dropFirst(36).prefix(16))
            let span = try #require(servers.first { $0.parentID == parent })
            let below = try #require(clients.first { $0.parentID == span.spanID })
            #expect(passed.contains("00-\(Self.trace)-\(below.spanID)-01 v=\(client)"), "\(passed)")
            #expect(log.contains(#","trace_id":"\#(Self.trace)","span_id":"\#(span.spanID)""#), "\(log)")
            #expect(span.name == "GET /" && span.state == "v=\(client)" && span.flags == 0x301)
            #expect(span.start <= below.start && below.start <= below.end && below.end <= span.end)
            let attributes = span.attributes
            #expect(attributes["http.request.method"] == "GET" && attributes["http.response.status_code"] == "200")
            #expect(attributes["url.scheme"] == "http" && attributes["url.path"] == "/item/\(client)")
            #expect(attributes["server.address"] == "a.test" && attributes["http.route"] == "/")
            #expect(attributes["network.protocol.version"] == "1.1")
            #expect(attributes["cache.status"]?.hasPrefix("holdfast; fwd=uri-miss") == true, "\(attributes)")
            #expect(below.name == "GET" && below.attributes["server.address"] == "127.0.0.1")
            #expect(below.attributes["http.response.status_code"] == "200" && below.attributes["server.port"] != nil)
        }
        #expect(spans.allSatisfy { $0.resource["service.name"] == "shop" && $0.resource["zone"] == "a" })
        #expect(!"\(spans)".contains("s3cret"))
        let head = try #require(collector.heads.first?.lowercased())
        #expect(head.hasPrefix("post /v1/traces http/1.1\r\n") && head.contains("x-key: s3cret\r\n"))
        #expect(head.contains("content-type: application/x-protobuf\r\n"))
    }

    @Test func repeatedHotHitsOfThirtyClientsHaveSpans() async throws {
        let collector = try FakeCollector()
        defer { collector.stop() }
        try await withGateway(collector) { server, origin in
            _ = try await get("/hot", server)
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for _ in 0..<30 {
                    tasks.addTask {
                        let connection = try server.connect()
                        for _ in 0..<5 {
                            connection.get("/hot")
                            #expect(await connection.read(until: "v1").hasPrefix("HTTP/1.1 200"))
                        }
                    }
                }
                try await tasks.waitForAll()
            }
            #expect(origin.requestCount <= 2)
        }
        let hits = collector.spans.filter { $0.attributes["cache.status"]?.hasPrefix("holdfast; hit") == true }
        #expect(hits.count >= 149 && hits.allSatisfy { $0.kind == 2 && $0.parentID.isEmpty })
        #expect(Set(hits.map(\.traceID)).count == hits.count)
    }

    @Test func whatIsNotSampledHasNoSpanAndSaysSo() async throws {
        let collector = try FakeCollector()
        defer { collector.stop() }
        try await withGateway(collector, ["OTEL_TRACES_SAMPLER": "parentbased_always_off"]) { server, origin in
            for _ in 0..<3 { _ = try await get("/root", server) }
            for _ in 0..<3 { _ = try await get("/un", server, "traceparent: \(traceparent(1, flags: "00"))\r\n") }
            _ = try await get("/bad", server, "traceparent: 00-x\r\ntracestate: a=1\r\n")
            let passed = origin.requests.map { $0["traceparent"] ?? "none" }
            #expect(passed.count == 3 && passed.allSatisfy { $0.hasSuffix("-00") }, "\(passed)")
            #expect(passed[1] == traceparent(1, flags: "00") && origin.requests[2]["tracestate"] == nil)
            // A sampled request with the same bytes as before gets its span, also of a hot
            // response.
            for _ in 0..<4 { _ = try await get("/root", server, "traceparent: \(traceparent(2))\r\n") }
        }
        #expect(collector.spans.count == 4 && collector.spans.allSatisfy { $0.parentID == "0000000000000003" })
    }

    @Test(arguments: [false, true]) func untrustedClientsDoNotDecideWhatIsRecorded(isOn: Bool) async throws {
        let collector = try FakeCollector()
        defer { collector.stop() }
        var passed: [String] = []
        let sampler = ["OTEL_TRACES_SAMPLER": isOn ? "parentbased_always_on" : "parentbased_always_off"]
        let log = try await withGateway(collector, sampler, isTrusted: false) { server, origin in
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for client in 0..<30 {
                    tasks.addTask {
                        // The client says the opposite.
                        let parent = traceparent(client, flags: isOn ? "00" : "01")
                        let fields = "traceparent: \(parent)\r\ntracestate: v=\(client)\r\n"
                        let response = try await get("/item/\(client)", server, fields)
                        #expect(response.hasPrefix("HTTP/1.1 200"), "\(response)")
                    }
                }
                try await tasks.waitForAll()
            }
            passed = origin.requests.map { "\($0["traceparent"] ?? "-") \($0["tracestate"] ?? "-")" }
        }
        let ids = collector.spans.map(\.traceID)
        #expect(ids == Array(repeating: Self.trace, count: isOn ? 60 : 0))
        #expect(passed.count == 30 && log.contains("\"trace_id\"") == isOn)
        for client in 0..<30 {
            // The trace is that of the client, and its parent is a span of the gateway.
            let found = try #require(passed.first { $0.hasSuffix(" v=\(client)") })
            #expect(found.hasPrefix("00-\(Self.trace)-") && found.contains(isOn ? "-01 " : "-00 "), "\(found)")
            #expect(!found.hasPrefix(traceparent(client).dropLast(2)))
        }
    }

    @Test func anInvalidContextBeginsANewTrace() async throws {
        let collector = try FakeCollector()
        defer { collector.stop() }
        try await withGateway(collector) { server, origin in
            let invalid = "traceparent: \(traceparent(1).uppercased())\r\ntracestate: a=1\r\n"
            _ = try await get("/a", server, invalid)
            _ = try await get("/b", server, "traceparent: \(traceparent(1))\r\ntraceparent: \(traceparent(1))\r\n")
            #expect(origin.requests.allSatisfy { $0["traceparent"]?.contains(Self.trace) == false })
            #expect(origin.requests.allSatisfy { $0["tracestate"] == nil })
        }
        let servers = collector.spans.filter { $0.kind == 2 }
        #expect(servers.count == 2 && servers.allSatisfy { $0.parentID.isEmpty && $0.traceID != Self.trace })
    }

    @Test func withoutACollectorTheFieldsPassUnchanged() async throws {
        try await withGateway(nil, ["OTEL_TRACES_SAMPLER": "nonsense"]) { server, origin in
            _ = try await get("/a", server, "traceparent: Any Thing\r\ntracestate: =\r\n")
            #expect(origin.requests.map { $0["traceparent"] } == ["Any Thing"])
            #expect(origin.requests.map { $0["tracestate"] } == ["="])
            _ = try await get("/b", server)
            #expect(origin.requests.last?["traceparent"] == nil)
        }
    }

    @Test func aBatchIsSentAgainWhenTheCollectorWasBusy() async throws {
        let collector = try FakeCollector(replies: ["503 Busy\r\nRetry-After: 0", "429 Slow\r\nRetry-After: 0"])
        defer { collector.stop() }
        try await withGateway(collector, ["OTEL_BSP_SCHEDULE_DELAY": "50"]) { server, _ in
            _ = try await get("/a", server)
            while collector.spans.isEmpty {
                try await Task.sleep(for: .milliseconds(20))  // lets time pass
            }
        }
        #expect(collector.heads.count >= 3 && collector.spans.filter { $0.kind == 2 }.count == 1)
    }

    @Test(
        .enabled(if: Tool.hasCurl, "/usr/bin/curl is a client"),
        arguments: FakeCollector.Trouble.allCases
    )
    func collectorInTroubleCostsOnlySpans(trouble: FakeCollector.Trouble) async throws {
        let collector = try FakeCollector(trouble)
        defer { if trouble != .gone { collector.stop() } }
        let environment = [
            "OTEL_EXPORTER_OTLP_ENDPOINT": collector.endpoint, "OTEL_BSP_MAX_QUEUE_SIZE": "10",
            "OTEL_BSP_SCHEDULE_DELAY": "20",
        ]
        try await PurgedGateway.Folder.with { folder in
            try await SampleOrigin.withOrigin { origin in
                try folder.write(origin)
                origin.respond("v1")
                let ending = try await PurgedGateway.with(folder, environment: environment) { gateway in
                    try await withThrowingTaskGroup(of: Void.self) { tasks in
                        for client in 0..<30 {
                            tasks.addTask {
                                for _ in 0..<5 {
                                    let response = try await gateway.get("/\(client)")
                                    #expect(response.hasPrefix("HTTP/1.1 200"))
                                }
                            }
                        }
                        try await tasks.waitForAll()
                    }
                    // A batch whose response says 200 is not lost.
                    guard trouble != .halting else { return }
                    let metrics = try await gateway.curl("/metrics").text
                    let line = metrics.split(separator: "\n").first { $0.hasPrefix("holdfast_spans_dropped_total ") }
                    let dropped = line.flatMap { Double($0.dropFirst(29)) } ?? 0
                    #expect(dropped > 50, "\(line ?? "no line")")
                }
                #expect(ending.status == 0 && !ending.wasKilled)
            }
        }
    }

    @Test func anUnknownProtocolIsWarnedAboutAndNothingIsSent() async throws {
        let collector = try FakeCollector()
        defer { collector.stop() }
        try await PurgedGateway.Folder.with { folder in
            try await SampleOrigin.withOrigin { origin in
                try folder.write(origin)
                origin.respond("v1")
                let expected =
                    "'OTEL_EXPORTER_OTLP_PROTOCOL' in the environment must be 'http/protobuf', not 'grpc'."
                let environment = [
                    "OTEL_EXPORTER_OTLP_ENDPOINT": collector.endpoint, "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc",
                ]
                let ending = try await RunningServer.with(["--config", folder.file], environment: environment) {
                    server in
                    let response = try await get("/a", server, "traceparent: Any\r\n")
                    #expect(response.hasPrefix("HTTP/1.1 200"), "\(response)")
                    #expect(origin.requests.map { $0["traceparent"] } == ["Any"])
                    let log = await server.log.line(containing: "traces.variable")
                    #expect(log.contains(expected), "\(log)")
                    server.signal(SIGTERM)
                }
                #expect(ending.status == 0, "\(ending)")
            }
        }
        #expect(collector.heads.isEmpty)
    }

    @Test func aWrongEndpointIsAnErrorAtTheStart() async throws {
        try await PurgedGateway.Folder.with { folder in
            let outcome = try await Tool("holdfast").run(
                arguments: ["serve", "--origin", "http://localhost:1", "--store", folder.store],
                environment: ["OTEL_EXPORTER_OTLP_ENDPOINT": "localhost:4318"]
            )
            #expect(outcome.status == 1, "\(outcome)")
            let expected =
                "'OTEL_EXPORTER_OTLP_ENDPOINT' in the environment must be an http or https URL such as 'http://localhost:4318'"
            #expect(outcome.error.contains(expected), "\(outcome.error)")
        }
    }
}
