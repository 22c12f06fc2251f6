import HTTPCache
import HoldfastConfiguration
import HoldfastTesting
import NIOPosix
import Testing

@testable import HoldfastGateway

/// A gateway whose only route rewrites the responses of an origin: `/o` at the gateway is `/` at
/// the origin.
enum RewritingGateway {
    static let html = Configuration.Rewriting(bodies: ["text/html", "application/json"])

    /// The page of an origin, with URLs of its own and of others. The origin learns its URL from
    /// the request.
    static func page(of request: RawOrigin.Request, repeating count: Int = 1) -> String {
        page("http://\(request.values("host").first ?? "")", repeating: count)
    }

    /// The page for a client that requests the origin under this URL.
    static func page(_ base: String, repeating count: Int = 1) -> String {
        String(
            repeating: "<a href=\"\(base)/x\">x</a> <a href='https://other.example/'>{\"u\":\"\(base)\"}</a>\n",
            count: count
        )
    }

    /// A response whose fields tell of the origin's bytes.
    static func response(_ content: String, type: String = "text/html; charset=utf-8", fields: String = "") -> String {
        "HTTP/1.1 200 OK\r\nContent-Type: \(type)\r\nETag: \"x\"\r\nAccept-Ranges: bytes\r\nContent-MD5: abcd\r\n"
            + "Digest: sha-256=x\r\nContent-Digest: sha-256=:eA==:\r\nRepr-Digest: sha-256=:eA==:\r\n\(fields)"
            + "Content-Length: \(content.utf8.count)\r\n\r\n\(content)"
    }

    static let fresh = "Cache-Control: max-age=3600\r\n"

    /// Runs an origin and a gateway.
    static func with(
        rewriting: Configuration.Rewriting = html,
        compresses: Bool = false,
        _ respond: @escaping @Sendable (RawOrigin.Request) -> RawOrigin.Step = {
            .response(response(page(of: $0), fields: fresh))
        },
        group: MultiThreadedEventLoopGroup = .singleton,
        options: EngineOptions = .patient,
        hasResidentBodies: Bool = true,
        wrapping wrap: (InMemoryResponseStore) -> any ResponseStore = { $0 },
        configure: (inout GatewayConfiguration) -> Void = { _ in },
        _ body: (RunningGateway, RawOrigin) async throws -> Void
    ) async throws {
        try await RawOrigin.with(respond: respond) { origin in
            var route = try GatewayRoute(path: "/o", origin: GatewayOrigin(origin.url))
            route.rewriting = rewriting
            route.compresses = compresses
            let routes = try GatewayRoutes([route])
            try await RunningGateway.with(
                origin: origin.url,
                group: group,
                options: options,
                hasResidentBodies: hasResidentBodies,
                wrapping: wrap,
                configure: {
                    $0.routes = routes
                    configure(&$0)
                }
            ) { try await body($0, origin) }
        }
    }
}

extension RunningGateway {
    /// A request on a connection of its own.
    func ask(_ method: String = "GET", _ target: String = "/o/page", host: String, fields: String = "") async throws
        -> RawResponse
    {
        try await send("\(method) \(target) HTTP/1.1\r\nHost: \(host)\r\n\(fields)\r\n")
    }
}
