import HTTPCache
import HoldfastConfiguration
import HoldfastTesting
import TestSupport
import Testing

@testable import HoldfastGateway

/// The problems that browsers and programs get, over sockets.
@Suite(.timeLimit(.minutes(20))) struct ProblemPageGatewayTests {
    private static let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"

    private static func request(_ method: String = "GET", accept: String? = Self.browser) -> EitherClient.Request {
        var request = EitherClient.Request(method: method, target: "/shop/page?q=%3Cscript%3E", host: "gateway.example")
        if let accept { request.fields = [("Accept", accept)] }
        if method == "POST" { request.content = "abc" }
        return request
    }

    /// Runs a gateway whose clients request `/shop/…`. Its origin has `/internal/…`, responds once,
    /// and is then down.
    private func withOutage(
        _ pages: (inout HoldfastConfiguration.Configuration.ErrorPages) -> Void = { _ in },
        trusted: [String] = [],
        _ body: (RunningGateway, GatewayConfiguration, _ origin: RawOrigin) async throws -> Void
    ) async throws {
        try await RawOrigin.with(respond: { _ in .ok("a", fields: "Cache-Control: no-store\r\n") }) { origin in
            var route = try GatewayRoute(path: "/shop", origin: GatewayOrigin(origin.url + "/internal"))
            pages(&route.errorPages)
            var configuration = GatewayConfiguration(routes: try GatewayRoutes([route]))
            configuration.trustedClients = trusted.compactMap { AddressRange($0) }
            try await RunningGateway.with(
                origin: origin.url,
                configure: {
                    $0.routes = configuration.routes
                    $0.trustedClients = configuration.trustedClients
                },
                configureTransport: { $0.routes = configuration.routes }
            ) { gateway in
                #expect(try await gateway.get("/shop/once").status == 200)
                await origin.stop()
                try await body(gateway, configuration, origin)
            }
        }
    }

    private func ask(
        _ kind: EitherClient.Kind,
        _ gateway: RunningGateway,
        _ request: EitherClient.Request
    ) async throws -> EitherClient.Answer {
        try await EitherClient.with(kind, port: gateway.port) { try await $0.ask(request) }
    }

    /// Mutants: `programs-get-html`, `page-has-no-policy`.
    @Test(arguments: EitherClient.Kind.allCases) func browsersGetHTMLAndProgramsGetJSON(_ kind: EitherClient.Kind)
        async throws
    {
        try await withOutage { gateway, _, _ in
            let page = try await ask(kind, gateway, Self.request())
            #expect(page.status >= 502 && page.field("content-type") == "text/html; charset=utf-8")
            #expect(page.text.hasPrefix("<!doctype html>") && page.text.contains("last responded on "))
            #expect(page.text.contains("gateway.example/shop/page?q=") && !page.text.contains("<script"))
            #expect(page.field("content-security-policy")?.hasPrefix("default-src 'none'; style-src 'sha256-") == true)
            #expect(page.field("retry-after") == "15" && page.field("refresh") == "15")
            for accept in [nil, "*/*", "application/json", "text/html;q=0", "text/html, application/json"] {
                let problem = try await ask(kind, gateway, Self.request(accept: accept))
                #expect(problem.status >= 502 && problem.field("content-type") == "application/problem+json")
                #expect(problem.text.hasPrefix(#"{"type":"urn:holdfast:problem:origin-unreachable""#))
                for name in ["retry-after", "refresh", "content-security-policy"] {
                    #expect(problem.field(name) == nil, "\(name)")
                }
                #expect(problem.field("vary") == "Accept" && problem.field("cache-control") == "no-store")
            }
            #expect(page.field("vary") == "Accept" && page.field("cache-control") == "no-store")
        }
    }

    @Test(arguments: EitherClient.Kind.allCases) func headHasTheLengthOfThePage(_ kind: EitherClient.Kind)
        async throws
    {
        try await withOutage { gateway, _, _ in
            let page = try await ask(kind, gateway, Self.request())
            let head = try await ask(kind, gateway, Self.request("HEAD"))
            #expect(head.status >= 502 && head.text.isEmpty)
            for name in ["content-type", "content-length", "retry-after", "refresh"] {
                #expect(head.field(name) == page.field(name), "\(name)")
            }
            #expect(head.field("content-length") == "\(page.text.utf8.count)")
        }
    }

    /// Mutant: `result-of-a-post-is-requested-again`.
    @Test(arguments: EitherClient.Kind.allCases) func pageOfAPostDoesNotRetry(_ kind: EitherClient.Kind) async throws {
        try await withOutage { gateway, _, _ in
            let page = try await ask(kind, gateway, Self.request("POST"))
            #expect(page.status >= 502 && page.text.hasPrefix("<!doctype html>"))
            #expect(!page.text.contains("tries again"))
            #expect(page.field("refresh") == nil && page.field("retry-after") == nil)
            // A stored response would not matter.
            let problem = try await ask(kind, gateway, Self.request("POST", accept: nil))
            #expect(problem.text.contains("no stored response can answer this request"), "\(problem.text)")
        }
    }

    /// Mutant: `html-is-not-escaped`.
    @Test(arguments: EitherClient.Kind.allCases) func markupOfTheURLIsEscaped(_ kind: EitherClient.Kind) async throws {
        try await withOutage { gateway, _, _ in
            var request = Self.request()
            request.target = "/shop/<script>alert(1)</script>?a=<img>&b='\""
            let page = try await ask(kind, gateway, request)
            #expect(!page.text.contains("<script") && !page.text.contains("<img"), "\(page.text)")
        }
    }

    /// Mutant: `problem-names-the-origin`.
    @Test func untrustedClientReadsNoOriginInAPage() async throws {
        try await withOutage {
            $0.offline = Self.page("{detail}{title}{url}{last-contact}")
        } _: { gateway, _, origin in
            try await RawClient.onEach(of: 30, port: gateway.port) { client, _ in
                let fields = "Host: gateway.example\r\nAccept: \(Self.browser)\r\n"
                for target in ["/shop/page", "/other"] {
                    try await client.send("GET \(target) HTTP/1.1\r\n\(fields)\r\n")
                    let response = try await client.response()
                    #expect(response["Content-Type"] == "text/html; charset=utf-8")
                    let all = response.fields.map { $0.name + String(decoding: $0.value, as: UTF8.self) }.joined()
                    for secret in [String(origin.port), "127.0.0.1", "internal"] {
                        #expect(!(all + response.text).contains(secret), "\(all) \(response.text)")
                    }
                }
            }
        }
    }

    @Test func trustedClientReadsTheOriginInAPage() async throws {
        try await withOutage(trusted: ["127.0.0.1"]) { gateway, _, origin in
            let page = try await ask(.http1, gateway, Self.request())
            #expect(page.text.hasPrefix("<!doctype html>") && page.text.contains(String(origin.port)))
        }
    }

    /// A client that a route's own lists reject, on a route with pages.
    @Test(arguments: EitherClient.Kind.allCases) func rejectedClientGetsThePageOfItsRoute(_ kind: EitherClient.Kind)
        async throws
    {
        try await RawOrigin.with(respond: { _ in .ok("a", fields: "Cache-Control: no-store\r\n") }) { origin in
            var route = try GatewayRoute(path: "/shop", origin: GatewayOrigin(origin.url))
            route.errorPages.error = Self.page("<h1>Sorry</h1>{status}")
            route.clients.deny = [try #require(AddressRange("127.0.0.1"))]
            let routes = try GatewayRoutes([route])
            try await RunningGateway.with(origin: origin.url, configure: { $0.routes = routes }) { gateway in
                let page = try await ask(kind, gateway, Self.request())
                #expect(page.status == 403 && page.text == "<h1>Sorry</h1>403")
            }
        }
    }

    private static func page(_ text: String) -> HoldfastConfiguration.Configuration.ErrorPages.Page {
        var page = HoldfastConfiguration.Configuration.ErrorPages.Page(file: "a.html")
        page.template = ProblemPage.Template(text)
        return page
    }

    /// Mutant: `every-problem-gets-the-offline-page`.
    @Test(arguments: EitherClient.Kind.allCases) func routeHasItsOwnPages(_ kind: EitherClient.Kind) async throws {
        try await withOutage {
            $0.offline = Self.page("<h1>Back soon</h1>{url}")
            $0.error = Self.page("<h1>Sorry</h1>{status}")
        } _: { gateway, _, _ in
            let offline = try await ask(kind, gateway, Self.request())
            #expect(offline.status >= 502 && offline.text.hasPrefix("<h1>Back soon</h1>http://gateway.example/shop/"))
            #expect(offline.field("content-type") == "text/html; charset=utf-8")
            #expect(offline.field("cache-control") == "no-store" && offline.field("content-security-policy") == nil)
            #expect(offline.field("refresh") == "15")
            #expect(try await ask(kind, gateway, Self.request("POST")).field("refresh") == nil)
            let json = try await ask(kind, gateway, Self.request(accept: "*/*"))
            #expect(json.text.hasPrefix("{"))
            let error = try await ask(kind, gateway, Self.request("TRACE"))
            #expect(error.status == 405 && error.text == "<h1>Sorry</h1>405")
            #expect(error.field("refresh") == nil)
            // A request without a route has the gateway's own page.
            var other = Self.request()
            other.target = "/other"
            let unrouted = try await ask(kind, gateway, other)
            #expect(unrouted.status == 404 && unrouted.text.hasPrefix("<!doctype html>"))
        }
    }

    @Test func reloadReadsTheFilesAgain() async throws {
        let folder = try TemporaryFolder()
        func load(_ page: String, _ origin: String) throws -> GatewayConfiguration {
            try writeFile(folder.path + "/back.html", Array(page.utf8))
            let text = """
                version: 1
                routes: [{path: /shop, origin: "\(origin)/internal", error-pages: {offline: back.html}}]
                """
            let file = try HoldfastConfiguration.Configuration(yaml: text, file: folder.path + "/holdfast.yaml")
            return try GatewayConfiguration(file)
        }
        try await withOutage { gateway, _, origin in
            for page in ["first", "second"] {
                gateway.server.reconfigure(try load(page, origin.url))
                let answer = try await ask(.http1, gateway, Self.request())
                #expect(answer.text == page)
            }
        }
    }

    /// Thirty browsers and thirty programs, in turn on each connection.
    @Test func thirtyConnections() async throws {
        try await withOutage { gateway, _, _ in
            try await RawClient.onEach(of: 30, port: gateway.port) { client, number in
                for turn in 0..<10 {
                    let isBrowser = (number + turn).isMultiple(of: 2)
                    let accept = isBrowser ? Self.browser : "*/*"
                    try await client.send("GET /shop/x HTTP/1.1\r\nHost: g\r\nAccept: \(accept)\r\n\r\n")
                    let response = try await client.response()
                    #expect(response.status >= 502 && response.text.hasPrefix(isBrowser ? "<!doctype" : "{"))
                }
            }
        }
    }
}
