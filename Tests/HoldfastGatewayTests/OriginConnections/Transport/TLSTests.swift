import HoldfastConfiguration
import HoldfastGateway
import HoldfastTesting
import TestSupport
import Testing

/// TLS towards the origin.
@Suite(.timeLimit(.minutes(20)))
struct TLSTests {
    @Test(arguments: ["127.0.0.1", "localhost"])
    func reachesTrustedOriginByAddressAndByName(host: String) async throws {
        try await TestCertificates.withTrustRoots { roots in
            try await RawOrigin.with([.ok("a"), .ok("b")], tls: TestCertificates.serverContext()) { origin in
                try await RunningGateway.with(
                    origin: "https://\(host):\(origin.port)",
                    configureTransport: { $0.trustRootsFile = roots }
                ) { gateway in
                    let first = try await gateway.get("/a")
                    #expect(first.text == "a")
                    let second = try await gateway.get("/b")
                    #expect(second.text == "b")
                    #expect(origin.connectionCount == 1)
                }
            }
        }
    }

    /// As in a container without the package 'ca-certificates'.
    /// Other origins are refused with the reason.
    @Test func withoutCertificatesOnlyOriginsInClearAreServed() async throws {
        let missing = "/nowhere/roots.pem"
        try await RawOrigin.with([.ok("a")]) { origin in
            try await RunningGateway.with(
                origin: origin.url,
                configureTransport: { $0.trustRootsFile = missing }
            ) { gateway in
                #expect(try await gateway.get("/a").text == "a")
                let plain = try GatewayOrigin("http://a.example")
                try gateway.transport.prepare(for: GatewayRoutes(origin: plain))
                // As a reload does.
                let secure = GatewayRoutes(origin: try GatewayOrigin("https://a.example"))
                let failure = #expect(throws: OriginTransport.TrustFailure.self) {
                    try gateway.transport.prepare(for: secure)
                }
                #expect(failure?.description.contains("'\(missing)'") == true)
                #expect(failure?.description.contains("'https://a.example:443'") == true)
            }
        }
        let failure = await #expect(throws: OriginTransport.TrustFailure.self) {
            try await RunningGateway.with(
                origin: "https://127.0.0.1:1",
                configureTransport: { $0.trustRootsFile = missing }
            ) { _ in }
        }
        #expect(failure?.origin == "https://127.0.0.1:1")
        // A transport without routes learns of an https origin with a request for it.
        try await RunningGateway.with(
            origin: "https://127.0.0.1:1",
            configure: { $0.trustedClients = [AddressRange("127.0.0.1")].compactMap(\.self) },
            configureTransport: { ($0.trustRootsFile, $0.routes) = (missing, nil) }
        ) { gateway in
            let response = try await gateway.get("/a")
            #expect(response.status >= 500 && response.text.contains(missing))
        }
    }

    /// Mutant: a TLS configuration without verification.
    @Test func untrustedOriginIs502AndSeesNoRequest() async throws {
        try await RawOrigin.with([.ok("a")], tls: TestCertificates.serverContext()) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                let response = try await gateway.get("/")
                #expect(response.status == 502)
                #expect(origin.requests.isEmpty)
            }
        }
    }

    /// RFC 9112 §9.8: without the close alert, an attacker on the path can have cut the content
    /// short.
    @Test func closeDelimitedContentIsCompleteOnlyWithCloseAlert() async throws {
        let head = "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\n\r\nhello"
        try await TestCertificates.withTrustRoots { roots in
            let steps: [RawOrigin.Step] = [.respondAndClose(head), .respondAndReset(Array(head.utf8))]
            try await RawOrigin.with(steps, tls: TestCertificates.serverContext()) { origin in
                try await RunningGateway.with(
                    origin: origin.url,
                    configureTransport: { $0.trustRootsFile = roots }
                ) { gateway in
                    let whole = try await gateway.get("/whole")
                    #expect(whole.isComplete)
                    #expect(gateway.store.all.count == 1)
                    _ = try? await gateway.get("/cut")
                    #expect(gateway.store.all.count == 1)
                }
            }
        }
    }
}
