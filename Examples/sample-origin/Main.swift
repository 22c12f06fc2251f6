import ArgumentParser
import Foundation
import Logging
import SampleOrigin

@main
struct SampleOriginCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sample-origin",
        abstract: "A small HTTP server with a JSON API worth caching, for experiments and tests.",
        discussion: """
            Prints one line on standard output when it accepts connections,

              sample-origin listening on http://127.0.0.1:PORT

            and ends, with status 0, on SIGINT (Ctrl-C) or SIGTERM. Requests are logged to standard error, without \
            their queries. Every response carries 'X-Origin-Request', the number of its request. The same requests \
            in the same order get the same responses.

            \(SampleOrigin.routes)
            """
    )

    @Option(help: "The address to listen on.")
    var host = "127.0.0.1"

    @Option(help: "The port to listen on; 0 selects a free one.")
    var port = 0

    @Option(help: "How long the feed is fresh, in seconds: the 'max-age' of its Cache-Control.")
    var maxAge = 60

    @Flag(name: .shortAndLong, help: "Log no requests.")
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
                // Written without the buffers of standard output, because a process that waits for
                // this line reads a pipe.
                FileHandle.standardOutput.write(Data("sample-origin listening on \(origin.baseURL)\n".utf8))
            }
        } catch let error as OriginError {
            FileHandle.standardError.write(Data("sample-origin: \(error.message)\n".utf8))
            throw ExitCode(1)
        }
    }
}
