import Foundation
import SampleOrigin
import Synchronization
import Testing

/// The built gateway on a socket that a service manager keeps. The test is the manager.
@Suite("Sockets of a service manager", .timeLimit(.minutes(20)))
struct SocketActivationTests {
    /// The number of requests; `scripts/restarts` sets it to more.
    private static let requests = ProcessInfo.processInfo.environment["RESTART_REQUESTS"].flatMap { Int($0) } ?? 1000
    private static let restarts = 5
    private static let clients = 30

    private func withOrigin(
        _ settings: String = "",
        _ body: (PurgedGateway.Folder, RunningOrigin) async throws -> Void
    ) async throws {
        try await PurgedGateway.Folder.with { folder in
            try await SampleOrigin.withOrigin { origin in
                try folder.write(origin, settings)
                origin.respond("v1")
                try await body(folder, origin)
            }
        }
    }

    @Test("A restart under load refuses no connection, and loses no request", arguments: ["off", "50 ms"])
    func restartsWithoutARefusal(delay: String) async throws {
        try await withOrigin("drain: {delay: \(delay)}\nthreads: 4") { folder, _ in
            let socket = try ListeningSocket()
            let load = RestartLoad(port: socket.port, clients: Self.clients)
            for restart in 1...Self.restarts {
                let arguments = ["--config", folder.file, "--no-control"]
                let ending = try await RunningServer.with(arguments, inherited: socket) { server in
                    #expect(server.port == socket.port)
                    await load.served(reaches: Self.requests * restart / Self.restarts)
                    server.signal(SIGTERM)
                }
                #expect(ending.status == 0 && !ending.wasKilled)
            }
            // The connections that wait are served by one process more.
            let last = ["--config", folder.file, "--no-control"]
            _ = try await RunningServer.with(last, inherited: socket) { server in
                await load.stop()
                server.signal(SIGTERM)
            }
            let result = load.result
            #expect(result.served >= Self.requests)
            #expect(result.failures.isEmpty, "\(result.failures.count) of \(result.served + result.failures.count)")
            print("Restarts with a delay '\(delay)': \(result.served) requests served, \(result.failures.count) failed")
        }
    }

    @Test("Sockets of the manager replace those of the file, and a message says so") func replaceTheFilesListeners()
        async throws
    {
        try await withOrigin { folder, _ in
            let socket = try ListeningSocket()
            let arguments = ["--config", folder.file, "--listen", "192.0.2.1:9", "--no-control"]
            let ending = try await RunningServer.with(arguments, inherited: socket) { server in
                #expect(server.announcement == "holdfast listening on http://127.0.0.1:\(socket.port)\n")
                #expect(await server.log.line(containing: "replace 'listen'") != "")
                let response = try await ServerProcess.get("/a", at: socket.port)
                #expect(response.hasSuffix("v1"))
                server.signal(SIGTERM)
            }
            #expect(ending.status == 0)
        }
    }

    @Test("Sockets for another process are not taken", arguments: ["1", ""]) func leavesSocketsOfOthers(_ owner: String)
        async throws
    {
        try await withOrigin { folder, _ in
            let variables = ["LISTEN_FDS": "1", "LISTEN_PID": owner]
            let ending = try await RunningServer.with(
                ["--config", folder.file, "--no-control"],
                environment: variables
            ) { server in
                let response = try await ServerProcess.get("/a", at: server.port)
                #expect(response.hasSuffix("v1"))
                server.signal(SIGTERM)
            }
            #expect(ending.status == 0)
        }
    }
}

/// Clients that send requests on new connections, one after another, until they are told to stop.
private final class RestartLoad: Sendable {
    struct Result {
        var served = 0
        var failures: [String] = []
    }

    private struct State {
        var result = Result()
        var isStopping = false
        var running: Int
    }

    private let state: Mutex<State>

    var result: Result { state.withLock { $0.result } }

    init(port: Int, clients: Int) {
        state = Mutex(State(running: clients))
        for _ in 0..<clients {
            Thread.detachNewThread { [self] in
                while !state.withLock({ $0.isStopping }) {
                    let failure = Self.failure(at: port)
                    state.withLock { state in
                        if let failure { state.result.failures.append(failure) } else { state.result.served += 1 }
                    }
                }
                state.withLock { $0.running -= 1 }
            }
        }
    }

    /// Waits until so many requests have ended, well or not.
    func served(reaches count: Int) async {
        await poll { $0.result.served + $0.result.failures.count >= count }
    }

    /// Lets each client finish its request.
    func stop() async {
        state.withLock { $0.isStopping = true }
        await poll { $0.running == 0 }
    }

    private func poll(_ isReached: (State) -> Bool) async {
        while !state.withLock({ isReached($0) }) {
            try? await Task.sleep(for: .milliseconds(1))  // lets time pass
        }
    }

    /// One request on a connection of its own.
    ///
    /// - Returns: why it failed; `nil` if it was served.
    private static func failure(at port: Int) -> String? {
        #if canImport(Darwin)
            let kind = SOCK_STREAM
        #else
            let kind = Int32(SOCK_STREAM.rawValue)
        #endif
        let descriptor = socket(AF_INET, kind, 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        inet_pton(AF_INET, "127.0.0.1", &address.sin_addr)
        let code = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0 ? 0 : errno
            }
        }
        guard code == 0 else { return "not connected: \(code)" }
        let request = Array("GET /a HTTP/1.1\r\nHost: gateway.test\r\nConnection: close\r\n\r\n".utf8)
        guard send(descriptor, request, request.count, 0) == request.count else { return "not sent: \(errno)" }
        var text = ""
        var piece = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = recv(descriptor, &piece, piece.count, 0)
            if count == -1, errno == EINTR { continue }
            guard count >= 0 else { return "not received: \(errno) after '\(text)'" }
            if count == 0 { break }
            text += String(decoding: piece[..<count], as: UTF8.self)
        }
        return text.hasPrefix("HTTP/1.1 200 ") && text.hasSuffix("\r\n\r\nv1") ? nil : "'\(text)'"
    }
}
