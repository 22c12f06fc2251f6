import HTTPTypes

/// A configuration with what every request would make of it anew, in one piece: taking it is one
/// reference counted.
final class ConfigurationInForce: Sendable {
    let configuration: GatewayConfiguration
    /// `Via` behind a request of HTTP/1.0, and of HTTP/1.1. RFC 9110 §7.6.3
    private let vias: [HTTPField]
    /// The value of `Via` in answers, whatever the origin's came by.
    let via: String
    /// How this gateway calls itself in requests: by a name that no other has.
    private let ownName: String

    /// - Parameter instance: tells this gateway from others of the same pseudonym, which may stand
    ///   before and behind it.
    init(_ configuration: GatewayConfiguration, instance: UInt32) {
        self.configuration = configuration
        let digits = String(instance, radix: 16)
        let ownName = configuration.pseudonym + "-" + String(repeating: "0", count: 8 - digits.count) + digits
        self.ownName = ownName
        vias = (0...1).map { HTTPField(name: .viaGateway, value: "1.\($0) \(ownName)") }
        via = "1.1 \(configuration.pseudonym)"
    }

    /// Whether a request with these fields has been here before: it would go round for ever, or
    /// wait for itself. RFC 9110 §7.6.3
    func hasPassed(_ fields: HTTPFields) -> Bool {
        guard fields.contains(.viaGateway) else { return false }
        return fields[fields: .viaGateway].contains { via in
            via.value.split(separator: ",").contains { member in
                // The protocol, the name, and maybe a comment.
                member.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first.map { $0 == ownName }
                    ?? false
            }
        }
    }

    /// `Via` as this gateway adds it to a message that came by this minor version, 0 or 1.
    func via(minorVersion: Int) -> HTTPField { vias[minorVersion] }
}
