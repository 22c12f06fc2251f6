import HTTPCache
import HTTPTypes
import HoldfastConfiguration
import HoldfastMetrics
import NIOCore
import NIOSSL
import Testing

@testable import HoldfastGateway

/// PROXY protocol on a listener.
@Suite(.timeLimit(.minutes(20)))
struct ProxyListenerTests {
    fileprivate static let line = "PROXY TCP4 192.0.2.7 198.51.100.1 56324 443\r\n"
    private static let get = "GET /a HTTP/1.1\r\nHost: g\r\nConnection: close\r\n\r\n"

    private func with(
        trusted: [String] = ["127.0.0.1"],
        configure: (inout GatewayConfiguration) -> Void = { _ in },
        _ body: (RawOrigin, RunningGateway) async throws -> Void
    ) async throws {
        try await RawOrigin.with(respond: { _ in .ok("hello") }) { origin in
            try await RunningGateway.with(
                origin: origin.url,
                configure: { configuration in
                    configuration.listeners = [.address(ListenAddress(host: "127.0.0.1", port: 0), proxyProtocol: true)]
                    configuration.trustedClients = trusted.compactMap { AddressRange($0) }
                    configure(&configuration)
                }
            ) { try await body(origin, $0) }
        }
    }

    private func refusals(_ gateway: RunningGateway) async -> [String: Int64] {
        let name = "holdfast_proxy_protocol_refusals_total"
        let family = await gateway.server.metrics.families().first { $0.description.name == name }
        var counts: [String: Int64] = [:]
        for series in family?.series ?? [] {
            if case .integer(let count) = series.value, count > 0 { counts[series.labels.all[0].value] = count }
        }
        return counts
    }

    @Test func originGetsTheAddressThatTheProxyNames() async throws {
        try await with { origin, gateway in
            let response = try await gateway.send(Self.line + Self.get)
            #expect(response.status == 200)
            #expect(origin.requests.first?.values("x-forwarded-for") == ["192.0.2.7"])
            #expect(origin.requests.first?.values("forwarded") == ["for=192.0.2.7;proto=http"])
        }
    }

    private static let claims =
        "GET /a HTTP/1.1\r\nHost: g\r\nX-Forwarded-For: 203.0.113.9\r\nX-Forwarded-Proto: https\r\n"
        + "Forwarded: for=203.0.113.9;proto=https\r\nX-Real-IP: 203.0.113.9\r\nX-Request-ID: theirs\r\n"
        + "Connection: close\r\n\r\n"

