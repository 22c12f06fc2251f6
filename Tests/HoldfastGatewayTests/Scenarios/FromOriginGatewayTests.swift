import HoldfastConfiguration
import HoldfastGateway
import HoldfastTesting
import Testing

/// `from-origin` of a rule, through a gateway and over sockets.
@Suite(.timeLimit(.minutes(20))) struct FromOriginGatewayTests {
    private static func rules(_ settings: String) throws -> RuleSet {
        try HoldfastConfiguration.Configuration(yaml: "version: 1\nrules: [{from-origin: \(settings)}]").rules
    }

    private static let fields = "Cache-Control: max-age=60\r\nSet-Cookie: a=1\r\n"

    @Test(arguments: RawClient.counts) func cookiesReachNoClient(_ count: Int) async throws {
        try await RawOrigin.with([.ok("one", fields: Self.fields)]) { origin in
            try await RunningGateway.with(origin: origin.url, rules: Self.rules("{remove: [Set-Cookie]}")) { gateway in
                let first = try await gateway.get("/")
                #expect(first.text == "one" && first["Set-Cookie"] == nil)
                try await RawClient.onEach(of: count, port: gateway.port) { client, _ in
                    try await client.send("GET / HTTP/1.1\r\nHost: g\r\n\r\n")
                    let response = try await client.response()
                    #expect(response.text == "one" && response["Set-Cookie"] == nil)
                }
                #expect(origin.requests.count == 1)
            }
        }
    }

    @Test func clientsWithCredentialsGetTheirCookies() async throws {
        let answer = RawOrigin.Step.ok("one", fields: Self.fields)
        try await RawOrigin.with([answer, answer]) { origin in
            try await RunningGateway.with(origin: origin.url, rules: Self.rules("{remove: [Set-Cookie]}")) { gateway in
                for _ in 0..<2 {
                    let response = try await gateway.get("/", fields: "Cookie: session=1\r\n")
                    #expect(response["Set-Cookie"] == "a=1")
                }
                #expect(gateway.store.all.isEmpty)
            }
        }
    }

    /// Git's first request, with and without version 2 of its protocol.
    @Test func gitProtocolSelectsPlainVariants() async throws {
        let fields = "Cache-Control: max-age=60\r\n"
        try await RawOrigin.with([.ok("version 2", fields: fields), .ok("version 0", fields: fields)]) { origin in
            try await RunningGateway.with(origin: origin.url, rules: Self.rules("{vary: [Git-Protocol]}")) { gateway in
                let target = "/r.git/info/refs?service=git-upload-pack"
                for _ in 0..<2 {
                    let second = try await gateway.get(target, fields: "Git-Protocol: version=2\r\n")
                    #expect(second.text == "version 2" && second["Vary"] == "Git-Protocol")
                    #expect(try await gateway.get(target).text == "version 0")
                }
                #expect(origin.requests.map { $0.values("git-protocol") } == [["version=2"], []])
            }
        }
    }
}
