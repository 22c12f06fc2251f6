import ArgumentParser
import CommandLineSupport
import Foundation
import Holdfast
import HoldfastGateway
import HoldfastTracing
import Logging
import NIOCore
import NIOPosix
import UnixSignals

/// `holdfast serve --origin URL`, `holdfast serve --config FILE`
struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Serves HTTP/1.1 in front of one or several origins, from a store.",
        discussion: """
            A shared cache by RFC 9111. Every response has a 'Cache-Status' field that states where it came from. One line on standard output \
            for each listener announces that connections are accepted,

              holdfast listening on http://127.0.0.1:8080

            and SIGINT (Ctrl-C) or SIGTERM ends it: exchanges under way may take 10 seconds to finish ('timeouts.drain' in a file); the exit \
            status is then 0. SIGTERM waits for 'drain.delay' of the file before, and serves meanwhile. A second such signal ends that wait, or the process at once.

            The store is the folder of '--store'. Without it, an origin named with '--origin' has a folder of its own, such as https-api.example.com-443, \
            in $STATE_DIRECTORY (set by systemd), else in $XDG_STATE_HOME/holdfast, else in ~/.local/state/holdfast. The folder is created with mode 0700, \
            and one line on standard error names it,

              holdfast storing in /home/me/.local/state/holdfast/https-api.example.com-443

            'listen' of the file may be a list, with Unix sockets: '{unix: /run/holdfast/http.sock, mode: 0660}'. Sockets that a service manager passes \
            (systemd: a socket unit) replace all listeners. Clients then wait while one process ends and the next one starts, and none is refused.

            'cache-dump' and 'holdfast explain --store' take this folder. A configuration file with routes names its store itself ('store.path').

            Other processes of the same user steer the gateway through a Unix socket, for example 'holdfast purge'. It is control.sock in $RUNTIME_DIRECTORY (set by systemd), \
            else in the store's folder, or 'control.socket' of the file. Its permissions are 0660, and one line on standard error names it,

              holdfast controlled by /home/me/.local/state/holdfast/https-api.example.com-443/control.sock

            'control.listen' of the file adds a port, for clients with a token; see 'control.tokens' there.

            A configuration file has the same settings and more: routes to several origins, rules, limits, timeouts. The command line goes before the environment, and that \
            before the file; '--origin' replaces all routes of the file. SIGHUP reloads the file without closing connections: its rules, routes, limits, mode and fields \
            apply from the next request on. An invalid file is rejected as a whole, and its errors are logged. The listeners, the threads and the store change only with a \
            restart. SIGUSR1 and SIGHUP open the file of the access log ('log.to') anew, for logrotate. SIGUSR2 and SIGALRM are ignored.

            The access log has a line for each request that '--access-log' names. It goes to standard error, or where 'log.to' of the file says. Events, such as an origin \
            that became unreachable, go to standard error.

            Errors go to standard error, one line each. The exit status is 1 if the environment or the file is invalid, the store cannot be opened or the \
            address cannot be used, and 64 if the command line is invalid; 'holdfast check' examines a file without serving.

            Environment:
            \(ServeVariable.help)

            Traces go to a collector by OTLP, as http/protobuf, if these variables of OpenTelemetry name one:
            \(TracingConfiguration.help)

            Examples:
              holdfast serve --origin https://api.example.com
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
            "The http or https URL of the origin. Its path is put before every request's path.",
            valueName: "url"
        )
    )
    var origin: String?

    @Option(
        help: ArgumentHelp(
            "An address to listen on; port 0 takes a free one. May be repeated. The default is 127.0.0.1:8080.",
            valueName: "host:port"
        )
    )
    var listen: [String] = []

    @Option(
        help: """
            The store's folder; created if there is none. One process at a time writes to it. The default is a folder \
            of the origin, as described above.
            """
    )
    var store: String?

    @Option(
        help: ArgumentHelp(
            "When the gateway uses the network.",
            discussion: """
                online: as RFC 9111 requires. automatic: as online, and a stored response is served while the origin is unreachable. \
                preferStored: a stored response is served at once, the origin gets a request only on a miss. offline: the origin gets no request. \
                The default is automatic.
                """
        )
    )
    var mode: Mode?

    @Option(
        help: ArgumentHelp(
            "Threads that serve connections, 1 to 1024. The default is one for each processor.",
            valueName: "number"
        )
    )
    var threads: String?

    @Flag(
        name: .customLong("no-control"),
        help: "Without a control plane: no other process can purge the store while the gateway runs."
    )
    var noControl = false

    @Option(
        help: ArgumentHelp(
            "For work on the page of 'holdfast inspect': reads its files from this folder, in place of those in the binary.",
            visibility: .hidden
        )
    )
    var pageAssets: String?

    @Option(
        help: ArgumentHelp(
            "The requests that are logged: off, notable or all. The default is notable: failed, stale, refused, aborted and slow ones.",
            valueName: "level"
        )
    )
    var accessLog: String?

    @Option(
        help: ArgumentHelp(
            "The least level of events that are logged: trace, debug, info, notice, warning, error or critical. The default is notice.",
            valueName: "level"
        )
    )
    var logLevel: String?

    @Option(
        help: ArgumentHelp(
            "How events are logged: text, or json for an object on each line. The default is text.",
            valueName: "format"
        )
    )
    var logFormat: String?

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
    }

    func run() async throws {
        let signals = await EarlySignals.sequence()
        // Other servers handle these signals; a script that sends them must not end this one.
        for number in [SIGUSR2, SIGALRM] { Foundation.signal(number, SIG_IGN) }
        let named: NamedSettings
        do {
            named = try NamedSettings(self, environment: ProcessInfo.processInfo.environment)
        } catch let refusal as NamedSettings.Refusal {
            throw CommandFailure(refusal.description)
        }
        let inherited = try InheritedSocket.fromServiceManager()
        let settings = try ConfigurationFile.reporting { try ServeSettings(named) }
        // No file of this process is for other users, whatever mask the caller left: not even the
        // control socket in the moment before its permissions are set.
        umask(umask(0o077) | 0o007)
        let events = EventLog()
        let outcome: Result<Void, any Error>
        do {
            outcome = .success(try await Self.serve(settings, named, inherited, signals, events))
        } catch {
            outcome = .failure(error)
        }
        // Before the error of the command, which comes last.
        await events.close()
        try outcome.get()
    }

    private static func serve(
        _ settings: ServeSettings,
        _ named: NamedSettings,
        _ inherited: [InheritedSocket],
        _ signals: UnixSignalsSequence,
        _ events: EventLog
    ) async throws {
        let threads = settings.threads ?? System.coreCount
        let levels = LogLevels(named.logLevel ?? .notice)
        let logger = Logger.events(levels, named.logFormat ?? .text, to: events)
        let configured = settings.gateway.listeners
        let listeners = inherited.isEmpty ? configured : try listeners(inherited, for: configured)
        if !inherited.isEmpty {
            logger.notice(
                "Sockets of the service manager replace 'listen'",
                metadata: ["gateway.listeners": "\(listeners.map(\.description).joined(separator: ", "))"]
            )
        }
        try DescriptorLimit.raise(
            for: settings.gateway.maximumConnections,
            threads: threads,
            listeners: listeners.count,
            logger
        )
        let group = MultiThreadedEventLoopGroup(numberOfThreads: threads)
        let outcome: Result<Void, any Error>
        do {
            outcome = .success(
                try await GatewayProcess.run(settings, named, listeners, on: group, signals, logger, levels, events)
            )
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

extension Serve {
    private static func listeners(
        _ inherited: [InheritedSocket],
        for configured: [GatewayListener]
    ) throws -> [GatewayListener] {
        do {
            return try GatewayListener.inherited(inherited, for: configured)
        } catch {
            throw CommandFailure("\(error)")
        }
    }
}

extension Logger {
    /// Writes what the levels let through. At `notice` this is what concerns an operator: an origin
    /// became unreachable, or responds again.
    static func events(_ levels: LogLevels, _ format: LeveledLogHandler.Format, to output: EventLog) -> Logger {
        let logger = Logger(label: "holdfast") { LeveledLogHandler(label: $0, levels, format, to: output) }
        output.onLosses { reason in
            logger.warning("Events are lost", metadata: ["log.error": "\(reason)"])
        } end: { lost in
            logger.notice("Events are logged again", metadata: ["log.dropped": "\(lost)"])
        }
        return logger
    }
}
