public import HTTPCache
public import HoldfastMetrics
public import Logging
public import NIOCore
import NIOPosix
public import ServiceLifecycle
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

#if !canImport(ServiceLifecycle)
    #error("The module HoldfastGateway needs the trait 'Gateway' of the package 'holdfast': remove 'traits: []'.")
#endif

/// A gateway: an HTTP/1.1 server that serves stored responses, and forwards other requests to the
/// origin.
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
/// It runs no task of its own. As a service, ``run()`` serves until its group shuts down or its
/// task is cancelled. The engine, its store and its transport belong to the caller, and outlive it.
public final class GatewayServer: Service {
    private enum State {
        case initial
        case starting
        case running([any Channel])
        case stopped
    }

    private let service: GatewayService
    private let group: any EventLoopGroup
    private let connections = ConnectionRegistry()
    private let counted: GatewayMetrics
    private let accessLog: AccessLog?
    private let state = Mutex(State.initial)
    /// The hot table of each loop.
    private let tables = Mutex<[(loop: any EventLoop, table: NIOLoopBoundBox<HotTable>)]>([])

    /// - Parameters:
    ///   - engine: an engine with a shared policy, and with a transport that reaches the origins of
    ///     the routes: an ``OriginTransport`` with the same routes.
    ///   - group: the event loops on which clients are served.
    ///   - instance: a number that differs between gateways with the same pseudonym. It is part of
    ///     the `Via` of requests, so that a request that comes back to this gateway is rejected.
    ///   - clock: the clock for the `Date` of responses that have none.
    ///   - purging: performs the purges of clients under ``GatewayConfiguration/purgers``; `nil`
    ///     rejects every PURGE.
    ///   - health: says how the gateway is, for ``GatewayConfiguration/healthPath``. It is called
    ///     for all clients that ask at a time at once. By default it is `HealthStatus.ok`.
    ///   - accessLog: gets a line for each request that its level names. It belongs to the caller,
    ///     and outlives the server.
    public init(
        configuration: GatewayConfiguration,
        engine: CacheEngine,
        group: any EventLoopGroup,
        instance: UInt32 = .random(in: .min ... .max),
        clock: any WallClock = SystemWallClock(),
        logger: Logger,
        purging: (any ClientPurging)? = nil,
        health: @escaping @Sendable () async -> HealthStatus = { .ok },
        accessLog: AccessLog? = nil
    ) {
        let labels = RouteLabels()
        counted = GatewayMetrics(labels, connections)
        self.service = GatewayService(
            configuration: configuration,
            engine: engine,
            instance: instance,
            clock: clock,
            logger: logger,
            purging: purging,
            health: HealthDesk(health),
            labels: labels
        )
        self.group = group
        self.accessLog = accessLog
        EnvironmentSwitch.socketWriter.report(to: logger)
    }

    /// Starts to listen.
    ///
    /// - Returns: the IP address and the port on which it listens.
    /// - Throws: the system's error if it cannot listen on the address; `CancellationError` if the
    ///   server was started or stopped before.
    public func start() async throws -> ListenAddress {
        let isFirst = state.withLock { state in
            guard case .initial = state else { return false }
            state = .starting
            return true
        }
        guard isFirst else { throw CancellationError() }
        let channels: [any Channel]
        do {
            channels = try await listen()
        } catch {
            state.withLock { $0 = .stopped }
            throw error
        }
        let isWanted = state.withLock { state in
            guard case .starting = state else { return false }
            state = .running(channels)
            return true
        }
        guard isWanted, let address = channels.first?.localAddress, let host = address.ipAddress,
            let port = address.port
        else {
            for channel in channels { try? await channel.close() }
            throw CancellationError()
        }
        return ListenAddress(host: host, port: port)
    }

    /// Opens one listener on each loop, all on the same address. The system distributes connections
    /// over them, and each connection stays on the loop that accepted it.
    private func listen() async throws -> [any Channel] {
        let configuration = service.configuration
        let loops = Array(group.makeIterator())
        let isShared = loops.count > 1
        var channels: [any Channel] = []
        var port = configuration.port
        do {
            // With address sharing, the system would silently share the address with another
            // process.
            if isShared, port != 0 { try reserve(configuration.host, port) }
            for loop in loops {
                let executor = LoopExecutor(loop)
                let channel = try await bootstrap(on: loop, executor, isShared: isShared)
                    .bind(host: configuration.host, port: port).get()
                channels.append(channel)
                let bell = try await LoopBell.install(on: loop, for: executor)
                channel.closeFuture.whenComplete { _ in bell.close(promise: nil) }
                port = channel.localAddress?.port ?? port
            }
            return channels
        } catch {
            for channel in channels { try? await channel.close() }
            throw error
        }
    }

