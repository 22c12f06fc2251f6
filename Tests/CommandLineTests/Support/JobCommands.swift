import Foundation
import SampleOrigin
import TestSupport
import Testing

/// The commands `record`, `replay` and `jobs` on a store of the test, with an origin.
struct JobCommands: Sendable {
    let folder: URL
    let origin: RunningOrigin
    var store: String { folder.path + "/s" }
    /// A file to which scripts write: `$OUT`.
    var output: URL { folder.appendingPathComponent("out") }

    /// Runs with an origin that responds to everything with `v1`, which is fresh for an hour.
    static func with(_ body: (JobCommands) async throws -> Void) async throws {
        try await TemporaryFolder.with { folder in
            try await SampleOrigin.withOrigin { origin in
                origin.respond("v1")
                try await body(JobCommands(folder: folder, origin: origin))
            }
        }
    }

    /// A script that fetches paths with curl, and fails with the first of them.
    static func fetching(_ paths: String...) -> String {
        "set -e; " + paths.map { #"curl -sSf "$HOLDFAST_URL\#($0)" >> "$OUT""# }.joined(separator: "; ")
    }

    func record(_ name: String, _ options: [String] = [], _ script: String) async throws -> Tool.Outcome {
        try await run(["record", name] + options, script)
    }

    func replay(_ name: String, _ options: [String] = [], _ script: String) async throws -> Tool.Outcome {
        try await run(["replay", name] + options, script)
    }

    func jobs(_ arguments: String...) async throws -> Tool.Outcome {
        try await Tool("holdfast").run(arguments: ["jobs"] + arguments + place, environment: environment)
    }

    /// The output of the last script.
    var written: String { (try? String(contentsOf: output, encoding: .utf8)) ?? "" }

    var place: [String] { ["--origin", origin.baseURL, "--store", store] }

    var environment: [String: String] { ["OUT": output.path] }

    private func run(_ arguments: [String], _ script: String) async throws -> Tool.Outcome {
        try? FileManager.default.removeItem(at: output)
        return try await Tool("holdfast").run(
            arguments: arguments + place + ["--", "/bin/sh", "-c", script],
            environment: environment
        )
    }
}
