import CommandLineSupport
import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics
import Holdfast
import HoldfastConfiguration
import HoldfastControl
import HoldfastFleet
import HoldfastGateway
import HoldfastMetrics
import HoldfastTracing
import LibC
import NIOCore
import UnixSignals

/// Starts a gateway: opens its store, connects its parts, and listens.
struct GatewayStart: Sendable {
    let settings: ServeSettings
    let named: NamedSettings
    let listeners: [GatewayListener]
    /// The sockets of listeners that exist already.
    let prepared: PreparedListeners
    let group: any EventLoopGroup
    let logger: Logger
    let levels: LogLevels
    let events: EventLog
    /// The job that is recorded or replayed; `nil` for an ordinary gateway.
    var job: JobGateway?
    let metrics = MetricsRegistry(MetricDescription.engine + MetricDescription.store + [.droppedSpans])

    /// Opens the store, listens, and serves until a signal arrives.
    func run(until signals: UnixSignalsSequence) async throws {
        try checkLog()
        let store = try await open()
        let process: GatewayProcess
        do {
            process = try await start(from: store)
        } catch {
            try await store.close()
            throw error
        }
        try await process.run(store, signals)
    }

    /// Checks the file of the access log as `holdfast check` does. Later, a gateway continues to
    /// serve if it cannot write the log.
    private func checkLog() throws {
        guard let fault = AccessLogFile.fault(of: settings.accessLog.destination, store: settings.store) else { return }
        let finding = settings.file.references.hide(in: settings.file.finding("log.to", fault))
        try ConfigurationFile.reporting { () throws -> Void in throw ConfigurationError([finding]) }
    }

    /// Opens the store, and prints its folder unless the user specified it.
    func open() async throws -> CacheManager {
        var storage = settings.storage
        storage.telemetry = StoreTelemetry(factory: metrics)
        if let place = named.storePlace, let path = settings.file.storeFolder, path != settings.store {
            // Commands with '--config' look for the gateway in that folder.
            logger.notice(
                "Another setting replaces 'store.path'",
                metadata: [
                    "store.path": "\(settings.file.reference(in: "store.path") ?? path)", "store.set_by": "\(place)",
                    "store.folder": "\(settings.store)",
                ]
            )
        }
        for warning in StoreRoom(of: storage, at: settings.store).warnings {
            logger.warning(
                "A limit of the store exceeds what the machine has",
                metadata: ["store.setting": "\(warning.setting)", "store.reason": "\(warning.message)"]
            )
        }
        do {
            let store = try await CacheManager.open(at: settings.store, configuration: storage, logger: logger)
            if settings.isDefaultStore { StandardStream.error.line("holdfast storing in \(settings.store)") }
            return store
        } catch {
            let isInUse = (error as? StoreError)?.code == .inUse
            let advice = isInUse ? " To replace a running gateway, use 'holdfast serve --takeover'." : ""
            guard settings.isDefaultStore else {
                if isInUse { throw CommandFailure("\(error)\(advice)") }
                throw error
            }
            throw CommandFailure("\(error)\(advice) '--store' sets another folder.")
        }
    }

    private func start(from store: CacheManager) async throws -> GatewayProcess {
        guard store.credentialSecret.count >= 16 else {
            throw CommandFailure("The store's secret cannot be read. Check the store with 'cache-dump stats'.")
        }
        metrics.add(ProcessMetrics(startTime: Double(SystemWallClock().now().milliseconds) / 1000))
        let member = try GatewayProcess.makeMember(settings, store, metrics, logger)
        // Clients and operators may purge as soon as they can connect.
        await member?.join()
        let purging = ControlledPurging(isInFleet: member != nil, logger: logger)
        var process = try await connect(store, member, purging)
        do {
            let files = TokenFiles(settings.file, store: store.folder)
            let tokens = try GatewayProcess.readTokens(settings, files, logger)
            let metricsToken = try GatewayProcess.readMetricsToken(settings, files, logger)
            process.tokens = [tokens, metricsToken].compactMap(\.self)
            for watch in process.tokens {
                process.configuration.files.add(
                    .init(reread: { watch.reload() }, problems: { watch.problem.map { [$0] } ?? [] })
                )
            }
            process.control = try await GatewayProcess.makeControl(
                settings,
                named,
                process.operations,
                store,
                tokens?.verifier,
                GatewayProcess.makeMetricsAddress(settings, metricsToken?.verifier, process.server),
                purging,
                metrics,
                on: group,
                logger
            )
            try await listen(process)
        } catch {
            await process.endExchanges()
            await process.accessLog.close()
            throw failure(error)
        }
        process.control?.enter(.serving)
        return process
    }

