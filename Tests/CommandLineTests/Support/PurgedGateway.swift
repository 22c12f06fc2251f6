import Foundation
import SampleOrigin
import TestSupport
import Testing

/// A built gateway with a control plane, in front of an origin whose responses the test changes.
struct PurgedGateway: Sendable {
    struct Folder: Sendable {
        let path: String
        var store: String { path + "/s" }
        var file: String { path + "/holdfast.yaml" }
        var socket: String { store + "/control.sock" }

        static func with(_ body: (Folder) async throws -> Void) async throws {
            try await TemporaryFolder.with { try await body(Folder(path: $0.path)) }
        }

        /// A configuration with two hosts, and a tag for the responses under `/news`.
        func write(_ origin: RunningOrigin, _ more: String = "") throws {
            let text = """
                version: 1
                listen: 127.0.0.1:0
                store: {path: s}
                routes:
                  - {host: b.test, origin: "\(origin.baseURL)", preserve-host: true}
                  - {origin: "\(origin.baseURL)"}
                rules:
                  - {match: {url: "/news/**"}, tags: [news]}
                \(more)
                """
            try Data(text.utf8).write(to: URL(fileURLWithPath: file))
        }
    }

    let folder: Folder
    let server: RunningServer

    /// Runs a gateway until the body has ended, then ends it by a signal.
    ///
    /// - Parameter arguments: after `serve --config FILE`.
    @discardableResult
    static func with(
        _ folder: Folder,
        _ arguments: [String] = [],
        environment: [String: String] = [:],
        signal: Int32 = SIGTERM,
        _ body: (PurgedGateway) async throws -> Void
    ) async throws -> ChildProcess.Ending {
        let all = environment.merging(["RUNTIME_DIRECTORY": environment["RUNTIME_DIRECTORY"] ?? ""]) { $1 }
        return try await RunningServer.with(["--config", folder.file] + arguments, environment: all) { server in
            let line = await server.log.line(containing: "controlled by")
            #expect(line.hasPrefix("holdfast controlled by /"))
            try await body(PurgedGateway(folder: folder, server: server))
            server.signal(signal)
        }
    }

    /// A gateway with an origin that responds with a text, which is fresh for an hour.
    static func withOrigin(
        _ arguments: [String] = [],
        _ body: (PurgedGateway, RunningOrigin) async throws -> Void
    ) async throws {
        try await Folder.with { folder in
            try await SampleOrigin.withOrigin { origin in
                try folder.write(origin)
                origin.respond("v1")
                try await with(folder, arguments) { try await body($0, origin) }
            }
        }
    }

    func get(_ path: String, host: String = "a.test") async throws -> String {
        try await ServerProcess.get(path, at: server.port, host: host)
    }

    /// Requests each of them twice, so that they are stored and known.
    func warm(_ targets: [Target]) async throws {
        for target in targets + targets { _ = try await get(target.path, host: target.host) }
        for target in targets {
            #expect(try await get(target.path, host: target.host).contains("Cache-Status: holdfast; hit; ttl="))
        }
    }

    /// Runs one of the built commands on the gateway's store.
    func run(_ arguments: [String]) async throws -> Tool.Outcome { try await folder.run(arguments) }

    /// Purges with the built command.
    func purge(_ arguments: [String]) async throws -> Tool.Outcome { try await folder.purge(arguments) }

    struct Target: Sendable, Hashable {
        var path: String
        var host = "a.test"
    }

    /// The response of the control plane to curl.
    struct Reply {
        var status: Int
        var content: Data

        var json: [String: Any] { (try? JSONSerialization.jsonObject(with: content) as? [String: Any]) ?? [:] }
        var matched: [String: Any] { json["matched"] as? [String: Any] ?? [:] }
        var text: String { String(decoding: content, as: UTF8.self) }
    }

    /// Sends a request with curl to the control socket.
    func curl(_ path: String, _ arguments: [String] = []) async throws -> Reply {
        try await folder.curl(path, arguments)
    }

    /// Sends a purge with curl.
    func post(_ json: String, _ arguments: [String] = []) async throws -> Reply {
        try await curl("/v1/purges", ["--json", json, "-H", "Accept: */*"] + arguments)
    }
}

extension PurgedGateway.Folder {
    func run(_ arguments: [String]) async throws -> Tool.Outcome {
        try await Tool("holdfast").run(
            arguments: arguments + ["--store", store],
            environment: ["RUNTIME_DIRECTORY": ""]
        )
    }

    func purge(_ arguments: [String]) async throws -> Tool.Outcome { try await run(["purge"] + arguments) }

    func curl(_ path: String, _ arguments: [String]) async throws -> PurgedGateway.Reply {
        try await fetch("http://localhost" + path, ["--unix-socket", socket] + arguments)
    }

    /// Sends a request to a URL with curl.
    func fetch(_ url: some StringProtocol, _ arguments: [String] = []) async throws -> PurgedGateway.Reply {
        let all = ["-sS", "--max-time", "600", "-w", "\n%{http_code}"] + arguments
        let outcome = try await Tool.run(URL(fileURLWithPath: "/usr/bin/curl"), all + [String(url)])
        let end = try #require(outcome.output.lastIndex(of: UInt8(ascii: "\n")), "\(outcome.error)")
        let status = Int(String(decoding: outcome.output[(end + 1)...], as: UTF8.self))
        return PurgedGateway.Reply(status: try #require(status), content: Data(outcome.output[..<end]))
    }
}

extension RunningOrigin {
    /// Responds to every request with a text that is fresh for an hour.
    func respond(_ text: String) {
        behaveNormally()
        force(.respond(fields: [("Cache-Control", "max-age=3600")], body: text), times: .max)
    }
}

extension Tool {
    static let hasCurl = FileManager.default.isExecutableFile(atPath: "/usr/bin/curl")

    /// Runs an executable to its end.
    static func run(_ executable: URL, _ arguments: [String]) async throws -> Outcome {
        try await TemporaryFolder.with { folder in
            let files = try ["output", "error"].map { name in
                let url = folder.appendingPathComponent(name)
                try Data().write(to: url)
                return (url, try FileHandle(forWritingTo: url))
            }
            let process = try ChildProcess(
                executable,
                arguments,
                output: files[0].1.fileDescriptor,
                error: files[1].1.fileDescriptor
            )
            let ending = try await process.end()
            return Outcome(
                status: ending.status,
                wasKilled: ending.wasKilled,
                output: try Data(contentsOf: files[0].0),
                error: String(decoding: try Data(contentsOf: files[1].0), as: UTF8.self)
            )
        }
    }
}
