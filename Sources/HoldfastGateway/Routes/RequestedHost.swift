import HTTPCacheSemantics

/// The host that a client requests, in the one form in which it chooses a route, is keyed, is sent
/// and is shown. RFC 9110 §4.2.3
///
/// How the client spelled it (`A.Example`, `a.example:`, `a.example:00080`) is not kept: an origin
/// that saw a spelling could build it into a response that is stored for every other spelling.
struct RequestedHost: Sendable, Hashable, CustomStringConvertible {
    /// In lower case; an IPv6 address in brackets. A dot at its end is a part of it and of the key.
    let name: String
    /// The port; `nil` if none is named.
    let port: UInt16?

    /// - Returns: `nil` if the text is no host with an optional port, or has user information.
    init?(_ authority: String) {
        var authority = authority
        guard let host = authority.withUTF8({ RequestedHost($0) }) else { return nil }
        self = host
    }

    /// The same from bytes.
    init?(_ authority: UnsafeBufferPointer<UInt8>) {
        guard let (host, port) = TargetURI.hostAndPort(authority) else { return nil }
        (name, self.port) = (host, port)
    }

    /// The authority of a target with this scheme: without the port if it is the scheme's default.
    /// It is that of the `TargetURI` that the request has, and thus of its key.
    func authority(for scheme: String) -> String {
        port.map { TargetURI.authority(scheme: scheme, host: name, port: $0) } ?? name
    }

    /// The name, and the port if one is named.
    var description: String { port.map { "\(name):\($0)" } ?? name }
}
