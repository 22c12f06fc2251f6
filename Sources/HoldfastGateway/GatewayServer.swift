import EventLoops
public import HTTPCache
package import HTTPCacheOperations
import HoldfastConfiguration
public import HoldfastMetrics
public import HoldfastTracing
public import Logging
public import NIOCore
import NIOPosix
public import ServiceLifecycle
import Synchronization
import TLSCertificates

#if !canImport(ServiceLifecycle)
    #error("The module HoldfastGateway needs the trait 'Gateway' of the package 'holdfast'. Remove 'traits: []'.")
#endif

/// A gateway: an HTTP/1.1 and HTTP/2 server that serves stored responses, and forwards other
/// requests to the origin.
///
/// ```swift
/// let origin = try GatewayOrigin("https://api.example.com")
/// let server = GatewayServer(
///     configuration: .init(origin: origin),
///     engine: engine,
///     group: group,
///     logger: logger
/// )
/// let address = try await server.start()
/// …
/// await server.stop()
/// ```
///
/// ``start()`` returns once the server listens. As a service, ``run()`` serves until its service
/// group shuts down or its task is canceled. The caller owns the engine, its store and its
/// transport, and must keep them until the server has stopped.
public final class GatewayServer: Service {
    private enum State {
        case initial
        case starting
        case running(OpenListeners)
        case stopped
    }

    let service: GatewayService
    let group: any EventLoopGroup
    var admission: Admission { service.admission }
    var connections: ConnectionRegistry { admission.connections }
    private let counted: GatewayMetrics
    let certificates: CertificateRegistry
    private let proxyLog: ProxyRefusalLog
    private let accessLog: AccessLog?
    private let state = Mutex(State.initial)
    /// The hot table of each event loop.
    private let tables = Mutex<[(loop: any EventLoop, table: NIOLoopBoundBox<HotTable>)]>([])

    /// - Parameters:
    ///   - engine: an engine with a shared-cache policy, and with a transport that reaches the
    ///     routes' origins: an `OriginTransport` with the same routes.
    ///   - group: the event loops that serve clients.
    ///   - instance: a number that differs between gateways with the same pseudonym. It is part of
    ///     requests' `Via`, so that a request that loops back to this gateway is rejected.
    ///   - clock: the clock for the `Date` of responses without one, and for the dates of reloaded
    ///     certificates.
    ///   - purging: performs purges by clients in ``GatewayConfiguration/purgers``; `nil` rejects
    ///     every PURGE.
    ///   - health: performs a health check, for ``GatewayConfiguration/healthPath``,
    ///     ``GatewayConfiguration/livePath`` and ``GatewayConfiguration/readyPath``. One call
    ///     serves all clients that request the same check at the same time. The default is
    ///     `HealthStatus.ok`.
    ///   - accessLog: receives a line for each request that its level includes. The caller owns it,
    ///     and must keep it until the server has stopped.
    ///   - tracer: creates a span for each request; `nil` for none. Pass it to the
    ///     `OriginTransport` too.
    public init(
        configuration: GatewayConfiguration,
        engine: CacheEngine,
        group: any EventLoopGroup,
        instance: UInt32 = .random(in: .min ... .max),
        clock: any WallClock = SystemWallClock(),
        logger: Logger,
        purging: (any ClientPurging)? = nil,
        health: @escaping @Sendable (HealthCheck) async -> HealthStatus = { _ in .ok },
        accessLog: AccessLog? = nil,
        tracer: RequestTracer? = nil
    ) {
        let labels = RouteLabels()
        certificates = CertificateRegistry(clock: clock, logger: logger)
        proxyLog = ProxyRefusalLog(logger)
        let admission = Admission(purging: purging)
        counted = GatewayMetrics(labels, engine, certificates, admission)
        self.service = GatewayService(
            configuration: configuration,
            engine: engine,
            instance: instance,
            clock: clock,
            logger: logger,
            admission: admission,
            health: HealthReporters(health),
            tracer: tracer,
            labels: labels
        )
        self.group = group
        self.accessLog = accessLog
        EnvironmentSwitch.socketWriter.report(to: logger)
    }

    /// Starts listening.
    ///
    /// - Returns: the first IP address and port that the server listens on, or the path of its
    ///   first Unix socket if it only listens on Unix sockets.
    /// - Throws: the cause of a ``ListenFailure``, such as the system's error for an address;
    ///   `InvalidSetting` if there are no or too many listeners; `CancellationError` if the server
    ///   was already started or stopped.
    public func start() async throws -> ListenAddress {
        do {
            let addresses = try await startListening()
            guard let address = addresses.first(where: { $0.path == nil }) ?? addresses.first else {
                throw CancellationError()
            }
            return address
        } catch let failure as ListenFailure {
            throw failure.cause
        }
    }

