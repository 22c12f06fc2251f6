import ArgumentParser
import CommandLineSupport
import Foundation
import Holdfast
import HoldfastGateway
import Logging
import NIOCore
import NIOPosix
import UnixSignals

/// `holdfast serve --origin URL --store STORE`, `holdfast serve --config FILE`
struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Answers HTTP/1.1 in front of an origin, or of several, through a store.",
        discussion: """
            A shared cache by RFC 9111. Every answer has a 'Cache-Status' field that says where it came from. One line on standard output \
            tells when connections are accepted,

              holdfast listening on http://127.0.0.1:8080

            and SIGINT (Ctrl-C) or SIGTERM ends it: exchanges under way may take 10 seconds to finish ('timeouts.drain' in a file); the exit \
            status is then 0. A second such signal ends it at once.

            A configuration file says the same and more: routes to several origins, rules, limits, timeouts. The command line goes before the environment, and that \
            before the file; an origin that is named takes the place of all the file's routes. SIGHUP takes the file up again: rules, routes, limits, mode and fields \
            count for the next request, no connection is closed, and a file with anything wrong changes nothing. Where it listens, its threads and its store stay until it is \
            started again. SIGUSR1, SIGUSR2 and SIGALRM are ignored: the log goes to standard error, so there is no log file to be opened anew.

            What is wrong is written to standard error, a line for each finding. The exit status is 1 when the environment or the file is wrong, the store cannot be opened or the \
            address not listened on, and 64 when the command line is wrong; 'holdfast check' examines a file without serving.

            Environment:
            \(ServeVariable.help)

            Examples:
              holdfast serve --origin https://api.example.com --store api.store
              holdfast serve --origin http://localhost:3000/api --listen 127.0.0.1:0 --store api.store --mode preferStored
              holdfast serve --config holdfast.yaml
            """
    )

    @Option(
        name: .customLong("config"),
        help: ArgumentHelp("A configuration file, YAML or JSON.", valueName: "file")
    )
    var file: String?

    /// The modes of the cache, by their names there.
    enum Mode: String, ExpressibleByArgument, CaseIterable {
        case online, automatic, preferStored, offline

        var offlineMode: OfflineMode {
            switch self {
            case .online: .online
            case .automatic: .automatic
            case .preferStored: .preferStored
            case .offline: .offline
            }
        }
    }

    @Option(
        help: ArgumentHelp(
            "An http or https URL: where everything comes from that is not stored. Its path is put before every request's path.",
            valueName: "url"
        )
    )
    var origin: String?

    @Option(
        help: ArgumentHelp(
            "The address to listen on; port 0 takes a free one. 127.0.0.1:8080 where nothing names one.",
            valueName: "host:port"
        )
    )
    var listen: String?

    @Option(help: "The store's folder; made where there is none. One process at a time writes to it.")
    var store: String?

    @Option(
        help: ArgumentHelp(
            "How much of the network may be used.",
            discussion: """
                online: as RFC 9111 says. automatic: and what is stored answers for an origin that cannot be reached. preferStored: whatever \
                is stored answers at once, the origin only on a miss. offline: the origin is never asked. automatic where nothing names one.
                """
        )
    )
    var mode: Mode?

    @Option(
        help: ArgumentHelp(
            "Threads that serve connections, 1 to 1024. As many as there are processors unless told otherwise.",
            valueName: "number"
        )
    )
    var threads: String?

    func validate() throws {
        let environment = ProcessInfo.processInfo.environment
        do {
            _ = try NamedSettings(self, environment: [:])
        } catch let refusal as NamedSettings.Refusal {
            throw ValidationError(refusal.description)
        }
        func isNamed(_ flag: String?, _ variable: ServeVariable) -> Bool {
            flag != nil || variable.value(in: environment) != nil
        }
        guard !isNamed(file, .config) else { return }
        guard isNamed(origin, .origin) else {
            throw ValidationError("Name an origin with '--origin', or a file with '--config'.")
        }
        guard isNamed(store, .store) else {
            throw ValidationError("Name a store with '--store', or a file with '--config'.")
        }
    }

    func run() async throws {
        // First of all: until then SIGHUP would end the process, and so would the others, with the
        // store open.
        let signals = await UnixSignalsSequence(trapping: .sigterm, .sigint, .sighup)
        // Other servers do something for these; a script that sends them must not end this one.
        for number in [SIGUSR1, SIGUSR2, SIGALRM] { Foundation.signal(number, SIG_IGN) }
        let named: NamedSettings
        do {
            named = try NamedSettings(self, environment: ProcessInfo.processInfo.environment)
        } catch let refusal as NamedSettings.Refusal {
            throw CommandFailure(refusal.description)
        }
        let settings = try ConfigurationFile.reporting { try ServeSettings(named) }
        let threads = settings.threads ?? System.coreCount
        let logger = Logger.standardError
        try DescriptorLimit.raise(for: settings.gateway.maximumConnections, threads: threads, logger)
        let group = MultiThreadedEventLoopGroup(numberOfThreads: threads)
        let outcome: Result<Void, any Error>
        do {
            outcome = .success(try await GatewayProcess.run(settings, named, on: group, signals, logger))
        } catch {
            outcome = .failure(error)
        }
        try? await group.shutdownGracefully()
        do {
            try outcome.get()
        } catch {
            throw CommandFailure("\(error)")
        }
    }
}

extension Logger {
    /// What an operator should know (an origin that went away or came back) and worse, to standard
    /// error.
    fileprivate static var standardError: Logger {
        var logger = Logger(label: "holdfast") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = .notice
        return logger
    }
}
