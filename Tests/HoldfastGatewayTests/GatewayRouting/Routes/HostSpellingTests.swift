import HTTPCache
import HTTPCacheSemantics
import HoldfastConfiguration
import HoldfastGateway
import HoldfastTesting
import TestSupport
import Testing

/// docs/attacks.md, 78: the host that is keyed is the host that is sent. The origin writes what it
/// sees of the host into its page, and lets the page be stored.
///
/// Mutants: a preserved host is sent as the client spelled it; a trusted proxy's `Forwarded` keeps
/// its host.
@Suite(.timeLimit(.minutes(20)))
struct HostSpellingTests {
    enum Door: String, CaseIterable {
        case host, absolute, authority, http2Host
    }

    struct Spelling: Sendable {
        let text: String
        /// As it is keyed and sent.
        let normal: String

        static func all(defaultPort: Int) -> [Spelling] {
            var all: [Spelling] = []
            let names = ["SHOP.Example", "shop.example", "Shop.Example.", "[::A]", "a_b-9.X"]
            let ports = Set([80, defaultPort, 8080]).sorted()
            for name in names {
                all += ["", ":"].map { Spelling(text: name + $0, normal: name.lowercased()) }
                for port in ports {
                    // Only the listener's port is kept.
                    let normal = name.lowercased() + (port == 8080 ? ":8080" : "")
                    all += ["", "0", "000"].map { Spelling(text: "\(name):\($0)\(port)", normal: normal) }
                }
            }
            return all
        }
    }

    /// Writes what the origin sees of the host.
    private static let echo: @Sendable (RawOrigin.Request) -> RawOrigin.Step = { request in
        let seen = ["Host", "X-Forwarded-Host", "Forwarded"].map {
            "\($0)=\(request.values($0).joined(separator: "+"))"
        }
        return .ok(seen.joined(separator: "\n"), fields: "Cache-Control: max-age=60\r\n")
    }

    private func withGateway(isSecure: Bool, _ body: (RunningGateway, RawOrigin) async throws -> Void) async throws {
        try await TestCertificates.withTrustRoots { roots in
            try await RawOrigin.with(tls: isSecure ? TestCertificates.serverContext() : nil, respond: Self.echo) {
                origin in
                try await RunningGateway.with(
                    origin: origin.url,
                    configure: {
                        $0.routes = GatewayRoutes(origin: $0.routes.routes[0].origin, preservesHost: true)
                            .accepting([8080])
                    },
                    configureTransport: { $0.trustRootsFile = roots }
                ) { try await body($0, origin) }
            }
        }
    }

    private func get(_ path: String, _ host: String, _ door: Door, _ gateway: RunningGateway) async throws -> String {
        let before = gateway.engine.inFlightFetchCount
        switch door {
        case .host: return try await gateway.send("GET \(path) HTTP/1.1\r\nHost: \(host)\r\n\r\n").text
        case .absolute: return try await gateway.send("GET http://\(host)\(path) HTTP/1.1\r\nHost: other\r\n\r\n").text
        case .authority, .http2Host:
            let text = try await RawClient.with(port: gateway.port) { raw in
                let client = FrameClient(raw)
                try await client.send(FrameClient.beginning())
                let fields =
                    [(":method", "GET"), (":scheme", "http"), (":path", path)]
                    + [(door == .authority ? ":authority" : "host", host)]
                let payload = fields.flatMap { FrameClient.literal($0.0, $0.1) }
                try await client.send(
                    FrameClient.Frame(type: FrameClient.Frame.headers, flags: 5, stream: 1, payload: payload)
                )
                return try await client.responses([1])[1]?.text ?? ""
            }
            await gateway.waitForFills(upTo: before)
            return text
        }
    }

    @Test(arguments: Door.allCases, [false, true])
    func originGetsKeyedHostHoweverItIsSpelled(_ door: Door, isSecure: Bool) async throws {
        try await withGateway(isSecure: isSecure) { gateway, origin in
            for (number, spelling) in Spelling.all(defaultPort: isSecure ? 443 : 80).enumerated() {
                let page = try await get("/\(number)", spelling.text, door, gateway)
                let lines = page.split(separator: "\n")
                #expect(lines.first == "Host=\(spelling.normal)", "\(spelling.text)")
                #expect(lines.dropFirst().first == "X-Forwarded-Host=\(spelling.normal)", "\(spelling.text)")
                #expect(lines.last?.contains("host=") == false)
            }
            for stored in gateway.store.all {
                let target = stored.key.components.target
                let sent = origin.requests.first { $0.target == target.path }?.values("Host")
                #expect(sent == [target.authority])
            }
        }
    }

    @Test func noSpellingChangesWhatAnotherClientGets() async throws {
        try await withGateway(isSecure: false) { gateway, origin in
            var pages: [String: String] = [:]
            for spelling in Spelling.all(defaultPort: 80) {
                for door in Door.allCases {
                    let page = try await get("/p", spelling.text, door, gateway)
                    #expect(page == pages[spelling.normal, default: page], "\(spelling.text)")
                    pages[spelling.normal] = page
                }
            }
            // One request for each key: all other spellings are hits.
            #expect(origin.requests.count == pages.count && gateway.store.all.count == pages.count)
        }
    }

    private static let elements: [(String, String?)] = [
        ("for=1.2.3.4;host=evil.example;proto=https", "for=1.2.3.4;proto=https"),
        ("for=1.2.3.4; Host=\"evil.example\"", "for=1.2.3.4"), ("HOST=evil.example, for=1.2.3.4", "for=1.2.3.4"),
        ("host=evil.example", nil), ("for=\"a;host=evil\"", nil), ("for=\"a\\\";host=evil\"", nil),
        ("for=\"[::1]:80\";by=host", "for=\"[::1]:80\";by=host"), ("for=ghost", "for=ghost"),
    ]

    /// RFC 7239 §5.3.
    @Test(arguments: elements) func dropsForwardedHostOfTrustedProxy(value: String, passing: String?) async throws {
        try await RawOrigin.with(respond: Self.echo) { origin in
            try await RunningGateway.with(
                origin: origin.url,
                configure: { $0.trustedClients = [AddressRange("127.0.0.1")].compactMap(\.self) }
            ) { gateway in
                _ = try await gateway.get("/", fields: "Forwarded: \(value)\r\n")
                let seen = origin.requests.first?.values("Forwarded").joined() ?? ""
                let elements = (passing.map { "\($0), " } ?? "") + "for=127.0.0.1;proto=http"
                #expect(seen.filter { $0 != " " } == elements.filter { $0 != " " })
            }
        }
    }

    @Test(arguments: [
        ("Shop.Example", "http://shop.example/g/x"), ("SHOP.example:0080", "http://shop.example/g/x"),
        ("shop.example:", "http://shop.example/g/x"), ("Shop.Example:08080", "http://shop.example:8080/g/x"),
    ])
    func redirectsLeadToTheKeyedHost(host: String, expected: String) async throws {
        let location = "HTTP/1.1 302 Found\r\nLocation: http://files.example/f/x\r\nContent-Length: 0\r\n\r\n"
        try await RawOrigin.with([.response(location)]) { origin in
            let routes = try GatewayRoutes([
                GatewayRoute(path: "/g", origin: GatewayOrigin("http://files.example/f")),
                GatewayRoute(origin: GatewayOrigin(origin.url)),
            ])
            try await RunningGateway.with(origin: origin.url, configure: { $0.routes = routes }) { gateway in
                let response = try await gateway.send("GET /a HTTP/1.1\r\nHost: \(host)\r\n\r\n")
                #expect(response["Location"] == expected)
            }
        }
    }
}
