import Foundation
import SampleOrigin
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(20))) struct HoldfastServeDefaultStoreTests {
    private static let holdfast = Tool("holdfast")
    private static let serve = ["--listen", "127.0.0.1:0", "--threads", "1"]

    /// An environment in which only these variables name a place. An empty one is not set.
    private func environment(_ variables: [String: String]) -> [String: String] {
        ["STATE_DIRECTORY": "", "XDG_STATE_HOME": "", "HOME": "", "HOLDFAST_STORE": ""].merging(variables) { $1 }
    }

    /// The folder that a server announces. The server has ended then.
    private func announcedStore(_ origin: String, _ environment: [String: String]) async throws -> String {
        var line = ""
        let ending = try await RunningServer.with(Self.serve + ["--origin", origin], environment: environment) {
            server in
            line = await server.log.line(containing: "storing in")
            server.signal(SIGTERM)
        }
        #expect(ending.status == 0)
        #expect(line.hasPrefix("holdfast storing in /") && line.hasSuffix("\n"))
        return String(line.dropFirst("holdfast storing in ".count).dropLast())
    }

    private func permissions(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    /// `~` stands for a folder of the test.
    @Test(arguments: [
        (["STATE_DIRECTORY": "~/state:~/second", "XDG_STATE_HOME": "~/xdg", "HOME": "~/home"], "state"),
        (["XDG_STATE_HOME": "~/xdg", "HOME": "~/home"], "xdg/holdfast"),
        (["XDG_STATE_HOME": "relative", "HOME": "~/home"], "home/.local/state/holdfast"),
        (["HOME": "~/home"], "home/.local/state/holdfast"),
    ])
    func storesInTheFolderForState(variables: [String: String], expected: String) async throws {
        try await SampleOrigin.withOrigin { origin in
            try await TemporaryFolder.with { folder in
                let environment = environment(variables.mapValues { $0.replacing("~", with: folder.path) })
                let arguments = Self.serve + ["--origin", origin.baseURL]
                _ = try await RunningServer.with(arguments, environment: environment) { server in
                    let response = try await ServerProcess.get("/moments?userID=harbour", at: server.port)
                    #expect(response.hasPrefix("HTTP/1.1 200 "))
                    server.signal(SIGTERM)
                }
                let port = try #require(origin.baseURL.split(separator: ":").last)
                let store = "\(folder.path)/\(expected)/http-127.0.0.1-\(port)"
                #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).count == 1)
                #expect(try permissions(store) == 0o700)
                #expect(try permissions("\(folder.path)/\(expected)") == 0o700)
                #expect(try await announcedStore(origin.baseURL, environment) == store)
                let offline = arguments + ["--mode", "offline"]
                _ = try await RunningServer.with(offline, environment: environment) { server in
                    let response = try await ServerProcess.get("/moments?userID=harbour", at: server.port)
                    #expect(response.hasPrefix("HTTP/1.1 200 ") && origin.requestCount == 1)
                    server.signal(SIGTERM)
                }
            }
        }
    }

    @Test func eachOriginHasAFolderOfItsOwn() async throws {
        try await TemporaryFolder.with { folder in
            let environment = environment(["STATE_DIRECTORY": folder.path])
            let long = String(repeating: "a", count: 250)
            for (origin, expected) in [
                ("http://127.0.0.1:1", "http-127.0.0.1-1"), ("http://127.0.0.1:1/api", "http-127.0.0.1-1"),
                ("https://127.0.0.1:1", "https-127.0.0.1-1"), ("http://127.0.0.1:11", "http-127.0.0.1-11"),
                ("http://[::1]:1", "http-++1-1"), ("https://API.my_host-2.example", "https-api.my_host-2.example-443"),
            ] {
                #expect(try await announcedStore(origin, environment) == "\(folder.path)/\(expected)")
            }
            for last in ["b", "c"] {
                let name = try await announcedStore("https://\(long)\(last)", environment)
                    .dropFirst(folder.path.utf8.count + 1)
                #expect(name.utf8.count <= 255 && !name.contains("/"))
                #expect(name.hasPrefix("https-aaaa") && name.hasSuffix("-443"))
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).count == 7)
        }
    }

    @Test func namedStoreOverridesTheDefault() async throws {
        try await TemporaryFolder.with { folder in
            let state = folder.appendingPathComponent("state").path
            let file = folder.appendingPathComponent("holdfast.yaml").path
            try Data("version: 1\nstore: {path: of-the-file}\n".utf8).write(to: URL(fileURLWithPath: file))
            let origin = Self.serve + ["--origin", "http://127.0.0.1:1"]
            for (store, arguments, variables) in [
                ("of-the-option", ["--store", folder.path + "/of-the-option"], [:]),
                ("of-the-environment", [], ["HOLDFAST_STORE": folder.path + "/of-the-environment"]),
                ("of-the-file", ["--config", file], [:]),
            ] {
                var log = OutputReader(Pipe())
                let environment = environment(["STATE_DIRECTORY": state].merging(variables) { $1 })
                let ending = try await RunningServer.with(origin + arguments, environment: environment) { server in
                    log = server.log
                    server.signal(SIGTERM)
                }
                #expect(ending.status == 0)
                #expect(await !log.rest().contains("storing in"))
                #expect(FileManager.default.fileExists(atPath: "\(folder.path)/\(store)/0001.sqlite"))
            }
            #expect(!FileManager.default.fileExists(atPath: state))
        }
    }

    @Test func reloadKeepsTheDefaultStore() async throws {
        try await TemporaryFolder.with { folder in
            let file = folder.appendingPathComponent("holdfast.yaml").path
            try Data("version: 1\n".utf8).write(to: URL(fileURLWithPath: file))
            let arguments = Self.serve + ["--origin", "http://127.0.0.1:1", "--config", file]
            let environment = environment(["STATE_DIRECTORY": folder.path + "/state"])
            _ = try await RunningServer.with(arguments, environment: environment) { server in
                #expect(await server.log.line(containing: "storing in").contains("/state/http-127.0.0.1-1"))
                server.signal(SIGHUP)
                // A setting that changes only with a restart would be named first.
                #expect(await server.log.line(containing: "configuration.").contains("Configuration reloaded"))
                server.signal(SIGTERM)
            }
        }
    }

    @Test(arguments: [
        ([:], ["'STATE_DIRECTORY'", "'XDG_STATE_HOME'", "'HOME'", "'--store'"]),
        (["XDG_STATE_HOME": "relative", "HOME": "relative"], ["absolute", "'--store'"]),
        (["STATE_DIRECTORY": "relative", "HOME": "/tmp"], ["'STATE_DIRECTORY'", "'relative'", "'--store'"]),
        (["STATE_DIRECTORY": "/dev/null"], ["'/dev/null/http-127.0.0.1-1'", "'--store'"]),
    ])
    func unusableFolderForStateIsAClearError(variables: [String: String], texts: [String]) async throws {
        let arguments = ["serve"] + Self.serve + ["--origin", "http://127.0.0.1:1"]
        let outcome = try await Self.holdfast.run(arguments: arguments, environment: environment(variables))
        #expect(outcome.status == 1 && outcome.text == "")
        for text in texts { #expect(outcome.error.contains(text), "\(outcome.error)") }
    }

    @Test func helpOfOtherCommandsPointsToTheDefaultStore() async throws {
        for (tool, arguments) in [
            (Tool.cacheDump, ["list"]), (Self.holdfast, ["explain"]), (Self.holdfast, ["check"]),
            (Self.holdfast, ["rules", "diff"]), (Self.holdfast, ["rules", "apply"]),
        ] {
            let help = try await tool.run(arguments: arguments + ["--help"]).text
            let words = help.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            #expect(words.contains("'holdfast serve' prints the folder"), "\(arguments)")
        }
    }
}
