import Foundation
import RedisTier
import Synchronization
import TestSupport
import Testing

/// A real `redis-server` in a folder of its own, on a Unix socket.
final class RedisServer: Sendable {
    struct StartError: Error, CustomStringConvertible {
        let output: String
        var description: String { "redis-server did not start:\n\(output)" }
    }

    let folder: String
    /// Of 127.0.0.1; `nil`: it has only its socket.
    let port: Int?
    private let arguments: [String]
    private let isSentinel: Bool
    private let process = Mutex<ChildProcess?>(nil)

    var endpoint: RedisEndpoint { .unix(path: "\(folder)/redis.sock") }
    /// The same server, or a sentinel, by its port.
    var portEndpoint: RedisEndpoint { .tcp(host: "127.0.0.1", port: port ?? 0) }

    /// - Parameter arguments: as on its command line.
    init(in folder: String, port: Int? = nil, _ arguments: [String] = []) {
        self.folder = folder
        self.port = port
        self.arguments = arguments
        isSentinel = false
    }

    /// A sentinel: the same program with a configuration, which it changes.
    private init(sentinelIn folder: String, port: Int) {
        self.folder = folder
        self.port = port
        arguments = ["\(folder)/sentinel.conf", "--sentinel"]
        isSentinel = true
    }

    /// Starts a sentinel that watches a server under the name `main`.
    static func startSentinel(in folder: String, watching primary: Int, quorum: Int) async throws -> RedisServer {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        for attempt in 1... {
            let sentinel = RedisServer(sentinelIn: folder, port: try ScriptedPeer.freePort())
            let lines = """
                port \(sentinel.port ?? 0)
                bind 127.0.0.1
                dir \(folder)
                sentinel monitor main 127.0.0.1 \(primary) \(quorum)
                sentinel down-after-milliseconds main 60000
                sentinel failover-timeout main 10000

                """
            try lines.write(toFile: "\(folder)/sentinel.conf", atomically: false, encoding: .utf8)
            do {
                try await sentinel.start()
                return sentinel
            } catch is StartError where attempt < 20 {
                continue
            }
        }
        throw PeerError.closed
    }

    /// A server with a port that was free a moment ago. Another process may take it before this one
    /// does.
    static func startOnPort(in folder: String, _ arguments: [String] = []) async throws -> RedisServer {
        for attempt in 1... {
            let server = RedisServer(in: folder, port: try ScriptedPeer.freePort(), arguments)
            do {
                try await server.start()
                return server
            } catch is StartError where attempt < 20 {
                continue
            }
        }
        throw PeerError.closed
    }

    /// A server that runs during a body.
    static func with<Value>(
        _ arguments: [String] = [],
        _ body: (RedisServer) async throws -> Value
    ) async throws -> Value {
        try await TemporaryFolder.with { folder in
            let server = RedisServer(in: folder.path, arguments)
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

    /// Starts it, and waits until it accepts connections. Cancellation ends its process.
    func start() async throws {
        let program = try #require(Self.program, "redis-server is missing: 'scripts/setup --tests' installs it.")
        let output = Pipe()
        let options =
            isSentinel
            ? arguments
            : [
                "--port", "\(port ?? 0)", "--bind", "127.0.0.1", "--unixsocket", "\(folder)/redis.sock", "--dir",
                folder,
            ]
                + ["--daemonize", "no", "--save", "", "--appendonly", "no", "--logfile", ""] + arguments
        // The end of the line, which may come in two pieces.
        let ready =
            isSentinel ? "+monitor master main 127.0.0.1" : "eady to accept connections at \(folder)/redis.sock"
        let child = try ChildProcess(
            program,
            options,
            output: output.fileHandleForWriting.fileDescriptor,
            error: output.fileHandleForWriting.fileDescriptor
        )
        try output.fileHandleForWriting.close()
        process.withLock { $0 = child }
        let failure = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                Thread.detachNewThread {
                    // It reads to the end, so that the server never waits for its log to be read.
                    var isReady = false
                    var text = ""
                    while true {
                        let data = output.fileHandleForReading.availableData
                        guard !data.isEmpty else { break }
                        guard !isReady else { continue }
                        text += String(decoding: data, as: UTF8.self)
                        guard text.contains(ready) else { continue }
                        isReady = true
                        continuation.resume(returning: nil as String?)
                    }
                    if !isReady { continuation.resume(returning: text) }
                }
            }
        } onCancel: {
            _ = Foundation.kill(child.identifier, SIGKILL)
        }
        if let failure {
            try await kill()
            throw StartError(output: failure)
        }
    }

    /// Stops its process, so that its connections stay and nothing is read, or lets it continue.
    func setStopped(_ isStopped: Bool) {
        guard let child = process.withLock({ $0 }) else { return }
        _ = Foundation.kill(child.identifier, isStopped ? SIGSTOP : SIGCONT)
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
