public import HTTPCache
public import Logging
public import NIOCore
import NIOPosix
public import ServiceLifecycle
import Synchronization

/// A gateway: an HTTP/1.1 server that answers from the cache, or from the origin through it.
///
/// ```swift
/// let server = GatewayServer(configuration: .init(origin: try GatewayOrigin("https://api.example.com")), engine: engine, group: group, logger: logger)
/// let address = try await server.start()
/// …
/// await server.stop()
/// ```
///
/// It runs no task of its own; as a service, ``run()`` serves until its group shuts down or its task is cancelled. The engine, its store and its transport are the caller's, and
/// outlive it.
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
        case running(any Channel)
        case stopped
    }

    private let service: GatewayService
    private let group: any EventLoopGroup
    private let connections: ConnectionRegistry
    private let state = Mutex(State.initial)

    /// - Parameters:
    ///   - engine: with a shared policy, and a transport that reaches the routes' origins: an ``OriginTransport`` that is told the same routes.
    ///   - group: the event loops on which clients are served.
    ///   - clock: for the `Date` of answers that come without one.
    public init(
        configuration: GatewayConfiguration,
        engine: CacheEngine,
        group: any EventLoopGroup,
        clock: any WallClock = SystemWallClock(),
        logger: Logger
    ) {
        self.service = GatewayService(configuration: configuration, engine: engine, clock: clock, logger: logger)
        self.group = group
        self.connections = ConnectionRegistry(limits: .init(configuration))
    }

    /// Begins to listen.
    ///
    /// - Returns: where.
    /// - Throws: what the system says when the address cannot be listened on; `CancellationError` when the server was started or stopped before.
    public func start() async throws -> Address {
        let isFirst = state.withLock { state in
            guard case .initial = state else { return false }
            state = .starting
            return true
        }
        guard isFirst else { throw CancellationError() }
        let configuration = service.configuration
        let channel: any Channel
        do {
            channel = try await bootstrap().bind(host: configuration.host, port: configuration.port).get()
        } catch {
            state.withLock { $0 = .stopped }
            throw error
        }
        let isWanted = state.withLock { state in
            guard case .starting = state else { return false }
            state = .running(channel)
            return true
        }
        guard isWanted, let address = channel.localAddress, let host = address.ipAddress, let port = address.port else {
            try? await channel.close()
            throw CancellationError()
        }
        return Address(host: host, port: port)
    }

    /// Takes no more connections, lets what is under way finish for the configured time, and returns when all connections are closed.
    public func stop() async {
        let listener = state.withLock { state -> (any Channel)? in
            defer { state = .stopped }
            if case .running(let channel) = state { return channel }
            return nil
        }
        try? await listener?.close()
        await connections.drain(within: service.configuration.timeouts.draining, on: group.any())
    }

    /// Takes another configuration for the requests that come from now on: routes, limits, what is told and to whom. No connection is closed.
    ///
    /// Where the gateway listens stays as it is, and so do the timeouts and the limits of heads for connections that are open. The transport must be told of new routes
    /// first: ``OriginTransport/reconfigure(routes:)``.
    public func reconfigure(_ configuration: GatewayConfiguration) {
        service.reconfigure(configuration)
        connections.reconfigure(.init(configuration))
    }

    /// Serves until its service group shuts down gracefully or the task is cancelled, then stops as ``stop()`` does. Starts where it was not started.
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

    private func bootstrap() -> ServerBootstrap {
        let service = service
        let connections = connections
        return ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 1024)
            // A port that was named may have connections of an earlier process in TIME_WAIT; a free one is to be nobody's.
            .serverChannelOption(.socketOption(.so_reuseaddr), value: service.configuration.port == 0 ? 0 : 1)
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
                    try channel.pipeline.syncOperations.addHandler(ConnectionHandler(service: service))
                }
            }
    }
}