    /// Starts listening on all ``GatewayConfiguration/listeners``. If one cannot be opened, the
    /// server listens on none.
    ///
    /// - Returns: the address of each listener, in order.
    /// - Throws: ``ListenFailure``, which names the listener; `InvalidSetting` if there are none or
    ///   too many; `CancellationError` if the server was already started or stopped.
    public func startListening() async throws -> [ListenAddress] { try await startListening(on: []) }

    /// Starts listening like ``startListening()``, on sockets that exist already.
    ///
    /// - Parameter prepared: the sockets of each listener, in order; `nil` to open the listener.
    package func startListening(on prepared: [PreparedListener?]) async throws -> [ListenAddress] {
        let configuration = service.configuration
        try configuration.checkListeners()
        let isFirst = state.withLock { state in
            guard case .initial = state else { return false }
            state = .starting
            return true
        }
        guard isFirst else { throw CancellationError() }
        let loops = group.makeIterator().map { loop in
            let telemetry = counted.add(loop)
            let log = accessLog?.add(loop, service.labels) { [engine = service.engine] in engine.shortID(of: $0) }
            loop.execute { telemetry.value.log = log?.value }
            return ServingLoop(loop, telemetry)
        }
        tables.withLock { $0 = loops.map { ($0.eventLoop, $0.hot) } }
        let open: OpenListeners
        do {
            open = try await openListeners(of: configuration, on: loops, prepared)
        } catch {
            state.withLock { $0 = .stopped }
            throw error
        }
        let isWanted = state.withLock { state in
            guard case .starting = state else { return false }
            state = .running(open)
            return true
        }
        guard isWanted else {
            await open.close()
            throw CancellationError()
        }
        return open.addresses
    }

    /// Makes each response the last one on its HTTP/1 connection, because ``stop()`` follows soon.
    /// Connections are still accepted.
    ///
    /// Otherwise, ``stop()`` would close idle connections just when their clients send requests.
    /// HTTP/2 connections need no announcement: a GOAWAY says which requests are served.
    package func beginEnding() { connections.beginEnding() }

    /// Stops accepting connections, gives exchanges in progress the configured time to finish, and
    /// returns when all connections are closed. A connection that was already accepted also gets
    /// its first request served if the request arrives in time:
    /// ``GatewayConfiguration/Timeouts/lateRequest``.
    public func stop() async {
        let open = state.withLock { state -> OpenListeners? in
            defer { state = .stopped }
            if case .running(let open) = state { return open }
            return nil
        }
        await open?.close()
        await connections.drain(within: service.configuration.timeouts.draining, on: group.any())
        // Exchanges of disconnected clients are canceled, and end on their event loops.
        if await !service.tasks.untilNone(within: Self.tasksEnd, on: group.any()) {
            service.logger.warning(
                "Canceled requests have not ended; stopping without them",
                metadata: ["gateway.requests": "\(service.tasks.count)"]
            )
        }
        counted.stop()
    }

    /// The open listeners, if the server is running.
    var runningListeners: OpenListeners? {
        state.withLock { if case .running(let open) = $0 { open } else { nil } }
    }

    /// The time that canceled exchanges get to end after their connections are closed. Only an
    /// unresponsive disk takes that long.
    private static let tasksEnd = TimeAmount.seconds(10)

    /// The number of requests served from the loops' hot tables.
    func hotResponseCount() async -> Int {
        var count = 0
        for (loop, table) in tables.withLock({ $0 }) {
            count += (try? await loop.submit { table.value.responseCount }.get()) ?? 0
        }
        return count
    }

    /// The number of clients waiting for the health check in progress.
    var healthWaiterCount: Int { service.health[.all].waiterCount }

    /// Metrics of requests, outcomes, durations and connections. Each loop counts for itself, and a
    /// scrape sums the loops.
    public var metrics: any MetricsCollector { counted }

    /// The recorded details of individual requests.
    package var traffic: any TrafficOperations { counted }

    /// The number of exchanges' tasks and disk lookups that are still running.
    var pendingWorkCount: Int { service.tasks.count }

    /// The number of open tunnels.
    var tunnelCount: Int { admission.tunnels.count }

    /// The number of open connections.
    var connectionCount: Int { connections.count }

    /// Whether the gateway has started to close connections between requests.
    var isStopping: Bool { connections.isDraining }

    /// Applies a new configuration to all later requests: routes, limits, and the details that
    /// clients see. No connection is closed.
    ///
    /// The listeners do not change. For open connections, timeouts and head limits do not change
    /// either. Pass new routes to the transport first:
    /// `OriginTransport.reconfigure(routes:origins:)`.
    public func reconfigure(_ configuration: GatewayConfiguration) {
        service.reconfigure(configuration)
    }

    /// Serves until its service group shuts down gracefully or the task is canceled, then stops
    /// like ``stop()``. If the server is not running, this starts it.
    ///
    /// - Throws: the errors of ``startListening()``.
    public func run() async throws {
        let isStarted = state.withLock { if case .running = $0 { true } else { false } }
        if !isStarted {
            for address in try await startListening() {
                service.logger.info("Gateway listening", metadata: ["gateway.address": "\(address)"])
            }
        }
        await withTaskCancellationOrGracefulShutdownHandler {
            await connections.untilDraining()
        } onCancelOrGracefulShutdown: { [connections] in
            connections.beginDraining()
        }
        await stop()
    }

