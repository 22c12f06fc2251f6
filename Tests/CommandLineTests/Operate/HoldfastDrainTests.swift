import Foundation
import SampleOrigin
import TestSupport
import Testing

/// Modes of origins and routes, and drains, with the built gateway, the built command and curl.
@Suite(.timeLimit(.minutes(20)), .enabled(if: Tool.hasCurl, "/usr/bin/curl is a client"))
struct HoldfastDrainTests {
    /// Runs a gateway whose origin has two servers, which respond with `server 1` and `server 2`.
    private func withServers(
        _ body: (PurgedGateway, RunningOrigin, _ servers: [String]) async throws -> Void
    ) async throws {
        try await PurgedGateway.Folder.with { folder in
            try await SampleOrigin.withOrigin { first in
                try await SampleOrigin.withOrigin { second in
                    first.respond("server 1")
                    second.respond("server 2")
                    let servers = [first, second].map { "127.0.0.1:\($0.port)" }
                    let settings = """
                        origins:
                          "\(first.baseURL)":
                            addresses: ["\(servers[0])", "\(servers[1])"]
                            balance: round-robin
                        """
                    try folder.write(first, settings)
                    _ = try await PurgedGateway.with(folder) { try await body($0, first, servers) }
                }
            }
        }
    }

    @Test func modeOfAnOriginIsInForceSurvivesARestartAndEndsByHand() async throws {
        try await PurgedGateway.Folder.with { folder in
            try await SampleOrigin.withOrigin { origin in
                origin.respond("v1")
                try folder.write(origin)
                let named = ["--of-origin", origin.baseURL]
                let ending = try await PurgedGateway.with(folder, signal: SIGKILL) { gateway in
                    let set = try await gateway.run(
                        ["mode", "offline", "--for", "2h", "--reason", "database move"] + named
                    )
                    #expect(set.status == 0 && set.lines.first == "The mode is automatic.", "\(set)")
                    #expect(set.lines.last?.hasPrefix("The mode of \(origin.baseURL) is offline until 2") == true)
                    #expect(set.lines.last?.hasSuffix("Reason: database move.") == true, "\(set)")
                    let missing = try await gateway.get("/missing")
                    #expect(missing.hasPrefix("HTTP/1.1 504 "), "\(missing)")
                    let metrics = try await gateway.curl("/metrics").text
                    #expect(metrics.contains("holdfast_switches{kind=\"origin\"} 1"))
                    #expect(metrics.contains("name=\"\(origin.baseURL)\",value=\"offline\"}"))
                }
                #expect(ending.wasKilled && origin.requestCount(path: "/missing") == 0)
                try await PurgedGateway.with(folder) { gateway in
                    let status = try await gateway.run(["status"])
                    #expect(
                        status.text.contains("The mode of origin '\(origin.baseURL)' is offline until"),
                        "\(status)"
                    )
                    let report = try await gateway.curl("/v1/mode").json
                    let switches = report["switches"] as? [[String: Any]]
                    #expect(switches?.count == 1 && switches?.first?["by"] as? String == "uid \(getuid())")
                    gateway.server.signal(SIGHUP)
                    _ = await gateway.server.log.line(containing: "Configuration reloaded")
                    let missing = try await gateway.get("/missing")
                    #expect(missing.hasPrefix("HTTP/1.1 504 "), "\(missing)")
                    let ended = try await gateway.run(["mode", "automatic"] + named)
                    #expect(ended.text == "The mode is automatic.\n", "\(ended)")
                    let found = try await gateway.get("/missing")
                    #expect(found.hasPrefix("HTTP/1.1 200 "), "\(found)")
                }
            }
        }
    }

    @Test func modeOfARouteEndsByItself() async throws {
        try await PurgedGateway.Folder.with { folder in
            try await SampleOrigin.withOrigin { origin in
                origin.respond("v1")
                let text = """
                    version: 1
                    listen: 127.0.0.1:0
                    store: {path: s}
                    routes:
                      - {name: v1, path: /v1, origin: "\(origin.baseURL)/v1"}
                      - {origin: "\(origin.baseURL)"}
                    """
                try Data(text.utf8).write(to: URL(fileURLWithPath: folder.file))
                try await PurgedGateway.with(folder) { gateway in
                    let json = #"{"mode": "offline", "route": "v1", "for": "1s"}"#
                    let reply = try await gateway.curl("/v1/mode", ["-X", "PUT", "--json", json])
                    #expect(reply.status == 200, "\(reply.text)")
                    let other = try await gateway.get("/v2")
                    #expect(other.hasPrefix("HTTP/1.1 200 "), "\(other)")
                    _ = await gateway.server.log.line(containing: "A switch has ended")
                    let own = try await gateway.get("/v1/a")
                    #expect(own.hasPrefix("HTTP/1.1 200 "), "\(own)")
                    let report = try await gateway.curl("/v1/mode").json
                    #expect(report["switches"] == nil && report["mode"] as? String == "automatic")
                }
            }
        }
    }

    @Test func drainedServerGetsNoRequestsUntilTheDrainEnds() async throws {
        try await withServers { gateway, origin, servers in
            let named = ["--of-origin", origin.baseURL]
            let none = try await gateway.run(["drain"])
            #expect(none.status == 0 && none.text == "No server is drained.\n", "\(none)")
            let set = try await gateway.run(["drain", servers[0], "--for", "1h", "--reason", "kernel"] + named)
            #expect(set.text.hasPrefix("\(servers[0]) of \(origin.baseURL) is drained until 2"), "\(set)")
            #expect(set.status == 0 && set.text.hasSuffix("Reason: kernel.\n") && set.error.isEmpty, "\(set)")
            for number in 0..<10 {
                let response = try await gateway.get("/\(number)")
                #expect(response.contains("server 2"), "\(response)")
            }
            let shown = try await gateway.run(["origins"])
            #expect(
                shown.lines.contains { $0.contains("drained   \(servers[0])") && $0.contains("kernel") },
                "\(shown)"
            )
            #expect(shown.lines.contains { $0.contains("in use    \(servers[1])") }, "\(shown)")
            // The second server.
            let both = try await gateway.run(["drain", servers[1], "--for", "1h"] + named)
            #expect(both.status == 0 && both.lines.count == 2, "\(both)")
            #expect(both.error.hasPrefix("warning: No server of '\(origin.baseURL)' is left: "), "\(both)")
            let stored = try await gateway.get("/1")
            let missing = try await gateway.get("/missing")
            #expect(stored.hasPrefix("HTTP/1.1 200 ") && missing.hasPrefix("HTTP/1.1 504 "), "\(missing)")
            let origins = try await gateway.curl("/v1/origins").json["origins"] as? [[String: Any]]
            #expect(origins?.allSatisfy { $0["state"] as? String == "reachable" } == true)
            let status = try await gateway.run(["status"])
            let sentence = "All servers of \(origin.baseURL) are drained; only stored responses are served.\n"
            #expect(status.text.contains(sentence) && !status.text.contains("2 servers"), "\(status)")
            let drained = try await gateway.run(["origins"])
            #expect(drained.lines.contains { $0.hasPrefix("drained      \(origin.baseURL)") }, "\(drained)")
            let reason = "drained: An operator drained every server, the first until 2"
            #expect(drained.lines.contains { $0.hasPrefix("        \(reason)") }, "\(drained)")
            let tried = try await gateway.run(["try", "http://a.test/missing"])
            #expect(tried.lines.contains { $0.hasPrefix("  origin \(origin.baseURL): \(reason)") }, "\(tried)")
            #expect(
                tried.lines.contains { $0.hasPrefix("  next   Would fail with 504: nothing is stored") },
                "\(tried)"
            )
            #expect(tried.lines.contains { $0.hasPrefix("  note   an operator drained every server") }, "\(tried)")
            let ended = try await gateway.run(["drain", servers[0], "--end"] + named)
            #expect(ended.status == 0 && ended.lines.count == 1 && ended.error.isEmpty, "\(ended)")
            let again = try await gateway.run(["drain", servers[0], "--end"] + named)
            let words = "'\(servers[0])' of '\(origin.baseURL)' was not drained.\n"
            #expect(again.status == 0 && again.text == ended.text && again.error == words, "\(again)")
            let found = try await gateway.get("/missing")
            #expect(found.contains("server 1"), "\(found)")
        }
    }

    @Test func badInputChangesNothing() async throws {
        try await withServers { gateway, origin, servers in
            for (arguments, status, text) in [
                (["drain", servers[0]], 64, "needs '--of-origin'"), (["drain", "--end"], 64, "need a server"),
                (["drain", servers[0], "--of-origin", origin.baseURL, "--end", "--for", "1h"], 64, "'--end' ends it"),
                (["drain", servers[0], "--of-origin", origin.baseURL], 1, "needs an end"),
                (
                    ["drain", "127.0.0.1:1", "--of-origin", origin.baseURL, "--for", "1h"], 1,
                    "The server must be one of '\(servers[0])'"
                ),
                (["mode", "offline", "--of-origin", "http://x.example", "--for", "1h"], 1, "an origin of a route"),
                (["mode", "offline", "--of-route", "x", "--for", "1h"], 1, "the name of a route"),
                (["mode", "offline", "--of-route", "x", "--of-origin", "y", "--for", "1h"], 64, "Use one of them"),
                (["mode", "offline", "--of-origin", origin.baseURL], 1, "needs an end"),
                (["mode", "--of-origin", origin.baseURL], 64, "need a mode"),
            ] as [([String], Int32, String)] {
                let outcome = try await gateway.run(arguments)
                #expect(outcome.status == status && outcome.error.contains(text), "\(arguments) \(outcome)")
            }
            let drains = try await gateway.curl("/v1/drains").json["drains"] as? [Any]
            #expect(drains?.isEmpty == true)
            let unknown = try await gateway.curl("/v1/drains?x=1", ["-X", "DELETE"])
            #expect(unknown.status == 400, "\(unknown.text)")
        }
    }
}
