import Foundation
import Testing

/// A built executable of this package, run as a process of its own.
struct Tool {
    static let cacheDump = Tool("cache-dump")
    static let sampleOrigin = Tool("sample-origin")

    let name: String

    init(_ name: String) {
        self.name = name
    }

    /// What a process left behind.
    struct Outcome {
        let status: Int32
        /// Ended by a signal rather than by itself.
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

    /// The executable, which is built into the folder that the test bundle is in.
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

    /// Runs it to its end. Cancellation, which is what a test's time limit does, ends it.
    func run(_ arguments: String..., output: FileHandle? = nil) async throws -> Outcome {
        try await run(arguments: arguments, output: output)
    }

    /// - Parameter openFiles: so many files and connections it may have open at most.
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
            // Files, not pipes: a process that writes much is never blocked by a test that does not
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
