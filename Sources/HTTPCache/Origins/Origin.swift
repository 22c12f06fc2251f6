import HTTPCacheSemantics

/// Scheme, host and port: what a breaker and a limit are about. RFC 9110 §4.3.1
struct Origin: Sendable, Hashable, CustomStringConvertible {
    let scheme: String
    let host: String
    let port: UInt16

    init(_ target: TargetURI) {
        scheme = target.scheme
        host = target.host
        port = target.port
    }

    /// As a request names it, the scheme's default port left out.
    var authority: String { TargetURI.authority(scheme: scheme, host: host, port: port) }

    /// Without the scheme, which tells few apart: several tables are asked for an origin with every
    /// request.
    func hash(into hasher: inout Hasher) {
        hasher.combine(host)
        hasher.combine(port)
    }

    var description: String { "\(scheme)://\(authority)" }
}
