import HTTPTypes

/// The fields of a mirror's response as the origin would have sent them: URLs, paths and domains of
/// the mirror become the origin's. They are stored so, and stay right when the origin is back.
///
/// Content is changed for the client alone, on its way out.
struct MirrorFields: Sendable {
    private let map: RewriteMap
    private let scheme: String
    private let authority: String

    /// - Parameters:
    ///   - mirror: with the path that is put before a request's.
    ///   - scheme: the origin's.
    ///   - authority: the origin's.
    init(of mirror: GatewayOrigin, for scheme: String, _ authority: String) {
        map = RewriteMap(GatewayRoutes(origin: mirror))
        self.scheme = scheme
        self.authority = authority
    }

    func translate(_ fields: inout HTTPFields) {
        var rewriter = FieldRewriter(for: RewriteClient(map, route: 0, scheme: scheme, authority: authority))
        rewriter.rewrite(&fields)
    }
}
