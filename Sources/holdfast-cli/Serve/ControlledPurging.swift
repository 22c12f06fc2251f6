import HoldfastControl
import HoldfastGateway
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

    private let plane = Mutex<Plane?>(nil)

    func connect(to control: ControlServer, _ tokens: TokenVerifier) {
        plane.withLock { $0 = Plane(control: control, tokens: tokens) }
    }

    func client(presenting credentials: [String], from address: String) -> String? {
        plane.withLock { $0 }?.tokens.purger(presenting: credentials, from: address)
    }

    func perform(_ purge: ClientPurge, by client: String) async -> ClientPurgeResponse {
        // A client was admitted, so there is a control plane.
        guard let control = plane.withLock({ $0 })?.control else { return ClientPurgeResponse(status: 503, json: []) }
        var selection = PurgeRequest.Selection()
        selection.urls = purge.urls
        selection.tags = purge.tags
        let request = PurgeRequest(selection, action: purge.removes ? .remove : .expire, reason: "PURGE")
        let reply = await control.purge(request, by: client)
        return ClientPurgeResponse(status: reply.status, json: reply.json, retryAfter: reply.retryAfter)
    }
}
