import EventLoops
import GatewayRouting
import HTTPCache
import HTTPTypes
import HTTPWire
import NIOCore
import OriginConnections

/// A request for another protocol until its tunnel starts. The gateway asks the origin to switch.
/// If the origin does, the exchange lasts as long as the tunnel.
struct UpgradeAttempt: Sendable {
    let offer: UpgradeOffer
    let permit: SharedPermits.Permit
    /// See ``GatewayService/upgradeRequest(for:_:_:_:)``.
    let key: WebSocketKey?

    /// Whether a response with this status starts a tunnel, or would make the client believe so.
    func concerns(_ status: HTTPResponse.Status) -> Bool {
        status == .switchingProtocols || key != nil && status.kind == .successful
    }

    /// Serves an exchange's request for another protocol.
    ///
    /// - Returns: `false` if the request must be served as an ordinary request.
    static func serve(_ exchange: ClientExchange, _ context: GatewayService.ResponseContext) -> Bool {
        let (service, request) = (exchange.session.service, exchange.request)
        let routes = context.inForce.configuration.routes
        if let choice = try? service.choice(for: request, routes) {
            exchange.record.route = context.inForce.routeLabels[choice.route]
        }
        switch service.upgradeDecision(for: request, context.inForce) {
        case .ignore: return false
        case .refuse(let problem):
            // From here on, the client may send bytes of the other protocol.
            exchange.writer.beginUpgrade()
            exchange.finish(with: exchange.response(to: GatewayService.Rejection(problem: problem), context))
        case .ask(let name):
            exchange.writer.beginUpgrade()
            let configuration = context.inForce.configuration
            let client = exchange.session.admission.principal(request.fields, configuration)
            guard let permit = service.admission.tunnels.take(for: client, of: configuration.maximumTunnels) else {
                let (head, content) = service.problemResponse(.tooManyTunnels, context)
                exchange.finish(with: .whole(head, content))
                return true
            }
            let key = request.upgrade == .offer ? nil : WebSocketKey()
            let offer = UpgradeOffer(name, on: exchange.eventLoop)
            exchange.startUpgrade(UpgradeAttempt(offer: offer, permit: permit, key: key))
        }
        return true
    }

    /// Starts the tunnel after the origin has switched. Runs on the event loop.
    ///
    /// - Throws: ``GatewayService/Rejection`` if the origin did not switch protocols, sent a wrong
    ///   `Sec-WebSocket-Accept`, or closed the connection; `CancellationError` if the offer has no
    ///   connection to take.
    func startTunnel(
        for exchange: ClientExchange,
        _ response: CacheResponse,
        _ context: GatewayService.ResponseContext
    ) throws {
        // An HTTP/2 client would read any success as the start of a tunnel. RFC 8441 §5
        guard response.head.status == .switchingProtocols else {
            throw GatewayService.Rejection(problem: .notSwitched)
        }
        guard let channel = offer.take() else { throw CancellationError() }
        do {
            var head = try exchange.session.service.tunnelHead(response, context, key)
            exchange.changeFields(&head.response.headerFields)
            let timeouts = exchange.session.service.configuration.timeouts
            // The current configuration applies for the lifetime of the tunnel.
            let tunnel = Tunnel(on: exchange.eventLoop, idleTime: timeouts.tunnel.timeAmount) {
                exchange.endTunnel($0)
            }
            let patience = timeouts.write.timeAmount
            guard let switched = SwitchedConnection(channel) else {
                throw GatewayService.Rejection(problem: .originClosed)
            }
            let origin = TunnelChannelEnd(.origin, of: tunnel, permit, patience: patience)
            let (bytes, isLast) = try switched.hand(to: origin)
            exchange.beginTunnel(head)
            exchange.session.scope?.reportSwitch(of: exchange.request)
            let end = TunnelOrigin(channel: channel, end: origin, bytes: bytes, isLast: isLast)
            exchange.writer.beginTunnel(head, offer.protocolName, tunnel, end, permit)
        } catch {
            channel.close(promise: nil)
            throw error
        }
    }
}

/// The origin's side of a starting tunnel.
struct TunnelOrigin {
    let channel: any Channel
    let end: TunnelChannelEnd
    /// The bytes that arrived after the origin's head.
    let bytes: ByteBuffer
    /// Whether the origin has finished sending.
    let isLast: Bool

    var beginning: Tunnel.Beginning { Tunnel.Beginning(end: end, bytes: bytes, isLast: isLast) }
}
