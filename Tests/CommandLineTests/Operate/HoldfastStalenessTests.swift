import Foundation
import SampleOrigin
import TestSupport
import Testing

/// Extensions of staleness of the built gateway, with the built command and with curl.
@Suite(.timeLimit(.minutes(20)), .enabled(if: Tool.hasCurl, "/usr/bin/curl is a client"))
struct HoldfastStalenessTests {
    private func put(_ json: String, _ gateway: PurgedGateway) async throws -> PurgedGateway.Reply {
        try await gateway.curl("/v1/staleness", ["-X", "PUT", "--json", json, "-H", "Accept: */*"])
    }

    /// Writes a file whose rule makes stored responses stale at once, with a limit of staleness.
    private func write(_ folder: PurgedGateway.Folder, _ origin: RunningOrigin, limit: String = "1 s") throws {
        let text = """
            version: 1
            listen: 127.0.0.1:0
            store: {path: s}
            routes:
              - {origin: "\(origin.baseURL)"}
            rules:
              - {match: {url: "/news/**"}, freshness: {lifetime: 1 s}, stale: {offline: \(limit), unreachable: \(limit)}}
            """
        try Data(text.utf8).write(to: URL(fileURLWithPath: folder.file))
    }

    /// Stores a response and waits until it is staler than the rule's limit.
    private func storeAndOutlive(_ gateway: PurgedGateway, _ origin: RunningOrigin) async throws {
        #expect(try await gateway.get("/news/1").hasPrefix("HTTP/1.1 200 "))
        await origin.stop()
        while try await !gateway.get("/news/1").hasPrefix("HTTP/1.1 504 ") {
            try await Task.sleep(for: .milliseconds(50))  // lets time pass
        }
    }

    private func withOrigin(_ body: (PurgedGateway, RunningOrigin) async throws -> Void) async throws {
        try await PurgedGateway.Folder.with { folder in
            try await SampleOrigin.withOrigin { origin in
                try write(folder, origin)
                origin.respond("v1")
                try await PurgedGateway.with(folder) { try await body($0, origin) }
            }
        }
    }

    @Test func extensionIsInForceOnThirtyConnectionsAndEndsEarly() async throws {
        try await withOrigin { gateway, origin in
            try await storeAndOutlive(gateway, origin)
            let connections = try (0..<30).map { _ in try gateway.server.connect() }
            let shown = try await gateway.run(["staleness"])
            #expect(shown.status == 0 && shown.text == "The configured staleness limits are in force.\n", "\(shown)")
            let set = try await gateway.run(["staleness", "2d", "--for", "2h", "--reason", "outage"])
            #expect(set.text.hasPrefix("While an origin fails, staleness limits are at least 2d until 2"), "\(set)")
            #expect(set.text.hasSuffix(" Reason: outage.\n"), "\(set)")
            for connection in connections { connection.get("/news/1") }
            for connection in connections {
                let response = await connection.read { $0.contains("\r\n\r\n") }
                #expect(response.hasPrefix("HTTP/1.1 200 ") && response.contains("detail=unreachable"), "\(response)")
            }
            let report = try await gateway.curl("/v1/staleness").json
            #expect(report["staleness"] as? String == "2d" && report["seconds"] as? Int == 172_800)
            #expect(report["by"] as? String == "uid \(getuid())" && report["since"] is String)
            let status = try await gateway.run(["status"])
            #expect(status.text.contains("staleness limits are at least 2d until 2"), "\(status.text)")
            let line = await gateway.server.log.line(containing: "A temporary staleness is in force")
            #expect(line.contains("staleness=172800") && line.contains("outage"), "\(line)")
            let ended = try await gateway.run(["staleness", "--configured", "--format", "json"])
            #expect(try ended.objects().first?["staleness"] as? String == "configured", "\(ended)")
            #expect(try await gateway.get("/news/1").hasPrefix("HTTP/1.1 504 "))
            #expect(!FileManager.default.fileExists(atPath: gateway.folder.store + "/staleness"))
            // Again: nothing is left to end.
            #expect(try await gateway.curl("/v1/staleness", ["-X", "DELETE"]).status == 200)
        }
    }

