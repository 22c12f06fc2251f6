import CommandLineSupport
import HTTPCacheOperations
import Holdfast
import HoldfastControl
import HoldfastFleet
import HoldfastGateway
import HoldfastMetrics
import HoldfastTracing
import NIOCore
import ServiceLifecycle
import UnixSignals

/// The parts of a gateway. It connects them and runs them until a signal stops them.
struct GatewayProcess: Sendable {
    let configuration: ReloadableConfiguration
    let engine: CacheEngine
    let operations: EngineOperations
    let transport: OriginTransport
    /// The tracer; `nil` if no traces are sent.
    let tracer: RequestTracer?
    let server: GatewayServer
    /// The control plane; `nil` if it is disabled.
    let control: ControlServer?
    let health: GatewayHealth
    let supervision: Supervision
    let accessLog: AccessLog
    /// The fleet membership; `nil` if nothing is shared with other nodes.
    let member: FleetMember?
    let logger: Logger
    let events: EventLog

    /// Opens the store, listens, and serves until a signal arrives.
    static func run(
        _ settings: ServeSettings,
        _ named: NamedSettings,
        _ listeners: [GatewayListener],
        on group: any EventLoopGroup,
        _ signals: UnixSignalsSequence,
        _ logger: Logger,
        _ levels: LogLevels,
        _ events: EventLog
    ) async throws {
        let metrics = MetricsRegistry(MetricDescription.engine + MetricDescription.store + [.droppedSpans])
        let store = try await open(settings, metrics, logger)
        let process: GatewayProcess
        do {
            process = try await start(
                settings,
                named,
                listeners,
                from: store,
                metrics,
                on: group,
                logger,
                levels,
                events
            )
        } catch {
            try await store.close()
            throw error
        }
        try await process.run(store, signals)
    }

    /// Opens the store, and prints its folder unless the user specified it.
    private static func open(
        _ settings: ServeSettings,
        _ metrics: MetricsRegistry,
        _ logger: Logger
    ) async throws -> CacheManager {
        var storage = settings.storage
        storage.telemetry = StoreTelemetry(factory: metrics)
        do {
            let store = try await CacheManager.open(
                at: settings.store,
                configuration: storage,
                logger: logger
            )
            if settings.isDefaultStore { StandardStream.error.line("holdfast storing in \(settings.store)") }
            return store
        } catch {
            guard settings.isDefaultStore else { throw error }
            throw CommandFailure("\(error) '--store' sets another folder.")
        }
    }

    private static func makeEngine(
        _ settings: ServeSettings,
        _ store: CacheManager,
        _ transport: OriginTransport,
        _ member: FleetMember?,
        _ metrics: MetricsRegistry,
        _ logger: Logger
    ) -> CacheEngine {
        CacheEngine(
            store: store.responses,
            transport: transport,
            fleet: member?.fleetResponses,
            contact: member?.contact,
            policy: CachePolicy(kind: .shared),
            credentialSecret: store.credentialSecret,
            mode: settings.mode,
            options: settings.file.options,
            rules: settings.rules,
            telemetry: Telemetry(factory: metrics, countsExchanges: false, labels: transport.originLabels),
            logger: logger
        )
    }

