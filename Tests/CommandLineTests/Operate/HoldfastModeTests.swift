import Foundation
import SampleOrigin
import TestSupport
import Testing

/// Switches of the mode of the built gateway, with the built command and with curl.
@Suite(.timeLimit(.minutes(20)), .enabled(if: Tool.hasCurl, "/usr/bin/curl is a client")) struct HoldfastModeTests {
    private static let stored = PurgedGateway.Target(path: "/news/1")

    private func put(_ json: String, _ gateway: PurgedGateway) async throws -> PurgedGateway.Reply {
        try await gateway.curl("/v1/mode", ["-X", "PUT", "--json", json, "-H", "Accept: */*"])
    }

    @Test func switchIsInForceOnThirtyConnectionsAndEndsWithTheConfiguredMode() async throws {
        try await PurgedGateway.withOrigin(["--threads", "4"]) { gateway, origin in
            try await gateway.warm([Self.stored])
            let connections = try (0..<30).map { _ in try gateway.server.connect() }
            let shown = try await gateway.run(["mode"])
            #expect(shown.status == 0 && shown.text == "The mode is automatic.\n", "\(shown)")
            let offline = try await gateway.run(["mode", "offline", "--for", "2h", "--reason", "origin migration"])
            #expect(offline.status == 0 && offline.text.hasPrefix("The mode is offline until 2"), "\(offline)")
            #expect(offline.text.contains(", then automatic. Reason: origin migration."), "\(offline)")
            let before = origin.requestCount(path: "/missing")
            for connection in connections { connection.get("/missing") }
            for connection in connections {
                let response = await connection.read { $0.contains("\r\n\r\n") }
                #expect(response.hasPrefix("HTTP/1.1 504 "), "\(response)")
            }
            #expect(origin.requestCount(path: "/missing") == before)
            #expect(try await gateway.get("/news/1").contains("; hit"))
            let report = try await gateway.curl("/v1/mode")
            #expect(report.json["mode"] as? String == "offline" && report.json["configured"] as? String == "automatic")
            #expect(report.json["by"] as? String == "uid \(getuid())" && report.json["since"] is String)
            let ready = try await gateway.curl("/readyz")
            #expect(ready.status == 200 && ready.text.contains("the mode is offline until"), "\(ready.text)")
            let deleted = try await gateway.curl("/v1/mode", ["-X", "DELETE"])
            #expect(deleted.status == 200 && deleted.json["mode"] as? String == "automatic", "\(deleted.text)")
            #expect(try await gateway.run(["mode", "offline", "--for", "2h"]).status == 0)
            let ended = try await gateway.run(["mode", "automatic", "--format", "json"])
            #expect(try ended.objects().first?["until"] == nil && ended.status == 0, "\(ended)")
            #expect(try await gateway.get("/missing").hasPrefix("HTTP/1.1 200 "))
        }
    }

    @Test func endsByItself() async throws {
        try await PurgedGateway.withOrigin { gateway, _ in
            let reply = try await put(#"{"mode": "offline", "for": "1s"}"#, gateway)
            #expect(reply.status == 200, "\(reply.text)")
            // Times are text, and a value with a space is quoted.
            let begun = await gateway.server.log.line(containing: "A temporary mode is in force")
            #expect(begun.contains("mode.until=2") && begun.contains("control.client=\"uid \(getuid())\""), "\(begun)")
            let line = await gateway.server.log.line(containing: "The configured mode is in force again")
            #expect(line.contains("mode=automatic"))
            #expect(try await gateway.get("/missing").hasPrefix("HTTP/1.1 200 "))
            #expect(!FileManager.default.fileExists(atPath: gateway.folder.store + "/mode"))
        }
    }

    /// This also holds without a control plane.
    @Test func modeOutlastsKilledGatewayButNotItsOwnEnd() async throws {
        try await PurgedGateway.Folder.with { folder in
            try await SampleOrigin.withOrigin { origin in
                try folder.write(origin)
                origin.respond("v1")
                let ending = try await PurgedGateway.with(folder, signal: SIGKILL) { gateway in
                    let reply = try await put(#"{"mode": "offline", "for": "1h"}"#, gateway)
                    #expect(reply.status == 200, "\(reply.text)")
                }
                #expect(ending.wasKilled)
                // The command line is the configured mode too.
                try await PurgedGateway.with(folder, ["--mode", "online"]) { gateway in
                    let report = try await gateway.curl("/v1/mode").json
                    #expect(report["mode"] as? String == "offline" && report["configured"] as? String == "online")
                    #expect(try await gateway.get("/news/1").hasPrefix("HTTP/1.1 504 "))
                }
                _ = try await RunningServer.with(["--config", folder.file, "--no-control"]) { server in
                    let response = try await ServerProcess.get("/news/1", at: server.port)
                    #expect(response.hasPrefix("HTTP/1.1 504 "), "\(response)")
                    server.signal(SIGTERM)
                }
                // The hour has passed.
                let over = #"{"mode":"offline","until":{"milliseconds":1},"since":{"milliseconds":0},"client":"uid 0"}"#
                try Data(over.utf8).write(to: URL(fileURLWithPath: folder.store + "/mode"))
                try await PurgedGateway.with(folder) { gateway in
                    let report = try await gateway.curl("/v1/mode").json
                    let response = try await gateway.get("/news/1")
                    #expect(report["mode"] as? String == "automatic" && response.hasPrefix("HTTP/1.1 200 "))
                }
            }
        }
    }

    @Test func reloadDoesNotEndIt() async throws {
        try await PurgedGateway.withOrigin { gateway, origin in
            #expect(try await put(#"{"mode": "offline", "for": "1h"}"#, gateway).status == 200)
            try gateway.folder.write(origin, "mode: preferStored")
            gateway.server.signal(SIGHUP)
            #expect(await gateway.server.log.line(containing: "Configuration reloaded").contains("mode=preferStored"))
            let report = try await gateway.curl("/v1/mode").json
            #expect(report["mode"] as? String == "offline" && report["configured"] as? String == "preferStored")
            #expect(try await gateway.get("/news/1").hasPrefix("HTTP/1.1 504 "))
        }
    }

    @Test func reloadThatRemovesTheRouteTellsThatItsModeHasNoEffect() async throws {
        try await PurgedGateway.Folder.with { folder in
            try await SampleOrigin.withOrigin { origin in
                origin.respond("v1")
                func write(route: String) throws {
                    let text = """
                        version: 1
                        listen: 127.0.0.1:0
                        store: {path: s}
                        routes: [{name: \(route), origin: "\(origin.baseURL)"}]
                        """
                    try Data(text.utf8).write(to: URL(fileURLWithPath: folder.file))
                }
                try write(route: "ok")
                try await PurgedGateway.with(folder) { gateway in
                    let set = try await gateway.run(["mode", "offline", "--of-route", "ok", "--for", "1h"])
                    #expect(set.status == 0 && !set.text.contains("no effect"), "\(set)")
                    try write(route: "okay")
                    let reload = try await gateway.run(["reload"])
                    let words = "The mode of route 'ok' has no effect: no route has this name."
                    #expect(reload.lines.last == "  warning: \(words)", "\(reload)")
                    let warning = await gateway.server.log.line(containing: "A switch has no effect anymore")
                    #expect(warning.contains(words), "\(warning)")
                    let mode = try await gateway.run(["mode"])
                    #expect(mode.text.hasSuffix(". It has no effect: no route has this name.\n"), "\(mode)")
                    let status = try await gateway.run(["status"])
                    #expect(status.lines.first == "Serving. \(words)", "\(status)")
                    #expect(status.lines.contains { $0.hasSuffix(", without effect: no route has this name") })
                    // It is in force again with its route.
                    try write(route: "ok")
                    #expect(try await !gateway.run(["reload"]).text.contains("no effect"))
                    #expect(try await !gateway.run(["status"]).text.contains("effect"))
                    #expect(try await gateway.get("/news/1").hasPrefix("HTTP/1.1 504 "))
                }
            }
        }
    }

    @Test func badInputIsAProblemAndChangesNothing() async throws {
        try await PurgedGateway.withOrigin { gateway, _ in
            for (json, field) in [
                ("[]", nil), ("{}", "mode"), (#"{"mode": "off"}"#, "mode"), (#"{"mode": "offline"}"#, "until"),
                (#"{"mode": "offline", "until": "14:00"}"#, "until"), (#"{"mode": "offline", "for": "31d"}"#, "for"),
                (#"{"mode": "offline", "for": "1h", "untill": "x"}"#, "untill"),
            ] as [(String, String?)] {
                let reply = try await put(json, gateway)
                #expect(reply.status == 400 && reply.json["field"] as? String == field, "\(json) \(reply.text)")
            }
            let large = #"{"mode": "offline", "for": "1h", "reason": "\#(String(repeating: "x", count: 70_000))"}"#
            #expect(try await put(large, gateway).status == 413)
            let form = ["-X", "PUT", "-d", #"{"mode": "offline", "for": "1h"}"#]
            #expect(try await gateway.curl("/v1/mode", form).status == 415)
            #expect(try await gateway.curl("/v1/mode", form + ["-H", "Origin: http://localhost"]).status == 403)
            #expect(try await gateway.curl("/v1/mode", ["-X", "PATCH"]).status == 405)
            for (arguments, text) in [
                (["offline", "--until", "25:00"], "25:00"), (["offline", "--for", "2x"], "2x"),
                (["offline", "--for", "1h", "--until", "14:00"], "Use one of them"), (["--for", "1h"], "need a mode"),
                (["away"], "away"),
            ] {
                let outcome = try await gateway.run(["mode"] + arguments)
                #expect(outcome.status == 64 && outcome.error.contains(text), "\(outcome)")
            }
            let noEnd = try await gateway.run(["mode", "offline"])
            #expect(
                noEnd.status == 1 && noEnd.error.contains("needs an end")
                    && noEnd.error.contains("Set '--until' (2026-11-25T14:00:00Z) or '--for' (2h)"),
                "\(noEnd)"
            )
            #expect(try await gateway.curl("/v1/mode").json["mode"] as? String == "automatic")
        }
    }

    @Test func logLevelIsSetForATime() async throws {
        try await PurgedGateway.withOrigin { gateway, _ in
            func put(_ json: String) async throws -> PurgedGateway.Reply {
                try await gateway.curl("/v1/log-level", ["-X", "PUT", "--json", json, "-H", "Accept: */*"])
            }
            let set = try await put(#"{"level": "debug", "for": "15m", "reason": "why not stored"}"#)
            #expect(set.status == 200 && set.json["level"] as? String == "debug", "\(set.text)")
            #expect(set.json["own"] as? String == "notice" && set.json["by"] as? String == "uid \(getuid())")
            let status = try await gateway.run(["status"])
            #expect(status.lines.first?.hasPrefix("Serving. The log level is debug until 2") == true, "\(status)")
            _ = try await gateway.get("/missing")
            _ = await gateway.server.log.line(containing: " debug ")
            for (json, field) in [
                ("[]", nil), ("{}", "level"), (#"{"level": "loud"}"#, "level"), (#"{"level": "debug"}"#, "until"),
                (#"{"level": "debug", "for": "31d"}"#, "for"), (#"{"level": "debug", "for": "1h", "x": 1}"#, "x"),
            ] as [(String, String?)] {
                let reply = try await put(json)
                #expect(reply.status == 400 && reply.json["field"] as? String == field, "\(json) \(reply.text)")
            }
            #expect(try await gateway.curl("/v1/log-level").json["level"] as? String == "debug")
            let ended = try await put(#"{"level": "notice"}"#)
            #expect(ended.json["level"] as? String == "notice" && ended.json["until"] == nil, "\(ended.text)")
            #expect(try await gateway.run(["status"]).lines.first == "Serving.")
        }
    }

    @Test func gatewayThatDoesNotRunIsNamed() async throws {
        try await PurgedGateway.Folder.with { folder in
            let outcome = try await folder.run(["mode", "offline", "--for", "1h"])
            #expect(outcome.status == 1 && outcome.error.contains("does not exist"), "\(outcome)")
        }
    }
}
