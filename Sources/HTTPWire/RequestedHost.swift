import HTTPCacheSemantics

/// The host that a client requests, in the one normalized form that is used to choose a route, in
/// the key, in requests to the origin, and in messages. RFC 9110 §4.2.3
///
/// The client's spelling (`A.Example`, `a.example:`, `a.example:00080`) is not kept. An origin that
/// saw it could build it into a response that is stored for every other spelling.
package struct RequestedHost: Sendable, Hashable, CustomStringConvertible {
    /// The name in lowercase, or an IPv6 address in brackets. A trailing dot is part of the name
    /// and of the key.
    package let name: String
    /// The port; `nil` if none is named.
    package let port: UInt16?

    private init(name: String, port: UInt16?) { (self.name, self.port) = (name, port) }

    /// - Returns: `nil` if the text is not a host with an optional port, or has user information.
    package init?(_ authority: String) {
        var authority = authority
        guard let host = authority.withUTF8({ RequestedHost($0) }) else { return nil }
        self = host
    }

    /// Creates a host from the bytes of a text, under the same conditions.
    init?(_ authority: UnsafeBufferPointer<UInt8>) {
        guard let (host, port) = TargetURI.hostAndPort(authority) else { return nil }
        (name, self.port) = (host, port)
    }

    /// Returns the same name with another port, or without one.
    package func with(port: UInt16?) -> RequestedHost { RequestedHost(name: name, port: port) }

    /// Returns the authority of a target with this scheme, without the port if it is the scheme's
    /// default. The result equals the authority of the request's `TargetURI`, and thus of its key.
    package func authority(for scheme: String) -> String {
        port.map { TargetURI.authority(scheme: scheme, host: name, port: $0) } ?? name
    }

    /// The name, and the port if one is named.
    package var description: String { port.map { "\(name):\($0)" } ?? name }
}
