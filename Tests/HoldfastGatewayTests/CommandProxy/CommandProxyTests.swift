import HTTP2Client
import HoldfastTesting
import OriginConnections
import TestSupport
import Testing

@testable import HoldfastGateway

/// The proxy of `holdfast record` and `holdfast replay`, over real sockets.
@Suite(.timeLimit(.minutes(20))) struct CommandProxyTests {
    private static let fresh = "Cache-Control: max-age=60\r\n"

    private func withOrigin(
        isSecure: Bool = true,
        _ body: (RawOrigin) async throws -> Void
    ) async throws {
        let tls = isSecure ? try TestCertificates.serverContext() : nil
        try await RawOrigin.with([], tls: tls, respond: { .ok($0.line, fields: Self.fresh) }, body)
    }

    // MARK: Tunnels

    @Test func requestInATunnelReachesTheCacheAndTheOrigin() async throws {
        try await withOrigin { origin in
            try await ProxiedGateway.with { proxied in
                let host = "localhost:\(origin.port)"
                for _ in 0..<2 {
                    try await proxied.tunnel(to: host) { client in
                        try await client.send("GET /a?b HTTP/1.1\r\nHost: \(host)\r\n\r\n")
                        let response = try await client.response()
                        #expect(response.status == 200 && response.text == "GET /a?b HTTP/1.1")
                    }
                    await proxied.gateway.waitForFills(upTo: 0)
                }
                #expect(origin.requests.count == 1)
                let request = try #require(origin.requests.first)
                #expect(request.values("host") == [host])
                // The origin learns nothing about the client of a forward proxy.
                for name in ["forwarded", "x-forwarded-for", "x-forwarded-host", "proxy-authorization"] {
                    #expect(request.values(name).isEmpty, "\(name)")
                }
                #expect(proxied.events.isEmpty)
            }
        }
    }

    /// The certificate is made for the tunnel's host. RFC 9110 §7.4
    @Test(arguments: ["other.example", "localhost", "localhost:1", "localhost.:PORT", "127.0.0.1:PORT"])
    func requestForAnotherHostIsMisdirected(host: String) async throws {
        try await withOrigin { origin in
            try await ProxiedGateway.with { proxied in
                try await proxied.tunnel(to: "localhost:\(origin.port)") { client in
                    let named = host.replacing("PORT", with: "\(origin.port)")
                    try await client.send("GET / HTTP/1.1\r\nHost: \(named)\r\n\r\n")
                    #expect(try await client.response().status == 421)
                    try await client.send("GET http://localhost:\(origin.port)/ HTTP/1.1\r\nHost: x\r\n\r\n")
                    #expect(try await client.response().status == 421)
                }
                #expect(origin.requests.isEmpty)
            }
        }
    }

    @Test func eachStreamOfATunnelIsForItsHost() async throws {
        try await withOrigin { origin in
            try await ProxiedGateway.with { proxied in
                let host = "localhost:\(origin.port)"
                try await proxied.tunnel(to: host, protocols: ["h2"]) { client in
                    let session = try #require(HTTP2ClientSession())
                    for (authority, status) in [(host, 200), ("other.example", 421), ("localhost", 421), (host, 200)] {
                        let request = DowngradedRequest("stream").with { $0.authority = authority }
                        let response = try await client.exchange(request, session)
                        #expect(response.status == status, "\(authority)")
                    }
                }
                #expect(!origin.requests.isEmpty && origin.requests.allSatisfy { $0.values("host") == [host] })
            }
        }
    }

    @Test func anotherServerNameFailsTheHandshake() async throws {
        try await ProxiedGateway.with { proxied in
            await #expect(throws: (any Error).self) {
                try await proxied.tunnel(to: "localhost:443", name: "other.example", isVerifying: false) { client in
                    try await client.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
                    _ = try await client.response()
                }
            }
            let reason = "the client named another host"
            #expect(proxied.events == [.failedHandshake(host: "localhost", reason: reason)])
        }
    }

    /// As a client does that accepts only one key.
    ///
    /// Mutant: a tunnel without a request is not reported.
    @Test(arguments: [nil, "", "PRI * HTTP/2.0\r\n", "GET / HT", "nonsense\r\n\r\n"] as [String?])
    func tunnelThatEndsWithoutARequestIsReported(sent: String?) async throws {
        try await ProxiedGateway.with { proxied in
            if let sent {
                try await proxied.tunnel(to: "localhost:443") { if !sent.isEmpty { try await $0.send(sent) } }
            } else {
                // Not even the handshake begins.
                try await RawClient.with(port: proxied.gateway.port) { client in
                    let response = try await proxied.connect(client, to: "localhost:443")
                    #expect(response.status == 200)
                }
            }
            while proxied.events.isEmpty, !Task.isCancelled { await Task.yield() }
            #expect(proxied.events == [.emptyTunnel(host: "localhost")])
        }
    }

    @Test func hostWithoutACertificateGetsNoTunnel() async throws {
        try await ProxiedGateway.with(certificates: NoCertificates()) { proxied in
            try await RawClient.with(port: proxied.gateway.port) { client in
                let response = try await proxied.connect(client, to: "a.example:443")
                #expect(response.status == 503 && response["Retry-After"] == "1")
            }
            #expect(proxied.events == [.refused(host: "a.example", reason: "There are too many hosts.")])
        }
    }

    @Test func untrustedOriginFailsTheRequestWithTheReason() async throws {
        try await withOrigin { origin in
            try await ProxiedGateway.with(trustsOrigins: false) { proxied in
                let host = "localhost:\(origin.port)"
                try await proxied.tunnel(to: host) { client in
                    try await client.send("GET / HTTP/1.1\r\nHost: \(host)\r\n\r\n")
                    let response = try await client.response()
                    #expect(response.status == 502 && response.text.contains("certificate"), "\(response.text)")
                    #expect(response.text.contains("Use '--origin-ca FILE'"), "\(response.text)")
                }
                #expect(origin.requests.isEmpty)
            }
        }
    }

    /// An origin that a command names has no settings in a file.
    @Test func nameThatDoesNotResolveIsStatedWithoutSettings() async throws {
        try await ProxiedGateway.with { proxied in
            let fields = "Host: x\r\n\(ProxiedGateway.authorization)\r\n"
            let response = try await proxied.gateway.send("GET http://nowhere.invalid/ HTTP/1.1\r\n\(fields)")
            #expect(response.status == 504 && !response.text.contains("addresses"), "\(response.text)")
        }
    }

    // MARK: Who may use it

    @Test(arguments: [
        "", "Proxy-Authorization: Basic\r\n", "Proxy-Authorization: Basic aG9sZGZhc3Q6c2VjcmV1\r\n",
        "Proxy-Authorization: Basic aG9sZGZhc3Q6c2VjcmV0AA\r\n", "Proxy-Authorization: Bearer aG9sZGZhc3Q6c2VjcmV0\r\n",
        "Authorization: Basic aG9sZGZhc3Q6c2VjcmV0\r\n",
    ])
    func noOneUsesItWithoutThePassword(fields: String) async throws {
        try await withOrigin(isSecure: false) { origin in
            try await ProxiedGateway.with { proxied in
                try await RawClient.with(port: proxied.gateway.port) { client in
                    let response = try await proxied.connect(client, to: "localhost:\(origin.port)", fields: fields)
                    #expect(response.status == 407 && response["Proxy-Authenticate"] == #"Basic realm="holdfast""#)
                }
                let plain = try await proxied.gateway.send("GET \(origin.url)/ HTTP/1.1\r\nHost: x\r\n\(fields)\r\n")
                #expect(plain.status == 407 && plain["Proxy-Authenticate"] != nil)
                #expect(origin.requests.isEmpty)
            }
        }
    }

    /// In a namespace of the command, no one else can connect.
    @Test func proxyWithoutAPasswordServesEveryClient() async throws {
        try await withOrigin(isSecure: false) { origin in
            try await ProxiedGateway.with(credentials: nil) { proxied in
                let plain = try await proxied.gateway.send("GET \(origin.url)/a HTTP/1.1\r\nHost: x\r\n\r\n")
                #expect(plain.status == 200 && plain.text == "GET /a HTTP/1.1")
                try await RawClient.with(port: proxied.gateway.port) { client in
                    let response = try await proxied.connect(client, to: "localhost:443", fields: "")
                    #expect(response.status == 200)
                }
            }
        }
    }

    // MARK: Without a tunnel

    @Test func requestInTheAbsoluteFormReachesTheOriginThatItNames() async throws {
        try await withOrigin(isSecure: false) { origin in
            try await ProxiedGateway.with { proxied in
                let request = "GET \(origin.url)/a HTTP/1.1\r\nHost: other\r\n\(ProxiedGateway.authorization)\r\n"
                for _ in 0..<3 {
                    let response = try await proxied.gateway.send(request)
                    #expect(response.status == 200 && response.text == "GET /a HTTP/1.1")
                }
                #expect(origin.requests.count == 1)
                // The proxy has nothing of its own.
                let own = "GET /a HTTP/1.1\r\nHost: 127.0.0.1\r\n\(ProxiedGateway.authorization)\r\n"
                #expect(try await proxied.gateway.send(own).status == 404)
            }
        }
    }

    // MARK: Refusals

    @Test func portsAreThoseOfTheWebUnlessListed() async throws {
        try await ProxiedGateway.with(ports: [80, 443]) { proxied in
            try await RawClient.with(port: proxied.gateway.port) { client in
                let response = try await proxied.connect(client, to: "localhost:25")
                #expect(response.status == 403)
            }
            let fields = "Host: x\r\n\(ProxiedGateway.authorization)\r\n"
            let plain = try await proxied.gateway.send("GET http://localhost:25/ HTTP/1.1\r\n\(fields)")
            #expect(plain.status == 403)
            #expect(proxied.events == [.refused(host: "localhost:25", reason: "the port needs '--allow-port 25'")])
        }
    }

    /// A request outside a tunnel is refused by another part than a tunnel.
    ///
    /// Mutant: a refused port is reported for tunnels alone.
    @Test func refusedPortOfAPlainRequestIsReported() async throws {
        try await ProxiedGateway.with(ports: [80, 443]) { proxied in
            let fields = "Host: x\r\n\(ProxiedGateway.authorization)\r\n"
            let plain = try await proxied.gateway.send("GET http://a.example:8080/ HTTP/1.1\r\n\(fields)")
            #expect(plain.status == 403)
            let reason = "the port needs '--allow-port 8080'"
            #expect(proxied.events == [.refused(host: "a.example:8080", reason: reason)])
        }
    }

    /// Also a name that resolves there, and the spellings that `inet_aton` reads.
    @Test(arguments: [
        "127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "[::1]", "[::127.0.0.1]", "[64:ff9b::7f00:1]", "0.0.0.0",
        "127.1", "2130706433", "0x7f000001", "0177.0.0.1",
    ])
    func thisMachineIsNotReached(host: String) async throws {
        try await withOrigin(isSecure: false) { origin in
            try await ProxiedGateway.with(allowsLoopback: false) { proxied in
                let fields = "Host: x\r\n\(ProxiedGateway.authorization)\r\n"
                let url = "http://\(host):\(origin.port)/"
                let response = try await proxied.gateway.send("GET \(url) HTTP/1.1\r\n\(fields)")
                #expect(response.status >= 500 && response.text.contains("is this machine"), "\(response.text)")
                #expect(origin.requests.isEmpty)
            }
        }
    }

    @Test(arguments: [
        "CONNECT a.example HTTP/1.1\r\n\r\n", "CONNECT a.example:443\r\n\r\n", "CONNECT /a HTTP/1.1\r\n\r\n",
    ])
    func malformedConnectIsRefused(request: String) async throws {
        try await ProxiedGateway.with { proxied in
            let response = try await proxied.gateway.send(request)
            #expect(response.status == 400)
        }
    }

    /// Interception is not for gateways.
    @Test func gatewayWithRoutesOpensNoTunnel() async throws {
        try await withOrigin(isSecure: false) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                let request = "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example\r\n\(ProxiedGateway.authorization)\r\n"
                let response = try await gateway.send(request)
                #expect(response.status == 501)
            }
        }
    }
}
