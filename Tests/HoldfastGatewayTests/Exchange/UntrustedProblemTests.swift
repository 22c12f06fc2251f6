import HTTPCache
import HoldfastConfiguration
import HoldfastTesting
import Testing

@testable import HoldfastGateway

/// Problems of clients that must not learn where the origins are.
@Suite(.timeLimit(.minutes(20))) struct UntrustedProblemTests {
    /// How the exchange fails.
    enum Fault: CaseIterable, Sendable {
        case refuses, hangsUp, respondsNonsense, isOffline, mustRevalidate, isNoTLS

        var code: String {
            switch self {
            case .refuses, .hangsUp, .isNoTLS: "origin-unreachable"
            case .respondsNonsense: "transport-failed"
            case .isOffline: "offline-miss"
            case .mustRevalidate: "stale-forbidden"
            }
        }
    }

    /// Runs a gateway whose clients request `/shop/…`, and whose origin has `/internal/…`.
    private func with(
        _ fault: Fault,
        trusted: [String] = [],
        _ body: (RunningGateway, _ origin: RawOrigin) async throws -> Void
    ) async throws {
        let fresh = "Cache-Control: max-age=1, must-revalidate\r\n"
        let respond: @Sendable (RawOrigin.Request) -> RawOrigin.Step = { request in
            switch fault {
            case .hangsUp: .hangUp
            case .respondsNonsense: .response("220 mail.example ESMTP\r\n\r\n")
            default: .ok("a", fields: fresh)
            }
        }
        try await RawOrigin.with(respond: respond) { origin in
            let url = fault == .isNoTLS ? "https://\(origin.authority)" : origin.url
            let routes = try GatewayRoutes([GatewayRoute(path: "/shop", origin: GatewayOrigin(url + "/internal"))])
            try await RunningGateway.with(
                origin: url,
                mode: fault == .isOffline ? .offline : .automatic,
                configure: { configuration in
                    configuration.routes = routes
                    configuration.trustedClients = trusted.compactMap { AddressRange($0) }
                },
                configureTransport: { transport in
                    transport.routes = routes
                    if fault == .isNoTLS { transport.connectTimeout = .passing(50) }
                }
            ) { gateway in
                if fault == .mustRevalidate {
                    #expect(try await gateway.get("/shop/page?q=1").status == 200)
                    gateway.clock.advance(by: .seconds(60))
                }
                if fault == .refuses || fault == .mustRevalidate { await origin.stop() }
                try await body(gateway, origin)
            }
        }
    }

    /// Mutants: every client reads the error's message; a proxy's client reads it.
    @Test(arguments: Fault.allCases) func untrustedClientReadsItsOwnURL(_ fault: Fault) async throws {
        try await with(fault) { gateway, origin in
            try await withThrowingTaskGroup(of: RawResponse.self) { clients in
                for _ in 0..<30 { clients.addTask { try await gateway.get("/shop/page?q=1") } }
                for try await response in clients {
                    #expect(response.status >= 502 && response.text.contains("urn:holdfast:problem:\(fault.code)"))
                    #expect(response.text.contains("'http://gateway.example/shop/page?q="), "\(response.text)")
                    let fields = response.fields.map { $0.name + String(decoding: $0.value, as: UTF8.self) }
                    let all = response.text + fields.joined()
                    for secret in [String(origin.port), "127.0.0.1", "internal"] {
                        #expect(!all.contains(secret), "\(fault): \(all)")
                    }
                }
            }
        }
    }

    @Test(arguments: Fault.allCases) func trustedClientReadsTheOrigin(_ fault: Fault) async throws {
        try await with(fault, trusted: ["127.0.0.1", "10.0.0.0/8"]) { gateway, origin in
            for fields in ["", "X-Forwarded-For: 10.0.0.7\r\n"] {
                let own = try await gateway.get("/shop/page?q=1", fields: fields)
                #expect(own.text.contains(String(origin.port)), "\(own.text)")
            }
            // A proxy's client is not the proxy.
            for fields in ["X-Forwarded-For: 192.0.2.1, 10.0.0.7\r\n", "Forwarded: for=192.0.2.1;proto=https\r\n"] {
                let other = try await gateway.get("/shop/page?q=1", fields: fields)
                #expect(!other.text.contains(String(origin.port)), "\(other.text)")
                #expect(other.text.contains("://gateway.example/shop/page"))
            }
        }
    }
}
