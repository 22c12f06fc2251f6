import ArgumentParser
import CommandLineSupport
import Dispatch
import Holdfast
import HoldfastGateway
import NIOCore
import NIOPosix
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// `holdfast serve --origin URL --store STORE`, `holdfast serve --config FILE`
struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Answers HTTP/1.1 in front of an origin, or of several, through a store.",
        discussion: """
            A shared cache by RFC 9111. Every answer has a 'Cache-Status' field that says where it came from. One line on standard output \
            tells when connections are accepted,

              holdfast listening on http://127.0.0.1:8080

            and SIGINT (Ctrl-C) or SIGTERM ends it: exchanges under way may take 10 seconds to finish; the exit status is then 0. It is 1 when \
            the store cannot be opened or the address not listened on, 64 when the command line is wrong.

            A configuration file says the same and more: routes to several origins, rules, limits, timeouts. What is named on the command line goes before \
            what the file says; '--origin' takes the place of all its routes. All that is wrong with a file is written to standard error, a line for each finding, \
            and the exit status is 1; 'holdfast check' examines a file without serving.

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
            "The address to listen on; port 0 takes a free one. 127.0.0.1:8080 where neither this nor a file names one.",
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
                is stored answers at once, the origin only on a miss. offline: the origin is never asked. automatic where neither this nor a \
                file names one.
                """
        )
    )
    var mode: Mode?

    @Option(help: "Threads that serve connections. As many as there are processors unless told otherwise.")
    var threads: Int?

    func validate() throws {
        _ = try (namedOrigin(), namedAddress())
        if file == nil {
            guard origin != nil else {
                throw ValidationError("Name an origin with '--origin', or a file with '--config'.")
            }
            guard store != nil else { throw ValidationError("Name a store with '--store', or a file with '--config'.") }
        }
        if let threads, !(1...1024).contains(threads) {
            throw ValidationError("'--threads' takes a number from 1 to 1024, and '\(threads)' is none.")
        }
    }

    func run() async throws {
        let settings = try settings()
        // Before anything is opened, so that whatever is opened is also closed.
        let signals = TerminationSignals()
        let group = MultiThreadedEventLoopGroup(numberOfThreads: threads ?? System.coreCount)
        let outcome: Result<Void, any Error>
        do {
            outcome = .success(try await serve(settings, on: group, until: signals))
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

    private func serve(
        _ settings: ServeSettings,
        on group: any EventLoopGroup,
        until signals: TerminationSignals
    ) async throws {
        let logger = Logger.standardError
        let store = try await CacheManager.open(at: settings.store, configuration: settings.storage, logger: logger)
        let outcome: Result<Void, any Error>
        do {
            outcome = .success(try await serve(settings, from: store, on: group, logger, until: signals))
        } catch {
            outcome = .failure(error)
        }
        // The folder is let go of whatever became of the server.
        try await store.close()
        try outcome.get()
    }

    private func serve(
        _ settings: ServeSettings,
        from store: CacheManager,
        on group: any EventLoopGroup,
        _ logger: Logger,
        until signals: TerminationSignals
    ) async throws {
        let secret = store.credentialSecret
        guard secret.count >= 16 else {
            throw CommandFailure("The store's secret cannot be read. Look at the store with 'cache-dump stats'.")
        }
        var transportConfiguration = OriginTransport.Configuration()
        transportConfiguration.routes = settings.gateway.routes
        let transport = try OriginTransport(configuration: transportConfiguration, group: group, logger: logger)
        let engine = CacheEngine(
            store: store.responses,
            transport: transport,
            policy: CachePolicy(kind: .shared),
            credentialSecret: secret,
            mode: settings.mode,
            options: settings.file.options,
            rules: settings.file.rules.isEmpty ? nil : settings.file.rules,
            logger: logger
        )
        let server = GatewayServer(configuration: settings.gateway, engine: engine, group: group, logger: logger)
        let address: GatewayServer.Address
        do {
            address = try await server.start()
        } catch {
            await engine.shutDown()
            await transport.shutDown()
            let wanted = ListenAddress(host: settings.gateway.host, port: settings.gateway.port)
            // The library's own text tells how it asked, which helps nobody here.
            let why = (error as? IOError).map { String(cString: strerror($0.errnoCode)) } ?? "\(error)"
            throw CommandFailure("'\(wanted)' cannot be listened on: \(why). Choose another with '--listen'.")
        }
        StandardStream.output.line("holdfast listening on http://\(address)")
        await signals.first()
        await server.stop()
        await engine.shutDown()
        await transport.shutDown()
    }

    // MARK: Command line and file together

    /// What holds: of the command line where it says something, else of the file.
    private struct ServeSettings {
        var file: Configuration
        var gateway: GatewayConfiguration
        var store: String
        var storage: CacheManager.Configuration
        var mode: OfflineMode
    }

    private func settings() throws -> ServeSettings {
        let file = try self.file.map { try ConfigurationFile.read($0) } ?? Configuration()
        let routes = try namedOrigin().map { GatewayRoutes(origin: $0) }
        guard routes != nil || !file.routes.isEmpty else {
            throw CommandFailure(
                "'\(self.file ?? "")' names no routes. Name them there, or one origin with '--origin'."
            )
        }
        guard let store = store ?? file.storeFolder else {
            throw CommandFailure(
                "'\(self.file ?? "")' names no store. Name its folder there (store.path), or with '--store'."
            )
        }
        let address = try namedAddress()
        return ServeSettings(
            file: file,
            gateway: try ConfigurationFile.reporting {
                try GatewayConfiguration(file, routes: routes, listen: address)
            },
            store: store,
            storage: CacheManager.Configuration(file.store),
            mode: mode?.offlineMode ?? file.mode ?? .automatic
        )
    }

    private func namedOrigin() throws -> GatewayOrigin? {
        guard let origin else { return nil }
        do {
            return try GatewayOrigin(origin)
        } catch {
            throw ValidationError("'--origin' takes an absolute http or https URL: \(error)")
        }
    }

    private func namedAddress() throws -> ListenAddress? {
        guard let listen else { return nil }
        do {
            return try ListenAddress(listen)
        } catch {
            throw ValidationError("'--listen' takes 'HOST:PORT': \(error)")
        }
    }
}

/// SIGINT and SIGTERM as something to wait for, instead of the end of the process.
private final class TerminationSignals: Sendable {
    private let stream: AsyncStream<Void>
    // Kept, since a source that is released hears nothing any more.
    private let sources = Mutex<[any DispatchSourceSignal]>([])

    init() {
        let (stream, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingOldest(1))
        self.stream = stream
        for number in [SIGINT, SIGTERM] {
            // The default action would end the process before the source is told.
            signal(number, SIG_IGN)
            sources.withLock { sources in
                let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
                source.setEventHandler { continuation.yield() }
                source.activate()
                sources.append(source)
            }
        }
    }

    /// Returns when the first signal comes; at once if it has come.
    func first() async {
        for await _ in stream { return }
    }
}

extension Logger {
    /// What an operator should know (an origin that went away or came back) and worse, to standard error.
    fileprivate static var standardError: Logger {
        var logger = Logger(label: "holdfast") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = .notice
        return logger
    }
}