    /// Creates the gateway's parts and connects them. Nothing can reach the gateway yet.
    func connect(
        _ store: CacheManager,
        _ member: FleetMember?,
        _ purging: ControlledPurging
    ) async throws -> GatewayProcess {
        let (transport, tracer) = try GatewayProcess.makeTransport(settings, metrics, on: group, job?.proxy, logger)
        let engine = makeEngine(store, transport, member)
        let modes = ModeSwitch(engine: engine, store: store, logger: logger)
        let switches = SwitchKeeper(store: store, logger: logger) { switches in
            engine.targetModes = transport.currentRoutes.flatMap { SwitchedModes(switches, $0) }
            transport.drain(switches.drainedServers)
        }
        let staleness = StalenessSwitch(engine: engine, store: store, logger: logger)
        // Operators' temporary settings survive a restart. Restore them before a client can
        // connect. They are not for jobs.
        if job == nil {
            await modes.restore()
            await switches.restore()
            await staleness.restore()
        }
        let health = GatewayHealth()
        let accessLog = AccessLog(settings.accessLog, logger: logger)
        let server = makeServer(engine, purging, health, accessLog, tracer)
        metrics.add(server.metrics)
        metrics.add(transport.metrics)
        metrics.add(accessLog.metrics(with: events))
        let parts = ReloadableConfiguration.Parts(
            engine: engine,
            store: store,
            modes: modes,
            switches: switches,
            transport: transport,
            server: server,
            accessLog: accessLog
        )
        let configuration = ReloadableConfiguration(settings, named, parts, logger: logger)
        if let member { Self.configure(member, by: configuration) }
        let recordings = job == nil ? makeRecordings(engine, store, configuration) : nil
        let operations = EngineOperations(
            engine: engine,
            store: store,
            modes: modes,
            switches: switches,
            staleness: staleness,
            settings: configuration,
            logLevels: levels,
            sharing: member,
            traffic: server.traffic,
            recordings: recordings
        )
        let loops = Array(group.makeIterator())
        health.connect(to: HealthWatch(operations: operations, loops: loops))
        return GatewayProcess(
            configuration: configuration,
            engine: engine,
            operations: operations,
            transport: transport,
            tracer: tracer,
            server: server,
            health: health,
            supervision: Supervision(operations, loops: loops, logger),
            accessLog: accessLog,
            member: member,
            recordings: recordings,
            freedAddresses: settings.controlAddresses.map(\.description),
            logger: logger,
            events: events
        )
    }

    /// Connects a member of a fleet to the configuration. A reload rereads the member's files, and
    /// the member resolves clients' URLs by the routes and rules in force.
    private static func configure(_ member: FleetMember, by configuration: ReloadableConfiguration) {
        configuration.files.add(.init(reread: { member.rereadFiles() }, problems: { member.rejectedFiles }))
        member.resolve(by: configuration)
    }

    private func makeEngine(
        _ store: CacheManager,
        _ transport: OriginTransport,
        _ member: FleetMember?
    ) -> CacheEngine {
        var parts = CacheEngine.Parts(
            telemetry: Telemetry(factory: metrics, countsExchanges: false, labels: transport.originLabels)
        )
        parts.fleet = member?.fleetResponses
        parts.contact = member?.contact
        parts.targetOrigins = transport
        parts.job = job?.run
        parts.observeJob = job?.observe
        parts.nearestInJob = job?.nearest
        return CacheEngine(
            store: store.responses,
            transport: job?.use == .replaying ? NoTransport() : transport,
            policy: CachePolicy(kind: .shared),
            credentialSecret: job?.secret ?? store.credentialSecret,
            mode: settings.mode,
            options: settings.file.options,
            rules: settings.rules,
            parts: parts,
            logger: logger
        )
    }

    private func makeServer(
        _ engine: CacheEngine,
        _ purging: ControlledPurging,
        _ health: GatewayHealth,
        _ accessLog: AccessLog,
        _ tracer: RequestTracer?
    ) -> GatewayServer {
        var gateway = settings.gateway
        gateway.listeners = listeners
        job?.admitCommand(to: &gateway)
        return GatewayServer(
            configuration: gateway,
            engine: engine,
            group: group,
            logger: logger,
            purging: purging,
            health: { await health.status(of: $0) },
            accessLog: accessLog,
            tracer: tracer
        )
    }

    /// Accepts connections, and prints one line per address, for people and scripts.
    private func listen(_ process: GatewayProcess) async throws {
        // Set the phase first: clients may already be waiting on a socket from the service manager
        // and are served immediately.
        process.health.enter(.serving)
        let addresses = try await process.server.startListening(on: prepared.take())
        let places = Array(zip(addresses, listeners))
        process.control?.listens(at: ListeningAddresses(places.map { (address: $0.0, listener: $0.1) }))
        for (address, listener) in places {
            let scheme = address.path != nil ? "" : listener.tls == nil ? "http://" : "https://"
            StandardStream.output.line("holdfast listening on \(scheme)\(address)")
        }
    }

    /// Returns the error of a failed start, with the next step.
    private func failure(_ error: any Error) -> CommandFailure {
        guard let failure = error as? ListenFailure else { return CommandFailure("\(error)") }
        // The cause names the file.
        if failure.isOfCertificate { return CommandFailure("\(failure)") }
        switch failure.listener {
        case .address: return CommandFailure(words(failure))
        // The cause contains the path and the next step.
        case .unix: return CommandFailure("\(failure.cause)")
        case .inherited: return CommandFailure("\(failure). Check the socket unit of the service manager.")
        }
    }

    /// Returns the failure of an address, the place of the setting, and the next step.
    private func words(_ failure: ListenFailure) -> String {
        let isInFile = named.listen.isEmpty && settings.file.file != nil
        var message = "\(failure)."
        if (failure.cause as? IOError)?.errnoCode == EACCES {
            message += " A port below 1024 needs CAP_NET_BIND_SERVICE, or a socket unit of the service manager."
        } else {
            message += isInFile ? " Choose another address." : " Choose another address with '--listen'."
        }
        return isInFile ? "\(settings.file.finding("listen", message))" : message
    }
}
