import Foundation
import Testing

/// `holdfast serve` as a separate process, whose log can be read while it runs.
struct RunningServer: Sendable {
    let port: Int
    let log: OutputReader
    private let process: ChildProcess

    /// Runs it until it ends, which is the body's to see to.
    ///
    /// - Parameters:
    ///   - arguments: after `serve`.
    ///   - environment: added to the test's own.
    static func with(
        _ arguments: [String],
        environment: [String: String] = [:],
        _ body: (RunningServer) async throws -> Void
    ) async throws -> ChildProcess.Ending {
        let (output, error) = (Pipe(), Pipe())
        let process = try ChildProcess(
            Tool("holdfast").url,
            ["serve"] + arguments,
            environment: environment,
            output: output.fileHandleForWriting.fileDescriptor,
            error: error.fileHandleForWriting.fileDescriptor
        )
        try output.fileHandleForWriting.close()
        try error.fileHandleForWriting.close()
        return try await process.end {
            let line = await OutputReader(output).firstLine()
            let port = try #require(line.split(separator: ":").last.flatMap { Int($0.dropLast()) }, "\(line)")
            try await body(RunningServer(port: port, log: OutputReader(error), process: process))
        }
    }

    func signal(_ number: Int32) { kill(process.identifier, number) }

    /// A request on a connection that stays.
    func connect() throws -> LoopbackConnection { try LoopbackConnection(port: port) }
}

extension LoopbackConnection {
    /// Sends a GET that keeps the connection.
    func get(_ path: String) { send("GET \(path) HTTP/1.1\r\nHost: gateway.test\r\n\r\n") }
}
