import Foundation
import SampleOrigin
import TestSupport
import Testing

/// The time between the first SIGTERM and the end of the listeners, with the built gateway.
@Suite(.timeLimit(.minutes(20)), .enabled(if: Tool.hasCurl, "/usr/bin/curl is a client"))
struct DrainDelayTests {
    private static let delayed = "a second signal skips the delay"
    private static let atOnce = "a second signal stops immediately"
    private static let over = "Delay ended"

    private func withGateway(
        _ settings: String,
        signal: Int32 = SIGTERM,
        origin text: String? = "v1",
        _ body: (PurgedGateway, RunningOrigin) async throws -> Void
    ) async throws {
        try await PurgedGateway.Folder.with { folder in
            try await SampleOrigin.withOrigin { origin in
                try folder.write(origin, settings)
                if let text { origin.respond(text) }
                let ending = try await PurgedGateway.with(folder, signal: signal) { try await body($0, origin) }
                #expect(ending.status == 0 && !ending.wasKilled)
            }
        }
    }

    @Test func balancersSeeTheEndWhileEveryClientIsServed() async throws {
        // The end of the body sends the second signal. Without it the test would last ten minutes.
        try await withGateway("drain: {delay: 10 m}") { gateway, _ in
            #expect(try await gateway.curl("/readyz").status == 200)
            let open = try (0..<30).map { _ in try gateway.server.connect() }
            for connection in open {
                connection.get("/news/hot")
                #expect(!(await connection.read(until: "v1")).contains("Connection: close"))
            }
            gateway.server.signal(SIGTERM)
            #expect(await gateway.server.log.line(containing: "Stopping").contains(Self.delayed))
            let ready = try await gateway.curl("/readyz")
            #expect(ready.status == 503 && ready.json["status"] as? String == "ending", "\(ready.text)")
            #expect(try await gateway.curl("/healthz").status == 503)
            #expect(try await gateway.curl("/livez").status == 200)
            #expect(try await gateway.curl("/v1/status").json["phase"] as? String == "ending")
            for number in 0..<30 {
                // New connections are accepted. On old ones, the next response is the last, whether
                // it comes from a hot table or not, so no request meets the end of its connection.
                #expect(try await gateway.get("/news/new-\(number)").hasPrefix("HTTP/1.1 200 "))
                open[number].get(number.isMultiple(of: 2) ? "/news/hot" : "/news/\(number)")
                let response = await open[number].read(until: "v1")
                #expect(response.hasPrefix("HTTP/1.1 200 ") && response.contains("\r\nConnection: close\r\n"))
            }
            // It does not reload any more, and this is no second signal.
            gateway.server.signal(SIGHUP)
            #expect(try await gateway.post(#"{"select": {"all": true}}"#).status == 200)
            #expect(try await gateway.get("/news/1").hasPrefix("HTTP/1.1 200 "))
        }
    }

    @Test func thirtyRequestsUnderWayOutlastTheDelay() async throws {
        let settings = "drain: {delay: 10 m}\ntimeouts: {drain: 10 m}"
        try await withGateway(settings, signal: SIGHUP, origin: nil) { gateway, origin in
            let busy = try (0..<30).map { _ in try gateway.server.connect() }
            for (number, connection) in busy.enumerated() { connection.get("/gated/door?after=\(number + 1)") }
            await origin.gate("door").waitForArrivals(30)
            gateway.server.signal(SIGTERM)
            #expect(await gateway.server.log.line(containing: "Stopping").contains(Self.delayed))
            gateway.server.signal(SIGTERM)
            #expect(await gateway.server.log.line(containing: Self.over) != "")
            origin.gate("door").open()
            for connection in busy { #expect(await connection.readToEnd().hasPrefix("HTTP/1.1 200 ")) }
        }
    }

    @Test func listenersCloseWhenTheTimeIsOver() async throws {
        // The second signal of the body's end is ignored, so the time alone ends it.
        try await withGateway("drain: {delay: 1 ms}", signal: SIGHUP) { gateway, _ in
            gateway.server.signal(SIGTERM)
            #expect(await gateway.server.log.line(containing: "Stopping").contains(Self.delayed))
            #expect(await gateway.server.log.line(containing: Self.over) != "")
        }
    }

    @Test(arguments: [
        ("drain: {delay: off}", SIGTERM), ("", SIGTERM), ("drain: {delay: 10 m}", SIGINT),
    ])
    func endsAtOnceWithoutADelayAndForAPerson(_ settings: String, _ number: Int32) async throws {
        try await withGateway(settings, signal: SIGHUP) { gateway, _ in
            gateway.server.signal(number)
            #expect(await gateway.server.log.line(containing: "Stopping").contains(Self.atOnce))
        }
    }

    @Test func delayCanBeReloaded() async throws {
        try await withGateway("drain: {delay: 10 m}", signal: SIGHUP) { gateway, origin in
            try gateway.folder.write(origin, "drain: {delay: off}")
            gateway.server.signal(SIGHUP)
            #expect(await gateway.server.log.line(containing: "Configuration reloaded") != "")
            gateway.server.signal(SIGTERM)
            #expect(await gateway.server.log.line(containing: "Stopping").contains(Self.atOnce))
        }
    }

    /// Requests that are still under way when the time to drain is over are cancelled, and their
    /// tasks end before the event loops do.
    @Test func nothingRunsOnAnEventLoopThatHasEnded() async throws {
        try await TemporaryFolder.with { folder in
            // It accepts connections and never responds.
            let origin = try ListeningSocket()
            let file = folder.appendingPathComponent("holdfast.yaml")
            let text = """
                version: 1
                listen: 127.0.0.1:0
                store: {path: a.store}
                routes: [{name: api, origin: "http://127.0.0.1:\(origin.port)"}]
                timeouts: {drain: 1 ms}
                """
            try Data(text.utf8).write(to: file)
            for round in 0..<5 {
                let ending = try await RunningServer.with(["--config", file.path]) { server in
                    let clients = try (0..<30).map { _ in try server.connect() }
                    for (number, client) in clients.enumerated() { client.get("/\(round)-\(number)") }
                    // Each has its task, and the gateway has read all of them.
                    let last = try server.connect()
                    last.send("BAD\r\n\r\n")
                    _ = await last.readToEnd()
                    server.signal(SIGTERM)
                    let log = await server.log.rest()
                    #expect(!log.contains("shut down") && !log.contains("EventLoop"), "\(log)")
                }
                #expect(ending.status == 0 && !ending.wasKilled)
            }
        }
    }
}
