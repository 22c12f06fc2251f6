import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(20))) struct SampleOriginCommandTests {
    @Test func helpListsOptionsAndRoutes() async throws {
        let outcome = try await Tool.sampleOrigin.run("--help")
        #expect(outcome.status == 0)
        for text in ["--host", "--port", "--max-age", "--quiet", "/moments/{id}/likes", "/_statistics"] {
            #expect(outcome.text.contains(text))
        }
        // The table of routes is only legible if no line wraps.
        for line in outcome.lines where line.hasPrefix("  ") { #expect(line.count <= 80) }
    }

    @Test(arguments: [["--port", "x"], ["--max-age"], ["extra"]])
    func wrongCommandLineIs64(arguments: [String]) async throws {
        let outcome = try await Tool.sampleOrigin.run(arguments: arguments)
        #expect(outcome.status == 64)
        #expect(outcome.text == "")
    }

    @Test(arguments: [["--port", "70000"], ["--host", "192.0.2.1"]])
    func rejectsAddressThatCannotBeBound(arguments: [String]) async throws {
        let outcome = try await Tool.sampleOrigin.run(arguments: arguments)
        #expect(outcome.status == 1)
        #expect(outcome.text == "")
        #expect(outcome.error.hasPrefix("sample-origin: "))
        #expect(outcome.error.contains("'"))
    }

    @Test(arguments: [SIGTERM, SIGINT])
    func printsOneLineWhenReadyAndEndsOnSignals(signal: Int32) async throws {
        let pipe = Pipe()
        let process = try ChildProcess(
            Tool.sampleOrigin.url,
            ["--quiet"],
            output: pipe.fileHandleForWriting.fileDescriptor,
            error: FileHandle.nullDevice.fileDescriptor
        )
        try pipe.fileHandleForWriting.close()
        let output = OutputReader(pipe)
        let ending = try await process.end {
            let line = await output.firstLine()
            #expect(line.wholeMatch(of: /sample-origin listening on http:\/\/127\.0\.0\.1:\d+\n/) != nil)
            // A connection in the middle of a request must not delay the end.
            let port = try #require(line.split(separator: ":").last.flatMap { Int($0.dropLast()) })
            let connection = try LoopbackConnection(port: port)
            connection.send("GET /slow?milliseconds=30000 HTTP/1.1\r\nHost: x\r\n\r\n")
            kill(process.identifier, signal)
        }
        #expect(ending.status == 0 && !ending.wasKilled)
        #expect(await output.rest() == "")
    }

    @Test func rejectsPortInUse() async throws {
        let pipe = Pipe()
        let process = try ChildProcess(
            Tool.sampleOrigin.url,
            ["--quiet"],
            output: pipe.fileHandleForWriting.fileDescriptor,
            error: FileHandle.standardError.fileDescriptor
        )
        try pipe.fileHandleForWriting.close()
        let output = OutputReader(pipe)
        _ = try await process.end {
            let port = try #require(await output.firstLine().split(separator: ":").last).dropLast()
            let second = try await Tool.sampleOrigin.run("--port", String(port))
            #expect(second.status == 1)
            #expect(second.error.contains("'127.0.0.1:\(port)': another process listens there"))
            kill(process.identifier, SIGTERM)
        }
    }
}