    /// Reloads the certificate files of all listeners. Connections stay open, and new ones get the
    /// new certificates. An unusable certificate and key change nothing, and an error is logged.
    ///
    /// Reads files, so do not call this function on an event loop.
    ///
    /// - Parameter selection: the files to read.
    public func reloadCertificates(_ selection: CertificateSelection = .all) {
        certificates.reload(selection)
    }

    /// Why files of listeners could not be used when they were last read, a sentence each.
    package var rejectedFiles: [String] { certificates.rejectedFiles }

    /// How a listener's clients connect.
    struct ClientKind: Sendable {
        /// Whether they connect through a Unix socket.
        var isLocal = false
        /// `nil` without TLS.
        var tls: ListenerTLS?
        var acceptsHTTP2 = true
        /// Whether each connection starts with a PROXY protocol header.
        var isProxied = false
    }

    /// - Parameters:
    ///   - acceptor: the loop that accepts connections.
    ///   - loops: the loops that serve connections: either only the acceptor, or the entire group.
    func bootstrap(
        on acceptor: ServingLoop,
        handingOutTo loops: [ServingLoop],
        _ kind: ClientKind
    ) -> ServerBootstrap {
        let service = service
        let (admission, proxyLog) = (admission, proxyLog)
        let localName = kind.isLocal ? GatewayClient.localName : nil
        let serving = Dictionary(loops.map { (ObjectIdentifier($0.eventLoop), $0) }) { first, _ in first }
        return ServerBootstrap(group: acceptor.eventLoop, childGroup: loops.count > 1 ? group : acceptor.eventLoop)
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(AcceptPause(logger: service.logger))
                }
            }
            .childChannelOption(.autoRead, value: false)
            .childChannelOption(.recvAllocator, value: ReceiveBufferSizes(first: 512, maximum: 64 << 10))
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    guard let loop = serving[ObjectIdentifier(channel.eventLoop)] else {
                        throw ChannelError.ioOnClosedChannel
                    }
                    let telemetry = loop.telemetry.value
                    telemetry.countConnection()
                    UnsentBytes.limit(on: channel)
                    let peer = localName ?? channel.remoteAddress?.ipAddress.map { AddressRange.plain($0) }
                    let configuration = service.configuration
                    if kind.tls != nil { try ListenerTLS.limitReads(of: channel) }
                    let decision = admission.admit(channel, from: peer, isProxied: kind.isProxied, configuration)
                    switch decision {
                    case .serve, .exceeds:
                        let client = ClientAddress(text: peer)
                        return try Self.addHandlers(to: channel, of: client, decision, kind, service, loop)
                    case .awaitHeader, .untrustedPeer: break
                    }
                    let handler = ProxyHeaderHandler(
                        peer,
                        isTrusted: decision == .awaitHeader,
                        configuration.timeouts,
                        telemetry,
                        proxyLog
                    ) { client in
                        let decision = admission.admit(channel, named: client, service.configuration)
                        try Self.addHandlers(to: channel, of: client, decision, kind, service, loop)
                    }
                    try channel.pipeline.syncOperations.addHandler(handler)
                }
            }
    }

    /// Adds a connection's handlers, on its event loop.
    ///
    /// - Parameters:
    ///   - client: the client's address.
    ///   - decision: whether the connection exceeds a limit.
    private static func addHandlers(
        to channel: any Channel,
        of client: ClientAddress,
        _ decision: Admission.ConnectionDecision,
        _ kind: ClientKind,
        _ service: GatewayService,
        _ loop: ServingLoop
    ) throws {
        let pipeline = channel.pipeline.syncOperations
        let telemetry = loop.telemetry.value
        if case .exceeds(let excess) = decision {
            return try pipeline.addHandler(
                BusyHandler(
                    service: service,
                    client: client.text,
                    excess: excess,
                    isSecure: kind.tls != nil,
                    connections: service.admission.connections,
                    telemetry: telemetry
                )
            )
        }
        if let proxy = service.configuration.commandProxy {
            return try pipeline.addHandler(ConnectHandler(proxy, service, client, loop))
        }
        guard let tls = kind.tls?.makeHandler() else {
            return try pipeline.addHandler(
                ConnectionHandler(service: service, client: client, loop: loop, acceptsHTTP2: kind.acceptsHTTP2)
            )
        }
        let handshake = HandshakeHandler(service.configuration.timeouts, telemetry, service.logger) {
            ConnectionHandler(
                service: service,
                client: client,
                loop: loop,
                tls: tls,
                acceptsHTTP2: kind.acceptsHTTP2
            )
        }
        try pipeline.addHandlers(tls, handshake)
    }
}
