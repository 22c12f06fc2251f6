import Foundation
import SampleOrigin
import Testing

/// The reports of the built gateway's control plane, with the built command and with curl.
@Suite(.timeLimit(.minutes(20)), .enabled(if: Tool.hasCurl, "/usr/bin/curl is a client")) struct HoldfastStatusTests {
    private static let targets = [
        PurgedGateway.Target(path: "/news/1"), PurgedGateway.Target(path: "/news/2?token=secret"),
        PurgedGateway.Target(path: "/other"),
    ]

    @Test func firstLineSaysWhatIsNotAsItShouldBe() async throws {
        try await PurgedGateway.withOrigin { gateway, origin in
            try await gateway.warm(Self.targets)
            let well = try await gateway.run(["status"])
            #expect(well.status == 0 && well.lines.first == "Serving.", "\(well)")
            #expect(well.text.contains("3 responses") && well.text.contains(gateway.folder.file), "\(well)")
            await origin.stop()
            for number in 0..<3 { _ = try await gateway.get("/missing/\(number)") }
            #expect(try await gateway.run(["mode", "preferStored", "--for", "1h"]).status == 0)
            let outcome = try await gateway.run(["status", "--format", "json"])
            let report = try #require(try outcome.objects().first)
            let summary = report["summary"] as? String ?? ""
            #expect(summary.hasPrefix("Serving. \(origin.baseURL) has been unreachable for "), "\(summary)")
            #expect(summary.contains("stored responses are served. The mode is preferStored until 2"), "\(summary)")
            let unreachable = try #require(report["unreachable"] as? [[String: Any]])
            #expect(unreachable.count == 1 && unreachable[0]["since"] is String)
            #expect((report["store"] as? [String: Any])?["responses"] as? Int == 3)
            #expect(report["phase"] as? String == "serving" && report["storeCondition"] as? String == "usable")
            #expect((report["configuration"] as? [String: Any])?["file"] as? String == gateway.folder.file)
        }
    }

    /// It is not the first by its name. Mutant: `first-outage-by-name`.
    @Test func longestOutageIsNamed() async throws {
        try await PurgedGateway.Folder.with { folder in
            let text = """
                version: 1
                listen: 127.0.0.1:0
                store: {path: s}
                routes: [{host: one.test, origin: "http://127.0.0.1:2"}, {host: two.test, origin: "http://127.0.0.1:1"}]
                """
            try Data(text.utf8).write(to: URL(fileURLWithPath: folder.file))
            try await PurgedGateway.with(folder) { gateway in
                for host in ["one.test", "two.test"] {
                    for number in 0..<5 { _ = try await gateway.get("/\(number)", host: host) }
                }
                let status = try await gateway.run(["status"])
                let words = "Serving. 2 origins are unreachable, http://127.0.0.1:2 for "
                #expect(status.lines.first?.hasPrefix(words) == true, "\(status)")
            }
        }
    }

    @Test(arguments: ["status", "origins", "configuration", "mode"])
    func reportsRejectParameters(_ name: String) async throws {
        try await PurgedGateway.withOrigin { gateway, _ in
            let reply = try await gateway.curl("/v1/\(name)?verbose=1")
            #expect(reply.status == 400 && reply.json["field"] as? String == "verbose", "\(reply.text)")
            #expect(reply.text.contains("The operation has no parameters."))
        }
    }

    @Test func originsHaveStateAndNextProbe() async throws {
        try await PurgedGateway.withOrigin { gateway, origin in
            let well = try await gateway.run(["origins"])
            #expect(well.text == "reachable    \(origin.baseURL)  0 in flight, 0 waiting\n", "\(well)")
            await origin.stop()
            for number in 0..<3 { _ = try await gateway.get("/missing/\(number)") }
            let origins = try await gateway.curl("/v1/origins").json["origins"] as? [[String: Any]]
            let first = try #require(origins?.first)
            #expect(first["origin"] as? String == origin.baseURL && first["state"] as? String == "unreachable")
            #expect(first["since"] is String && first["nextProbe"] is String && first["failedProbes"] is Int)
            #expect(try await gateway.run(["origins"]).text.hasPrefix("unreachable  \(origin.baseURL)  "))
        }
    }

    @Test func responsesAreListedByPageAndShown() async throws {
        try await PurgedGateway.withOrigin { gateway, origin in
            try await gateway.warm(Self.targets)
            let first = try await gateway.curl("/v1/responses?limit=2")
            let next = try #require(first.json["next"] as? Int)
            #expect((first.json["responses"] as? [Any])?.count == 2, "\(first.text)")
            #expect(first.text.contains("/news/2?token=secret"), "the socket opens every operation")
            let rest = try await gateway.curl("/v1/responses?limit=2&after=\(next)")
            #expect((rest.json["responses"] as? [Any])?.count == 1 && rest.json["next"] as? Int == nil, "\(rest.text)")
            let prefix = "\(origin.baseURL)/news/".addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
            for query in ["tag=news", "prefix=\(prefix)", "tag=news&state=fresh&prefix=\(prefix)"] {
                let found = try await gateway.curl("/v1/responses?\(query)").json["responses"] as? [[String: Any]]
                #expect(found?.count == 2, "\(query)")
            }
            let id = try #require((first.json["responses"] as? [[String: Any]])?.first?["id"] as? String)
            let shown = try await gateway.curl("/v1/responses/\(id)").json["variants"] as? [[String: Any]]
            #expect(shown?.count == 1 && shown?.first?["tags"] as? [String] == ["news"])
            #expect((shown?.first?["fields"] as? [[String]])?.contains(["Cache-Control", "max-age=3600"]) == true)
            for (path, status, field) in [
                ("?limit=0", 400, "limit"), ("?limit=1001", 400, "limit"), ("?after=-1", 400, "after"),
                ("?state=old", 400, "state"), ("?prefix=%2Fnews", 400, "prefix"), ("?hosts=a", 400, "hosts"),
                ("?limit=1&limit=2", 400, "limit"),
                ("/xyz", 400, "id"), ("/0123456789abcdef", 404, "id"), ("/\(id)/body", 404, "path"),
            ] {
                let reply = try await gateway.curl("/v1/responses" + path)
                #expect(reply.status == status && reply.json["field"] as? String == field, "\(path) \(reply.text)")
            }
        }
    }

    /// Mutant: `control-plane-lists-without-rules`.
    @Test func listedStateFollowsTheRulesInForce() async throws {
        try await PurgedGateway.withOrigin { gateway, origin in
            let fields = [("Cache-Control", "max-age=3600, must-revalidate")]
            origin.behaveNormally()
            origin.force(.respond(fields: fields, body: "v"), times: .max)
            try await gateway.warm([.init(path: "/a")])
            for (rule, state, isUsable) in [
                ("", "fresh", false), ("  - {freshness: {lifetime: 0 s}}", "expired", false),
                ("  - {freshness: {lifetime: 0 s}, stale: {ignore: [must-revalidate]}}", "stale", true),
            ] {
                try gateway.folder.write(origin, rule)
                let reload = try await gateway.run(["reload"])
                #expect(reload.status == 0, "\(reload.error)")
                let listed = try await gateway.curl("/v1/responses").json["responses"] as? [[String: Any]]
                let first = try #require(listed?.first)
                let id = try #require(first["id"] as? String)
                let shown = try await gateway.curl("/v1/responses/\(id)").json["variants"] as? [[String: Any]]
                for response in [first, try #require(shown?.first)] {
                    #expect(response["state"] as? String == state && response["usableStale"] as? Bool == isUsable)
                }
            }
        }
    }

    @Test func requestIsExplainedByTheRoutesInForce() async throws {
        try await PurgedGateway.withOrigin { gateway, origin in
            try await gateway.warm(Self.targets)
            func explain(_ url: String) async throws -> PurgedGateway.Reply {
                let value = url.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
                return try await gateway.curl("/v1/explain?url=\(value)")
            }
            func summary(_ reply: PurgedGateway.Reply) -> String {
                let now = (reply.json["explanation"] as? [String: Any])?["now"] as? [String: Any]
                return now?["summary"] as? String ?? reply.text
            }
            let stored = try await explain("http://a.test/news/1")
            #expect(summary(stored).contains("from the store"), "\(stored.text)")
            #expect((stored.json["notes"] as? [String])?.first?.contains("a route forwards it to") == true)
            #expect(summary(try await explain("\(origin.baseURL)/news/1")).contains("from the store"))
            let before = origin.requestCount(path: "/missing")
            let missing = try await explain("http://a.test/missing?token=secret")
            #expect(!summary(missing).contains("from the store") && !missing.text.contains("secret"))
            #expect(origin.requestCount(path: "/missing") == before)
            for (query, field) in [("", "url"), ("?url=%2Fa", "url"), ("?url=http%3A%2F%2Fa%2F&x=1", "x")] {
                let reply = try await gateway.curl("/v1/explain" + query)
                #expect(reply.status == 400 && reply.json["field"] as? String == field, "\(query) \(reply.text)")
            }
        }
    }

    @Test func reloadReportsWhatHasChangedAndWhatWasKept() async throws {
        try await PurgedGateway.withOrigin { gateway, origin in
            let same = try await gateway.run(["reload"])
            #expect(same.status == 0 && same.text == "Reloaded. Nothing changed.\n", "\(same)")
            try gateway.folder.write(origin, "threads: 3")
            let waiting = try await gateway.run(["reload"])
            #expect(waiting.lines.first == "Reloaded. 1 change takes effect after a restart:", "\(waiting)")
            #expect(waiting.lines.count == 2 && waiting.lines[1].hasPrefix("  threads: "), "\(waiting)")
            #expect(waiting.lines[1].hasSuffix("-> 3"), "\(waiting)")
            try gateway.folder.write(origin, "  - {match: {url: /x}, tags: [x]}\nmode: online\nthreads: 3")
            let reply = try await gateway.curl("/v1/reload", ["--json", "{}", "-H", "Accept: */*"])
            #expect(reply.status == 200 && reply.json["by"] as? String == "uid \(getuid())", "\(reply.text)")
            let changed = (reply.json["changed"] as? [[String: Any]] ?? []).compactMap { $0["setting"] as? String }
            let kept = (reply.json["kept"] as? [[String: Any]] ?? []).compactMap { $0["setting"] as? String }
            #expect(changed == ["mode", "rule 'rule 2'"] && kept == ["threads"], "\(reply.text)")
            let configuration = try await gateway.curl("/v1/configuration")
            let settings = try #require(configuration.json["settings"] as? [[String: Any]])
            func setting(_ name: String) -> [String: Any] { settings.first { $0["name"] as? String == name } ?? [:] }
            #expect(setting("mode")["value"] as? String == "online" && setting("mode")["line"] is Int)
            #expect(setting("threads")["value"] as? String != "3", "threads change only with a restart")
            #expect((configuration.json["rules"] as? [Any])?.count == 2)
            let status = try await gateway.curl("/v1/status").json["configuration"] as? [String: Any]
            #expect((status?["lastReload"] as? [String: Any])?["outcome"] as? String == "reloaded")
            let text = try await gateway.run(["status"])
            #expect(text.lines.first?.hasSuffix(" 1 changed setting needs a restart.") == true, "\(text)")
            #expect(
                text.lines.contains { $0.hasPrefix("  needs restart  threads: ") && $0.hasSuffix("-> 3") },
                "\(text)"
            )
        }
    }

    @Test func rejectedReloadHasLinesAndChangesNothing() async throws {
        try await PurgedGateway.withOrigin { gateway, origin in
            let before = try await gateway.curl("/v1/configuration").text
            try gateway.folder.write(origin, "mode: offline\nlimits: {connections: none}")
            let reply = try await gateway.curl("/v1/reload", ["--json", "{}", "-H", "Accept: */*"])
            #expect(reply.status == 422 && reply.json["field"] as? String == "limits.connections", "\(reply.text)")
            let finding = try #require((reply.json["findings"] as? [[String: Any]])?.first)
            #expect(finding["line"] as? Int == 10 && finding["file"] as? String == gateway.folder.file, "\(reply.text)")
            let command = try await gateway.run(["reload"])
            #expect(command.status == 1 && command.error.contains("holdfast.yaml:10: "), "\(command)")
            #expect(try await gateway.curl("/v1/configuration").text == before)
            #expect(try await gateway.curl("/v1/mode").json["mode"] as? String == "automatic")
            #expect(try await gateway.run(["status"]).lines.first?.contains("The last reload was rejected") == true)
            for (arguments, status) in [(["--json", #"{"file": "x"}"#], 400), (["-X", "POST"], 415), ([], 405)] {
                #expect(try await gateway.curl("/v1/reload", arguments + ["-H", "Accept: */*"]).status == status)
            }
        }
    }

    @Test func gatewayWithoutAFileHasNoneToReload() async throws {
        try await PurgedGateway.Folder.with { folder in
            try await SampleOrigin.withOrigin { origin in
                let arguments = ["--origin", origin.baseURL, "--store", folder.store, "--listen", "127.0.0.1:0"]
                _ = try await RunningServer.with(arguments, environment: ["RUNTIME_DIRECTORY": ""]) { server in
                    _ = await server.log.line(containing: "controlled by")
                    let command = try await folder.run(["reload"])
                    #expect(command.status == 1 && command.error.contains("--config"), "\(command)")
                    let configuration = try await folder.curl("/v1/configuration", [])
                    let routes = configuration.json["routes"] as? [[String: Any]]
                    #expect(routes?.count == 1 && configuration.text.contains(origin.baseURL), "\(configuration.text)")
                    server.signal(SIGTERM)
                }
            }
        }
    }

    @Test func reloadsSwitchesAndPurgesOnThirtyConnectionsRaceWithTraffic() async throws {
        try await PurgedGateway.withOrigin { gateway, _ in
            try await gateway.warm(Self.targets)
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 0..<30 {
                    let json = ["-H", "Accept: */*", "--json"]
                    group.addTask {
                        switch number % 3 {
                        case 0: try await gateway.curl("/v1/reload", json + ["{}"]).status
                        case 1:
                            try await gateway.curl(
                                "/v1/mode",
                                ["-X", "PUT"] + json + [#"{"mode": "preferStored", "for": "1h"}"#]
                            ).status
                        default: try await gateway.post(#"{"select": {"tags": ["news"]}}"#).status
                        }
                    }
                    group.addTask { try await gateway.get("/other").hasPrefix("HTTP/1.1 200 ") ? 200 : 0 }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(statuses.allSatisfy { $0 == 200 }, "\(statuses)")
            #expect(try await gateway.curl("/v1/mode").json["mode"] as? String == "preferStored")
        }
    }
}
