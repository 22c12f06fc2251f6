import EventLoops
import GatewayRouting
import HTTPCache
import HoldfastConfiguration
import NIOCore
import NIOPosix
import NIOSSL

/// Opening connections.
extension OriginTransport {
    /// Opens a new connection. The future succeeds once the connection is ready (with TLS, after
    /// the handshake), and fails with ``OriginFailure``.
    func connect(to message: OriginRequest, on eventLoop: any EventLoop) -> EventLoopFuture<OriginConnection> {
        let endpoint = message.endpoint
        let (configuration, pool) = (configuration, pool)
        let policy = policy(for: endpoint)
        let context: NIOSSLContext?
        do {
            context = endpoint.isSecure ? try message.server?.security?.context ?? tls.context(for: endpoint) : nil
        } catch {
            let error = TransportError(code: .tls, message: "\(error)", cause: error)
            return eventLoop.makeFailedFuture(OriginFailure(error: error, isBeforeResponse: true))
        }
        let identity = OriginIdentity(message.server?.serverName ?? endpoint.plainHost)
        let isVerified = message.server?.security?.settings.isVerified ?? true
        let time = min(message.times?.connect ?? configuration.connectTimeout.timeAmount, message.timeToConnect)
        let end = NIODeadline.now() + time
        return ClientBootstrap(group: eventLoop)
            .connectTimeout(time)
            .channelOption(.autoRead, value: false)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            // An origin that switches protocols may close only its sending side.
            .channelOption(.allowRemoteHalfClosure, value: message.upgrade != nil)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    if let policy { try pipeline.addHandler(DestinationGuard(policy)) }
                    var arrivals: ArrivalCounter?
                    if let context {
                        let counter = ArrivalCounter()
                        arrivals = counter
                        try pipeline.addHandler(counter)
                        let tls = try identity.handler(context, isVerified: isVerified)
                        let writes = HandshakeWrites()
                        try pipeline.addHandler(writes)
                        try pipeline.addHandler(tls)
                        try pipeline.addHandler(HandshakeWait(tls, identity, writes))
                    }
                    let handler = OriginConnectionHandler(
                        endpoint: endpoint,
                        configuration: configuration,
                        pool: pool,
                        eventLoop: channel.eventLoop,
                        arrivals: arrivals
                    )
                    try pipeline.addHandler(handler)
                }
            }
            .connect(host: endpoint.connectHost, port: Int(endpoint.connectPort))
            .flatMap { channel in
                endpoint.isSecure ? Self.secure(channel, until: end) : eventLoop.makeSucceededFuture(channel)
            }
            .flatMapThrowing { channel in
                let handler = try channel.pipeline.syncOperations.handler(type: OriginConnectionHandler.self)
                return handler.connection ?? OriginConnection(handler: handler, channel: channel)
            }
            .flatMapErrorThrowing { error in
                let isNamedByCommand = configuration.destinations != nil
                let failure = TransportError(connecting: endpoint, error, isNamedByCommand: isNamedByCommand)
                throw OriginFailure(error: failure, isBeforeResponse: true)
            }
    }

    /// Returns the addresses that an endpoint may have; `nil` for any, because the configuration
    /// names the endpoint.
    private func policy(for endpoint: OriginEndpoint) -> DestinationPolicy? {
        if let policy = configuration.destinations { return policy }
        guard endpoint.isNamedByClient else { return nil }
        // A reload may have removed the proxy.
        return currentRoutes?.proxy?.destinations ?? DestinationPolicy(allowsPrivate: false)
    }

    /// Waits for a channel's handshake, on its event loop.
    private static func secure(_ channel: any Channel, until end: NIODeadline) -> EventLoopFuture<any Channel> {
        let completion: EventLoopFuture<Void>
        do {
            let wait = try channel.pipeline.syncOperations.handler(type: HandshakeWait.self)
            completion = wait.completion(on: channel.eventLoop)
        } catch {
            return channel.eventLoop.makeFailedFuture(error)
        }
        let limit = channel.eventLoop.assumeIsolated().scheduleTask(deadline: end) {
            channel.pipeline.fireErrorCaught(HandshakeTimeout())
        }
        completion.whenComplete { result in
            limit.cancel()
            if case .failure = result { channel.close(promise: nil) }
        }
        return completion.map { channel }
    }
}

extension OriginRequest {
    fileprivate var timeToConnect: TimeAmount {
        connectEnd.map { max($0 - .now(), .milliseconds(1)) } ?? .nanoseconds(.max)
    }
}
