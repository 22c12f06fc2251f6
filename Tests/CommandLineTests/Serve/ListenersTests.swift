import Foundation
import SampleOrigin
import TestSupport
import Testing

/// Several listeners of the built gateway, Unix sockets among them.
@Suite(.timeLimit(.minutes(20)), .enabled(if: Tool.hasCurl, "/usr/bin/curl is a client")) struct ListenersTests {
    private func withFolder(
        listen: String,
        _ body: (PurgedGateway.Folder, RunningOrigin) async throws -> Void
    ) async throws {
        try await PurgedGateway.Folder.with { folder in
            try await SampleOrigin.withOrigin { origin in
                origin.respond("v1")
                try write(folder, origin, listen)
                try await body(folder, origin)
            }
        }
    }

    private func write(_ folder: PurgedGateway.Folder, _ origin: RunningOrigin, _ listen: String) throws {
        let text = """
            version: 1
            listen: \(listen)
            store: {path: s}
            routes: [{origin: "\(origin.baseURL)"}]
            """
        try Data(text.utf8).write(to: URL(fileURLWithPath: folder.file))
    }

    @Test func eachListenerHasLineServesThirtyClientsAndSurvivesReload() async throws {
        let list = "[127.0.0.1:0, {address: 127.0.0.1:0}, {unix: h.sock, mode: 0600}]"
        try await withFolder(listen: list) { folder, origin in
            let path = folder.path + "/h.sock"
            let ending = try await RunningServer.with(["--config", folder.file]) { server in
                let second = await server.output.firstLine()
                #expect(second.wholeMatch(of: /holdfast listening on http:\/\/127\.0\.0\.1:\d+\n/) != nil)
                #expect(await server.output.firstLine() == "holdfast listening on unix:\(path)\n")
                let port = try #require(second.split(separator: ":").last.flatMap { Int($0.dropLast()) })
                #expect(port != server.port)
                for port in [server.port, port] {
                    try await withThrowingTaskGroup(of: String.self) { group in
                        for _ in 0..<30 { group.addTask { try await ServerProcess.get("/a", at: port) } }
                        for try await response in group { #expect(response.hasSuffix("v1")) }
                    }
                }
                try await withThrowingTaskGroup(of: Tool.Outcome.self) { group in
                    for _ in 0..<30 { group.addTask { try await Self.curl(path) } }
                    for try await outcome in group { #expect(outcome.output == Data("v1".utf8)) }
                }
                let attributes = try FileManager.default.attributesOfItem(atPath: path)
                #expect(attributes[.posixPermissions] as? Int == 0o600)
                try write(folder, origin, "127.0.0.1:1")
                server.signal(SIGHUP)
                let line = await server.log.line(containing: "Setting needs a restart")
                #expect(line.contains("configuration.setting=listen") && line.contains("unix: \(path)"), "\(line)")
                #expect(try await Self.curl(path).output == Data("v1".utf8))
                server.signal(SIGTERM)
            }
            #expect(ending.status == 0 && !FileManager.default.fileExists(atPath: path))
        }
    }

    private static func curl(_ path: String) async throws -> Tool.Outcome {
        try await Tool.run(
            URL(fileURLWithPath: "/usr/bin/curl"),
            ["-sS", "--max-time", "600", "--unix-socket", path, "http://g.test/a"]
        )
    }

    @Test func tryReachesGatewayOnUnixSocketAlone() async throws {
        try await withFolder(listen: "[{unix: h.sock}]") { folder, _ in
            let ending = try await Self.withProcess(["serve", "--config", folder.file]) {
                let outcome = try await folder.run(["try", "http://g.test/a"])
                #expect(outcome.status == 0 && String(decoding: outcome.output, as: UTF8.self).hasPrefix("Stored"))
            }
            #expect(ending.status == 0)
        }
    }

    /// Runs the program until the body has ended.
    private static func withProcess(
        _ arguments: [String],
        _ body: () async throws -> Void
    ) async throws -> ChildProcess.Ending {
        let pipe = Pipe()
        let process = try ChildProcess(
            Tool("holdfast").url,
            arguments,
            environment: ["RUNTIME_DIRECTORY": ""],
            output: pipe.fileHandleForWriting.fileDescriptor,
            error: FileHandle.standardError.fileDescriptor
        )
        try pipe.fileHandleForWriting.close()
        let output = OutputReader(pipe)
        return try await process.end {
            #expect(await output.firstLine().hasPrefix("holdfast listening on unix:/"))
            try await body()
            kill(process.identifier, SIGTERM)
        }
    }

    @Test func listenOptionRepeatsAndEnvironmentListsAddresses() async throws {
        try await withFolder(listen: "192.0.2.1:9") { folder, _ in
            let flags = ["--listen", "127.0.0.1:0", "--listen", "127.0.0.1:0"]
            for (flags, variables) in [(flags, [:]), ([], ["HOLDFAST_LISTEN": "127.0.0.1:0, 127.0.0.1:0"])] {
                let arguments = ["--config", folder.file, "--no-control"] + flags
                let ending = try await RunningServer.with(arguments, environment: variables) { server in
                    #expect(await server.output.firstLine().hasPrefix("holdfast listening on http://127.0.0.1:"))
                    server.signal(SIGTERM)
                }
                #expect(ending.status == 0)
            }
            let many = Array(repeating: ["--listen", "127.0.0.1:0"], count: 17).flatMap { $0 }
            let outcome = try await Tool("holdfast").run(arguments: ["serve", "--config", folder.file] + many)
            #expect(outcome.status == 64 && outcome.error.contains("sets 17 listeners. The limit is 16."))
        }
    }

    /// A path that is in use, or one that is too long.
    @Test func unusableSocketPathIsErrorThatSaysWhatToSet() async throws {
        try await withFolder(listen: "[{unix: h.sock}]") { folder, origin in
            let ending = try await Self.withProcess(["serve", "--config", folder.file, "--no-control"]) {
                let second = ["serve", "--config", folder.file, "--store", folder.path + "/t", "--no-control"]
                let outcome = try await Tool("holdfast").run(arguments: second)
                #expect(
                    outcome.status == 1 && outcome.error.contains("Another process is listening on the Unix socket")
                )
                #expect(outcome.error.contains("'listen'"))
                #expect(try await Self.curl(folder.path + "/h.sock").output == Data("v1".utf8))
            }
            #expect(ending.status == 0)
            try write(folder, origin, "[{unix: \(String(repeating: "a", count: 120))}]")
            for arguments in [["check", "--config", folder.file], ["serve", "--config", folder.file]] {
                let outcome = try await Tool("holdfast").run(arguments: arguments)
                #expect(outcome.status == 1 && outcome.error.contains("the system's limit is"), "\(outcome.error)")
            }
        }
    }
}
