import ArgumentParser
import CommandLineSupport
import Foundation
import HTTPCacheOperations
import HTTPCacheSemantics
import Holdfast
import HoldfastConfiguration
import HoldfastGateway
import HoldfastTracing
import Logging
import NIOCore
import NIOPosix
import UnixSignals

/// `holdfast serve --origin URL`, `holdfast serve --config FILE`
struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Serves HTTP from a store, in front of one or several origins.",
        discussion: """
            Runs a shared cache as defined in RFC 9111. The 'Cache-Status' field of every response says where the response came from. When the gateway accepts connections, it prints one line \
            on standard output for each listener:

              holdfast listening on http://127.0.0.1:8080

            SIGINT (Ctrl-C) or SIGTERM stops it with exit status 0. Requests in flight get 10 seconds to finish ('timeouts.drain' in the file). \
            On SIGTERM, the gateway first keeps serving for 'drain.delay'. A second signal skips that delay; another signal stops the process immediately.

            The store is the folder of '--store'. Without that option, an origin set with '--origin' has its own folder, such as https-api.example.com-443, \
            in $STATE_DIRECTORY (set by systemd), otherwise in $XDG_STATE_HOME/holdfast, otherwise in ~/.local/state/holdfast. The folder is created with mode 0700, \
            and one line on standard error names it:

              holdfast storing in /home/me/.local/state/holdfast/https-api.example.com-443

            Use this folder with 'cache-dump' and 'holdfast explain --store'. A configuration file with routes sets its store itself ('store.path').

            'listen' in the file may be a list, and may contain Unix sockets: '{unix: /run/holdfast/http.sock, mode: 0660}'. Sockets from a service manager \
            (systemd: a socket unit) replace all listeners. During a restart, clients of such sockets wait; they are not rejected.

            Other processes of the same user or group control the gateway through a Unix socket, for example with 'holdfast purge'. The socket is control.sock in $RUNTIME_DIRECTORY (set by systemd), \
            otherwise in the store's folder; 'control.socket' in the file sets another path. Its permissions are 0660, and one line on standard error names it:

              holdfast controlled by /home/me/.local/state/holdfast/https-api.example.com-443/control.sock

            'control.listen' in the file adds a port for clients with a token ('control.tokens').

            '--takeover' replaces the gateway that runs on the same store, without rejecting clients: the new process checks everything that it needs, takes the listening sockets, waits until the old \
            process has finished its requests and released the store, and then accepts connections. If the new process cannot start, it exits with status 1, and the old one continues to serve. \
            Both processes must run as the same user. If no gateway is running, the option has no effect.

            A configuration file has the same settings and more: routes to several origins, rules, limits, timeouts. The command line takes precedence over the environment, and the \
            environment over the file; '--origin' replaces all routes of the file. SIGHUP reloads the file without closing connections: rules, routes, limits, mode and fields \
            apply from the next request. An invalid file is rejected as a whole, and its errors are logged. Listeners, threads and the store need a \
            restart to change. SIGUSR1 and SIGHUP reopen the access log file ('log.to'), for logrotate. SIGUSR2 and SIGALRM are ignored.

            The access log has a line for each request that '--access-log' selects. It goes to standard error, or to 'log.to' in the file. Events, such as an origin \
            becoming unreachable, go to standard error.

            Errors go to standard error, one line each. The exit status is 1 if the environment or the file is invalid, or the store or the address cannot be used; \
            64 if the command line is invalid. 'holdfast check' examines a file without serving.

            Environment:
            \(ServeVariable.help)

            Traces are sent to a collector over OTLP (http/protobuf) if these OpenTelemetry variables set its URL:
            \(TracingConfiguration.help)

            Examples:
              holdfast serve --origin https://api.example.com
              holdfast serve --origin http://localhost:3000/api --listen 127.0.0.1:0 --store api.store --mode preferStored
              holdfast serve --config holdfast.yaml
              holdfast serve --config holdfast.yaml --takeover
            """
    )

    @Option(
        name: .customLong("config"),
        help: ArgumentHelp("Configuration file, YAML or JSON.", valueName: "file")
    )
    var file: String?

    /// The cache's modes, by their names on the command line.
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
            "http or https URL of the origin. Its path is prepended to every request's path.",
            valueName: "url"
        )
    )
    var origin: String?

    @Option(
        help: ArgumentHelp(
            "Address to listen on; port 0 selects a free port. Repeatable. Default: 127.0.0.1:8080.",
            valueName: "host:port"
        )
    )
    var listen: [String] = []

    @Option(
        help: """
            Store folder. Created if it does not exist. Only one process at a time may write to it. Default: a folder \
            for the origin, as described above.
            """
    )
    var store: String?

    @Option(
        help: ArgumentHelp(
            "When the gateway contacts the origin.",
            discussion: """
                online: as RFC 9111 requires. automatic: like online, but stored responses are served while the origin is unreachable. \
                preferStored: stored responses are served immediately, even stale ones; the origin gets only misses, and requests whose responses \
                must not be stale. offline: the origin gets no requests. \
                Default: automatic.
                """
        )
    )
    var mode: Mode?

    @Option(
        help: ArgumentHelp(
            "Number of threads that serve connections, 1 to 1024. Default: one per processor.",
            valueName: "number"
        )
    )
    var threads: String?

    @Flag(
        name: .customLong("no-control"),
        help: "Disable the control plane: no other process can purge the store while the gateway runs."
    )
    var noControl = false

    @Flag(help: "Replace the gateway that runs on the same store, without rejecting clients.")
    var takeover = false

    @Option(
        help: ArgumentHelp(
            "For development of the status page: read its files from this folder instead of the binary.",
            visibility: .hidden
        )
    )
    var pageAssets: String?

    @Flag(
        name: .customLong("forward"),
        help: ArgumentHelp(
            "For 'holdfast record' and 'holdfast replay' without an origin. 'holdfast serve' needs routes.",
            visibility: .hidden
        )
    )
    var forwards = false

    @Option(
        help: ArgumentHelp(
            "Requests to log: off, notable or all. Default: notable (failed, stale, rejected, aborted and slow requests).",
            valueName: "level"
        )
    )
    var accessLog: String?

    @Option(
        help: ArgumentHelp(
            "Minimum log level of events: trace, debug, info, notice, warning, error or critical. Default: notice.",
            valueName: "level"
        )
    )
    var logLevel: String?

    @Option(
        help: ArgumentHelp(
            "Log format: text, or json for one object per line. Default: text.",
            valueName: "format"
        )
    )
    var logFormat: String?

    func validate() throws {
        let environment = ProcessInfo.processInfo.environment
        do {
            _ = try NamedSettings(self, environment: [:])
        } catch let invalid as InvalidSetting {
            throw ValidationError(invalid.description)
        }
        func isNamed(_ flag: String?, _ variable: ServeVariable) -> Bool {
            flag != nil || variable.value(in: environment) != nil
        }
        guard !isNamed(file, .config) else { return }
        guard isNamed(origin, .origin) || forwards else {
            throw ValidationError("Name an origin with '--origin', or a file with '--config'.")
        }
    }

    func run() async throws {
        let signals = await EarlySignals.sequence()
        // Other servers handle these signals, so scripts may send them. They must not end this
        // process.
        for number in [SIGUSR2, SIGALRM] { Foundation.signal(number, SIG_IGN) }
        let named: NamedSettings
        do {
            named = try NamedSettings(self, environment: ProcessInfo.processInfo.environment)
        } catch let invalid as InvalidSetting {
            throw CommandFailure(invalid.description)
        }
        let inherited = try InheritedSocket.fromServiceManager()
        let settings = try ConfigurationFile.reporting { try ServeSettings(named) }
        // This process's files are not accessible to other users, regardless of the caller's umask.
        // This also applies to the control socket before its permissions are set.
        umask(umask(0o077) | 0o007)
        let events = EventLog()
        let outcome: Result<Void, any Error>
        do {
            outcome = .success(try await serve(settings, named, inherited, signals, events))
        } catch {
            outcome = .failure(error)
        }
        // Flush the log first, so that the command's error comes last.
        await events.close()
        try outcome.get()
    }

    private func serve(
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
        let listeners = inherited.isEmpty ? configured : try Self.listeners(inherited, for: configured)
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
        let takeover = Takeover(settings: settings, listeners: listeners, logger: logger)
        let prepared = PreparedListeners(try self.takeover ? takeover.take() : [])
        let group = MultiThreadedEventLoopGroup(numberOfThreads: threads)
        let start = GatewayStart(
            settings: settings,
            named: named,
            listeners: listeners,
            prepared: prepared,
            group: group,
            logger: logger,
            levels: levels,
            events: events
        )
        let outcome: Result<Void, any Error>
        do {
            outcome = .success(try await start.run(until: signals))
        } catch {
            outcome = .failure(error)
        }
        try? await group.shutdownGracefully()
        do {
            try outcome.get()
        } catch let status as ExitCode {
            // The findings are written already.
            throw status
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
    /// Returns a logger that writes events at or above the current level of `levels`. At `notice`,
    /// it writes the events that matter to an operator, such as an origin that becomes unreachable
    /// or responds again.
    static func events(_ levels: LogLevels, _ format: LeveledLogHandler.Format, to output: EventLog) -> Logger {
        let logger = Logger(label: "holdfast") { LeveledLogHandler(label: $0, levels, format, to: output) }
        output.onLosses { reason in
            logger.warning("Dropping log events", metadata: ["log.error": "\(reason)"])
        } end: { lost in
            logger.notice("Logging events again", metadata: ["log.dropped": "\(lost)"])
        }
        return logger
    }
}
