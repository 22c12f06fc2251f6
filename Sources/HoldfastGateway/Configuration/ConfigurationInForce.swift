import HTTPTypes

/// A configuration with what every request would make of it anew, in one piece: taking it is one reference counted.
final class ConfigurationInForce: Sendable {
    let configuration: GatewayConfiguration
    /// `Via` behind a message of HTTP/1.0, and of HTTP/1.1. RFC 9110 §7.6.3
    private let vias: [HTTPField]
    /// The value of `Via` in answers, whatever the origin's came by.
    let via: String

    init(_ configuration: GatewayConfiguration) {
        self.configuration = configuration
        vias = (0...1).map { HTTPField(name: .viaGateway, value: "1.\($0) \(configuration.pseudonym)") }
        via = vias[1].value
    }

    /// `Via` as this gateway adds it to a message that came by this minor version, 0 or 1.
    func via(minorVersion: Int) -> HTTPField { vias[minorVersion] }
}
