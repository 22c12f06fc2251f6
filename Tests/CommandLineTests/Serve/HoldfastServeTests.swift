import Foundation
import SampleOrigin
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(20))) struct HoldfastServeTests {
    private static let holdfast = Tool("holdfast")

    /// The server as a process of its own, in front of an origin in this one.
    private func withServer(
        _ origin: String,
        store: String,
        _ arguments: [String] = [],
        signal: Int32 = SIGTERM,
        _ body: (Int) async throws -> Void
    ) async throws -> ChildProcess.Ending {
        try await ServerProcess.with(["--origin", origin, "--store", store] + arguments, signal: signal, body)
    }

    private func get(_ path: String, at port: Int, _ fields: String = "") async throws -> String {
        try await ServerProcess.get(path, at: port, fields)
    }

    @Test func storedResponsesOutliveOriginAndServer() async throws {
        try await TemporaryFolder.with { folder in
            try await SampleOrigin.withOrigin { origin in
                let store = folder.appendingPathComponent("a.store").path
                let path = "/moments?userID=harbour&page=1"
                let base = String(origin.url("/").dropLast())
                let first = try await withServer(base, store: store) { port in
                    let fetched = try await get(path, at: port)
                    #expect(fetched.hasPrefix("HTTP/1.1 200 OK\r\n") && fetched.contains("harbour-25"))
                    #expect(fetched.contains("Cache-Status: holdfast; fwd=uri-miss; stored\r\n"))
                    let again = try await get(path, at: port)
                    #expect(again.contains("Cache-Status: holdfast; hit; ttl="))
                    #expect(origin.requestCount == 1)
                }
                #expect(first.status == 0 && !first.wasKilled)
                await origin.stop()
                let second = try await withServer(base, store: store, signal: SIGINT) { port in
                    let stored = try await get(path, at: port)
                    #expect(stored.hasPrefix("HTTP/1.1 200 OK\r\n") && stored.contains("harbour-25"))
                    let stale = try await get(path, at: port, "Cache-Control: no-cache\r\n")
                    #expect(stale.contains("detail=unreachable") && stale.contains("harbour-25"))
                    let missing = try await get("/moments?userID=never-seen", at: port)
                    #expect(missing.hasPrefix("HTTP/1.1 50"))
                    #expect(
                        missing.contains("application/problem+json") && missing.contains("Cache-Status: holdfast; fwd=")
                    )
                }
                #expect(second.status == 0 && !second.wasKilled)
            }
        }
    }

    @Test func offlineModeSendsNoRequestToTheOrigin() async throws {
        try await TemporaryFolder.with { folder in
            try await SampleOrigin.withOrigin { origin in
                let store = folder.appendingPathComponent("a.store").path
                _ = try await withServer(String(origin.url("/").dropLast()), store: store, ["--mode", "offline"]) {
                    port in
                    let missing = try await get("/moments?userID=harbour", at: port)
                    #expect(missing.hasPrefix("HTTP/1.1 504 "))
                    #expect(missing.contains("offline-miss"))
                }
                #expect(origin.acceptedConnections == 0)
            }
        }
    }

    @Test(arguments: [
        ["--store", "x"], ["--origin", "ftp://a.example", "--store", "x"],
        ["--origin", "http://a.example/?q", "--store", "x"],
        ["--origin", "http://a.example", "--store", "x", "--listen", "here"],
        ["--origin", "http://a.example", "--store", "x", "--threads", "0"],
        ["--origin", "http://a.example", "--store", "x", "--mode", "sometimes"],
    ])
    func invalidCommandLineExitsWith64(arguments: [String]) async throws {
        let outcome = try await Self.holdfast.run(arguments: ["serve"] + arguments)
        #expect(outcome.status == 64)
        #expect(outcome.text == "")
        #expect(outcome.error.contains("--help"))
    }

    @Test func takenAddressIsAClearError() async throws {
        try await TemporaryFolder.with { folder in
            let store = folder.appendingPathComponent("a.store").path
            let other = folder.appendingPathComponent("b.store").path
            _ = try await withServer("http://127.0.0.1:1", store: store) { port in
                let second = try await Self.holdfast.run(
                    "serve",
                    "--origin",
                    "http://127.0.0.1:1",
                    "--store",
                    other,
                    "--listen",
                    "127.0.0.1:\(port)"
                )
                #expect(second.status == 1 && second.text == "")
                #expect(second.error.contains("'127.0.0.1:\(port)'") && second.error.contains("--listen"))
            }
        }
    }

    @Test func storeInUseIsAClearError() async throws {
        try await TemporaryFolder.with { folder in
            let store = folder.appendingPathComponent("a.store").path
            _ = try await withServer("http://127.0.0.1:1", store: store) { _ in
                let second = try await Self.holdfast.run(
                    "serve",
                    "--origin",
                    "http://127.0.0.1:1",
                    "--store",
                    store,
                    "--listen",
                    "127.0.0.1:0"
                )
                #expect(second.status == 1)
                #expect(second.error.contains("process"))
            }
        }
    }
}
