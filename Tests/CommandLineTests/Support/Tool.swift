import Foundation
import TestSupport
import Testing

/// A built executable of this package, run as a separate process.
struct Tool {
    static let cacheDump = Tool("cache-dump")
    static let sampleOrigin = Tool("sample-origin")

    let name: String

    init(_ name: String) {
        self.name = name
    }

    /// The output and status of a process.
    struct Outcome {
        let status: Int32
        /// Whether a signal ended the process.
        let wasKilled: Bool
        let output: Data
        let error: String

        var text: String { String(decoding: output, as: UTF8.self) }
        var lines: [String] { text.split(separator: "\n").map(String.init) }

        /// Each line of the output as a JSON object.
        func objects() throws -> [[String: Any]] {
            try lines.map { line in
                try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
            }
        }
    }

    /// The executable, in the same folder as the test bundle.
    var url: URL {
        get throws {
            let bundle = try #require(CommandLine.arguments.first { $0.contains(".xctest") }, "not run by 'swift test'")
            var folder = URL(fileURLWithPath: bundle)
            while folder.path.contains(".xctest") { folder.deleteLastPathComponent() }
            let url = folder.appendingPathComponent(name)
            try #require(
                FileManager.default.isExecutableFile(atPath: url.path),
                "'\(name)' is not built: 'swift build --build-tests' builds it."
            )
            return url
        }
    }

    /// Runs the tool to its end. Cancellation (a test's time limit) ends it.
    func run(_ arguments: String..., output: FileHandle? = nil) async throws -> Outcome {
        try await run(arguments: arguments, output: output)
    }

    /// - Parameter openFiles: the largest number of files and connections that it may open.
    func run(
        arguments: [String],
        environment: [String: String] = [:],
        output: FileHandle? = nil,
        openFiles: Int? = nil
    ) async throws -> Outcome {
        let url = try url
        let limited = openFiles.map { ["-c", #"ulimit -n "$0" && exec "$@""#, "\($0)", url.path] }
        return try await TemporaryFolder.with { folder in
            let outputURL = folder.appendingPathComponent("output")
            let errorURL = folder.appendingPathComponent("error")
            // The output goes to files, not pipes, so that a process never waits for the test to
            // read.
            try Data().write(to: outputURL)
            try Data().write(to: errorURL)
            let errorFile = try FileHandle(forWritingTo: errorURL)
            let outputFile = try output ?? FileHandle(forWritingTo: outputURL)
            let process = try ChildProcess(
                limited == nil ? url : URL(fileURLWithPath: "/bin/sh"),
                (limited ?? []) + arguments,
                environment: environment,
                output: outputFile.fileDescriptor,
                error: errorFile.fileDescriptor
            )
            let ending = try await process.end()
            return Outcome(
                status: ending.status,
                wasKilled: ending.wasKilled,
                output: try Data(contentsOf: outputURL),
                error: String(decoding: try Data(contentsOf: errorURL), as: UTF8.self)
            )
        }
    }
}
