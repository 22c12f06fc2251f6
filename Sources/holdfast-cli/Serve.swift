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

/// `holdfast serve --origin URL --store STORE`
struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Answers HTTP/1.1 in front of one origin, through a store.",
        discussion: """
            A shared cache by RFC 9111. Every answer has a 'Cache-Status' field that says where it came from. One line on standard output \
            tells when connections are accepted,

              holdfast listening on http://127.0.0.1:8080

            and SIGINT (Ctrl-C) or SIGTERM ends it: exchanges under way may take 10 seconds to finish; the exit status is then 0. It is 1 when \
            the store cannot be opened or the address not listened on, 64 when the command line is wrong.

            Examples:
              holdfast serve --origin https://api.example.com --store api.store
              holdfast serve --origin http://localhost:3000/api --listen 127.0.0.1:0 --store api.store --mode preferStored
            """
    )

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
    var origin: String

    @Option(help: ArgumentHelp("The address to listen on; port 0 takes a free one.", valueName: "host:port"))
    var listen = "127.0.0.1:8080"

    @Option(help: "The store's folder; made where there is none. One process at a time writes to it.")
    var store: String

    @Option(
        help: ArgumentHelp(
            "How much of the network may be used.",
            discussion: """
                online: as RFC 9111 says. automatic: and what is stored answers for an origin that cannot be reached. preferStored: whatever \
                is stored answers at once, the origin only on a miss. offline: the origin is never asked.
                """
        )
    )
    var mode: Mode = .automatic

    @Option(help: "Threads that serve connections. As many as there are processors unless told otherwise.")
    var threads: Int?

    func validate() throws {
        _ = try gatewayConfiguration()
        if let threads, !(1...1024).contains(threads) {
            throw ValidationError("'--threads' takes a number from 1 to 1024, and '\(threads)' is none.")
        }
    }

    func run() async throws {
        let configuration = try gatewayConfiguration()
        // Before anything is opened, so that whatever is opened is also closed.
        let signals = TerminationSignals()
        let group = MultiThreadedEventLoopGroup(numberOfThreads: threads ?? System.coreCount)
        let outcome: Result<Void, any Error>
        do {
            outcome = .success(try await serve(configuration, on: group, until: signals))
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
        _ configuration: GatewayConfiguration,
        on group: any EventLoopGroup,
        until signals: TerminationSignals
    ) async throws {
        let logger = Logger.standardError
        let store = try await CacheManager.open(at: store, logger: logger)
        let outcome: Result<Void, any Error>
        do {
            outcome = .success(try await serve(configuration, from: store, on: group, logger, until: signals))
        } catch {
            outcome = .failure(error)
        }
        // The folder is let go of whatever became of the server.
        try await store.close()
        try outcome.get()
    }

    private func serve(
        _ configuration: GatewayConfiguration,
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
        transportConfiguration.routes = configuration.routes
        let transport = try OriginTransport(configuration: transportConfiguration, group: group, logger: logger)
        let engine = CacheEngine(
            store: store.responses,
            transport: transport,
            policy: CachePolicy(kind: .shared),
            credentialSecret: secret,
            mode: mode.offlineMode,
            logger: logger
        )
        let server = GatewayServer(configuration: configuration, engine: engine, group: group, logger: logger)
        let address: GatewayServer.Address
        do {
            address = try await server.start()
        } catch {
            await engine.shutDown()
            await transport.shutDown()
            throw CommandFailure("'\(listen)' cannot be listened on: \(error). Choose another with '--listen'.")
        }
        StandardStream.output.line("holdfast listening on http://\(address)")
        await signals.first()
        await server.stop()
        await engine.shutDown()
        await transport.shutDown()
    }

    private func gatewayConfiguration() throws -> GatewayConfiguration {
        let origin: GatewayOrigin
        do {
            origin = try GatewayOrigin(self.origin)
        } catch {
            throw ValidationError("'--origin' takes an absolute http or https URL: \(error)")
        }
        guard let colon = listen.lastIndex(of: ":"), let port = UInt16(listen[listen.index(after: colon)...]) else {
            throw ValidationError("'--listen' takes 'HOST:PORT', and '\(listen)' is not that. Port 0 takes a free one.")
        }
        var host = listen[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        guard !host.isEmpty else {
            throw ValidationError("'--listen' takes 'HOST:PORT'; '0.0.0.0:\(port)' listens on all addresses.")
        }
        return GatewayConfiguration(origin: origin, host: String(host), port: Int(port))
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
