import HTTPTypes

/// Who asks on a connection.
final class GatewayClient: Sendable {
    /// Its IP address, where it has one.
    let address: String?
    /// What origins are told of it, in the fields of RFC 7239 and of the time before: the client is told of in the clear, which is how this gateway is spoken to.
    let fields: [HTTPField]

    init(address: String?) {
        self.address = address
        var fields = [HTTPField(name: .xForwardedProto, value: "http")]
        if let address {
            fields.append(HTTPField(name: .xForwardedFor, value: address))
            let node = address.contains(":") ? "\"[\(address)]\"" : address
            fields.append(HTTPField(name: .forwarded, value: "for=\(node);proto=http"))
        }
        self.fields = fields
    }
}
