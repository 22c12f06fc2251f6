import Foundation
import SampleOrigin
import TestSupport
import Testing

/// The built gateway below a service manager, without a control plane.
@Suite(.timeLimit(.minutes(20)))
struct ServiceManagerTests {
    private func withGateway(
        _ environment: [String: String] = [:],
        origin: String = "http://127.0.0.1:1",
        _ body: (RunningServer, NotifySocket) async throws -> Void
    ) async throws {
        try await TemporaryFolder.with { folder in
            let socket = try NotifySocket()
            let arguments = [
                "--origin", origin, "--listen", "127.0.0.1:0", "--store", folder.path + "/a", "--no-control",
            ]
            let all = environment.merging(["NOTIFY_SOCKET": socket.path]) { $1 }
            let ending = try await RunningServer.with(arguments, environment: all) { try await body($0, socket) }
            #expect(ending.status == 0)
        }
    }

    @Test func isToldOfEachState() async throws {
        try await withGateway { server, socket in
            #expect(await socket.next() == "READY=1")
            server.signal(SIGHUP)
            #expect(await socket.nextState().wholeMatch(of: /RELOADING=1\nMONOTONIC_USEC=\d+/) != nil)
            #expect(await socket.nextState() == "READY=1")
            server.signal(SIGTERM)
            #expect(await socket.nextState() == "STOPPING=1")
        }
    }

    @Test func getsSignsOfLifeAndASentence() async throws {
        // Half of it is short, so that several signs come soon.
        try await withGateway(["WATCHDOG_USEC": "200000"]) { server, socket in
            await socket.wait(for: "STATUS=Serving")
            for _ in 0..<3 { await socket.wait(for: "WATCHDOG=1") }
            server.signal(SIGTERM)
            await socket.wait(for: "STATUS=Stopping")
            #expect(await socket.nextState() == "STOPPING=1")
        }
    }

    @Test func sentenceCountsUnreachableOrigins() async throws {
        try await withGateway { server, socket in
            await socket.wait(for: "STATUS=Serving")
            for number in 0..<12 { _ = try await ServerProcess.get("/\(number)", at: server.port) }
            await socket.wait(for: "STATUS=Serving; 1 of 1 origins unreachable for less than a minute")
            server.signal(SIGTERM)
        }
    }

    @Test func malformedWatchdogIsIgnoredWithAWarning() async throws {
        try await withGateway(["WATCHDOG_USEC": "soon"]) { server, socket in
            let line = await server.log.line(containing: "Ignoring the watchdog")
            #expect(
                line.contains("warning") && line.contains("'WATCHDOG_USEC' must be") && line.contains("not 'soon'"),
                "\(line)"
            )
            #expect(await socket.next() == "READY=1")
            server.signal(SIGTERM)
            while true {
                let text = await socket.next()
                #expect(text != "WATCHDOG=1")
                if text == "STOPPING=1" { break }
            }
        }
    }

    @Test func anotherProcessOfTheServiceIsNotWatched() async throws {
        try await withGateway(["WATCHDOG_USEC": "200000", "WATCHDOG_PID": "1"]) { server, socket in
            await socket.wait(for: "STATUS=Serving")
            server.signal(SIGTERM)
            var all: [String] = []
            while all.last != "STOPPING=1" { all.append(await socket.next()) }
            #expect(all == ["STATUS=Stopping", "STOPPING=1"])
        }
    }
}
