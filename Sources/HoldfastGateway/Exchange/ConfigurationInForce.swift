import GatewayRouting
import HTTPTypes
import HTTPWire

/// A configuration with precomputed values that every request needs. A request gets all of them
/// through one reference.
final class ConfigurationInForce: Sendable {
    let configuration: GatewayConfiguration
    let clientTimes: ClientTimes
    /// The metric label of each route.
    let routeLabels: [RouteLabel]
    /// The label of each route with `respond`.
    let fixedRouteLabels: [RouteLabel]
    /// The origin of each route, as named in logs and metrics.
    let originNames: [String]
    /// Whether requests may name origins, as with a forward proxy.
    let hasProxy: Bool
    /// Whether any route allows the WebSocket protocol.
    let allowsWebSocket: Bool
    /// Each route's own checks of requests; empty if no route has any.
    let routeChecks: [RouteChecks?]
    /// How each route's responses are changed on their way out.
    let transforms: [ResponseTransforms]
    /// Each route, for its problems.
    let problemRoutes: [ProblemRoute]
    /// The `Via` field for each protocol that a request may be received over. RFC 9110 §7.6.3
    private let vias: [HTTPField]
    /// The value of `Via` in responses, regardless of the HTTP version that the origin used.
    let via: String
    /// This gateway's unique name in requests.
    private let ownName: String

    /// - Parameters:
    ///   - instance: a number that differs between gateways with the same pseudonym, which may be
    ///     in front of or behind this one.
    ///   - labels: gives each route its metric label.
    ///   - compressions: the permits for compressed responses, which all configurations share.
    ///   - routeChecks: see ``routeChecks``.
    init(
        _ configuration: GatewayConfiguration,
        instance: UInt32,
        labels: RouteLabels,
        compressions: SharedPermits = SharedPermits(),
        routeChecks: [RouteChecks?] = []
    ) {
        self.configuration = configuration
        clientTimes = ClientTimes(configuration.timeouts)
        self.routeChecks = routeChecks
        routeLabels = labels.labels(of: configuration.routes.routes)
        fixedRouteLabels = labels.labels(of: configuration.fixedRoutes.names)
        originNames = configuration.routes.routes.map(\.origin.name)
        hasProxy = configuration.routes.proxy != nil
        allowsWebSocket = configuration.routes.routes.contains { $0.upgrades.contains("websocket") }
        let map = RewriteMap(configuration.routes, mirrors: configuration.mirrors)
        transforms = configuration.routes.routes.indices.map {
            ResponseTransforms(
                rewriting: ResponseRewriting(configuration, map, route: $0),
                compression: ResponseCompression(configuration, compressions, route: $0)
            )
        }
        problemRoutes = configuration.routes.routes.map { ProblemRoute($0) }
        let digits = String(instance, radix: 16)
        let ownName = configuration.pseudonym + "-" + String(repeating: "0", count: 8 - digits.count) + digits
        self.ownName = ownName
        vias = GatewayRequest.ReceivedProtocol.allCases.map {
            HTTPField(name: .viaGateway, value: "\($0.version) \(ownName)")
        }
        via = "1.1 \(configuration.pseudonym)"
    }

    /// Whether a request with these fields already passed through this gateway. Forwarding it again
    /// would loop forever, or make it wait for itself. RFC 9110 §7.6.3
    func hasPassed(_ fields: HTTPFields) -> Bool {
        guard fields.contains(.viaGateway) else { return false }
        return fields[fields: .viaGateway].contains { via in
            via.value.split(separator: ",").contains { member in
                // A member holds the protocol, the name, and optionally a comment.
                member.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first.map { $0 == ownName }
                    ?? false
            }
        }
    }

    /// Returns a request with the origin to which the forward proxy sends it, if there is a proxy
    /// and the request names an origin.
    func forwarded(_ request: GatewayRequest) -> GatewayRequest {
        guard hasProxy else { return request }
        return configuration.routes.forwarded(request) { configuration.fixedRoutes.names(host: $0) }
    }

    /// Returns the `Via` field that this gateway adds to a request received over this protocol.
    func via(of receivedProtocol: GatewayRequest.ReceivedProtocol) -> HTTPField { vias[receivedProtocol.rawValue] }
}

extension ConfigurationInForce {
    /// Returns the ID of a client's request: a valid ID from a trusted client, otherwise a new one.
    /// Returns `nil` if requests have no IDs.
    ///
    /// - Parameter request: `nil` for bytes that are not a valid request.
    func requestID(of request: GatewayRequest?, from client: ClientAdmission?) -> String? {
        guard configuration.identifiesRequests else { return nil }
        if let request, client?.isTrusted(by: configuration) == true, let given = RequestID.given(in: request.fields) {
            return given
        }
        return RequestID.make()
    }
}
