import Foundation
import SampleOrigin
import TestSupport
import Testing

/// The built gateway on a socket that a service manager keeps. The test is the manager.
@Suite(.timeLimit(.minutes(20)))
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

    @Test(arguments: ["off", "50 ms"])
    func restartUnderLoadRefusesNoConnectionAndLosesNoRequest(delay: String) async throws {
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

    @Test func managerSocketsReplaceFileListenersWithMessage() async throws {
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

    @Test(arguments: ["1", ""]) func leavesSocketsForOtherProcessesAlone(_ owner: String) async throws {
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
