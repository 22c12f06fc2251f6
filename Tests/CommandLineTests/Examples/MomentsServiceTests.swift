import Foundation
import SampleOrigin
import TestSupport
import Testing

/// The example service as a separate process, in front of an upstream in this one.
@Suite(.timeLimit(.minutes(20))) struct MomentsServiceTests {
    /// Runs the service until the body is done, then sends SIGTERM. The service must end by itself,
    /// and in order.
    private func withService(
        _ upstream: String,
        store: String,
        _ body: (Int) async throws -> Void
    ) async throws {
        let pipe = Pipe()
        // The service logs that its upstream is unreachable. The test does not read that.
        let log = try #require(FileHandle(forWritingAtPath: "/dev/null"))
        let process = try ChildProcess(
            Tool("moments-service").url,
            ["--upstream", upstream, "--store", store, "--port", "0"],
            output: pipe.fileHandleForWriting.fileDescriptor,
            error: log.fileDescriptor
        )
        try pipe.fileHandleForWriting.close()
        let output = OutputReader(pipe)
        let ending = try await process.end {
            let line = await output.firstLine()
            #expect(line.wholeMatch(of: /moments-service listening on http:\/\/127\.0\.0\.1:\d+\n/) != nil)
            try await body(try #require(line.split(separator: ":").last.flatMap { Int($0.dropLast()) }))
            kill(process.identifier, SIGTERM)
        }
        #expect(ending.status == 0 && !ending.wasKilled)
        #expect(await output.rest() == "")
    }

    private func get(_ path: String, at port: Int) async throws -> String {
        try await ServerProcess.get(path, at: port)
    }

    @Test func runsAndStartsWithoutUpstream() async throws {
        try await TemporaryFolder.with { folder in
            let store = folder.appendingPathComponent("moments.store").path
            // Stored responses are stale at once, so that the test need not wait.
            try await SampleOrigin.withOrigin(OriginConfiguration(maxAge: 0)) { origin in
                try await withService(origin.baseURL, store: store) { port in
                    let fresh = try await get("/feed/harbour", at: port)
                    #expect(fresh.hasPrefix("HTTP/1.1 200 OK\r\n") && fresh.contains("harbour-25"))
                    #expect(fresh.contains(#""source":"network""#) && fresh.contains(#""isStale":false"#))
                    let like =
                        "POST /moments/harbour-25/like HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                    let liked = try await ServerProcess.send(like, to: port)
                    #expect(liked.hasPrefix("HTTP/1.1 200 OK\r\n") && liked.contains(#""isLiked":true"#))
                    #expect(try await get("/feed/harbour", at: port).contains(#""isLiked":true"#))

                    await origin.stop()
                    let stale = try await get("/feed/harbour", at: port)
                    #expect(stale.hasPrefix("HTTP/1.1 200 OK\r\n") && stale.contains(#""isLiked":true"#))
                    #expect(stale.contains(#""source":"store""#) && stale.contains(#""isStale":true"#))
                    let missing = try await get("/feed/tides", at: port)
                    #expect(missing.hasPrefix("HTTP/1.1 503 ") && missing.contains("application/problem+json"))
                    #expect(try await get("/health", at: port).hasPrefix("HTTP/1.1 200 OK\r\n"))
                }
                try await withService(origin.baseURL, store: store) { port in
                    let kept = try await get("/feed/harbour", at: port)
                    #expect(kept.hasPrefix("HTTP/1.1 200 OK\r\n") && kept.contains(#""isLiked":true"#))
                    #expect(kept.contains(#""isStale":true"#))
                }
            }
        }
    }

    @Test func requiresUpstreamOption() async throws {
        let outcome = try await Tool("moments-service").run("--port", "0")
        #expect(outcome.status == 64 && outcome.text == "" && outcome.error.contains("--upstream"))
    }
}
