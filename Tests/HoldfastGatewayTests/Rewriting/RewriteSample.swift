import NIOCore

@testable import HoldfastGateway

/// Routes and clients whose URLs are rewritten in tests.
enum RewriteSample {
    /// The index of each route.
    enum Route: Int {
        case index, files, nested, api, preserved, label
    }

    static func map() throws -> RewriteMap {
        RewriteMap(
            try GatewayRoutes([
                GatewayRoute(host: "index.local", origin: GatewayOrigin("https://index.example")),
                GatewayRoute(host: "files.local:8443", path: "/f", origin: GatewayOrigin("https://files.example")),
                GatewayRoute(host: "nested.local", origin: GatewayOrigin("https://files.example/deep/er")),
                GatewayRoute(path: "/v1", origin: GatewayOrigin("http://api.example:8080/api")),
                GatewayRoute(
                    host: "kept.local",
                    path: "/k",
                    origin: GatewayOrigin("http://10.0.0.7/app"),
                    preservesHost: true
                ),
                GatewayRoute(host: "*.label.local", origin: GatewayOrigin("https://label.example")),
            ])
        )
    }

    static func client(
        _ route: Route,
        authority: String? = "gw.local:8080",
        scheme: String = "http"
    ) throws -> RewriteClient {
        RewriteClient(try map(), route: route.rawValue, scheme: scheme, authority: authority)
    }

    /// Rewrites content that comes in pieces.
    static func rewrite(_ pieces: [String], for client: RewriteClient, contentType: String? = nil) -> String {
        var rewriter = BodyRewriter(for: client, contentType: contentType)
        var result = ""
        for piece in pieces { result += String(buffer: rewriter.rewrite(ByteBuffer(string: piece))) }
        return result + String(buffer: rewriter.rewrite(ByteBuffer(), isLast: true))
    }
}
