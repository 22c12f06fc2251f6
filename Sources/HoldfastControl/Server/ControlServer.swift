package import HTTPCache
package import HTTPCacheOperations
import HTTPCacheSemantics
package import HoldfastMetrics
import Hummingbird
import HummingbirdCore
import LibC
import LocalSockets
package import Logging
package import NIOCore
import NIOPosix
import ServiceLifecycle
import Synchronization

/// The control plane of a gateway: an HTTP server for operators, who monitor and control the
/// gateway through it. It listens on a Unix socket, and optionally on a port.
///
/// ```swift
/// let control = try ControlServer(
///     socket: ControlSocket(store: store.folder, environment: [:]),
///     store: store.folder,
///     operations: operations,
///     build: ProgramBuild(version: "1.0"),
///     loops: Array(group.makeIterator()),
///     logger: logger
/// )
/// try await control.run()
/// ```
///
/// The control plane has its own event loop, so operators and the gateway's clients do not delay
/// each other: see ``group``.
package final class ControlServer: Service {
    /// The event loop of every control plane in this process. It is never shut down, because a
    /// server of Hummingbird may use its loop after it has ended: a task that no caller can await
    /// releases the server's last parts.
    static let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)

    /// The socket on which the control plane listens.
    package let socket: ControlSocket

    private let claim: SocketClaim
    private let store: String
    let responder: ControlResponder
    let coordinator: PurgeCoordinator
    private let sessions: PageSessions
    private let recorder: TrafficRecorder
    private let network: ControlNetwork?
    private let metricsAddress: MetricsAddress?
    private let logger: Logger
    private let whenListening: @Sendable (Address) -> Void
    private let phase: PhaseBox

    /// An address where clients can connect.
    package enum Address: Sendable, Hashable, CustomStringConvertible {
        /// The Unix socket.
        case socket(ControlSocket)
        /// The URL of the port.
        case network(String)
        /// The URL of the separate metrics port.
        case metrics(String)

        /// The path or the URL.
        package var description: String {
            switch self {
            case .socket(let socket): socket.path
            case .network(let url), .metrics(let url): url
            }
        }
    }

    /// The maximum number of connections with an authorized request, for the socket and for the
    /// port. More connections wait. See ``ConnectionPermits``.
    private static let maximumConnections = 64
    /// The maximum number of other connections. For each one above it, another connection without
    /// an authorized request is closed.
    private static let maximumStrangers = 64
    /// The maximum time that a connection may be idle.
    private static let idleLimit = TimeAmount.seconds(30)
    /// The time limit for running operations during shutdown.
    private static let drainLimit = Duration.seconds(2)
    /// The time limit for a running purge during shutdown.
    fileprivate static let purgeLimit = Duration.seconds(1)

    /// Creates a control plane and claims the socket's path. ``run()`` listens on the socket.
    ///
    /// - Parameters:
    ///   - store: the store's folder. If the socket is elsewhere, a link in this folder leads the
    ///     command-line tools to the socket.
    ///   - network: the port to listen on in addition to the socket; `nil` disables it.
    ///   - metricsAddress: a separate port that serves only metrics; `nil` disables it.
    ///   - build: the program's versions, for `/v1/status` and `/metrics`.
    ///   - loops: the event loops that serve the gateway's clients, for `/livez`.
    ///   - pageFolder: a folder with files of the page, to use instead of those in the binary while
    ///     developing the page.
    ///   - metrics: the metrics for `GET /metrics`. The control plane adds metrics about the state
    ///     of the cache.
    ///   - whenListening: called for each address once clients can connect.
    /// - Throws: `SocketRefusal` if the path is too long or cannot be used, or if a process already
    ///   listens on it.
    package init(
        socket: ControlSocket,
        network: ControlNetwork? = nil,
        metricsAddress: MetricsAddress? = nil,
        store: String,
        operations: any CacheOperations,
        build: ProgramBuild,
        loops: [any EventLoop],
        pageFolder: String? = nil,
        metrics: MetricsRegistry = MetricsRegistry(),
        clock: any WallClock = SystemWallClock(),
        logger: Logger,
        whenListening: @escaping @Sendable (Address) -> Void = { _ in }
    ) throws {
        claim = try SocketClaim(socket)
        let phase = PhaseBox()
        self.socket = socket
        self.network = network
        self.metricsAddress = metricsAddress
        self.store = store
        self.logger = logger
        self.whenListening = whenListening
        self.phase = phase
        let sequence = operations.invalidationSequence.number
        let watch = StoreWatch(operations, clock: clock)
        let streams = EventStreams()
        recorder = TrafficRecorder(operations, metrics, watch, clock: clock)
        metrics.add(OperationsMetrics(operations, build, watch, clock: clock))
        metrics.add(streams)
        sessions = PageSessions(clock: clock)
        coordinator = PurgeCoordinator(
            operations,
            refreshes: operations,
            since: sequence,
            clock: clock,
            logger: logger,
            places: operations
        )
        metrics.add(PurgeMetrics(coordinator: coordinator))
        responder = ControlResponder(
            operations: operations,
            coordinator: coordinator,
            loops: LoopWatch(loops),
            phase: { phase.value },
            listening: { phase.addresses },
            about: ProgramReport(version: build.version, startedAt: clock.now()),
            registry: metrics,
            clock: clock,
            logger: logger,
            store: watch,
            recorder: recorder,
            streams: streams,
            page: PageAccess(sessions: sessions, socket: socket.path, place: { phase.pageURL }),
            assets: PageAssets(folder: pageFolder),
            entryPoint: .socket
        )
    }

    /// Changes the phase that `/readyz` reports.
    package func enter(_ phase: ServingPhase) { self.phase.value = phase }

    /// Sets the addresses that `/v1/status` shows for the gateway's clients.
    package func listens(at addresses: ListeningAddresses) { self.phase.addresses = addresses }

    /// Serves until its service group shuts down gracefully or its task is canceled, then removes
    /// the socket.
    ///
    /// If a listener fails after it was opened, this logs the error, and returns only at shutdown,
    /// so that the gateway keeps serving.
    ///
    /// - Throws: `InvalidSetting` if a listener cannot be opened. A gateway must not start without
    ///   the control plane that its operator set.
    package func run() async throws {
        var refusal: InvalidSetting?
        do {
            try await serve()
        } catch let error as InvalidSetting {
            refusal = error
        } catch {
            if !Task.isShuttingDownGracefully, !Task.isCancelled {
                logger.error(
                    "Control plane stopped",
                    metadata: ["control.socket": "\(socket.path)", "error": "\(error)"]
                )
                try? await gracefulShutdown()
            }
        }
        await coordinator.end(within: Self.purgeLimit)
        claim.removeLink(fromStore: store)
        claim.release()
        if let refusal { throw refusal }
    }

    private func serve() async throws {
        var services: [any Service] = [recorder, socketApplication()]
        if let network { services.append(application(of: network)) }
        if let metricsAddress { services.append(application(of: metricsAddress)) }
        // Services shut down in reverse order: clients get their responses before the connections
        // close.
        services.append(PurgeEnd(coordinator: coordinator))
        var configuration = ServiceGroupConfiguration(services: services, logger: logger)
        configuration.maximumGracefulShutdownDuration = Self.drainLimit
        try await ServiceGroup(configuration: configuration).run()
    }

    private func socketApplication() -> any Service {
        let (claim, store, logger, whenListening) = (claim, store, logger, whenListening)
        let refusal = { @Sendable (error: any Error) in
            InvalidSetting("\(claim.location.refusal((error as? IOError)?.errnoCode ?? EIO))")
        }
        return application(responder, on: .unixDomainSocket(path: claim.draft), refusal) { _ in
            do {
                try claim.publish()
            } catch {
                // Clients cannot find the socket, but the gateway keeps serving.
                logger.error("Control socket is not available", metadata: ["control.error": "\(error)"])
                return
            }
            if !claim.link(fromStore: store) {
                logger.warning(
                    "The store's folder has no link to the control socket; name the socket with '--socket'",
                    metadata: ["control.socket": "\(claim.socket.path)"]
                )
            }
            whenListening(.socket(claim.socket))
        }
    }

    /// Returns a separate server, so that network clients do not use up the socket's connections.
    private func application(of network: ControlNetwork) -> any Service {
        let (whenListening, phase) = (whenListening, phase)
        var responder = responder
        responder.entryPoint = .network(NetworkEntryPoint(network, sessions))
        let place = BindAddress.hostname(network.host, port: network.port)
        return application(responder, on: place, { network.refusal($0) }) { channel in
            let port = channel.localAddress?.port ?? network.port
            phase.pageURL = network.pageURL(port: port)
            whenListening(.network(ControlNetwork.url(network.host, port)))
        }
    }

    private func application(of address: MetricsAddress) -> any Service {
        let whenListening = whenListening
        var responder = responder
        responder.entryPoint = .metrics(MetricsEntryPoint(address))
        responder.served = ControlResponder.metrics
        let place = BindAddress.hostname(address.host, port: address.port)
        return application(responder, on: place, tls: address.tls, { address.refusal($0) }) { channel in
            whenListening(.metrics(address.url(port: channel.localAddress?.port ?? address.port)))
        }
    }

    private func application(
        _ responder: ControlResponder,
        on address: BindAddress,
        tls: MetricsAddress.TLSHandler? = nil,
        _ refusal: @escaping @Sendable (any Error) -> InvalidSetting,
        _ whenRunning: @escaping @Sendable (any Channel) -> Void
    ) -> any Service {
        let opening = Opening()
        let listener = Self.application(responder, responder.entryPoint, on: address, tls: tls, logger) {
            opening.succeed()
            whenRunning($0)
        }
        return OpenedListener(listener: listener, opening: opening, refusal: refusal)
    }

    /// Returns a server with the control plane's limits.
    ///
    /// - Parameters:
    ///   - entryPoint: decides which requests are authorized.
    ///   - tls: adds TLS to each connection.
    static func application<Responder: HTTPResponder>(
        _ responder: Responder,
        _ entryPoint: ControlEntryPoint,
        on address: BindAddress,
        tls: MetricsAddress.TLSHandler? = nil,
        _ logger: Logger,
        _ whenRunning: @escaping @Sendable (any Channel) -> Void
    ) -> any Service where Responder.Context == ControlContext {
        let admission = ConnectionAdmission(limit: maximumConnections, strangerLimit: maximumStrangers)
        let connections = HTTP1Channel.Configuration(
            additionalChannelHandlers: [
                AbsoluteTarget.Placement {
                    [AbsoluteTarget(), HeadDeadline(admission) { entryPoint.opens(presenting: $0) }]
                }
            ],
            idleTimeout: idleLimit
        )
        return Application(
            responder: responder,
            server: HTTPServerBuilder { responder in
                let plain = HTTP1Channel(responder: responder, configuration: connections)
                guard let tls else { return plain }
                return SecureChannel(base: plain, makeHandler: tls)
            },
            configuration: ApplicationConfiguration(address: address, availableConnectionsDelegate: admission),
            onServerRunning: { channel in
                admission.listens(on: channel)
                whenRunning(channel)
            },
            eventLoopGroupProvider: .shared(group),
            logger: logger
        )
    }
}

/// Shuts the coordinator down with the control plane.
private struct PurgeEnd: Service {
    let coordinator: PurgeCoordinator

    func run() async throws {
        // This throws if the control plane failed. The gateway's clients may then still purge, so
        // do not shut down.
        guard (try? await gracefulShutdown()) != nil else { return }
        await coordinator.end(within: ControlServer.purgeLimit)
    }
}

/// The gateway's phase and addresses, shared between the server and its responders.
private final class PhaseBox: Sendable {
    private let phase = Mutex(ServingPhase.starting)
    private let listening = Mutex(ListeningAddresses())
    private let page = Mutex<String?>(nil)

    var value: ServingPhase {
        get { phase.withLock { $0 } }
        set { phase.withLock { $0 = newValue } }
    }

    /// The URL of the status page.
    var pageURL: String? {
        get { page.withLock { $0 } }
        set { page.withLock { $0 = newValue } }
    }

    var addresses: ListeningAddresses {
        get { listening.withLock { $0 } }
        set { listening.withLock { $0 = newValue } }
    }
}
