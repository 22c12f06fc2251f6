import HTTPCacheSemantics
import HTTPWire

/// The client that gets a problem: which URL it requested, and what it may learn about origins.
struct ProblemReader {
    /// The URL that the client requested, without secret parameters.
    let url: String
    /// Whether the client may read the hosts, ports and paths of origins.
    let isTrusted: Bool

    init(_ request: GatewayRequest, _ client: GatewayClient, _ configuration: GatewayConfiguration) {
        isTrusted = client.isTrusted(withAll: request.fields, by: configuration)
        let claimed = client.isTrusted(by: configuration) ? GatewayClient.scheme(claimedIn: request.fields) : nil
        let host = request.authority.map { "\(claimed ?? client.scheme)://\($0)" } ?? ""
        url = Redaction.uriText(host + request.target, limit: 2048)
    }
}
