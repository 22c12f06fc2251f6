public import HTTPCache
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

/// A gateway: an HTTP/1.1 server that answers from the cache, or from the origin through it.
///
/// ```swift
/// let server = GatewayServer(configuration: .init(origin: try GatewayOrigin("https://api.example.com")), engine: engine, group: group, logger: logger)
/// let address = try await server.start()
/// …
/// await server.stop()
/// ```
///
/// It runs no task of its own; as a service, ``run()`` serves until its group shuts down or its
/// task is cancelled. The engine, its store and its transport are the caller's, and outlive it.
public final class GatewayServer: Service {
    /// Where a gateway listens.
    public struct Address: Sendable, Hashable, CustomStringConvertible {
        /// An IP address.
        public let host: String
        /// The port; never 0.
        public let port: Int
        /// `host:port`, an IPv6 address in brackets.
        public var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
    }

    private enum State {
        case initial
        case starting
        case running([any Channel])
        case stopped
    }

    private let service: GatewayService
    private let group: any EventLoopGroup
    private let connections: ConnectionRegistry
    private let state = Mutex(State.initial)
    /// Each loop's answers from memory.
    private let tables = Mutex<[(loop: any EventLoop, table: NIOLoopBoundBox<HotTable>)]>([])

    /// - Parameters:
    ///   - engine: with a shared policy, and a transport that reaches the routes' origins: an
    ///     ``OriginTransport`` that is told the same routes.
    ///   - group: the event loops on which clients are served.
    ///   - instance: tells this gateway from others of the same pseudonym in the `Via` of requests,
    ///     so that a request that comes back to it is refused.
    ///   - clock: for the `Date` of answers that come without one.
    public init(
        configuration: GatewayConfiguration,
        engine: CacheEngine,
        group: any EventLoopGroup,
        instance: UInt32 = .random(in: .min ... .max),
        clock: any WallClock = SystemWallClock(),
        logger: Logger
    ) {
        self.service = GatewayService(
            configuration: configuration,
            engine: engine,
            instance: instance,
            clock: clock,
            logger: logger
        )
        self.group = group
        self.connections = ConnectionRegistry(limits: .init(configuration))
    }

    /// Begins to listen.
    ///
    /// - Returns: where.
    /// - Throws: what the system says when the address cannot be listened on; `CancellationError`
    ///   when the server was started or stopped before.
    public func start() async throws -> Address {
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
        return Address(host: host, port: port)
    }

    /// One listener on each loop, all of one address: the system spreads connections over them, and
    /// each connection stays where it was accepted.
    private func listen() async throws -> [any Channel] {
        let configuration = service.configuration
        let loops = Array(group.makeIterator())
        let isShared = loops.count > 1
        var channels: [any Channel] = []
        var port = configuration.port
        do {
            // An address that is shared would be shared with another process, too, without a word.
            if isShared, port != 0 { try reserve(configuration.host, port) }
            for loop in loops {
                let executor = LoopExecutor(loop)
                let channel = try await bootstrap(on: loop, executor, isShared: isShared)
                    .bind(host: configuration.host, port: port).get()
                channels.append(channel)
                let bell = try await LoopBell.hang(on: loop, for: executor)
                channel.closeFuture.whenComplete { _ in bell.close(promise: nil) }
                port = channel.localAddress?.port ?? port
            }
            return channels
        } catch {
            for channel in channels { try? await channel.close() }
            throw error
        }
    }

    /// Whether the address is anybody's.
    ///
    /// It is bound and not listened on: who connects meanwhile is refused, and may try again. A
    /// listener would take their connections, and reset them as soon as it is closed.
    /// - Throws: what the system says when it is.
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

    /// Takes no more connections, lets what is under way finish for the configured time, and
    /// returns when all connections are closed.
    public func stop() async {
        let listeners = state.withLock { state -> [any Channel] in
            defer { state = .stopped }
            if case .running(let channels) = state { return channels }
            return []
        }
        for listener in listeners { try? await listener.close() }
        await connections.drain(within: service.configuration.timeouts.draining, on: group.any())
    }

    /// Requests that the loops answered from their tables so far.
    func hotResponseCount() async -> Int {
        var count = 0
        for (loop, table) in tables.withLock({ $0 }) {
            count += (try? await loop.submit { table.value.answerCount }.get()) ?? 0
        }
        return count
    }

    /// Takes another configuration for the requests that come from now on: routes, limits, what is
    /// told and to whom. No connection is closed.
    ///
    /// Where the gateway listens stays as it is, and so do the timeouts and the limits of heads for
    /// connections that are open. The transport must be told of new routes first:
    /// ``OriginTransport/reconfigure(routes:)``.
    public func reconfigure(_ configuration: GatewayConfiguration) {
        service.reconfigure(configuration)
        connections.reconfigure(.init(configuration))
    }

    /// Serves until its service group shuts down gracefully or the task is cancelled, then stops as
    /// ``stop()`` does. Starts where it was not started.
    ///
    /// - Throws: what ``start()`` throws.
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

    /// - Parameter isShared: other loops listen on the same address.
    private func bootstrap(on loop: any EventLoop, _ executor: LoopExecutor, isShared: Bool) -> ServerBootstrap {
        let service = service
        let connections = connections
        let lookups = DiskLookups(loop)
        let hot = NIOLoopBoundBox.makeBoxSendingValue(HotTable(), eventLoop: loop)
        tables.withLock { $0.append((loop, hot)) }
        return ServerBootstrap(group: loop)
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(AcceptPause(logger: service.logger))
                }
            }
            .serverChannelOption(.backlog, value: 1024)
            // A port that was named may have connections of an earlier process in TIME_WAIT; a free
            // one is to be nobody's.
            .serverChannelOption(.socketOption(.so_reuseaddr), value: service.configuration.port == 0 ? 0 : 1)
            .serverChannelOption(.socketOption(NIOBSDSocket.Option(rawValue: SO_REUSEPORT)), value: isShared ? 1 : 0)
            .childChannelOption(.autoRead, value: false)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if let excess = connections.admit(channel) {
                        return try channel.pipeline.syncOperations.addHandler(
                            BusyHandler(service: service, excess: excess, connections: connections)
                        )
                    }
                    try channel.pipeline.syncOperations.addHandler(
                        ConnectionHandler(
                            service: service,
                            hot: hot.value,
                            executor: executor,
                            lookups: lookups,
                            round: .of(loop)
                        )
                    )
                }
            }
    }
}