    private static func start(
        _ settings: ServeSettings,
        _ named: NamedSettings,
        _ listeners: [GatewayListener],
        from store: CacheManager,
        _ metrics: MetricsRegistry,
        on group: any EventLoopGroup,
        _ logger: Logger,
        _ levels: LogLevels,
        _ events: EventLog
    ) async throws -> GatewayProcess {
        guard store.credentialSecret.count >= 16 else {
            throw CommandFailure("The store's secret cannot be read. Check the store with 'cache-dump stats'.")
        }
        metrics.add(ProcessMetrics(startTime: Double(SystemWallClock().now().milliseconds) / 1000))
        let member = try makeMember(settings, store, metrics, logger)
        // Clients and operators may purge as soon as they can connect.
        await member?.join()
        let (transport, tracer) = try makeTransport(settings, metrics, on: group, logger)
        let engine = makeEngine(settings, store, transport, member, metrics, logger)
        let modes = ModeSwitch(engine: engine, store: store, logger: logger)
        let staleness = StalenessSwitch(engine: engine, store: store, logger: logger)
        // Operators' temporary settings survive a restart. Restore them before a client can
        // connect.
        await modes.restore()
        await staleness.restore()
        let purging = ControlledPurging()
        let health = GatewayHealth()
        var gateway = settings.gateway
        gateway.listeners = listeners
        let accessLog = AccessLog(settings.accessLog, logger: logger)
        let server = GatewayServer(
            configuration: gateway,
            engine: engine,
            group: group,
            logger: logger,
            purging: purging,
            health: { await health.status() },
            accessLog: accessLog,
            tracer: tracer
        )
        metrics.add(server.metrics)
        metrics.add(transport.metrics)
        metrics.add(accessLog.metrics(with: events))
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
            logLevels: levels,
            sharing: member,
            traffic: server.traffic
        )
        let control: ControlServer?
        do {
            health.connect(to: HealthWatch(operations: operations, loops: Array(group.makeIterator())))
            control = try await makeControl(settings, named, operations, store, purging, metrics, on: group, logger)
            // Set the phase first: clients may already be waiting on a socket from the service
            // manager and are served immediately.
            health.enter(.serving)
            let addresses = try await server.startListening()
            announce(addresses, of: listeners, to: control)
        } catch {
            await operations.shutDown()
            await transport.shutDown()
            await tracer?.shutDown()
            await accessLog.close()
            throw failure(error)
        }
        control?.enter(.serving)
        return GatewayProcess(
            configuration: configuration,
            engine: engine,
            operations: operations,
            transport: transport,
            tracer: tracer,
            server: server,
            control: control,
            health: health,
            supervision: Supervision(operations, loops: Array(group.makeIterator()), logger),
            accessLog: accessLog,
            member: member,
            logger: logger,
            events: events
        )
    }

    /// Prints one line per address, for people and scripts.
    private static func announce(
        _ addresses: [ListenAddress],
        of listeners: [GatewayListener],
        to control: ControlServer?
    ) {
        let places = Array(zip(addresses, listeners))
        // 'holdfast try' connects to this address, and does not support TLS.
        let plain = places.filter { $0.1.tls == nil }.map(\.0)
        if let first = plain.first(where: { $0.path == nil }) ?? plain.first {
            control?.listens(at: "\(first)")
        } else if let first = addresses.first {
            control?.listens(at: "https://\(first)")
        }
        for (address, listener) in places {
            let scheme = address.path != nil ? "" : listener.tls == nil ? "http://" : "https://"
            StandardStream.output.line("holdfast listening on \(scheme)\(address)")
        }
    }

    /// Returns the error of a failed start, with the next step.
    private static func failure(_ error: any Error) -> CommandFailure {
        guard let failure = error as? ListenFailure else { return CommandFailure("\(error)") }
        // The cause names the file.
        if failure.isOfCertificate { return CommandFailure("\(failure)") }
        switch failure.listener {
        case .address: return CommandFailure("\(failure). Choose another address with '--listen'.")
        // The cause contains the path and the next step.
        case .unix: return CommandFailure("\(failure.cause)")
        case .inherited: return CommandFailure("\(failure). Check the socket unit of the service manager.")
        }
    }

    private func run(_ store: CacheManager, _ signals: UnixSignalsSequence) async throws {
        // The group stops its parts from last to first: the server finishes its responses, then
        // fetches end, then the store closes. Each part limits the duration of its own shutdown.
        // Operators keep control until the engine has ended.
        let services = ServiceGroup(
            services: [
                Ending { await accessLog.close() },
                Ending {
                    await member?.end()
                    try await store.close()
                },
            ]
                + (control.map { [$0] } ?? []) + [
                    Ending {
                        await operations.shutDown()
                        await transport.shutDown()
                        await tracer?.shutDown()
                    },
                    server,
                ],
            logger: logger
        )
        supervision.manager.notify(.ready)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { await obey(signals, ending: services) }
            tasks.addTask { await supervision.run() }
            tasks.addTask { await CertificateWatch(server, transport).run() }
            tasks.addTask { await OriginHealthChecks(transport).run() }
            tasks.addTask { await MemoryReturn(engine, server).run() }
            if let member { tasks.addTask { await member.run() } }
            defer { tasks.cancelAll() }
            try await services.run()
        }
    }
}

/// A part that runs from startup and must be closed.
private struct Ending: Service {
    let close: @Sendable () async throws -> Void

    init(_ close: @escaping @Sendable () async throws -> Void) { self.close = close }

    func run() async throws {
        // This throws if the group was canceled. The part must be closed in that case, too.
        try? await gracefulShutdown()
        try await close()
    }
}
