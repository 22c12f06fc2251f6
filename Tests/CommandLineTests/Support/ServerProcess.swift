import Foundation
import TestSupport
import Testing

/// `holdfast serve` as a separate process.
enum ServerProcess {
    /// Runs it until the body is done, then ends it by a signal.
    ///
    /// - Parameter arguments: after `serve --listen 127.0.0.1:0`.
    static func with(
        _ arguments: [String],
        signal: Int32 = SIGTERM,
        _ body: (Int) async throws -> Void
    ) async throws -> ChildProcess.Ending {
        let pipe = Pipe()
        let process = try ChildProcess(
            Tool("holdfast").url,
            ["serve", "--listen", "127.0.0.1:0"] + arguments,
            output: pipe.fileHandleForWriting.fileDescriptor,
            error: FileHandle.standardError.fileDescriptor
        )
        try pipe.fileHandleForWriting.close()
        let output = OutputReader(pipe)
        let ending = try await process.end {
            let line = await output.firstLine()
            #expect(line.wholeMatch(of: /holdfast listening on http:\/\/127\.0\.0\.1:\d+\n/) != nil)
            let port = try #require(line.split(separator: ":").last.flatMap { Int($0.dropLast()) })
            try await body(port)
            kill(process.identifier, signal)
        }
        #expect(await output.rest() == "")
        return ending
    }

    /// Sends a GET on a new connection and returns the response.
    static func get(
        _ path: String,
        at port: Int,
        host: String = "gateway.test",
        _ fields: String = ""
    ) async throws -> String {
        try await send("GET \(path) HTTP/1.1\r\nHost: \(host)\r\n\(fields)Connection: close\r\n\r\n", to: port)
    }

    /// Sends bytes on a new connection and returns the response.
    static func send(_ request: String, to port: Int) async throws -> String {
        let connection = try LoopbackConnection(port: port)
        connection.send(request)
        return await connection.readToEnd()
    }
}
