import ArgumentParser
import Foundation
import Holdfast
import Hummingbird
import Logging
import MomentsExample

@main
struct MomentsServiceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "moments-service",
        abstract: "An example: a service that serves the data of another one, even when that one is unreachable.",
        discussion: """
            Prints one line on standard output when it accepts connections,

              moments-service listening on http://127.0.0.1:PORT

            and ends with status 0 on SIGINT (Ctrl-C) or SIGTERM, after the requests under way have responses.

              GET  /feed/{user}         the user's moments, with 'source', 'age' (seconds) and 'isStale'
              POST /moments/{id}/like   likes a moment
              GET  /health              whether this service runs; it ignores the upstream
            """
    )

    @Option(help: "Base URL of the moments API; else the environment variable MOMENTS_UPSTREAM.")
    var upstream: String?

    @Option(help: "The folder of the store; else the environment variable MOMENTS_STORE, else 'moments.store'.")
    var store: String?

    @Option(help: "The address to listen on.")
    var host = "127.0.0.1"

    @Option(help: "The port to listen on; 0 takes a free one.")
    var port = 8080

    @Flag(name: .customLong("graphql"), help: "Ask the upstream in GraphQL instead of REST.")
    var usesGraphQL = false

    func validate() throws {
        guard namedUpstream != nil else {
            throw ValidationError("Name the upstream with '--upstream' or in MOMENTS_UPSTREAM.")
        }
        guard (0...65_535).contains(port) else { throw ValidationError("'\(port)' is no port: 0 to 65535.") }
    }

    func run() async throws {
        var logger = Logger(label: "moments-service") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = .notice
        let client = try await CachingClient.open(
            store: store ?? Self.environment["MOMENTS_STORE"] ?? "moments.store",
            configuration: .init(environment: ServerEnvironment("upstream", baseURL: namedUpstream ?? "")),
            logger: logger
        )
        let repository = MomentsRepository(session: client, toggles: FeatureToggles(usesGraphQL: usesGraphQL))
        let application = buildApplication(repository, host: host, port: port, logger: logger) { [host] port in
            // Written without buffering, because scripts wait for this line on a pipe.
            FileHandle.standardOutput.write(Data("moments-service listening on http://\(host):\(port)\n".utf8))
        }
        do {
            try await application.runService()
        } catch {
            // Closes the store even if the server failed.
            try? await client.close()
            throw error
        }
        try await client.close()
    }

    private static var environment: [String: String] { ProcessInfo.processInfo.environment }

    private var namedUpstream: String? { upstream ?? Self.environment["MOMENTS_UPSTREAM"] }
}
