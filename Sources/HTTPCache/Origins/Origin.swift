package import HTTPCacheSemantics

/// A scheme, host and port. Each origin has its own breaker and limits. RFC 9110 §4.3.1
package struct Origin: Sendable, Hashable, CustomStringConvertible {
    let scheme: String
    let host: String
    let port: UInt16

    package init(_ target: TargetURI) {
        self.init(scheme: target.scheme, host: target.host, port: target.port)
    }

    /// - Parameters:
    ///   - scheme: `http` or `https`.
    ///   - host: in lowercase; an IPv6 address in brackets.
    package init(scheme: String, host: String, port: UInt16) {
        self.scheme = scheme
        self.host = host
        self.port = port
    }

    /// The authority as it appears in a request, without the scheme's default port.
    var authority: String { TargetURI.authority(scheme: scheme, host: host, port: port) }

    /// Hashes the host and port. The scheme is omitted for speed: few origins differ only in the
    /// scheme, and every request looks up its origin in several tables.
    package func hash(into hasher: inout Hasher) {
        hasher.combine(host)
        hasher.combine(port)
    }

    package var description: String { "\(scheme)://\(authority)" }
}
