import GatewayRouting
import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HTTPWire

/// Decides how to handle requests for another protocol. RFC 9110 §7.8, RFC 8441
extension GatewayService {
    /// The decision about a request to switch protocols.
    enum UpgradeDecision {
        /// Serve it as an ordinary request.
        case ignore
        /// Ask the origin to switch to this protocol.
        case ask(String)
        case refuse(Problem)
    }

    /// Decides how to handle a request to switch protocols.
    ///
    /// - Returns: also `ignore` if the request is rejected for another reason.
    func upgradeDecision(for request: GatewayRequest, _ inForce: ConfigurationInForce) -> UpgradeDecision {
        let wishes: [String]
        switch request.upgrade {
        case .none: return .ignore
        case .offer:
            guard request.method == .get, request.content.isNone else { return .ignore }
            wishes = request.fields.listMembers(.upgrade)
        case .connect(let name):
            // The gateway does not know how to request other protocols in HTTP/1.1.
            guard name == WebSocketKey.protocolName else { return .refuse(.unknownProtocol) }
            wishes = [name]
        }
        guard let choice = try? choice(for: request, inForce.configuration.routes) else { return .ignore }
        let allowed = inForce.configuration.routes.routes[choice.route].upgrades
        if let name = wishes.first(where: { allowed.contains($0) }) { return .ask(name) }
        // A WebSocket client cannot use any other response. Other clients only offer a protocol.
        let isWebSocket = wishes.contains(WebSocketKey.protocolName) && request.fields.contains(.secWebSocketKey)
        return isWebSocket || request.upgrade != .offer ? .refuse(.upgradeNotAllowed) : .ignore
    }

    /// Returns the request that asks the origin to switch. It uses no stored response, and its
    /// response is not stored.
    ///
    /// - Parameter key: the key that the gateway supplies for an HTTP/2 client, whose protocol has
    ///   none.
    func upgradeRequest(
        for exchange: ClientExchange,
        _ inForce: ConfigurationInForce,
        _ offer: UpgradeOffer,
        _ key: WebSocketKey?
    ) throws -> CacheRequest {
        var known: KnownRequest?
        var request = try cacheRequest(for: exchange, inForce, like: &known)
        request.storage = .never
        request.upgrade = offer
        guard let key else { return request }
        request.head.method = .get
        request.head.headerFields[.secWebSocketAccept] = nil
        request.head.headerFields[.secWebSocketKey] = key.value
        if !request.head.headerFields.contains(.secWebSocketVersion) {
            request.head.headerFields[.secWebSocketVersion] = "13"
        }
        return request
    }

    /// Returns the head of the response that starts a tunnel, for the client.
    ///
    /// - Parameter key: see ``upgradeRequest(for:_:_:_:)``.
    /// - Throws: ``Rejection`` if the origin did not understand the key.
    func tunnelHead(
        _ response: CacheResponse,
        _ context: ResponseContext,
        _ key: WebSocketKey?
    ) throws -> GatewayResponseHead {
        var head = response.head
        head.headerFields[.contentLength] = nil
        if let key {
            guard head.headerFields[.secWebSocketAccept] == key.accept else { throw Rejection(problem: .wrongKey) }
            head.headerFields[.secWebSocketAccept] = nil
            // In HTTP/2, a success means that the tunnel has started. RFC 8441 §5
            head.status = .ok
        }
        return responseHead(head, ExchangeFacts(response), context)
    }
}

extension WebSocketKey {
    static let protocolName = "websocket"
}

extension HTTPField.Name {
    static let secWebSocketAccept = literal("Sec-WebSocket-Accept")
    static let secWebSocketKey = literal("Sec-WebSocket-Key")
    static let secWebSocketVersion = literal("Sec-WebSocket-Version")
}

extension Problem {
    fileprivate static let upgradeNotAllowed = Problem(
        .upgradeNotAllowed,
        title: "The protocol is not supported",
        status: 501,
        detail: "The route does not allow WebSocket, so nothing was forwarded.",
        advice: "To allow it, add 'websocket' to the route's 'upgrades'."
    )

    fileprivate static let unknownProtocol = Problem(
        .upgradeNotAllowed,
        title: "The protocol is not supported",
        status: 501,
        detail: "The only protocol that the gateway supports in a CONNECT is 'websocket'. Nothing was forwarded."
    )

    static let tooManyTunnels = Problem(
        .tooManyTunnels,
        title: "Too many tunnels",
        status: 503,
        detail:
            "The gateway or this client has reached its limit of tunnels. Try again later.",
        retryAfter: 1
    )

    static let originClosed = Problem(
        code: ExchangeError.Code.transportFailed.description,
        title: "The origin's response is not valid",
        status: 502,
        detail: "The origin closed the connection immediately after it switched protocols.",
        outcome: CacheOutcome(forward: .bypass)
    )

    static let notSwitched = Problem(
        .notSwitched,
        title: "The origin's response is not valid",
        status: 502,
        detail:
            "The origin responded with a success status but did not switch to WebSocket. An HTTP/2 client would take the success to mean that it did.",
        outcome: CacheOutcome(forward: .bypass)
    )

    fileprivate static let wrongKey = Problem(
        .wrongKey,
        title: "The origin's response is not valid",
        status: 502,
        detail: "The origin's 'Sec-WebSocket-Accept' does not match the key that the gateway sent.",
        outcome: CacheOutcome(forward: .bypass)
    )
}