    @Test func trustsNamedClientOnlyIfItIsListedItself() async throws {
        try await with(trusted: ["127.0.0.1", "198.51.100.0/24"]) { origin, gateway in
            _ = try await gateway.send(Self.line + Self.claims)
            _ = try await gateway.send("PROXY TCP4 198.51.100.5 198.51.100.1 1 2\r\n" + Self.claims)
            #expect(
                origin.requests.map { $0.values("x-forwarded-for") } == [
                    ["192.0.2.7"], ["203.0.113.9, 198.51.100.5"],
                ]
            )
        }
    }

    /// The address of such a connection is the proxy's, which is trusted, and its bytes may be
    /// those of any client of the proxy: it is believed no more than a stranger.
    @Test func trustsNoConnectionWhoseProxyNamesNoClient() async throws {
        let headers: [[UInt8]] =
            ["PROXY UNKNOWN\r\n", "PROXY UNKNOWN 192.0.2.7 198.51.100.1 1 2\r\n"].map { Array($0.utf8) }
            + [
                // LOCAL, with addresses and without; no family; a Unix socket.
                ProxyHeaderTests.block(0, 0, []), ProxyHeaderTests.block(0, 0x11, ProxyHeaderTests.addresses),
                ProxyHeaderTests.block(1, 0, []), ProxyHeaderTests.block(1, 0x31, [UInt8](repeating: 0, count: 216)),
                ProxyHeaderTests.block(1, 0x32, [UInt8](repeating: 0, count: 216)),
            ]
        try await with(configure: {
            $0.identifiesRequests = true
            $0.hidesCacheStatusDetails = true
        }) { origin, gateway in
            for header in headers {
                try await RawClient.with(port: gateway.port) { client in
                    try await client.send(header + Array(Self.claims.utf8))
                    let response = try await client.response()
                    #expect(response.status == 200)
                    #expect(response["X-Request-ID"] != "theirs")
                    #expect(response["Cache-Status"]?.contains("uri-miss") != true, "details are for trusted clients")
                }
            }
            #expect(origin.requests.count == headers.count)
            for request in origin.requests {
                #expect(request.values("x-forwarded-for") == ["127.0.0.1"])
                #expect(request.values("forwarded") == ["for=127.0.0.1;proto=http"])
                #expect(request.values("x-forwarded-proto") == ["http"])
                #expect(request.values("x-real-ip").isEmpty && request.values("x-request-id") != ["theirs"])
            }
        }
    }

    @Test func connectionWithoutNamedClientHasNoRightsOfTheProxy() throws {
        var configuration = GatewayConfiguration(origin: try GatewayOrigin("http://a.test"))
        configuration.trustedClients = ["10.0.0.0/8", "unix"].compactMap { AddressRange($0) }
        configuration.purgers = configuration.trustedClients
        for address in ["10.0.0.5", GatewayClient.localName] {
            for hasOwnAddress in [true, false] {
                let client = GatewayClient(address: address, hasOwnAddress: hasOwnAddress)
                #expect(client.isTrusted(by: configuration) == hasOwnAddress)
                #expect(client.mayPurge(by: configuration) == hasOwnAddress)
                let admission = ClientAdmission(client, by: Admission(), settings: 0, configuration)
                let stated = admission.principal([.xForwardedFor: "203.0.113.9"], configuration)
                #expect((stated == RequestClient("203.0.113.9")) == hasOwnAddress)
            }
        }
        #expect(!GatewayClient(address: nil).mayPurge(by: configuration))
    }

    @Test func resultDoesNotDependOnCuts() async throws {
        let block = ProxyHeaderTests.block(1, 0x11, ProxyHeaderTests.addresses + [4, 0, 3, 1, 2, 3])
        try await with { origin, gateway in
            for header in [Array(Self.line.utf8), block] {
                let bytes = header + Array(Self.get.utf8)
                for cut in 1..<bytes.count {
                    try await RawClient.with(port: gateway.port) { client in
                        try await client.send(Array(bytes[..<cut]))
                        if cut % 8 == 0 { await Task.yield() }
                        try await client.send(Array(bytes[cut...]))
                        #expect(try await client.response().text == "hello", "\(cut)")
                    }
                }
            }
            let names = Set(origin.requests.flatMap { $0.values("x-forwarded-for") })
            #expect(names == ["192.0.2.7", "192.0.2.1"])
            #expect(await refusals(gateway).isEmpty)
        }
    }

    @Test func closesUntrustedPeerWhateverItSends() async throws {
        try await with(trusted: ["192.0.2.0/24"]) { origin, gateway in
            for bytes in [Self.line + Self.get, Self.get, ""] {
                try await RawClient.with(port: gateway.port) { client in
                    // The connection may be closed before.
                    try? await client.send(bytes)
                    #expect(await client.readToEnd().isEmpty)
                }
            }
            #expect(origin.requests.isEmpty)
            while await refusals(gateway) != ["untrusted": 3], !Task.isCancelled { await Task.yield() }
            #expect(gateway.server.connectionCount == 0)
        }
    }

    @Test func closesTrustedPeerWithoutValidHeaderWithoutResponse() async throws {
        try await with { origin, gateway in
            let wrong = ["PROXY TCP4 a b 1 2\r\n" + Self.get, Self.get, "PROXY " + String(repeating: "a", count: 200)]
            for bytes in wrong {
                try await RawClient.with(port: gateway.port) { client in
                    try await client.send(bytes)
                    #expect(await client.readToEnd().isEmpty)
                }
            }
            try await RawClient.with(port: gateway.port) { client in
                try await client.send("PROXY TCP4 192")
                try await client.closeOutput()
                #expect(await client.readToEnd().isEmpty)
            }
            #expect(origin.requests.isEmpty)
            let expected: [String: Int64] = ["malformed": 1, "missing": 1, "too-long": 1, "closed": 1]
            while await refusals(gateway) != expected, !Task.isCancelled { await Task.yield() }
        }
    }

    @Test func lateHeaderEndsTheConnection() async throws {
        try await with(configure: { $0.timeouts.head = .passing(50) }) { _, gateway in
            try await RawClient.with(port: gateway.port) { client in
                // On a busy machine it may be too late for these bytes.
                try? await client.send("PROXY TCP4")
                #expect(await client.readToEnd().isEmpty)
            }
            while await refusals(gateway) != ["timeout": 1], !Task.isCancelled { await Task.yield() }
        }
    }

    /// Mutant: an address in the notation of IPv6 is another client.
    @Test func clientLimitCountsTheClientsThatTheProxyNames() async throws {
        try await with(configure: { $0.maximumConnectionsPerClient = 1 }) { _, gateway in
            let keeping = "GET /a HTTP/1.1\r\nHost: g\r\n\r\n"
            try await RawClient.with(port: gateway.port) { first in
                try await first.send(Self.line + keeping)
                #expect(try await first.response().status == 200)
                let second = try await gateway.send(Self.line + keeping)
                #expect(second.status == 503)
                #expect(second.text.contains("too-many-connections-of-client"))
                // The same client, as a socket for both versions names it.
                let mapped = try await gateway.send("PROXY TCP6 ::ffff:192.0.2.7 2001:db8::1 1 2\r\n" + Self.get)
                #expect(mapped.status == 503)
                let other = try await gateway.send("PROXY TCP4 192.0.2.8 198.51.100.1 1 2\r\n" + Self.get)
                #expect(other.status == 200)
            }
            while gateway.server.connectionCount > 0, !Task.isCancelled { await Task.yield() }
            #expect(try await gateway.send(Self.line + Self.get).status == 200)
        }
    }

    @Test func headerComesBeforeHTTP2() async throws {
        try await with { origin, gateway in
            try await RawClient.with(port: gateway.port) { raw in
                let client = FrameClient(raw)
                try await client.send(Array(Self.line.utf8) + FrameClient.beginning())
                try await client.send(FrameClient.get("/b", on: 1))
                #expect(try await client.responses([1])[1]?.text == "hello")
            }
            #expect(origin.requests.first?.values("x-forwarded-for") == ["192.0.2.7"])
        }
    }

    @Test func listenerWithoutTheProtocolRejectsTheHeaderAsMalformed() async throws {
        try await RawOrigin.with { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                let response = try await gateway.send(Self.line + Self.get)
                #expect(response.status == 400)
            }
        }
    }

    /// Sends bytes before those of TLS.
    private final class Preceding: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        func channelActive(context: ChannelHandlerContext) {
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: ProxyListenerTests.line)), promise: nil)
            context.fireChannelActive()
        }
    }

    @Test func headerComesBeforeTLS() async throws {
        try await CertificateFolder.with { folder in
            let tls = Configuration.TLS(certificates: [try folder.make("a", "DNS:a.example")])
            let context = try folder.client(trusting: "a")
            let listener = GatewayListener.address(
                ListenAddress(host: "127.0.0.1", port: 0),
                tls: tls,
                proxyProtocol: true
            )
            try await with(configure: { $0.listeners = [listener] }) { origin, gateway in
                let tls = RawClient.TLS(context, name: "a.example", below: { Preceding() })
                for _ in 0..<30 {
                    try await RawClient.with(port: gateway.port, tls: tls) { client in
                        try await client.send(Self.get)
                        #expect(try await client.response().status == 200)
                    }
                }
                let sent = origin.requests.map { $0.values("forwarded") }
                #expect(sent == [[String]](repeating: ["for=192.0.2.7;proto=https"], count: 30))
            }
        }
    }
}
