import HTTPCacheSemantics

/// A target as bytes, in the form that patterns match: path and query are in ``PathNormalForm``.
struct TargetParts {
    var isHTTPS: Bool
    var host: [UInt8]
    var port: UInt16
    var path: [UInt8]
    var query: [UInt8]?

    init(_ target: TargetURI) {
        isHTTPS = target.scheme == "https"
        host = Array(target.host.utf8)
        port = target.port
        path = PathNormalForm.path(target.path.utf8)
        query = target.query.map { PathNormalForm.query($0.utf8) }
    }
}