    @Test func endsByItself() async throws {
        try await withOrigin { gateway, _ in
            let reply = try await put(#"{"staleness": "2d", "for": "1s"}"#, gateway)
            #expect(reply.status == 200, "\(reply.text)")
            _ = await gateway.server.log.line(containing: "The configured staleness is in force again")
            #expect(try await gateway.curl("/v1/staleness").json["staleness"] as? String == "configured")
            #expect(!FileManager.default.fileExists(atPath: gateway.folder.store + "/staleness"))
        }
    }

    @Test func extensionOutlastsKilledGatewayAndReloadButNotItsOwnEnd() async throws {
        try await PurgedGateway.Folder.with { folder in
            try await SampleOrigin.withOrigin { origin in
                try write(folder, origin)
                origin.respond("v1")
                let ending = try await PurgedGateway.with(folder, signal: SIGKILL) { gateway in
                    try await storeAndOutlive(gateway, origin)
                    // It is stored for sure when a later write is acknowledged.
                    #expect(try await gateway.run(["pin", "--all"]).status == 0)
                    #expect(try await put(#"{"staleness": "2d", "for": "1h"}"#, gateway).status == 200)
                }
                #expect(ending.wasKilled)
                try await PurgedGateway.with(folder) { gateway in
                    #expect(try await gateway.get("/news/1").contains("detail=unreachable"))
                    try write(folder, origin, limit: "0 s")
                    gateway.server.signal(SIGHUP)
                    _ = await gateway.server.log.line(containing: "Configuration reloaded")
                    #expect(try await gateway.curl("/v1/staleness").json["staleness"] as? String == "2d")
                    // A limit of 0 is not raised.
                    #expect(try await gateway.get("/news/1").hasPrefix("HTTP/1.1 504 "))
                    try write(folder, origin)
                }
                _ = try await RunningServer.with(["--config", folder.file, "--no-control"]) { server in
                    let response = try await ServerProcess.get("/news/1", at: server.port)
                    #expect(response.contains("detail=unreachable"), "\(response)")
                    server.signal(SIGTERM)
                }
                // The hour has passed.
                let times = #""until":{"milliseconds":1},"since":{"milliseconds":0}"#
                let over = #"{"staleness":172800,\#(times),"client":"uid 0"}"#
                try Data(over.utf8).write(to: URL(fileURLWithPath: folder.store + "/staleness"))
                try await PurgedGateway.with(folder) { gateway in
                    let report = try await gateway.curl("/v1/staleness").json
                    let response = try await gateway.get("/news/1")
                    #expect(report["staleness"] as? String == "configured" && response.hasPrefix("HTTP/1.1 504 "))
                }
            }
        }
    }

    @Test func badInputIsAProblemAndChangesNothing() async throws {
        try await withOrigin { gateway, _ in
            for (json, field) in [
                ("[]", nil), ("{}", "staleness"), (#"{"staleness": "x", "for": "1h"}"#, "staleness"),
                (#"{"staleness": "2d"}"#, "until"), (#"{"staleness": "2d", "until": "14:00"}"#, "until"),
                (#"{"staleness": "2d", "for": "31d"}"#, "for"), (#"{"staleness": "2d", "for": "1h", "x": 1}"#, "x"),
            ] as [(String, String?)] {
                let reply = try await put(json, gateway)
                #expect(reply.status == 400 && reply.json["field"] as? String == field, "\(json) \(reply.text)")
            }
            let form = ["-X", "PUT", "-d", #"{"staleness": "2d", "for": "1h"}"#]
            #expect(try await gateway.curl("/v1/staleness", form).status == 415)
            let page = ["-X", "DELETE", "-H", "Origin: http://localhost"]
            #expect(try await gateway.curl("/v1/staleness", page).status == 403)
            #expect(try await gateway.curl("/v1/staleness?x=1", ["-X", "DELETE"]).status == 400)
            // The content of a DELETE is not read, and does not keep the connection.
            let content = ["-X", "DELETE", "--json", "{}", "-H", "Accept: */*"]
            #expect(try await gateway.curl("/v1/staleness", content).status == 200)
            for (arguments, text) in [
                (["2d", "--until", "25:00"], "25:00"), (["2x", "--for", "1h"], "2x"),
                (["2d", "--for", "1h", "--until", "14:00"], "Use one of them"), (["--for", "1h"], "need a length"),
                (["--configured", "--for", "1h"], "--configured"), (["2d", "--configured"], "--configured"),
                (["2d"], "needs an end"), (["366d", "--for", "1h"], "the limit is 365 days"),
                (["2d", "--for", "0s"], "a number above 0 with"),
            ] {
                let outcome = try await gateway.run(["staleness"] + arguments)
                #expect(outcome.status == 64 && outcome.error.contains(text), "\(outcome)")
            }
            #expect(try await gateway.curl("/v1/staleness").json["staleness"] as? String == "configured")
        }
    }
}
