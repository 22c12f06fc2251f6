import ArgumentParser
import Foundation
import Logging
import SampleOrigin

@main
struct SampleOriginCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sample-origin",
        abstract: "A small HTTP server with a cacheable JSON API, for experiments and tests.",
        discussion: """
            When it accepts connections, it prints one line on standard output:

              sample-origin listening on http://127.0.0.1:PORT

            SIGINT (Ctrl-C) or SIGTERM stops it with exit status 0. It logs requests to standard error, without their \
            queries. Every response carries 'X-Origin-Request', the number of its request. The same requests in the \
            same order get the same responses.

            \(SampleOrigin.routes)
            """
    )

    @Option(help: "Address to listen on.")
    var host = "127.0.0.1"

    @Option(help: "Port to listen on; 0 selects a free port.")
    var port = 0

    @Option(help: "Freshness lifetime of the feed in seconds ('max-age').")
    var maxAge = 60

    @Flag(name: .shortAndLong, help: "Do not log requests.")
    var quiet = false

    func run() async throws {
        let configuration = OriginConfiguration(
            host: host,
            port: port,
            maxAge: maxAge,
            logger: quiet ? nil : Logger(label: "sample-origin", factory: StreamLogHandler.standardError(label:))
        )
        do {
            try await SampleOrigin.run(configuration) { origin in
                // Written without buffering, because processes wait for this line on a pipe.
                FileHandle.standardOutput.write(Data("sample-origin listening on \(origin.baseURL)\n".utf8))
            }
        } catch let error as OriginError {
            FileHandle.standardError.write(Data("sample-origin: \(error.message)\n".utf8))
            throw ExitCode(1)
        }
    }
}
