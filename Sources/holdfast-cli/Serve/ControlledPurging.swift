import HoldfastControl
import HoldfastGateway
import Logging
import NIOCore
import Synchronization

/// Performs the purges that the gateway's clients request, through the gateway's control plane.
///
/// The gateway is created before its control plane, which needs the gateway. No client may purge
/// until the two are connected, which happens before the gateway listens.
final class ControlledPurging: ClientPurging {
    private struct Plane {
        let control: ControlServer
        let tokens: TokenVerifier
    }

    /// The minimum time between two warnings about tokens, because any client in
    /// 'clients.purgers' can cause them.
    private static let pause = TimeAmount.minutes(1)

    private let plane = Mutex<Plane?>(nil)
    private let nextWarning = Mutex(NIODeadline.uptimeNanoseconds(0))
    /// Whether purges are shared with other nodes.
    private let isInFleet: Bool
    private let logger: Logger

    init(isInFleet: Bool, logger: Logger) {
        self.isInFleet = isInFleet
        self.logger = logger
    }

    func connect(to control: ControlServer, _ tokens: TokenVerifier) {
        plane.withLock { $0 = Plane(control: control, tokens: tokens) }
    }

    func client(presenting credentials: [String], from address: String) -> String? {
        guard let plane = plane.withLock({ $0 }) else { return nil }
        let name = plane.tokens.purger(presenting: credentials, from: address)
        if name == nil { warn(of: credentials, from: address) }
        return name
    }

    /// Logs that a client may not purge. The client itself is not told why.
    private func warn(of credentials: [String], from address: String) {
        let now = NIODeadline.now()
        let isDue = nextWarning.withLock { next in
            guard now >= next else { return false }
            next = now + Self.pause
            return true
        }
        guard isDue else { return }
        let reason = credentials.isEmpty ? "no token" : "unknown token, or a token without the scope 'purge'"
        logger.warning(
            "PURGE rejected",
            metadata: ["purge.reason": "\(reason)", "network.peer.address": "\(address)"]
        )
    }

    func perform(_ purge: ClientPurge, by client: String) async -> ClientPurgeResponse {
        // A client was admitted, so there is a control plane.
        guard let control = plane.withLock({ $0 })?.control else { return ClientPurgeResponse(status: 503, json: []) }
        var selection = PurgeRequest.Selection()
        selection.urls = purge.urls
        selection.tags = purge.tags
        var request = PurgeRequest(selection, action: purge.removes ? .remove : .expire, reason: "PURGE")
        // A response that another route stores under the client's URL may be expired with it, but
        // never removed.
        if isInFleet, !purge.removes { request.clientURL = purge.clientURL }
        let reply = await control.purge(request, by: client)
        return ClientPurgeResponse(status: reply.status, json: reply.json, retryAfter: reply.retryAfter)
    }
}
