import Foundation
import SampleOrigin
import TestSupport
import Testing

/// Events whose reader stalls.
@Suite(.timeLimit(.minutes(20))) struct StalledLogTests {
    /// A pipe that no process reads stops no request, no purge and no end of the process.
    @Test(arguments: ["text", "json"]) func unreadEventsStopNothing(format: String) async throws {
        try await TemporaryFolder.with { folder in
            try await SampleOrigin.withOrigin { origin in
                let store = folder.appendingPathComponent("a.store").path
                let arguments = [
                    "--listen", "127.0.0.1:0", "--origin", String(origin.url("/").dropLast()), "--store", store,
                    "--log-level", "trace", "--access-log", "all", "--log-format", format,
                ]
                let ending = try await RunningServer.with(arguments) { server in
                    // Far more lines than a pipe takes.
                    let connection = try server.connect()
                    for number in 0..<1500 {
                        connection.get("/respond?body=end-\(number)-")
                        _ = await connection.read(until: "end-\(number)-")
                    }
                    let purge = try await Tool("holdfast").run("purge", "--all", "--store", store)
                    #expect(purge.status == 0, "\(purge.error)")
                    server.signal(SIGTERM)
                }
                #expect(ending.status == 0 && !ending.wasKilled)
            }
        }
    }
}