    /// Checks that no other process uses the address.
    ///
    /// The socket is bound but does not listen. So clients that connect meanwhile are refused, and
    /// may try again. A listener would accept their connections, and reset them as soon as it is
    /// closed.
    /// - Throws: the system's error if another process uses it.
    private func reserve(_ host: String, _ port: Int) throws {
        let address = try SocketAddress.makeAddressResolvingHost(host, port: port)
        #if canImport(Glibc)
            let stream = CInt(SOCK_STREAM.rawValue)
        #else
            let stream = SOCK_STREAM
        #endif
        let descriptor = socket(CInt(address.protocol.rawValue), stream, 0)
        guard descriptor >= 0 else { throw IOError(errnoCode: errno, reason: "socket") }
        defer { close(descriptor) }
        var isReused: CInt = 1
        guard
            setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &isReused, socklen_t(MemoryLayout<CInt>.size)) == 0,
            address.withSockAddr({ bind(descriptor, $0, socklen_t($1)) }) == 0
        else { throw IOError(errnoCode: errno, reason: "bind") }
    }

    /// Accepts no more connections, lets exchanges under way finish for the configured time, and
    /// returns when all connections are closed.
    public func stop() async {
        let listeners = state.withLock { state -> [any Channel] in
            defer { state = .stopped }
            if case .running(let channels) = state { return channels }
            return []
        }
        for listener in listeners { try? await listener.close() }
        await connections.drain(within: service.configuration.timeouts.draining, on: group.any())
        counted.stop()
    }

    /// The number of requests that the loops have served from their hot tables.
    func hotResponseCount() async -> Int {
        var count = 0
        for (loop, table) in tables.withLock({ $0 }) {
            count += (try? await loop.submit { table.value.responseCount }.get()) ?? 0
        }
        return count
    }

    /// The clients that wait for the check of the gateway's health that is under way.
    var healthWaiterCount: Int { service.health.waiterCount }

    /// Requests, their outcomes and durations, and connections. Each loop counts for itself, and a
    /// scrape sums the loops.
    public var metrics: any MetricsCollector { counted }

    /// Applies another configuration to all later requests: routes, limits, and which details
    /// clients see. No connection is closed.
    ///
    /// The address on which the gateway listens stays the same. So do the timeouts and the limits
    /// of heads for open connections. Pass new routes to the transport first:
    /// ``OriginTransport/reconfigure(routes:)``.
    public func reconfigure(_ configuration: GatewayConfiguration) {
        service.reconfigure(configuration)
    }

    /// Serves until its service group shuts down gracefully or the task is cancelled, then stops as
    /// ``stop()`` does. It starts the server if it is not running.
    ///
    /// - Throws: the errors of ``start()``.
    public func run() async throws {
        let isStarted = state.withLock { if case .running = $0 { true } else { false } }
        if !isStarted {
            let address = try await start()
            service.logger.info("Gateway listening", metadata: ["gateway.address": "\(address)"])
        }
        await withTaskCancellationOrGracefulShutdownHandler {
            await connections.untilDraining()
        } onCancelOrGracefulShutdown: { [connections] in
            connections.beginDraining()
        }
        await stop()
    }

    /// - Parameter isShared: whether other loops listen on the same address.
    private func bootstrap(on loop: any EventLoop, _ executor: LoopExecutor, isShared: Bool) -> ServerBootstrap {
        let service = service
        let connections = connections
        let lookups = DiskLookups(loop)
        let telemetry = counted.add(loop)
        let log = accessLog?.add(loop, service.labels)
        let hot = NIOLoopBoundBox.makeBoxSendingValue(HotTable(), eventLoop: loop)
        tables.withLock { $0.append((loop, hot)) }
        return ServerBootstrap(group: loop)
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    telemetry.value.log = log?.value
                    try channel.pipeline.syncOperations.addHandler(AcceptPause(logger: service.logger))
                }
            }
            .serverChannelOption(.backlog, value: 1024)
            // A configured port may still have connections of an earlier process in TIME_WAIT. A
            // free port must not belong to another process.
            .serverChannelOption(.socketOption(.so_reuseaddr), value: service.configuration.port == 0 ? 0 : 1)
            .serverChannelOption(.socketOption(NIOBSDSocket.Option(rawValue: SO_REUSEPORT)), value: isShared ? 1 : 0)
            .childChannelOption(.autoRead, value: false)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    telemetry.value.countConnection()
                    if let excess = connections.admit(channel, service.configuration) {
                        return try channel.pipeline.syncOperations.addHandler(
                            BusyHandler(
                                service: service,
                                excess: excess,
                                connections: connections,
                                telemetry: telemetry.value
                            )
                        )
                    }
                    try channel.pipeline.syncOperations.addHandler(
                        ConnectionHandler(
                            service: service,
                            hot: hot.value,
                            executor: executor,
                            lookups: lookups,
                            telemetry: telemetry.value,
                            round: .of(loop)
                        )
                    )
                }
            }
    }
}
