import HTTPCache
import HTTPTypes
import NIOCore

/// Requests for another protocol: the origin is asked to switch, and if it does, the exchange lasts
/// as long as the tunnel.
extension ClientExchange {
    /// The parts that a request for another protocol has until its tunnel begins.
    struct UpgradeAttempt: Sendable {
        let offer: UpgradeOffer
        let permit: TunnelPermits.Permit
        /// See ``GatewayService/upgradeRequest(for:_:_:_:)``.
        let key: WebSocketKey?

        /// Whether a response with this status begins a tunnel for the client, or would say so.
        func concerns(_ status: HTTPResponse.Status) -> Bool {
            status == .switchingProtocols || key != nil && status.kind == .successful
        }
    }

    /// Serves a request for another protocol.
    ///
    /// - Returns: `false` if it is served as if it had no such wish.
    func serveUpgrade(_ context: GatewayService.ResponseContext) -> Bool {
        let service = session.service
        let routes = context.inForce.configuration.routes
        if let choice = try? service.choice(for: request, routes) {
            record.route = context.inForce.routeLabels[choice.route]
        }
        switch service.upgradeDecision(for: request, context.inForce) {
        case .ignore: return false
        case .refuse(let problem):
            // From here on the client may send bytes of the other protocol.
            writer.beginUpgrade()
            finish(with: service.response(to: GatewayService.Rejection(problem: problem), context))
        case .ask(let name):
            writer.beginUpgrade()
            let configuration = context.inForce.configuration
            let client = session.client.principal(request.fields, configuration)
            guard let permit = service.tunnels.take(for: client, of: configuration.maximumTunnels) else {
                var (head, content) = service.problemResponse(.tooManyTunnels, context)
                head.response.headerFields[.retryAfter] = "1"
                finish(with: .whole(head, content))
                return true
            }
            let key = request.upgrade == .offer ? nil : WebSocketKey()
            startUpgrade(UpgradeAttempt(offer: UpgradeOffer(name, on: eventLoop), permit: permit, key: key))
        }
        return true
    }

    /// Begins the tunnel: the origin has switched. On the event loop.
    ///
    /// - Throws: ``GatewayService/Rejection`` if the origin has not, or has not understood the key.
    func startTunnel(
        _ response: CacheResponse,
        _ attempt: UpgradeAttempt,
        _ context: GatewayService.ResponseContext
    ) throws {
        // For a client of HTTP/2 any success is the beginning of a tunnel. RFC 8441 §5
        guard response.head.status == .switchingProtocols else {
            throw GatewayService.Rejection(problem: .notSwitched)
        }
        guard let channel = attempt.offer.take() else { throw CancellationError() }
        do {
            var head = try session.service.tunnelHead(response, context, attempt.key)
            rewriteInterim(&head.response.headerFields)
            let timeouts = session.service.configuration.timeouts
            // The configuration of the moment decides, for as long as the tunnel lasts.
            let tunnel = Tunnel(on: eventLoop, idleTime: timeouts.tunnel.timeAmount) { self.endTunnel($0) }
            let patience = timeouts.write.timeAmount
            let pipeline = channel.pipeline.syncOperations
            // The pipeline of a channel that is closed has no handlers.
            guard let handler = try? pipeline.handler(type: OriginConnectionHandler.self), channel.isActive else {
                throw GatewayService.Rejection(problem: .originClosed)
            }
            let origin = TunnelChannelEnd(.origin, of: tunnel, attempt.permit, patience: patience)
            let (bytes, isLast) = handler.takeSwitched()
            try pipeline.addHandler(origin, position: .after(handler))
            pipeline.removeHandler(handler, promise: nil)
            beginTunnel(head)
            let end = TunnelOrigin(channel: channel, end: origin, bytes: bytes, isLast: isLast)
            writer.beginTunnel(head, attempt.offer.protocolName, tunnel, end, attempt.permit)
        } catch {
            channel.close(promise: nil)
            throw error
        }
    }
}

/// The origin's side of a tunnel that begins.
struct TunnelOrigin {
    let channel: any Channel
    let end: TunnelChannelEnd
    /// The bytes that have come behind the origin's head.
    let bytes: ByteBuffer
    /// Whether it sends no more.
    let isLast: Bool

    var beginning: Tunnel.Beginning { Tunnel.Beginning(end: end, bytes: bytes, isLast: isLast) }
}
