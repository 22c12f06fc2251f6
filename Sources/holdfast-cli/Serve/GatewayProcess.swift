import CommandLineSupport
import Holdfast
import HoldfastControl
import HoldfastGateway
import HoldfastMetrics
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

/// The parts of a gateway. It connects them and runs them until a signal ends them.
struct GatewayProcess: Sendable {
    let configuration: ReloadableConfiguration
    let engine: CacheEngine
    let transport: OriginTransport
    let server: GatewayServer
    /// `nil` if it is off.
    let control: ControlServer?
    let health: GatewayHealth
    let supervision: Supervision
    let accessLog: AccessLog
    let logger: Logger

    /// Opens the store, listens, and serves until a signal comes.
    static func run(
        _ settings: ServeSettings,
        _ named: NamedSettings,
        on group: any EventLoopGroup,
        _ signals: UnixSignalsSequence,
        _ logger: Logger,
        _ levels: LogLevels
    ) async throws {
        let store = try await open(settings, logger)
        let process: GatewayProcess
        do {
            process = try await start(settings, named, from: store, on: group, logger, levels)
        } catch {
            try await store.close()
            throw error
        }
        try await process.run(store, signals)
    }

    /// Opens the store, and prints its folder unless the user named it.
    private static func open(_ settings: ServeSettings, _ logger: Logger) async throws -> CacheManager {
        do {
            let store = try await CacheManager.open(
                at: settings.store,
                configuration: settings.storage,
                logger: logger
            )
            if settings.isDefaultStore { StandardStream.error.line("holdfast storing in \(settings.store)") }
            return store
        } catch {
            guard settings.isDefaultStore else { throw error }
            throw CommandFailure("\(error) '--store' names another folder.")
        }
    }

    private static func makeEngine(
        _ settings: ServeSettings,
        _ store: CacheManager,
        _ transport: OriginTransport,
        _ metrics: MetricsRegistry,
        _ logger: Logger
    ) -> CacheEngine {
        CacheEngine(
            store: store.responses,
            transport: transport,
            policy: CachePolicy(kind: .shared),
            credentialSecret: store.credentialSecret,
            mode: settings.mode,
            options: settings.file.options,
            rules: settings.rules,
            telemetry: Telemetry(factory: metrics, countsExchanges: false),
            logger: logger
        )
    }

    private static func start(
        _ settings: ServeSettings,
        _ named: NamedSettings,
        from store: CacheManager,
        on group: any EventLoopGroup,
        _ logger: Logger,
        _ levels: LogLevels
    ) async throws -> GatewayProcess {
        guard store.credentialSecret.count >= 16 else {
            throw CommandFailure("The store's secret cannot be read. Look at the store with 'cache-dump stats'.")
        }
        let transport = try OriginTransport(
            configuration: OriginTransport.Configuration(settings.file, routes: settings.gateway.routes),
            group: group,
            logger: logger
        )
        let metrics = MetricsRegistry(MetricDescription.engine)
        metrics.add(ProcessMetrics(startTime: Double(SystemWallClock().now().milliseconds) / 1000))
        let engine = makeEngine(settings, store, transport, metrics, logger)
        let modes = ModeSwitch(engine: engine, store: store, logger: logger)
        let staleness = StalenessSwitch(engine: engine, store: store, logger: logger)
        // Before a client can connect: what an operator set for a time outlasts the process.
        await modes.restore()
        await staleness.restore()
        let purging = ControlledPurging()
        let health = GatewayHealth()
        let accessLog = AccessLog(settings.accessLog, logger: logger)
        let server = GatewayServer(
            configuration: settings.gateway,
            engine: engine,
            group: group,
            logger: logger,
            purging: purging,
            health: { await health.status() },
            accessLog: accessLog
        )
        metrics.add(server.metrics)
        metrics.add(accessLog.metrics)
        let configuration = ReloadableConfiguration(
            settings,
            named,
            ReloadableConfiguration.Parts(
                engine: engine,
                store: store,
                modes: modes,
                transport: transport,
                server: server,
                accessLog: accessLog
            ),
            logger: logger
        )
        let operations = EngineOperations(
            engine: engine,
            store: store,
            modes: modes,
            staleness: staleness,
            settings: configuration,
            logLevels: levels
        )
        let control: ControlServer?
        do {
            health.connect(to: HealthWatch(operations: operations, loops: Array(group.makeIterator())))
            control = try await makeControl(settings, operations, store, purging, metrics, on: group, logger)
            let address = try await server.start()
            health.enter(.serving)
            control?.listens(at: "\(address)")
            StandardStream.output.line("holdfast listening on http://\(address)")
        } catch {
            await engine.shutDown()
            await transport.shutDown()
            await accessLog.close()
            if isOfControl(error) { throw CommandFailure("\(error)") }
            let wanted = ListenAddress(host: settings.gateway.host, port: settings.gateway.port)
            // The library's own text describes its system call, which does not help the user.
            let why = (error as? IOError).map { String(cString: strerror($0.errnoCode)) } ?? "\(error)"
            throw CommandFailure(
                "The gateway cannot listen on '\(wanted)': \(why). Choose another address with '--listen'."
            )
        }
        control?.enter(.serving)
        return GatewayProcess(
            configuration: configuration,
            engine: engine,
            transport: transport,
            server: server,
            control: control,
            health: health,
            supervision: Supervision(operations, loops: Array(group.makeIterator()), logger),
            accessLog: accessLog,
            logger: logger
        )
    }

    private func run(_ store: CacheManager, _ signals: UnixSignalsSequence) async throws {
        // The group ends them from the last to the first: the server responds to its clients, then
        // fetches end, then the store closes. Each part limits how long its own end takes.
        // Operators steer until the engine has ended.
        let services = ServiceGroup(
            services: [Ending { await accessLog.close() }, Ending { try await store.close() }]
                + (control.map { [$0] } ?? []) + [
                    Ending {
                        await engine.shutDown()
                        await transport.shutDown()
                    },
                    server,
                ],
            logger: logger
        )
        supervision.manager.notify(.ready)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { await obey(signals, ending: services) }
            tasks.addTask { await supervision.run() }
            defer { tasks.cancelAll() }
            try await services.run()
        }
    }
}

/// A part that runs from the start and must be closed.
private struct Ending: Service {
    let close: @Sendable () async throws -> Void

    init(_ close: @escaping @Sendable () async throws -> Void) { self.close = close }

    func run() async throws {
        // It throws if the group was cancelled. The part must be closed then, too.
        try? await gracefulShutdown()
        try await close()
    }
}
