import HTTPCache
import HTTPCacheSemantics
import HoldfastTesting
import Testing

@testable import HoldfastGateway

/// A response that came to a request with credentials, and a rule that is added by a reload.
/// docs/attacks.md, 77
@Suite(.timeLimit(.minutes(20))) struct SharingReloadTests {
    private static func get(_ fields: String = "") -> String {
        "GET /page HTTP/1.1\r\nHost: g\r\n\(fields)\r\n"
    }

    /// Authenticates by `Authorization` alone, and asks shared caches to ask again each time.
    private static func respond(_ request: RawOrigin.Request) -> RawOrigin.Step {
        guard let name = request.values("authorization").first else {
            return .response("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n")
        }
        return .ok(name, fields: "Cache-Control: must-revalidate, max-age=60\r\n")
    }

    @Test(arguments: [true, false]) func rulesOfAReloadGiveStrangersNothing(isOriginUp: Bool) async throws {
        try await RawOrigin.with(respond: Self.respond) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                let alice = Self.get("Authorization: Basic alice\r\n")
                try await RawClient.with(port: gateway.port) { client in
                    for _ in 0..<4 {
                        try await client.send(alice)
                        #expect(try await client.response().text == "Basic alice")
                        await gateway.waitForFills(upTo: 0)
                    }
                    // The origin allows this.
                    try await client.send(Self.get())
                    #expect(try await client.response().text == "Basic alice")
                    var settings = ExchangeSettings()
                    settings.overrides.lifetime = 3600
                    settings.overrides.directivesIgnoredWhenStale = [.mustRevalidate]
                    gateway.engine.reconfigure(options: .patient, rules: FixedRules(settings))
                    if !isOriginUp { await origin.stop() }
                    for age in [0, 120] {
                        gateway.clock.advance(by: .seconds(age))
                        // On this connection, with its hot table, and on others.
                        for _ in 0..<3 {
                            try await client.send(Self.get())
                            let response = try await client.response()
                            #expect(response.status == (isOriginUp ? 401 : 504) && response.text != "Basic alice")
                        }
                        for fields in ["", "Cookie: a=1\r\n", "Cache-Control: max-stale\r\n"] {
                            let response = try await gateway.get("/page", fields: fields)
                            #expect(response.status == (isOriginUp ? 401 : 504) && response.text != "Basic alice")
                        }
                    }
                }
            }
        }
    }
}
