import Foundation
import SampleOrigin
import TestSupport
import Testing

/// Signals to holdfast serve.
@Suite(.timeLimit(.minutes(20)))
struct HoldfastReloadTests {
    private func withFile(_ body: (URL) async throws -> Void) async throws {
        try await TemporaryFolder.with { try await body($0.appendingPathComponent("holdfast.yaml")) }
    }

    private func write(_ text: String, _ file: URL) throws { try Data(text.utf8).write(to: file) }

    private func file(_ origin: RunningOrigin, _ more: String = "", listen: String = "127.0.0.1:0") -> String {
        """
        version: 1
        listen: \(listen)
        store: {path: a.store, memory: 1 MiB}
        routes: [{origin: "\(origin.baseURL)"}]
        \(more)
        """
    }

    private static let fresh = "rules: [{match: {url: /respond}, freshness: {lifetime: 5 m}}]"

    @Test func reloadKeepsConnectionsAndAppliesToTheNextRequest() async throws {
        try await SampleOrigin.withOrigin { one in
            try await SampleOrigin.withOrigin { two in
                try await withFile { path in
                    try write(file(one), path)
                    let ending = try await RunningServer.with(["--config", path.path]) { server in
                        let kept = try server.connect()
                        kept.get("/respond?body=first")
                        let first = await kept.read(until: "first")
                        #expect(first.hasPrefix("HTTP/1.1 200 "))
                        kept.get("/respond?body=first")
                        #expect(await !kept.read(until: "first").contains("; hit"), "nothing makes it fresh")
                        let busy = try server.connect()
                        busy.get("/gated/door?before=7&after=5000")
                        await one.gate("door").waitForArrivals(1)

                        try write(file(two, Self.fresh), path)
                        server.signal(SIGHUP)
                        #expect(await server.log.line(containing: "Configuration reloaded").contains("rules=1"))

                        kept.get("/respond?body=second")
                        let second = await kept.read(until: "second")
                        #expect(second.contains("Cache-Status: holdfast; fwd=uri-miss; stored"))
                        #expect(one.requestCount(path: "/respond") == 2 && two.requestCount(path: "/respond") == 1)
                        kept.get("/respond?body=second")
                        #expect(await kept.read(until: "second").contains("Cache-Status: holdfast; hit; ttl="))
                        one.gate("door").open()
                        busy.send("GET /respond?body=third HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
                        let both = await busy.readToEnd()
                        let head = try #require(both.range(of: "\r\n\r\n")?.upperBound)
                        let next = try #require(both.range(of: "HTTP/1.1 200 ", range: head..<both.endIndex))
                        #expect(both[head..<next.lowerBound].utf8.count > 0 && both.contains("Content-Length: 5007"))
                        #expect(both.hasSuffix("third") && two.requestCount(path: "/respond") == 2)
                        server.signal(SIGTERM)
                    }
                    #expect(ending.status == 0 && !ending.wasKilled)
                }
            }
        }
    }

    @Test func reloadRejectsAnInvalidFileAsAWhole() async throws {
        try await SampleOrigin.withOrigin { origin in
            try await withFile { path in
                try write(file(origin, Self.fresh), path)
                let ending = try await RunningServer.with(["--config", path.path]) { server in
                    try write(file(origin, "mode: offline\nlimits: {connections: none}"), path)
                    server.signal(SIGHUP)
                    let rejected = await server.log.line(containing: "Configuration rejected")
                    #expect(rejected.contains("error") && rejected.contains("holdfast.yaml:6"))
                    #expect(rejected.contains("limits.connections") && rejected.contains("'none'"))
                    let kept = try server.connect()
                    kept.get("/respond?body=online")
                    #expect(await kept.read(until: "online").contains("stored"), "the mode or the rules have changed")

                    try FileManager.default.removeItem(at: path)
                    server.signal(SIGHUP)
                    #expect(await server.log.line(containing: "Configuration rejected").contains("holdfast.yaml"))
                    kept.get("/respond?body=online")
                    #expect(await kept.read(until: "online").contains("holdfast; hit"))
                    server.signal(SIGINT)
                }
                #expect(ending.status == 0 && !ending.wasKilled)
            }
        }
    }

    @Test func reloadKeepsAndLogsSettingsThatNeedARestart() async throws {
        try await SampleOrigin.withOrigin { origin in
            try await withFile { path in
                try write(file(origin), path)
                _ = try await RunningServer.with(["--config", path.path, "--mode", "online"]) { server in
                    let changed = file(origin, "mode: offline", listen: "127.0.0.1:1")
                        .replacing("a.store, memory: 1 MiB", with: "b.store, memory: 2 MiB")
                    try write(changed, path)
                    server.signal(SIGHUP)
                    for (setting, wanted) in [
                        ("listen", "127.0.0.1:1"), ("store.path", "b.store"), ("store.memory", "2 MiB"),
                    ] {
                        let line = await server.log.line(containing: "Setting needs a restart")
                        #expect(line.contains("warning") && line.contains(setting) && line.contains(wanted))
                    }
                    // The command line overrides the file, as at the start.
                    #expect(await server.log.line(containing: "Configuration reloaded").contains("mode=online"))
                    let kept = try server.connect()
                    kept.get("/respond?body=here")
                    #expect(await kept.read(until: "here").hasPrefix("HTTP/1.1 200 "))
                    server.signal(SIGTERM)
                }
                let folder = path.deletingLastPathComponent()
                #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).contains("b.store") == false)
            }
        }
    }

    @Test func warnsIfOpenFilesAreFewerThanConnections() async throws {
        try await withFile { path in
            let text = "version: 1\nlisten: 127.0.0.1:0\nstore: {path: a.store}\nlimits: {connections: 1000000}\n"
            try write(text + "routes: [{origin: 'http://127.0.0.1:1'}]\n", path)
            var limit = rlimit()
            #if canImport(Glibc)
                getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            #else
                getrlimit(RLIMIT_NOFILE, &limit)
            #endif
            // A system that allows a million files gets no warning.
            let isEnough = limit.rlim_max >= 1_000_000
            _ = try await RunningServer.with(["--config", path.path]) { server in
                server.signal(SIGTERM)
                let line = await server.log.line(containing: isEnough ? "Stopping" : "Limit of open files is too low")
                #expect(line.contains(isEnough ? "SIGTERM" : "limits.connections=1000000"))
            }
        }
    }

    @Test func logsOneLineWhenOriginIsUnreachableAndOneWhenItReturns() async throws {
        try await SampleOrigin.withOrigin { origin in
            try await TemporaryFolder.with { folder in
                let arguments = ["--origin", origin.baseURL, "--listen", "127.0.0.1:0", "--store", folder.path + "/a"]
                var log = OutputReader(Pipe())
                _ = try await RunningServer.with(arguments) { server in
                    log = server.log
                    let kept = try server.connect()
                    kept.get("/respond?body=stored")
                    _ = await kept.read(until: "stored")
                    await origin.stop()
                    for _ in 0..<3 {
                        kept.send("GET /respond?body=stored HTTP/1.1\r\nHost: a\r\nCache-Control: no-cache\r\n\r\n")
                        #expect(await kept.read(until: "stored").contains("detail=unreachable"))
                    }
                    let unreachable = await log.line(containing: "Origin unreachable")
                    #expect(unreachable.contains(" notice ") && unreachable.contains("origin=\(origin.baseURL)"))
                    try await origin.restart()
                    kept.get("/respond?body=back")
                    #expect(await kept.read(until: "back").hasPrefix("HTTP/1.1 200 "))
                    let back = await log.line(containing: "Origin")
                    #expect(back.contains(" notice ") && back.contains("Origin responds again"))
                    server.signal(SIGTERM)
                }
                #expect(await !log.rest().contains("Origin"))
            }
        }
    }

    @Test func firstSignalLetsRequestsFinish() async throws {
        try await SampleOrigin.withOrigin { origin in
            try await TemporaryFolder.with { folder in
                let arguments = ["--origin", origin.baseURL, "--listen", "127.0.0.1:0", "--store", folder.path + "/a"]
                let ending = try await RunningServer.with(arguments) { server in
                    let idle = try server.connect()
                    idle.get("/respond?body=idle")
                    _ = await idle.read(until: "idle")
                    let busy = try server.connect()
                    busy.get("/gated/door?before=7&after=5000")
                    await origin.gate("door").waitForArrivals(1)
                    server.signal(SIGTERM)
                    #expect(await idle.readToEnd() == "")
                    origin.gate("door").open()
                    let whole = await busy.readToEnd()
                    let head = try #require(whole.range(of: "\r\n\r\n")?.upperBound)
                    #expect(whole.hasPrefix("HTTP/1.1 200 ") && !whole[head...].isEmpty)
                    #expect(whole.contains("Content-Length: 5007\r\n"))
                }
                #expect(ending.status == 0 && !ending.wasKilled)
            }
        }
    }

    /// The signals that end a process without a handler, and those that terminals and shells send
    /// by themselves.
    @Test func signalsWithoutAMeaningAreIgnored() async throws {
        try await SampleOrigin.withOrigin { origin in
            try await TemporaryFolder.with { folder in
                let arguments = ["--origin", origin.baseURL, "--listen", "127.0.0.1:0", "--store", folder.path + "/a"]
                let ending = try await RunningServer.with(arguments) { server in
                    let kept = try server.connect()
                    for number in [
                        SIGUSR1, SIGUSR2, SIGALRM, SIGPIPE, SIGWINCH, SIGCHLD, SIGURG, SIGCONT, SIGHUP,
                    ] {
                        server.signal(number)
                        kept.get("/respond?body=here")
                        #expect(await kept.read(until: "here").hasPrefix("HTTP/1.1 200 "))
                    }
                    // They are not the second signal either, which ends the process at once.
                    let busy = try server.connect()
                    busy.get("/gated/door")
                    await origin.gate("door").waitForArrivals(1)
                    server.signal(SIGTERM)
                    _ = await server.log.line(containing: "a second signal")
                    server.signal(SIGUSR1)
                    server.signal(SIGHUP)
                    origin.gate("door").open()
                    #expect(await busy.readToEnd().hasPrefix("HTTP/1.1 200 "))
                }
                #expect(ending.status == 0 && !ending.wasKilled)
            }
        }
    }

    @Test func secondSignalEndsAtOnce() async throws {
        try await SampleOrigin.withOrigin { origin in
            try await TemporaryFolder.with { folder in
                let arguments = ["--origin", origin.baseURL, "--listen", "127.0.0.1:0", "--store", folder.path + "/a"]
                let ending = try await RunningServer.with(arguments) { server in
                    let busy = try server.connect()
                    busy.get("/gated/door")
                    await origin.gate("door").waitForArrivals(1)
                    server.signal(SIGTERM)
                    #expect(await server.log.line(containing: "a second signal").contains("SIGTERM"))
                    server.signal(SIGINT)
                    _ = await busy.readToEnd()
                }
                #expect(ending.status == 128 + SIGINT)
                origin.gate("door").open()
            }
        }
    }
}
