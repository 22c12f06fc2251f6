import Foundation
import Synchronization

/// `holdfast serve` as a separate process, in front of the origins.
final class GatewayProcess: Sendable {
    private let world: World
    private let binary: String
    let folder: String
    private let state = Mutex(State())

    private struct State {
        var identifier: pid_t = 0
        /// Whether the harness ends it: then its end is not a finding.
        var isEnding = false
        var hasEnded = false
        var status: Int32 = 0
        var starts = 0
    }

    init(_ world: World, binary: String, folder: String) {
        self.world = world
        self.binary = binary
        self.folder = folder
    }

    var identifier: pid_t { state.withLock { $0.identifier } }
    var store: String { folder + "/store" }
    private var log: String { folder + "/gateway.log" }

    /// Writes the configuration file. A small budget has the store evict all the time.
    func configure(honest: Int, liars: Int, quitters: Int) throws {
        let text = """
            version: 1
            listen: 127.0.0.1:0
            mode: automatic
            store: {path: store, budget: 6 MiB, memory: 1 MiB, largest-resident-body: 64 KiB}
            timeouts: {hard: 4 s}
            breaker: {failures: 5, first-probe: 100 ms, longest-pause: 1 s}
            routes:
              - {name: lie, path: /lie, origin: "http://127.0.0.1:\(liars)/lie"}
              - {name: cut, path: /cut, origin: "http://127.0.0.1:\(quitters)/cut"}
              - {name: honest, path: /, origin: "http://127.0.0.1:\(honest)"}

            """
        try text.write(toFile: folder + "/holdfast.yaml", atomically: true, encoding: .utf8)
    }

    /// Starts it, and returns when it listens.
    func start() throws {
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else { throw SocketFailure.broken("no pipe: \(Socket.reason)") }
        let arguments = ["serve", "--config", folder + "/holdfast.yaml", "--threads", "2"]
        let child = try ChildProcess.spawn(binary, arguments, output: ends[1], errorsTo: log)
        close(ends[1])
        state.withLock { state in
            state.identifier = child
            state.isEnding = false
            state.hasEnded = false
            state.starts += 1
        }
        Thread.start { self.wait(for: child) }
        let output = FileHandle(fileDescriptor: ends[0], closeOnDealloc: true)
        var line = ""
        while !line.hasSuffix("\n") {
            guard let data = try output.read(upToCount: 1), let byte = data.first else {
                throw SocketFailure.broken("the gateway did not start: '\(line)'; its output:\n\(lastWords)")
            }
            line.unicodeScalars.append(Unicode.Scalar(byte))
        }
        guard let port = line.dropLast().split(separator: ":").last.flatMap({ Int($0) }) else {
            throw SocketFailure.broken("the gateway printed '\(line)' instead of its address")
        }
        world.gatewayPort = port
    }

    private func wait(for child: pid_t) {
        let status = ChildProcess.wait(for: child)
        let isExpected = state.withLock { state in
            state.hasEnded = true
            state.status = status
            return state.isEnding
        }
        guard !isExpected else { return }
        world.report(
            Finding(rule: .ended, expected: "a gateway that runs", got: "it ended, status \(status):\n\(lastWords)")
        )
    }

    /// Kills the process, which loses the data in memory.
    func killAndWait() throws {
        world.gatewayPort = 0
        state.withLock { $0.isEnding = true }
        signal(SIGKILL)
        guard waitForEnd(30) != nil else { throw SocketFailure.broken("a killed gateway that still runs") }
    }

    func signal(_ signal: Int32) { kill(identifier, signal) }

    /// Sends a signal to end.
    ///
    /// - Returns: its exit status, or `nil` if it did not end in time and was killed.
    func end(within seconds: Double) -> Int32? {
        state.withLock { $0.isEnding = true }
        signal(SIGCONT)
        signal(SIGTERM)
        if let status = waitForEnd(seconds) { return status }
        signal(SIGKILL)
        _ = waitForEnd(10)
        return nil
    }

    private func waitForEnd(_ seconds: Double) -> Int32? {
        let end = Clock.now() + seconds
        while Clock.now() < end {
            if let status = state.withLock({ $0.hasEnded ? $0.status : nil }) { return status }
            Clock.pause(0.01)
        }
        return nil
    }

    /// The end of its log.
    var lastWords: String {
        let text = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
        return text.split(separator: "\n").suffix(20).joined(separator: "\n")
    }

    // MARK: Resources

    /// Kibibytes in memory; zero if the system does not report it.
    var memory: Int {
        let text = (try? String(contentsOfFile: "/proc/\(identifier)/status", encoding: .utf8)) ?? ""
        let line = text.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
        return line?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
    }

    var descriptors: Int {
        (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(identifier)/fd").count) ?? 0
    }
}
