import HTTPTypes

/// A configuration together with values that every request needs. They are computed once, and a
/// request takes all of them with one reference.
final class ConfigurationInForce: Sendable {
    let configuration: GatewayConfiguration
    /// The label of each route, in metrics.
    let routeLabels: [RouteLabel]
    /// The origin of each route, as logs and metrics name it.
    let originNames: [String]
    /// Whether a route lets clients speak the WebSocket protocol.
    let allowsWebSocket: Bool
    /// How the responses of each route are rewritten; `nil` if they are not.
    let rewritings: [ResponseRewriting?]
    /// The `Via` fields that are added to requests: of HTTP/1.0, and of HTTP/1.1. RFC 9110 §7.6.3
    private let vias: [HTTPField]
    /// The value of `Via` in responses, whatever version the origin's response came by.
    let via: String
    /// The name of this gateway in requests. No other gateway has it.
    private let ownName: String

    /// - Parameters:
    ///   - instance: a number that differs between gateways with the same pseudonym. Such gateways
    ///     may stand before and behind this one.
    ///   - labels: gives the routes their labels.
    init(_ configuration: GatewayConfiguration, instance: UInt32, labels: RouteLabels) {
        self.configuration = configuration
        routeLabels = labels.labels(of: configuration.routes.routes)
        originNames = configuration.routes.routes.map(\.origin.name)
        allowsWebSocket = configuration.routes.routes.contains { $0.upgrades.contains("websocket") }
        let map = RewriteMap(configuration.routes, mirrors: configuration.mirrors)
        rewritings = configuration.routes.routes.indices.map { ResponseRewriting(configuration, map, route: $0) }
        let digits = String(instance, radix: 16)
        let ownName = configuration.pseudonym + "-" + String(repeating: "0", count: 8 - digits.count) + digits
        self.ownName = ownName
        vias = GatewayRequest.ReceivedProtocol.allCases.map {
            HTTPField(name: .viaGateway, value: "\($0.version) \(ownName)")
        }
        via = "1.1 \(configuration.pseudonym)"
    }

    /// Whether a request with these fields has passed this gateway before. Forwarding it again
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

    /// The `Via` that this gateway adds to a request that came by this protocol.
    func via(of receivedProtocol: GatewayRequest.ReceivedProtocol) -> HTTPField { vias[receivedProtocol.rawValue] }
}
