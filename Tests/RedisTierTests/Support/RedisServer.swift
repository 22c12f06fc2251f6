import Foundation
import RedisTier
import Synchronization
import Testing

/// A real `redis-server` in a folder of its own, on a Unix socket.
final class RedisServer: Sendable {
    struct StartError: Error, CustomStringConvertible {
        let output: String
        var description: String { "redis-server did not start:\n\(output)" }
    }

    let folder: String
    private let arguments: [String]
    private let process = Mutex<ChildProcess?>(nil)

    var endpoint: RedisEndpoint { .unix(path: "\(folder)/redis.sock") }

    /// - Parameter arguments: as on its command line.
    init(in folder: String, _ arguments: [String] = []) {
        self.folder = folder
        self.arguments = arguments
    }

    /// A server that runs during a body.
    static func with<Value>(
        _ arguments: [String] = [],
        _ body: (RedisServer) async throws -> Value
    ) async throws -> Value {
        try await ShortFolder.with { folder in
            let server = RedisServer(in: folder, arguments)
            try await server.start()
            do {
                let value = try await body(server)
                try await server.kill()
                return value
            } catch {
                try await server.kill()
                throw error
            }
        }
    }

    /// Starts it, and waits until it accepts connections.
    func start() async throws {
        let program = try #require(Self.program, "redis-server is missing: 'scripts/setup --tests' installs it.")
        let output = Pipe()
        let options =
            ["--port", "0", "--unixsocket", "\(folder)/redis.sock", "--dir", folder, "--daemonize", "no"]
            + ["--save", "", "--appendonly", "no", "--logfile", ""] + arguments
        let child = try ChildProcess(
            program,
            options,
            output: output.fileHandleForWriting.fileDescriptor,
            error: output.fileHandleForWriting.fileDescriptor
        )
        try output.fileHandleForWriting.close()
        process.withLock { $0 = child }
        let failure = await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                // It reads on to the end, so that the server never waits for its log to be read.
                var isReady = false
                var text = ""
                while true {
                    let data = output.fileHandleForReading.availableData
                    guard !data.isEmpty else { break }
                    guard !isReady else { continue }
                    text += String(decoding: data, as: UTF8.self)
                    // The end of the line is the name of the socket or of the port.
                    guard text.contains("eady to accept connections at \(self.folder)/redis.sock") else { continue }
                    isReady = true
                    continuation.resume(returning: nil as String?)
                }
                if !isReady { continuation.resume(returning: text) }
            }
        }
        if let failure {
            try await kill()
            throw StartError(output: failure)
        }
    }

    /// Kills it, and waits until it has ended.
    func kill() async throws {
        guard let child = process.withLock({ $0.take() }) else { return }
        _ = Foundation.kill(child.identifier, SIGKILL)
        _ = try await child.end()
    }

    private static let program: URL? = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        .map { URL(fileURLWithPath: "\($0)/redis-server") }
        .first { FileManager.default.isExecutableFile(atPath: $0.path) }
}
