package import HTTPCacheSemantics

/// Scheme, host and port: breakers and limits apply to one origin. RFC 9110 §4.3.1
package struct Origin: Sendable, Hashable, CustomStringConvertible {
    let scheme: String
    let host: String
    let port: UInt16

    package init(_ target: TargetURI) {
        scheme = target.scheme
        host = target.host
        port = target.port
    }

    /// The authority as a request names it, without the scheme's default port.
    var authority: String { TargetURI.authority(scheme: scheme, host: host, port: port) }

    /// The scheme is left out, because few origins differ only in it, and several tables look up an
    /// origin for every request.
    package func hash(into hasher: inout Hasher) {
        hasher.combine(host)
        hasher.combine(port)
    }

    package var description: String { "\(scheme)://\(authority)" }
}
