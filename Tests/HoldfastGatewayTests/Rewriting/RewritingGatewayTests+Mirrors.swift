import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastConfiguration
import HoldfastTesting
import NIOCore
import Testing

@testable import HoldfastGateway

/// Responses of mirrors.
extension RewritingGatewayTests {
    /// A mirror writes its own name, and a path of its own before that of the origin.
    @Test func urlsOfAMirrorLeadBackToo() async throws {
        let respond: @Sendable (RawOrigin.Request) -> RawOrigin.Step = { request in
            let base = "http://\(request.values("host").first ?? "")/mirror"
            let fields = RewritingGateway.fresh + "Location: \(base)/there\r\n"
            return .response(RewritingGateway.response(RewritingGateway.page(base), fields: fields))
        }
        try await RawOrigin.with(respond: respond) { mirror in
            let (dead, url) = ("http://127.0.0.1:1", "\(mirror.url)/mirror")
            var route = try GatewayRoute(path: "/o", origin: GatewayOrigin(dead))
            route.rewriting = RewritingGateway.html
            let routes = try GatewayRoutes([route])
            let mirrors = [try GatewayOrigin(dead): [try GatewayOrigin(url)]]
            try await RunningGateway.with(
                origin: dead,
                configure: {
                    $0.routes = routes
                    $0.mirrors = mirrors
                },
                configureTransport: {
                    var origin = Configuration.Origin(url: dead)
                    origin.mirrors = [url]
                    $0.origins = [origin]
                }
            ) { gateway in
                for host in ["one.example", "two.example:81"] {
                    let response = try await gateway.ask(host: host)
                    #expect(response.text == RewritingGateway.page("http://\(host)/o"))
                    #expect(response["Location"] == "http://\(host)/o/there")
                }
                #expect(mirror.requests.map(\.target) == ["/mirror/page"])
            }
        }
    }

    /// The mirror's path is before paths too. The stored fields lead to the origin when it is back.
    @Test func fieldsOfAMirrorAreStoredAsTheOrigins() async throws {
        let respond: @Sendable (RawOrigin.Request) -> RawOrigin.Step = { request in
            // A response with a cookie is not stored.
            let cookie = "Set-Cookie: a=1; Domain=127.0.0.1; Path=/repo/pypi/y\r\n"
            let fields =
                "Location: /repo/pypi/simple/a/\r\nLink: <http://\(request.values("host")[0])/repo/pypi/x>\r\n"
                + "Cache-Control: max-age=60\r\n" + (request.target.hasSuffix("/cookie") ? cookie : "")
            return .response(
                "HTTP/1.1 103 Early Hints\r\nLink: </repo/pypi/z>\r\n\r\n"
                    + "HTTP/1.1 301 Moved Permanently\r\n\(fields)Content-Length: 0\r\n\r\n"
            )
        }
        try await RawOrigin.with(respond: respond) { mirror in
            let dead = "http://localhost:1"
            try await RunningGateway.with(
                origin: dead,
                configureTransport: {
                    var origin = Configuration.Origin(url: dead)
                    origin.mirrors = ["\(mirror.url)/repo/pypi"]
                    $0.origins = [origin]
                }
            ) { gateway in
                for target in ["/simple/a", "/simple/a", "/cookie"] {
                    let text = try await RawClient.with(port: gateway.port) { client in
                        try await client.send(
                            "GET \(target) HTTP/1.1\r\nHost: gw.example\r\nConnection: close\r\n\r\n"
                        )
                        return String(decoding: await client.readToEnd(), as: UTF8.self)
                    }
                    #expect(text.contains("\r\nLocation: /simple/a/\r\n"), "\(text)")
                    #expect(!text.contains("/repo/pypi"), "\(text)")
                    #expect(text.contains("\r\nSet-Cookie: a=1; Path=/y\r\n") == (target == "/cookie"), "\(text)")
                    await gateway.waitForFills(upTo: 0)
                }
                #expect(mirror.requests.map(\.target) == ["/repo/pypi/simple/a", "/repo/pypi/cookie"])
            }
        }
    }
}
