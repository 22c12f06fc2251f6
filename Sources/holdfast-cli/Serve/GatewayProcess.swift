import CommandLineSupport
import Holdfast
import HoldfastGateway
import NIOCore
import ServiceLifecycle
import UnixSignals

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The parts of a gateway, put together and run until a signal ends them.
struct GatewayProcess: Sendable {
    /// What was read at the start, and counts for what cannot change.
    let settings: ServeSettings
    let named: NamedSettings
    let engine: CacheEngine
    let transport: OriginTransport
    let server: GatewayServer
    let manager: ServiceManager
    let logger: Logger

    /// Opens the store, listens, and serves until a signal comes.
    static func run(
        _ settings: ServeSettings,
        _ named: NamedSettings,
        on group: any EventLoopGroup,
        _ signals: UnixSignalsSequence,
        _ logger: Logger
    ) async throws {
        let store = try await CacheManager.open(at: settings.store, configuration: settings.storage, logger: logger)
        let process: GatewayProcess
        do {
            process = try await start(settings, named, from: store, on: group, logger)
        } catch {
            try await store.close()
            throw error
        }
        try await process.run(store, signals)
    }

    private static func start(
        _ settings: ServeSettings,
        _ named: NamedSettings,
        from store: CacheManager,
        on group: any EventLoopGroup,
        _ logger: Logger
    ) async throws -> GatewayProcess {
        let secret = store.credentialSecret
        guard secret.count >= 16 else {
            throw CommandFailure("The store's secret cannot be read. Look at the store with 'cache-dump stats'.")
        }
        let transport = try OriginTransport(
            configuration: OriginTransport.Configuration(settings.file, routes: settings.gateway.routes),
            group: group,
            logger: logger
        )
        let engine = CacheEngine(
            store: store.responses,
            transport: transport,
            policy: CachePolicy(kind: .shared),
            credentialSecret: secret,
            mode: settings.mode,
            options: settings.file.options,
            rules: settings.rules,
            logger: logger
        )
        let server = GatewayServer(configuration: settings.gateway, engine: engine, group: group, logger: logger)
        do {
            StandardStream.output.line("holdfast listening on http://\(try await server.start())")
        } catch {
            await engine.shutDown()
            await transport.shutDown()
            let wanted = ListenAddress(host: settings.gateway.host, port: settings.gateway.port)
            // The library's own text tells how it asked, which helps nobody here.
            let why = (error as? IOError).map { String(cString: strerror($0.errnoCode)) } ?? "\(error)"
            throw CommandFailure("'\(wanted)' cannot be listened on: \(why). Choose another with '--listen'.")
        }
        return GatewayProcess(
            settings: settings,
            named: named,
            engine: engine,
            transport: transport,
            server: server,
            manager: ServiceManager(),
            logger: logger
        )
    }

    private func run(_ store: CacheManager, _ signals: UnixSignalsSequence) async throws {
        // Ended from the last to the first: clients are answered, then fetches end, then the folder
        // is let go of. Each part bounds its own end.
        let services = ServiceGroup(
            services: [
                Ending { try await store.close() },
                Ending {
                    await engine.shutDown()
                    await transport.shutDown()
                },
                server,
            ],
            logger: logger
        )
        manager.notify(.ready)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { await obey(signals, ending: services) }
            defer { tasks.cancelAll() }
            try await services.run()
        }
    }

    /// Does what signals ask for, until the task is cancelled.
    private func obey(_ signals: UnixSignalsSequence, ending services: ServiceGroup) async {
        var isEnding = false
        for await signal in signals {
            switch signal {
            case .sighup:
                if isEnding { break }
                manager.notify(.reloading)
                reload()
                manager.notify(.ready)
            case _ where isEnding:
                // The store stands a process that is killed. What is under way is lost, as was
                // asked for.
                _exit(128 + signal.rawValue)
            default:
                isEnding = true
                logger.notice("Ending; a second signal ends at once", metadata: ["signal": "\(signal)"])
                manager.notify(.stopping)
                await services.triggerGracefulShutdown()
            }
        }
    }
}

/// A part that is there from the start and has to be closed.
private struct Ending: Service {
    let close: @Sendable () async throws -> Void

    init(_ close: @escaping @Sendable () async throws -> Void) { self.close = close }

    func run() async throws {
        // It throws where the group was cancelled, and then there is as much to close.
        try? await gracefulShutdown()
        try await close()
    }
}
