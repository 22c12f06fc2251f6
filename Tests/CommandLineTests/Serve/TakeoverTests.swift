import Foundation
import SampleOrigin
import TestSupport
import Testing

/// `holdfast serve --takeover`: a new process replaces the built gateway that runs on its store.
@Suite(.timeLimit(.minutes(20)), .enabled(if: Tool.hasCurl, "/usr/bin/curl is a client")) struct TakeoverTests {
    /// The number of restarts under load; `scripts/restarts` sets it to more.
    private static let restarts = ProcessInfo.processInfo.environment["TAKEOVER_RESTARTS"].flatMap { Int($0) } ?? 3

    private func withFolder(
        _ settings: String = "",
        _ body: (PurgedGateway.Folder, RunningOrigin) async throws -> Void
    ) async throws {
        try await PurgedGateway.Folder.with { folder in
            try await SampleOrigin.withOrigin { origin in
                origin.respond("v1")
                try await ListenerTLSTests.make("main", in: folder.path)
                try write(folder, origin, settings)
                try await body(folder, origin)
            }
        }
    }

    private func write(_ folder: PurgedGateway.Folder, _ origin: RunningOrigin, _ settings: String) throws {
        let text = """
            version: 1
            listen:
              - 127.0.0.1:0
              - address: 127.0.0.1:0
                tls: {certificates: [{name: main, chain: main.pem, key: main.key}]}
              - {unix: h.sock}
            store: {path: s}
            routes: [{origin: "\(origin.baseURL)"}]
            \(settings)
            """
        try Data(text.utf8).write(to: URL(fileURLWithPath: folder.file))
    }

    /// The port in the line of the next listener.
    private func nextPort(_ server: RunningServer) async throws -> Int {
        let line = await server.output.firstLine()
        return try #require(line.split(separator: ":").last.flatMap { Int($0.dropLast()) }, "\(line)")
    }

    // MARK: Under load

    /// A client that sends requests on one connection of curl.
    private static func curl(_ arguments: [String], requests: Int = 5) -> RestartLoad.Client {
        return {
            do {
                let common = ["-sS", "--max-time", "600", "--fail"]
                let outcome = try await Tool.run(URL(fileURLWithPath: "/usr/bin/curl"), common + arguments)
                let isServed = outcome.status == 0 && outcome.text == String(repeating: "v1", count: requests)
                return isServed ? nil : "curl: \(outcome.status) '\(outcome.text)' \(outcome.error)"
            } catch {
                return "\(error)"
            }
        }
    }

    private static func clients(_ port: Int, _ securePort: Int, _ folder: String) -> [RestartLoad.Client] {
        let secure = [
            "--cacert", "\(folder)/main.pem", "--connect-to", "a.example:443:127.0.0.1:\(securePort)",
            "https://a.example/a?[1-5]",
        ]
        // curl 7.88 cannot use a connection without TLS for a second request over HTTP/2.
        let http2 = curl(["--http2-prior-knowledge", "http://127.0.0.1:\(port)/a"], requests: 1)
        var clients = Array(repeating: http2, count: 4)
        for _ in 0..<10 { clients += [RestartLoad.newConnections(to: port), RestartLoad.keptConnection(to: port)] }
        for _ in 0..<3 { clients += [curl(["--http2"] + secure), curl(["--http1.1"] + secure)] }
        return clients
    }

    @Test func refusesNoneOfThirtyClients() async throws {
        try await withFolder("drain: {delay: 10 m}") { folder, _ in
            let arguments = ["--config", folder.file]
            let ending = try await RunningServer.with(arguments) { server in
                let securePort = try await nextPort(server)
                let load = RestartLoad(Self.clients(server.port, securePort, folder.path))
                await load.serve(200)
                try await restart(arguments, ports: (server.port, securePort), load, times: Self.restarts)
                let result = load.result
                #expect(result.failures.isEmpty, "\(result.failures.count): \(result.failures.prefix(3))")
                print("Takeovers: \(Self.restarts), \(result.served) served, \(result.failures.count) failed")
            }
            // 'drain.delay' does not apply to a takeover.
            #expect(ending.status == 0 && !ending.wasKilled)
        }
    }

    /// Replaces the running gateway by a new one, and that by the next.
    private func restart(_ arguments: [String], ports: (Int, Int), _ load: RestartLoad, times: Int) async throws {
        // With another number of event loops, the sockets are distributed differently.
        let threads = ["--threads", times % 2 == 0 ? "2" : "3"]
        let ending = try await RunningServer.with(arguments + threads + ["--takeover"]) { server in
            #expect(server.port == ports.0)
            let securePort = try await nextPort(server)
            #expect(securePort == ports.1)
            await load.serve(200)
            if times > 1 {
                try await restart(arguments, ports: ports, load, times: times - 1)
            } else {
                await load.stop()
                server.signal(SIGINT)
            }
        }
        #expect(ending.status == 0 && !ending.wasKilled)
    }

    /// A connection whose response waits at the origin's gate `door`.
    private func busyConnection(to server: RunningServer, _ origin: RunningOrigin) async throws -> LoopbackConnection {
        let busy = try server.connect()
        // Other responses would come before the gate.
        origin.reset()
        busy.get("/gated/door?after=1")
        await origin.gate("door").waitForArrivals(1)
        origin.respond("v1")
        return busy
    }

    // MARK: The new process fails

    @Test func processThatCannotStartLeavesTheOldOneServing() async throws {
        try await withFolder { folder, origin in
            let busy = try ListeningSocket()
            let ending = try await RunningServer.with(["--config", folder.file]) { server in
                func expectRefusal(_ settings: String, _ message: String, _ more: [String] = []) async throws {
                    try write(folder, origin, settings)
                    let arguments = ["serve", "--config", folder.file, "--takeover"] + more
                    let outcome = try await Tool("holdfast").run(arguments: arguments)
                    #expect(outcome.status == 1 && outcome.error.contains(message), "\(outcome.error)")
                    for _ in 0..<30 {
                        let response = try await ServerProcess.get("/a", at: server.port)
                        #expect(response.hasSuffix("v1"))
                    }
                }
                try await expectRefusal("drain: {delai: 1 s}", "delai")
                try await expectRefusal("log: {to: /nowhere/log}", "/nowhere")
                try await expectRefusal("", "continues to serve", ["--listen", "127.0.0.1:\(busy.port)"])
                try await expectRefusal("control: {listen: \"127.0.0.1:\(busy.port)\"}", "another process listens")
                try FileManager.default.removeItem(atPath: folder.path + "/main.key")
                try await expectRefusal("", "main.key")
                server.signal(SIGTERM)
            }
            #expect(ending.status == 0)
        }
    }

    @Test func processThatIsKilledWhileTheOldOneDrainsLeavesItServing() async throws {
        try await withFolder("timeouts: {drain: 10 m}") { folder, origin in
            let ending = try await RunningServer.with(["--config", folder.file]) { server in
                let busy = try await busyConnection(to: server, origin)
                let pipe = Pipe()
                let successor = try ChildProcess(
                    Tool("holdfast").url,
                    ["serve", "--config", folder.file, "--takeover"],
                    output: pipe.fileHandleForWriting.fileDescriptor,
                    error: pipe.fileHandleForWriting.fileDescriptor
                )
                let killed = try await successor.end {
                    #expect(await server.log.line(containing: "Handing over the listeners") != "")
                    kill(successor.identifier, SIGKILL)
                }
                #expect(killed.wasKilled)
                #expect(await server.log.line(containing: "continuing to serve") != "")
                for _ in 0..<30 {
                    let response = try await ServerProcess.get("/a", at: server.port)
                    #expect(response.hasSuffix("v1"))
                }
                origin.gate("door").open()
                #expect(await busy.readToEnd().hasPrefix("HTTP/1.1 200 "))
                server.signal(SIGTERM)
            }
            #expect(ending.status == 0)
        }
    }

    @Test func clientsWaitWhileTheOldProcessFinishesItsRequests() async throws {
        try await withFolder("timeouts: {drain: 10 m}") { folder, origin in
            let ending = try await RunningServer.with(["--config", folder.file]) { server in
                let busy = try await busyConnection(to: server, origin)
                let (served, continuation) = AsyncStream.makeStream(of: Void.self)
                async let next = RunningServer.with(["--config", folder.file, "--takeover"]) { successor in
                    for await _ in served { successor.signal(SIGTERM) }
                }
                #expect(await server.log.line(containing: "Handing over the listeners") != "")
                let waiting = try (0..<30).map { _ in try server.connect() }
                for connection in waiting { connection.get("/a") }
                #expect(waiting.allSatisfy { $0.isOpen })
                origin.gate("door").open()
                #expect(await busy.readToEnd().hasPrefix("HTTP/1.1 200 "))
                for connection in waiting { #expect(await connection.read(until: "v1").hasPrefix("HTTP/1.1 200 ")) }
                continuation.yield()
                continuation.finish()
                let status = try await next.status
                #expect(status == 0)
            }
            #expect(ending.status == 0)
        }
    }

    @Test func withoutARunningGatewayItStartsAsUsual() async throws {
        try await withFolder { folder, _ in
            let ending = try await RunningServer.with(["--config", folder.file, "--takeover"]) { server in
                let response = try await ServerProcess.get("/a", at: server.port)
                #expect(response.hasSuffix("v1"))
                #expect(await server.log.line(containing: "No gateway to take over from") != "")
                server.signal(SIGTERM)
            }
            #expect(ending.status == 0)
        }
    }
}
