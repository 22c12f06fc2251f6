package import HTTPCacheSemantics

/// The address of an origin to connect to. RFC 9110 §4.3
///
/// Inlinable, because the origins' tables, which are in another module, look it up several times
/// per request.
@usableFromInline
package struct OriginEndpoint: Hashable, Sendable, CustomStringConvertible {
    @usableFromInline package var isSecure: Bool
    /// The host; an IPv6 address is in brackets.
    @usableFromInline package var host: String
    @usableFromInline package var port: UInt16
    /// The address to connect to; `nil` resolves the host's name.
    @usableFromInline package var address: Address?
    /// The revision of the endpoint's TLS files. Endpoints with different revisions share no
    /// connections.
    @usableFromInline package var revision: UInt32 = 0
    /// Whether a client named the host, so that only some addresses may be connected to. Endpoints
    /// that differ in it share no connections.
    @usableFromInline package var isNamedByClient = false

    package init(isSecure: Bool, host: String, port: UInt16) {
        (self.isSecure, self.host, self.port) = (isSecure, host, port)
    }

    /// Creates the endpoint of a target that a client named.
    package init(namedByClient target: TargetURI) {
        self.init(isSecure: target.scheme == "https", host: target.host, port: target.port)
        isNamedByClient = true
    }

    @inlinable
    package static func == (one: OriginEndpoint, other: OriginEndpoint) -> Bool {
        one.port == other.port && one.isSecure == other.isSecure && one.revision == other.revision
            && one.isNamedByClient == other.isNamedByClient && one.host == other.host && one.address == other.address
    }

    /// Few endpoints differ in anything else.
    @inlinable
    package func hash(into hasher: inout Hasher) {
        hasher.combine(host)
        hasher.combine(port)
    }

    /// A host and a port to connect to.
    @usableFromInline
    package struct Address: Hashable, Sendable, CustomStringConvertible {
        var host: String
        var port: UInt16

        init(host: String, port: UInt16) { (self.host, self.port) = (host, port) }

        /// - Parameter text: `HOST:PORT`, as read from the configuration.
        /// - Returns: `nil` if the text has no port.
        package init?(_ text: String) {
            guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
                return nil
            }
            self.init(host: String(text[..<colon]), port: port)
        }

        @usableFromInline package var description: String { "\(host):\(port)" }
    }

    @usableFromInline package var description: String {
        "\(isSecure ? "https" : "http")://\(host):\(port)" + (address.map { " at \($0)" } ?? "")
    }

    /// The endpoint as a URL names it, without the configured address.
    package var named: OriginEndpoint { OriginEndpoint(isSecure: isSecure, host: host, port: port) }

    /// The host, without the brackets of an IPv6 address.
    package var plainHost: String { Self.plain(host) }

    package var connectHost: String { Self.plain(address?.host ?? host) }

    package var connectPort: UInt16 { address?.port ?? port }

    private static func plain(_ host: String) -> String {
        host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
    }
}
