import Foundation
import SampleOrigin
import Testing

/// `/metrics` after everything that is counted has happened, held against those who read it.
extension HoldfastMetricsTests {
    /// Metrics that alerts and dashboard use, and that only a gateway with traces, TLS or a fleet
    /// has. The test fails when one of them is there, so that nothing stays in this list.
    private static let absent: Set<String> = [
        "holdfast_spans_dropped_total", "holdfast_fleet_state", "holdfast_fleet_unopened",
        "holdfast_tls_certificate_expiry_timestamp_seconds", "holdfast_tls_handshake_failures_total",
    ]

    static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    /// The executable with a name in the search path, or in a folder.
    private static func executable(_ name: String, in folders: [String] = []) -> String? {
        let path = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
        return (path + folders).map { "\($0)/\(name)" }.first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    static var python: String? { executable("python3") }

    /// `make test-metrics` downloads it into the build folder.
    static var promtool: String? {
        let scratch = ProcessInfo.processInfo.environment["SCRATCH"] ?? root.path + "/.build"
        return executable("promtool", in: [scratch + "/promtool/usr/bin"])
    }

    /// Makes each metric count something: a stale response, an outage, a purge, a failed reload.
    private func everything(_ body: (PurgedGateway) async throws -> Void) async throws {
        try await PurgedGateway.Folder.with { folder in
            try await SampleOrigin.withOrigin { origin in
                try folder.write(origin)
                let file = try String(contentsOfFile: folder.file, encoding: .utf8)
                let quotas = "store: {path: s, quotas: {tags: {news: 1 MiB}}}"
                try Data(file.replacing("store: {path: s}", with: quotas).utf8)
                    .write(to: URL(fileURLWithPath: folder.file))
                origin.respond("v1")
                try await PurgedGateway.with(folder) { gateway in
                    try await gateway.warm([.init(path: "/news/1"), .init(path: "/other")])
                    let connection = try LoopbackConnection(port: gateway.server.port)
                    connection.send("POST /news/2 HTTP/1.1\r\nHost: a.test\r\nContent-Length: 0\r\n\r\n")
                    #expect(await connection.read(until: "v1").hasPrefix("HTTP/1.1 200"))
                    #expect(try await gateway.post(#"{"select": {"tags": ["news"]}}"#).status == 200)
                    _ = try await gateway.curl("/v1/reload", ["--json", "{}", "-H", "Accept: */*"])
                    await origin.stop()
                    for number in 0..<2 { _ = try await gateway.get("/missing/\(number)") }
                    #expect(try await gateway.get("/news/1").contains("HTTP/1.1 200"))
                    try await body(gateway)
                }
            }
        }
    }

    @Test(.enabled(if: python != nil, "Python 3 reads them"))
    func everyMetricInAlertsAndDashboardExists() async throws {
        let script = Self.root.appendingPathComponent("Tests/Scripts/metric-names").path
        let outcome = try await Tool.run(URL(fileURLWithPath: try #require(Self.python)), [script])
        #expect(outcome.status == 0, "\(outcome.error)")
        let used = Set(outcome.lines)
        #expect(used.count > 40)
        try await everything { gateway in
            let text = try await gateway.curl("/metrics").text
            let types = text.split(separator: "\n").filter { $0.hasPrefix("# TYPE ") }
            let names = types.compactMap { $0.split(separator: " ").dropFirst(2).first.map(String.init) }
            #expect(Set(names).count == names.count, "each metric once")
            #expect(used.subtracting(names) == Self.absent, "\(used.subtracting(names).sorted())")
        }
    }

    /// Prometheus does not see the increase of a counter that first appears with the value 1.
    @Test(.enabled(if: python != nil, "Python 3 reads them"))
    func metricsInAlertsExistBeforeTheFirstRequest() async throws {
        let script = Self.root.appendingPathComponent("Tests/Scripts/metric-names").path
        let rules = Self.root.appendingPathComponent("Packaging/prometheus/holdfast.rules.yml").path
        let outcome = try await Tool.run(URL(fileURLWithPath: try #require(Self.python)), [script, rules])
        #expect(outcome.status == 0, "\(outcome.error)")
        let used = Set(outcome.lines)
        #expect(used.contains("holdfast_offline_refused_total") && used.count > 12)
        try await PurgedGateway.withOrigin { gateway, _ in
            let text = try await gateway.curl("/metrics").text
            let samples = text.split(separator: "\n").filter { $0.first != "#" }
            let names = Set(samples.map { String($0.prefix { $0 != "{" && $0 != " " }) })
            for name in used.subtracting(Self.absent) {
                #expect(names.contains(name) || names.contains(name + "_count"), "\(name)")
            }
            // The labels too, for each route.
            for route in ["1", "2"] {
                for reason in ["not-stored", "must-revalidate", "cookie", "limit"] {
                    let labels = "{route=\"\(route)\",reason=\"\(reason)\"} 0"
                    #expect(samples.contains("holdfast_offline_refused_total\(labels)"), "\(labels)")
                }
                #expect(samples.contains { $0.hasPrefix("holdfast_not_stored_total{route=\"\(route)\"") })
            }
            for operation in ["read", "write", "invalidate"] {
                #expect(samples.contains("holdfast_store_failures_total{operation=\"\(operation)\"} 0"))
            }
        }
    }

    @Test(.enabled(if: promtool != nil, "promtool reads it; 'make test-metrics' downloads it"))
    func promtoolAcceptsTheMetrics() async throws {
        let promtool = try #require(Self.promtool)
        try await everything { gateway in
            let reply = try await gateway.curl("/metrics", ["-H", "Accept: text/plain"])
            #expect(reply.status == 200)
            let file = gateway.folder.path + "/metrics"
            try reply.content.write(to: URL(fileURLWithPath: file))
            let arguments = ["-c", #"exec "$0" check metrics <"$1""#, promtool, file]
            let outcome = try await Tool.run(URL(fileURLWithPath: "/bin/sh"), arguments)
            #expect(outcome.status == 0 && outcome.text.isEmpty, "\(outcome.text)\(outcome.error)")
        }
    }
}
