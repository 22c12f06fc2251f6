import Foundation
import TestSupport
import Testing

/// `holdfast serve` as a separate process, whose log can be read while it runs.
struct RunningServer: Sendable {
    let port: Int
    /// The first line that it printed.
    let announcement: String
    /// Its output after that line.
    let output: OutputReader
    let log: OutputReader
    private let process: ChildProcess

    /// Runs it until it ends, which is the body's to see to.
    ///
    /// - Parameters:
    ///   - arguments: after `serve`.
    ///   - environment: added to the test's own.
    ///   - inherited: a socket that it gets as a service manager passes one.
    static func with(
        _ arguments: [String],
        environment: [String: String] = [:],
        inherited: ListeningSocket? = nil,
        _ body: (RunningServer) async throws -> Void
    ) async throws -> ChildProcess.Ending {
        let (output, error) = (Pipe(), Pipe())
        // A shell that becomes the program has its number, which only the child itself knows.
        let program = try Tool("holdfast").url
        let wrapper = ["-c", "export LISTEN_FDS=1 LISTEN_PID=$$; exec \"$@\"", "sh", program.path]
        let process = try ChildProcess(
            inherited == nil ? program : URL(fileURLWithPath: "/bin/sh"),
            (inherited == nil ? [] : wrapper) + ["serve"] + arguments,
            environment: environment,
            output: output.fileHandleForWriting.fileDescriptor,
            error: error.fileHandleForWriting.fileDescriptor,
            inherited: inherited?.descriptor
        )
        try output.fileHandleForWriting.close()
        try error.fileHandleForWriting.close()
        return try await process.end {
            let lines = OutputReader(output)
            let line = await lines.firstLine()
            let port = try #require(line.split(separator: ":").last.flatMap { Int($0.dropLast()) }, "\(line)")
            let log = OutputReader(error)
            try await body(
                RunningServer(port: port, announcement: line, output: lines, log: log, process: process)
            )
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
