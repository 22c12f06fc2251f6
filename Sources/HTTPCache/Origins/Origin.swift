import HTTPCacheSemantics

/// Scheme, host and port: what a breaker and a limit are about. RFC 9110 §4.3.1
struct Origin: Sendable, Hashable, CustomStringConvertible {
    let scheme: String
    let host: String
    let port: UInt16
    /// As a request names it, the scheme's default port left out.
    let authority: String

    init(_ target: TargetURI) {
        scheme = target.scheme
        host = target.host
        port = target.port
        authority = target.authority
    }

    var description: String { "\(scheme)://\(authority)" }
}
