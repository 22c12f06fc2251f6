import HTTPCacheSemantics
package import HTTPWire

extension RewriteClient {
    /// Creates the client of a forward proxy's request. A reference to the request's origin becomes
    /// one below the URL that the client requested. Other origins have no such URL.
    ///
    /// - Parameters:
    ///   - request: a request that the proxy forwards.
    ///   - scheme: the scheme of the client's connection.
    /// - Returns: `nil` if the client requests the origin's own URLs.
    package init?(ofProxy request: GatewayRequest, scheme: String) {
        guard let base = request.base, let origin = request.scheme, let host = request.authority,
            let named = try? GatewayOrigin("\(origin.rawValue)://\(host.authority(for: origin.rawValue))"),
            let route = try? GatewayRoute(path: base.path.isEmpty ? "/" : base.path, origin: named),
            let routes = try? GatewayRoutes([route])
        else { return nil }
        let scheme = base.scheme?.rawValue ?? scheme
        self.init(
            RewriteMap(routes),
            route: 0,
            scheme: scheme,
            authority: base.authority?.authority(for: scheme)
        )
    }
}
