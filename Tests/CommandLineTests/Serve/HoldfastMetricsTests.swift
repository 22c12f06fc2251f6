import Foundation
import SampleOrigin
import TestSupport
import Testing

/// `GET /metrics` of the built gateway, scraped with curl.
@Suite(.timeLimit(.minutes(20)), .enabled(if: Tool.hasCurl, "/usr/bin/curl is a client")) struct HoldfastMetricsTests {
    /// The value of a sample: `name{labels}`.
    private func value(_ sample: String, in text: String) -> Double? {
        let lines = text.split(separator: "\n").filter { $0.hasPrefix(sample + " ") }
        return lines.count == 1 ? Double(lines[0].dropFirst(sample.count + 1)) : nil
    }

    /// The exchanges of the route for all hosts, which has no name.
    private func exchanges(_ outcome: String) -> String {
        "holdfast_exchanges_total{route=\"2\",outcome=\"\(outcome)\"}"
    }

    private enum Mode: String, CaseIterable { case online, automatic, preferStored, offline }

    private func mode(_ route: String, _ mode: Mode, in text: String) -> Double? {
        value("holdfast_mode{route=\"\(route)\",mode=\"\(mode)\"}", in: text)
    }

    @Test func countsEveryExchangeOfThirtyClientsIncludingMemoryHits() async throws {
        try await PurgedGateway.withOrigin { gateway, origin in
            for number in 0..<5 { _ = try await gateway.get("/news/\(number)") }
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for client in 0..<30 {
                    tasks.addTask {
                        for _ in 0..<4 { _ = try await gateway.get("/news/\(client % 5)") }
                    }
                }
                try await tasks.waitForAll()
            }
            let reply = try await gateway.curl("/metrics")
            #expect(reply.status == 200)
            #expect(value(exchanges("fetched"), in: reply.text) == Double(origin.requestCount), "\(reply.text)")
            #expect(value(exchanges("hit"), in: reply.text) == 120, "\(reply.text)")
            for outcome in ["stale-hit", "validated", "collapsed", "bypass", "refused", "failed"] {
                #expect(value(exchanges(outcome), in: reply.text) == 0, "\(outcome)")
            }
        }
    }

    @Test func originsModeAndStoreAreShown() async throws {
        try await PurgedGateway.withOrigin { gateway, origin in
            try await gateway.warm([.init(path: "/news/1"), .init(path: "/other")])
            let before = try await gateway.curl("/metrics").text
            let up = "holdfast_origin_up{origin=\"\(origin.baseURL)\"}"
            #expect(value(up, in: before) == 1 && mode("all", .automatic, in: before) == 1, "\(before)")
            #expect(value("holdfast_store_responses", in: before) == 2)
            #expect(value("holdfast_config_last_reload_successful", in: before) == 1)
            #expect(value("holdfast_rejected_files", in: before) == 0)
            #expect((value("holdfast_config_last_reload_success_timestamp_seconds", in: before) ?? 0) > 1e9)
            #expect(value("holdfast_store_entries{state=\"fresh\"}", in: before) == 2)
            for kind in ["entries", "database", "log", "free"] {
                #expect(value("holdfast_store_bytes{kind=\"\(kind)\"}", in: before) != nil, "\(kind)")
            }
            #expect((value("process_start_time_seconds", in: before) ?? 0) > 1e9)
            #expect((value("process_cpu_seconds_total", in: before) ?? 0) > 0)
            await origin.stop()
            for number in 0..<3 { _ = try await gateway.get("/missing/\(number)") }
            #expect(try await gateway.run(["mode", "offline", "--for", "1h"]).status == 0)
            _ = try await gateway.curl("/v1/reload", ["--json", "{}", "-H", "Accept: */*"])
            let after = try await gateway.curl("/metrics").text
            #expect(value(up, in: after) == 0 && mode("all", .offline, in: after) == 1, "\(after)")
            #expect(mode("all", .automatic, in: after) == 0)
            #expect(value("holdfast_config_last_reload_successful", in: after) == 1)
            #expect(value("holdfast_config_reloads_total{result=\"reloaded\"}", in: after) == 1)
            let outage = "holdfast_origin_outage_seconds_total{origin=\"\(origin.baseURL)\"}"
            #expect(value(outage, in: before) == 0 && (value(outage, in: after) ?? 0) > 0)
            #expect(value("holdfast_origin_outages_total{origin=\"\(origin.baseURL)\"}", in: after) == 1)
        }
    }

    @Test func routesWithTheirOwnModeShowTheModeInForce() async throws {
        try await PurgedGateway.Folder.with { folder in
            try await SampleOrigin.withOrigin { origin in
                let text = """
                    version: 1
                    listen: 127.0.0.1:0
                    store: {path: s}
                    routes:
                      - {name: eager, host: eager.test, origin: "\(origin.baseURL)/eager", mode: preferStored}
                      - {host: away.test, origin: "http://127.0.0.1:9", mode: offline}
                      - {name: all, host: all.test, origin: "\(origin.baseURL)/all", mode: online}
                      - {name: api, origin: "\(origin.baseURL)/api"}
                    """
                try Data(text.utf8).write(to: URL(fileURLWithPath: folder.file))
                try await PurgedGateway.with(folder) { gateway in
                    func expect(_ modes: [String: Mode]) async throws {
                        let text = try await gateway.curl("/metrics").text
                        for (route, inForce) in modes {
                            for each in Mode.allCases {
                                #expect(mode(route, each, in: text) == (each == inForce ? 1 : 0), "\(route) \(each)")
                            }
                        }
                        let series = text.split(separator: "\n").count { $0.hasPrefix("holdfast_mode{") }
                        #expect(series == modes.count * Mode.allCases.count)
                    }
                    try await expect(["all": .automatic, "eager": .preferStored, "2": .offline])
                    #expect(try await gateway.run(["mode", "offline", "--for", "1h"]).status == 0)
                    try await expect(["all": .offline, "eager": .offline, "2": .offline])
                }
            }
        }
    }

    @Test func metricsNameTheBuild() async throws {
        try await PurgedGateway.withOrigin { gateway, _ in
            let text = try await gateway.curl("/metrics").text
            let lines = text.split(separator: "\n").filter { $0.hasPrefix("holdfast_build_info{") }
            let labels = #/version="development",revision="unknown",swift="6\.[0-9].*",sqlite="3\..+"/#
            #expect(lines.count == 1 && lines[0].contains(labels) && lines[0].hasSuffix("} 1"), "\(lines)")
        }
    }

    @Test func countsPurgesAndRejectedReloads() async throws {
        try await PurgedGateway.withOrigin { gateway, _ in
            let before = try await gateway.curl("/metrics").text
            let sequence = value("holdfast_invalidation_sequence", in: before) ?? -1
            func purges(_ labels: String, in text: String) -> Double? {
                value("holdfast_purges_total{\(labels)}", in: text)
            }
            let tag = #"selector="tag",kind="expire",result="ok""#
            #expect(purges(tag, in: before) == 0)
            #expect(try await gateway.purge(["--tag", "news"]).status == 0)
            #expect(try await gateway.post(#"{"select": {"all": true}, "dryRun": true}"#).status == 200)
            #expect(try await gateway.post(#"{"select": {"urls": ["no URL"]}}"#).status == 400)
            try Data("version: 1\nlisten: [".utf8).write(to: URL(fileURLWithPath: gateway.folder.file))
            _ = try await gateway.curl("/v1/reload", ["--json", "{}", "-H", "Accept: */*"])
            let after = try await gateway.curl("/metrics").text
            #expect(purges(tag, in: after) == 1)
            #expect(purges(#"selector="url",kind="expire",result="rejected""#, in: after) == 1)
            #expect(purges(#"selector="all",kind="expire",result="ok""#, in: after) == 0)
            #expect(value("holdfast_invalidation_sequence", in: after) == sequence + 1)
            #expect(value("holdfast_config_reloads_total{result=\"rejected\"}", in: after) == 1)
            #expect(value("holdfast_config_last_reload_successful", in: after) == 0)
            let time = "holdfast_config_last_reload_success_timestamp_seconds"
            #expect(value(time, in: after) == value(time, in: before))
        }
    }

    @Test func clientsChooseTheFormat() async throws {
        try await PurgedGateway.withOrigin { gateway, _ in
            let text = try await gateway.curl("/metrics", ["-i"]).text.lowercased()
            #expect(text.contains("content-type: text/plain; version=0.0.4; charset=utf-8\r\n"), "\(text)")
            #expect(text.contains("# type holdfast_exchanges_total counter\n") && !text.contains("# eof"))
            let accept = "Accept: application/openmetrics-text;version=1.0.0,*/*;q=0.1"
            let open = try await gateway.curl("/metrics", ["-i", "-H", accept]).text.lowercased()
            #expect(open.contains("content-type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n"))
            #expect(open.contains("# type holdfast_exchanges counter\n") && open.hasSuffix("\n# eof\n"), "\(open)")
            for field in ["Host: a.example", "Origin: http://a.example"] {
                let reply = try await gateway.curl("/metrics", ["-H", field])
                #expect(reply.status == 421 || reply.status == 403)
                #expect(!reply.text.contains("holdfast_exchanges"))
            }
            #expect(try await gateway.curl("/metrics", ["-X", "POST"]).status == 405)
        }
    }

    @Test func metricsPortServesMetricsAloneWithoutToken() async throws {
        try await PurgedGateway.Folder.with { folder in
            try await SampleOrigin.withOrigin { origin in
                try folder.write(origin, "metrics: {listen: '127.0.0.1:0'}")
                // The lines about control plane and metrics come in any order.
                let environment = ["RUNTIME_DIRECTORY": ""]
                let arguments = ["--config", folder.file]
                let ending = try await RunningServer.with(arguments, environment: environment) { server in
                    _ = try await ServerProcess.get("/news/1", at: server.port, host: "a.test")
                    let line = await server.log.line(containing: "metrics at")
                    let url = line.dropFirst("holdfast metrics at ".count).trimmingCharacters(in: .newlines)
                    #expect(url.hasPrefix("http://127.0.0.1:") && url.hasSuffix("/metrics"), "\(line)")
                    for arguments in [[], ["-H", "Host: localhost"], ["-H", "Host: [::1]:1"]] {
                        let reply = try await folder.fetch(url, arguments)
                        #expect(reply.status == 200 && value(exchanges("fetched"), in: reply.text) == 1, "\(reply)")
                    }
                    let base = url.dropLast("/metrics".count)
                    for path in ["/livez", "/v1/status", "/v1/purges", "/"] {
                        let reply = try await folder.fetch(base + path)
                        #expect(reply.status == 404 && reply.text.contains("Known paths: /metrics."), "\(reply)")
                    }
                    #expect(try await folder.fetch(url, ["-X", "POST"]).status == 405)
                    #expect(try await folder.fetch(url, ["-H", "Host: a.example"]).status == 421)
                    #expect(try await folder.fetch(url, ["-H", "Origin: http://127.0.0.1"]).status == 403)
                    server.signal(SIGTERM)
                }
                #expect(ending.status == 0)
            }
        }
    }

    @Test func floodOfMethodsHostsAndPathsAddsNoSeries() async throws {
        try await PurgedGateway.withOrigin { gateway, _ in
            func names(_ text: String) -> Set<Substring> {
                Set(
                    text.split(separator: "\n").filter { $0.first != "#" }.compactMap { $0.split(separator: " ").first }
                )
            }
            _ = try await gateway.get("/news/1")
            // The series of a refused method and of a connection that the client closes.
            let first = try LoopbackConnection(port: gateway.server.port)
            first.send("M /0 HTTP/1.1\r\nHost: h.test\r\nConnection: close\r\n\r\n")
            #expect(await first.readToEnd().hasPrefix("HTTP/1.1 "))
            // A response that is fetched, and one from memory.
            for _ in 0..<2 { _ = try await gateway.get("/0") }
            let before = names(try await gateway.curl("/metrics").text)
            let getting = try LoopbackConnection(port: gateway.server.port)
            for number in 0..<1000 {
                let rest = "/\(number) HTTP/1.1\r\nHost: h\(number).test\r\n"
                getting.send("GET \(rest)\r\n")
                #expect(await getting.read(until: "v1").hasPrefix("HTTP/1.1 200"))
                // The gateway closes a connection on which it rejects a request.
                let other = try LoopbackConnection(port: gateway.server.port)
                other.send("M\(number) \(rest)Connection: close\r\n\r\n")
                #expect(await other.readToEnd().hasPrefix("HTTP/1.1 "))
            }
            let after = names(try await gateway.curl("/metrics").text)
            let added = after.subtracting(before)
            // The budget of a Prometheus for one gateway.
            #expect(after.count < 3000)
            #expect(added.isEmpty, "\(added.sorted().prefix(3))")
        }
    }

    /// Requests for a route: hits and fetches, other methods, stored or not, and failures.
    private static func requests(_ round: Int, _ route: Int) -> [String] {
        let path = "/respond?body=\(round)"
        let fresh = "GET \(path)&field=Cache-Control:max-age=60"
        return [
            fresh, fresh, fresh, "HEAD \(path)", "GET \(path)", "POST \(path)", "DELETE \(path)",
            "GET \(path)&field=Cache-Control:no-store", "GET \(path)&status=404",
            "GET \(path)&status=\(500 + round)", "M\(round)x\(route) \(path)",
        ]
    }

    /// Requests all of them on each route, and a host that is not known.
    private static func flood(_ round: Int, routes: Int, at port: Int) async throws {
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            for route in 0..<routes {
                tasks.addTask {
                    let known = requests(round, route).map { ($0, "h\(route).test") }
                    for (request, host) in known + [("GET /", "x\(round).y\(route)")] {
                        let connection = try LoopbackConnection(port: port)
                        let fields = "Host: \(host)\r\nConnection: close\r\nContent-Length: 0\r\n"
                        connection.send("\(request) HTTP/1.1\r\n\(fields)\r\n")
                        #expect(await connection.readToEnd().hasPrefix("HTTP/1.1 "))
                    }
                }
            }
            try await tasks.waitForAll()
        }
    }

    @Test func floodThroughSeventyRoutesStaysWithinSeriesLimit() async throws {
        let page = try String(contentsOf: Self.root.appendingPathComponent("docs/limits.md"), encoding: .utf8)
        let stated = page.firstMatch(of: /\| series of `\/metrics` \| ([0-9]+) \|/)
        let limit = try #require(stated.flatMap { Int($0.1) })
        try await PurgedGateway.Folder.with { folder in
            try await SampleOrigin.withOrigin { origin in
                let routes = (0..<70).map { "  - {name: r\($0), host: h\($0).test, origin: \"\(origin.baseURL)\"}\n" }
                // Nothing reads its standard error here: a log would fill the pipe and halt it.
                let text =
                    "version: 1\nlisten: 127.0.0.1:0\nstore: {path: s}\nlog: {access: off}\nroutes:\n"
                    + routes.joined()
                try Data(text.utf8).write(to: URL(fileURLWithPath: folder.file))
                try await PurgedGateway.with(folder) { gateway in
                    func names() async throws -> Set<Substring> {
                        let lines = try await gateway.curl("/metrics").text.split(separator: "\n")
                        return Set(lines.filter { $0.first != "#" }.compactMap { $0.split(separator: " ").first })
                    }
                    for round in 0..<2 { try await Self.flood(round, routes: 70, at: gateway.server.port) }
                    let before = try await names()
                    for round in 2..<6 { try await Self.flood(round, routes: 70, at: gateway.server.port) }
                    let after = try await names()
                    #expect(after.count <= limit && before.count > 1000, "\(before.count), then \(after.count)")
                    #expect(after.contains { $0.hasPrefix("holdfast_exchanges_total{route=\"other\"") })
                    let text = try await gateway.curl("/metrics").text
                    #expect(value("holdfast_metrics_refused_series", in: text) == 0)
                }
            }
        }
    }
}
