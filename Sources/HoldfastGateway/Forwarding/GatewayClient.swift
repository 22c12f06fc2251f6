import HTTPCache
import HTTPTypes

/// Who asks on a connection.
final class GatewayClient: Sendable {
    /// Its IP address, where it has one.
    let address: String?
    /// What origins are told of it, in the fields of RFC 7239 and of the time before: the client is
    /// told of in the clear, which is how this gateway is spoken to.
    let fields: [HTTPField]
    /// Whose share of an origin's places its own requests count for.
    private let own: RequestClient

    init(address: String?) {
        self.address = address
        own = address.map { RequestClient($0) } ?? .none
        var fields = [HTTPField(name: .xForwardedProto, value: "http")]
        if let address {
            fields.append(HTTPField(name: .xForwardedFor, value: address))
            let node = address.contains(":") ? "\"[\(address)]\"" : address
            fields.append(HTTPField(name: .forwarded, value: "for=\(node);proto=http"))
        }
        self.fields = fields
    }
}

extension GatewayClient {
    /// On whose behalf a request is made: the client's own, or that of the one for whom a trusted
    /// proxy speaks.
    func principal(_ fields: HTTPFields, _ configuration: GatewayConfiguration) -> RequestClient {
        guard configuration.isTrusted(address) else { return own }
        // The nearest first: what stands before the first that is not trusted was written by
        // anybody.
        for node in Self.forwardedNodes(fields).reversed() where !configuration.isTrusted(node) {
            return RequestClient(node)
        }
        return own
    }

    /// The addresses in `X-Forwarded-For` or, where there is none, in `Forwarded` (RFC 7239 §4), in
    /// order.
    private static func forwardedNodes(_ fields: HTTPFields) -> [String] {
        if fields.contains(.xForwardedFor) {
            return fields[values: .xForwardedFor].flatMap { $0.split(separator: ",") }.map { address(in: $0) }
        }
        return fields[values: .forwarded].flatMap { $0.split(separator: ",") }.compactMap { element in
            element.split(separator: ";").lazy.map { $0.drop { $0 == " " || $0 == "\t" } }
                .first { $0.prefix(4).lowercased() == "for=" }
                .map { address(in: $0.dropFirst(4)) }
        }
    }

    /// Without white space, quotes, brackets and port.
    private static func address(in node: Substring) -> String {
        let text = node.filter { $0 != " " && $0 != "\t" && $0 != "\"" }
        if text.hasPrefix("[") { return String(text.dropFirst().prefix { $0 != "]" }) }
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        return parts.count == 2 ? String(parts[0]) : text
    }
}
