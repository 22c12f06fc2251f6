import Foundation
import Synchronization
import TestSupport
import Testing

/// A real `redis-server` on a port of 127.0.0.1.
final class FleetServer: Sendable {
    let port: Int
    private let process: Mutex<ChildProcess?>

    private init(port: Int, _ process: ChildProcess) {
        self.port = port
        self.process = Mutex(process)
    }

    /// A server that runs during a body.
    ///
    /// - Parameter arguments: as on its command line.
    static func with(
        _ arguments: [String] = [],
        _ body: (FleetServer) async throws -> Void
    ) async throws {
        let path = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
            .map { "\($0)/redis-server" }.first { FileManager.default.isExecutableFile(atPath: $0) }
        let program = URL(fileURLWithPath: try #require(path, "'scripts/setup --tests' installs redis-server"))
        // Another process may take a port that was free a moment ago.
        for _ in 0..<20 {
            let port = try ListeningSocket().port
            let output = Pipe()
            let process = try ChildProcess(
                program,
                ["--port", "\(port)", "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"] + arguments,
                output: output.fileHandleForWriting.fileDescriptor,
                error: output.fileHandleForWriting.fileDescriptor
            )
            try output.fileHandleForWriting.close()
            let server = FleetServer(port: port, process)
            guard !(await OutputReader(output).line(containing: "eady to accept connections")).isEmpty else { continue }
            do {
                try await body(server)
                try await server.end()
            } catch {
                try await server.end()
                throw error
            }
            return
        }
        Issue.record("redis-server did not start")
    }

    func end() async throws {
        guard let process = process.withLock({ $0.take() }) else { return }
        kill(process.identifier, SIGKILL)
        _ = try await process.end()
    }

    func signal(_ number: Int32) {
        if let process = process.withLock({ $0 }) { kill(process.identifier, number) }
    }

    /// The server's replies to commands in one line each, as a person types them.
    func run(_ commands: [String]) async -> String {
        guard let connection = try? LoopbackConnection(port: port) else { return "" }
        connection.send((commands + ["QUIT"]).map { $0 + "\r\n" }.joined())
        return await connection.readToEnd()
    }
}
