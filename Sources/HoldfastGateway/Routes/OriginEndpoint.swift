/// The address of an origin to connect to. RFC 9110 §4.3
struct OriginEndpoint: Hashable, Sendable, CustomStringConvertible {
    var isSecure: Bool
    /// The host; an IPv6 address is in brackets.
    var host: String
    var port: UInt16
    /// The address to connect to; `nil` resolves the host's name.
    var address: Address?
    /// The revision of the endpoint's TLS files. Endpoints with different revisions share no
    /// connections.
    var revision: UInt32 = 0

    /// A host and a port to connect to.
    struct Address: Hashable, Sendable, CustomStringConvertible {
        var host: String
        var port: UInt16

        init(host: String, port: UInt16) { (self.host, self.port) = (host, port) }

        /// - Parameter text: `HOST:PORT`, as read from the configuration.
        /// - Returns: `nil` if the text has no port.
        init?(_ text: String) {
            guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
                return nil
            }
            self.init(host: String(text[..<colon]), port: port)
        }

        var description: String { "\(host):\(port)" }
    }

    var description: String {
        "\(isSecure ? "https" : "http")://\(host):\(port)" + (address.map { " at \($0)" } ?? "")
    }

    /// The endpoint as a URL names it, without the configured address.
    var named: OriginEndpoint { OriginEndpoint(isSecure: isSecure, host: host, port: port) }

    /// The host, without the brackets of an IPv6 address.
    var plainHost: String { Self.plain(host) }

    var connectHost: String { Self.plain(address?.host ?? host) }

    var connectPort: UInt16 { address?.port ?? port }

    private static func plain(_ host: String) -> String {
        host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
    }
}
