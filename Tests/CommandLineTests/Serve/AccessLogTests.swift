import Foundation
import SampleOrigin
import TestSupport
import Testing

/// The access log of the built command.
@Suite(.timeLimit(.minutes(20))) struct AccessLogTests {
    /// Runs a gateway whose access log is a file, and returns the log after its end.
    private func log(
        _ settings: String,
        name: String = "access.log",
        _ arguments: [String] = [],
        _ body: (RunningServer, RunningOrigin, URL) async throws -> Void
    ) async throws -> [String] {
        try await TemporaryFolder.with { folder in
            try await SampleOrigin.withOrigin { origin in
                let file = folder.appendingPathComponent("holdfast.yaml")
                let text = """
                    version: 1
                    listen: 127.0.0.1:0
                    store: {path: a.store, memory: 1 MiB}
                    routes: [{name: api, origin: "\(origin.baseURL)"}]
                    rules: [{match: {url: /respond}, freshness: {lifetime: 5 m}}]
                    log: {to: \(name), \(settings)}
                    """
                try Data(text.utf8).write(to: file)
                let place = folder.appendingPathComponent(name).deletingLastPathComponent()
                try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
                let ending = try await RunningServer.with(["--config", file.path] + arguments) { server in
                    try await body(server, origin, folder)
                    server.signal(SIGTERM)
                    _ = await server.log.rest()
                }
                #expect(ending.status == 0 && !ending.wasKilled)
                var lines: [String] = []
                for name in try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
                where name.hasPrefix("access.log") {
                    let data = try Data(contentsOf: folder.appendingPathComponent(name))
                    #expect(data.isEmpty || data.last == UInt8(ascii: "\n"))
                    lines += String(decoding: data, as: UTF8.self).split(separator: "\n").map(String.init)
                }
                return lines
            }
        }
    }

    private func get(_ target: String, _ server: RunningServer) async throws -> String {
        try await ServerProcess.get(target, at: server.port, "Cookie: sid=hidden\r\nUser-Agent: a\"b\r\n")
    }

    @Test func notableHasNoHits() async throws {
        var lines = try await log("format: json") { server, _, _ in
            for _ in 0..<4 { _ = try await get("/respond?body=fine", server) }
            _ = try await get("/respond?status=503&body=secret", server)
            _ = try await ServerProcess.send("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", to: server.port)
        }
        // On a busy machine a hit may take longer than a second.
        lines.removeAll { $0.contains(#""http.response.status_code":200"#) && !$0.contains(#""duration":0."#) }
        #expect(lines.count == 2, "\(lines)")
        // Lines of two event loops come in any order.
        let failed = lines.first { $0.contains(#""http.response.status_code":503"#) }
        #expect(failed?.contains(#""url.query":"status=*&body=*""#) == true)
        #expect(failed?.contains(#""user_agent.original":"a\u0022b""#) == true)
        #expect(lines.contains { $0.contains(#""http.response.status_code":400"#) })
        #expect(!lines.joined().contains("hidden") && !lines.joined().contains("secret"))
    }

    @Test func allHasHitsOfEachKind() async throws {
        let lines = try await log("access: all") { server, _, _ in
            let kept = try server.connect()
            for _ in 0..<6 {
                kept.get("/respond?body=same")
                _ = await kept.read(until: "same")
            }
        }
        #expect(lines.count == 6)
        #expect(lines.first?.contains(#""GET /respond?body=* HTTP/1.1" 200 4 "-" "-" MISS "#) == true, "\(lines)")
        for line in lines.dropFirst() {
            #expect(line.hasPrefix("127.0.0.1 - - ["))
            #expect(line.contains(" HIT 0.") && line.contains(" api \"holdfast; hit; ttl="), "\(line)")
        }
    }

    /// The ID of a hit is the one by which `cache-dump` shows the entry, also of a hit that the
    /// loop serves from its table.
    @Test func hitsNameTheStoredResponse() async throws {
        var listed: [String] = []
        let lines = try await log("access: all, format: json") { server, _, folder in
            let kept = try server.connect()
            for _ in 0..<6 {
                kept.get("/respond?body=same")
                _ = await kept.read(until: "same")
            }
            let store = folder.appendingPathComponent("a.store").path
            // A stored response may be some moments from being on disk.
            while listed.isEmpty {
                let outcome = try await Tool("cache-dump").run("list", store, "--format", "json")
                try #require(outcome.status == 0)
                listed = outcome.text.split(separator: "\n").map(String.init)
                try await Task.sleep(for: .milliseconds(5))  // lets time pass
            }
        }
        let entry = try JSONSerialization.jsonObject(with: Data((listed.first ?? "").utf8)) as? [String: Any]
        let id = try #require(entry?["id"] as? String)
        let hits = lines.filter { $0.contains(#""cache.result":"HIT""#) }
        #expect(hits.count >= 3 && hits.allSatisfy { $0.contains(#""cache.id":"\#(id)","#) }, "\(id): \(lines)")
        #expect(lines.count { $0.contains(#""cache.result":"MISS""#) && !$0.contains("cache.id") } >= 1)
    }

    @Test func reopeningUnderLoadLosesNoLine() async throws {
        let (clients, each) = (30, 100)
        let lines = try await log("access: all, format: json") { server, _, folder in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for client in 0..<clients {
                    group.addTask {
                        let kept = try server.connect()
                        for number in 0..<each {
                            kept.get("/respond?body=end&c=\(client)&n=\(number % 3)")
                            _ = await kept.read(until: "end")
                        }
                    }
                }
                for number in 0..<5 {
                    let from = folder.appendingPathComponent("access.log")
                    try? FileManager.default.moveItem(
                        at: from,
                        to: folder.appendingPathComponent("access.log.\(number)")
                    )
                    server.signal(SIGUSR1)
                    while !FileManager.default.fileExists(atPath: from.path) {
                        try await Task.sleep(for: .milliseconds(5))  // lets time pass
                    }
                }
                try await group.waitForAll()
            }
        }
        #expect(lines.count == clients * each)
        for line in lines {
            let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            #expect(object?["http.response.status_code"] as? Int == 200)
        }
    }

    @Test func deletedFolderIsNoticedAndTheLogReturnsWithIt() async throws {
        let lines = try await log("access: all", name: "logs/access.log") { server, _, folder in
            let (logs, store) = (folder.appendingPathComponent("logs"), folder.appendingPathComponent("a.store").path)
            let files = FileManager.default
            func status() async throws -> String { try await Tool("holdfast").run("status", "--store", store).text }
            let path = logs.appendingPathComponent("access.log").path
            // Ends with the suite's time limit if no line is ever written.
            func wait(until isThere: () async throws -> Bool) async throws {
                while try await !isThere() {
                    _ = try await get("/respond?body=fine", server)
                    try await Task.sleep(for: .milliseconds(5))  // lets time pass
                }
            }
            try await wait { (files.contents(atPath: path) ?? Data()).count > 0 }
            try files.removeItem(at: logs)
            try await wait { try await status().hasPrefix("Serving. 1 file cannot be used.") }
            #expect(try await status().contains("/logs/access.log' cannot be opened: No such file or directory."))
            #expect(await server.log.line(containing: "Access log lines are being dropped").contains("log.dropped="))
            try files.createDirectory(at: logs, withIntermediateDirectories: false)
            try await wait { (files.contents(atPath: path) ?? Data()).count > 0 }
            #expect(try await status().hasPrefix("Serving.\n"))
            // The file alone is created again.
            try files.removeItem(atPath: path)
            try await wait { (files.contents(atPath: path) ?? Data()).count > 0 }
        }
        #expect(lines.isEmpty, "\(lines)")
    }

    @Test(arguments: ["/dev/full", "access.pipe"])
    func nothingWaitsForAPlaceThatTakesNoLines(name: String) async throws {
        _ = try await log("access: all", name: name) { server, _, folder in
            var reader: Int32 = -1
            if name == "access.pipe" {
                let path = folder.appendingPathComponent(name).path
                unlink(path)
                #expect(mkfifo(path, 0o600) == 0)
                reader = open(path, O_RDONLY | O_NONBLOCK)
                server.signal(SIGUSR1)
            }
            defer { if reader >= 0 { close(reader) } }
            // 3 MB of lines, which a pipe and the buffers do not take.
            let agent = "User-Agent: \(String(repeating: "a", count: 600))\r\n"
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<30 {
                    group.addTask {
                        let kept = try server.connect()
                        for _ in 0..<200 {
                            kept.send("GET /respond?body=end HTTP/1.1\r\nHost: a\r\n\(agent)\r\n")
                            #expect(await kept.read(until: "end").hasPrefix("HTTP/1.1 200 "))
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(await server.log.line(containing: "Access log lines are being dropped").contains("log.dropped="))
        }
    }

    @Test func brokenOffDownloadsAreLogged() async throws {
        let lines = try await log("format: json") { server, origin, _ in
            var busy: LoopbackConnection? = try server.connect()
            busy?.get("/gated/door?before=7&after=5000")
            _ = await busy?.read { $0.contains("\r\n\r\n") }
            await origin.gate("door").waitForArrivals(1)
            busy = nil
            _ = try await get("/respond?status=404", server)
        }
        #expect(lines.count { $0.contains(#""aborted":true"#) } == 1, "\(lines)")
    }

    @Test func eventsAreObjects() async throws {
        try await SampleOrigin.withOrigin { origin in
            try await TemporaryFolder.with { folder in
                let arguments = ["--origin", origin.baseURL, "--listen", "127.0.0.1:0", "--store", folder.path + "/a"]
                _ = try await RunningServer.with(arguments + ["--log-format", "json", "--log-level", "info"]) {
                    server in
                    server.signal(SIGTERM)
                    let line = await server.log.line(containing: "Stopping")
                    let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
                    #expect(object?["level"] as? String == "notice" && object?["signal"] as? String == "SIGTERM")
                    #expect((object?["time"] as? String)?.wholeMatch(of: /\d{4}-\d\d-\d\dT[\d:]{8}\.\d{3}Z/) != nil)
                }
            }
        }
    }
}
