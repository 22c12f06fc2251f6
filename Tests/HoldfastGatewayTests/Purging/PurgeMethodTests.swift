import HTTPCache
import HTTPTypes
import HoldfastConfiguration
import HoldfastGateway
import HoldfastTesting
import NIOCore
import Synchronization
import Testing

/// Requests with the method PURGE, over sockets.
@Suite(.timeLimit(.minutes(20))) struct PurgeMethodTests {
    /// Notes each purge, and knows one token.
    private final class Purger: ClientPurging {
        private let noted = Mutex<[ClientPurge]>([])

        var purges: [ClientPurge] { noted.withLock { $0 } }

        func client(presenting credentials: [String], from address: String) -> String? {
            credentials == ["Bearer right"] ? "deploy" : nil
        }

        func perform(_ purge: ClientPurge, by client: String) async -> ClientPurgeResponse {
            noted.withLock { $0.append(purge) }
            return ClientPurgeResponse(status: client == "deploy" ? 200 : 500, json: Array("{}\n".utf8))
        }
    }

    private func withGateway(
        purgers: [String] = ["127.0.0.1"],
        routes: ((String) throws -> GatewayRoutes)? = nil,
        _ body: (RunningGateway, RawOrigin, Purger) async throws -> Void
    ) async throws {
        let purger = Purger()
        let stored = Array(repeating: RawOrigin.Step.ok("one", fields: "Cache-Control: max-age=60\r\n"), count: 9)
        try await RawOrigin.with(stored) { origin in
            let routes = try routes?(origin.url)
            try await RunningGateway.with(
                origin: origin.url,
                purging: purger,
                configure: { configuration in
                    configuration.purgers = purgers.compactMap { AddressRange($0) }
                    if let routes { configuration.routes = routes }
                }
            ) { try await body($0, origin, purger) }
        }
    }

    /// Other caches purge by patterns; here they would purge nothing. The client does not learn the
    /// origin's URL. Mutant: `purge-names-the-origin`.
    @Test func patternIsRefusedWithThePrefixToPurge() async throws {
        try await withGateway { gateway, origin, purger in
            for target in ["/item/.*", "/item/*", "/item/(.*)$"] {
                let response = try await gateway.send(purge(target, Self.right))
                let command = "'holdfast purge --prefix http://gateway.example/item/'"
                #expect(response.status == 400 && response.text.contains(command), "\(response.text)")
                #expect(!response.text.contains(origin.authority), "\(response.text)")
            }
            #expect(purger.purges.isEmpty)
            #expect(try await gateway.send(purge("/item?q=.*", Self.right)).status == 200)
        }
    }

    private func purge(_ target: String = "/a", _ fields: String = "", method: String = "PURGE") -> String {
        "\(method) \(target) HTTP/1.1\r\nHost: gateway.example\r\n\(fields)\r\n"
    }

    private static let right = "Authorization: Bearer right\r\n"

    @Test func clientWithoutAddressAndTokenGets405AndNothingIsForwarded() async throws {
        let wrong = "Authorization: Bearer wrong\r\n"
        for (purgers, token) in [
            ([], Self.right), (["192.0.2.0/24"], Self.right), (["127.0.0.1"], ""), (["127.0.0.1"], wrong),
        ] {
            try await withGateway(purgers: purgers) { gateway, origin, purger in
                _ = try await gateway.get("/a")
                var contents: Set<String> = []
                let more = ["", "Surrogate-Key: a\r\n", "Fastly-Soft-Purge: x\r\n", "Content-Length: 2\r\n"]
                for (method, target) in [
                    ("PURGE", "/a"), ("PURGE", "/unknown"), ("PURGE", "/../x"), ("purge", "/a?b=1"), ("Purge", "/a"),
                ] {
                    for fields in more {
                        let content = fields.hasPrefix("Content") ? "{}" : ""
                        let response = try await gateway.send(purge(target, token + fields, method: method) + content)
                        #expect(response.status == 405, "\(purgers) \(method) \(target) \(fields)")
                        #expect(response["Allow"]?.contains("GET, HEAD") == true)
                        contents.insert(response.text)
                    }
                }
                // A malformed target is rejected for every client, a purger too.
                #expect(try await gateway.send(purge("*", token)).status == 400)
                // Nothing is learnt from a difference, and nothing has changed.
                #expect(contents.count == 1)
                #expect(origin.requests.count == 1 && purger.purges.isEmpty)
                #expect(try await gateway.get("/a")["Cache-Status"]?.contains("; hit") == true)
            }
        }
    }

    @Test func thirtyConnectionsAreRejectedWithoutAForward() async throws {
        try await withGateway { gateway, origin, purger in
            let request = purge("/a", "Authorization: Bearer wrong\r\n")
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<30 { group.addTask { try await gateway.send(request).status } }
                for try await status in group { #expect(status == 405) }
            }
            #expect(origin.connectionCount == 0 && purger.purges.isEmpty)
        }
    }

    @Test func servesRequestBehindPURGEOnTheSameConnection() async throws {
        try await withGateway { gateway, _, purger in
            try await RawClient.with(port: gateway.port) { client in
                for token in [Self.right, ""] {
                    try await client.send(purge("/a", token) + "GET /a HTTP/1.1\r\nHost: g\r\n\r\n")
                    #expect(try await client.response().status == (token.isEmpty ? 405 : 200))
                    #expect(try await client.response().text == "one")
                }
            }
            #expect(purger.purges.count == 1)
        }
    }

    @Test(
        arguments: [
            ("", [], false), ("Fastly-Soft-Purge: 1\r\n", [], false), ("Fastly-Soft-Purge: 0\r\n", [], true),
            ("Surrogate-Key: a  b,c\r\nSurrogate-Key: d\r\n", ["a", "b,c", "d"], false),
            ("Surrogate-Key: a\r\nFastly-Soft-Purge: 0\r\n", ["a"], true),
            ("xkey: a, b c\r\n", ["a", "b", "c"], false),
            ("XKEY-softpurge: a\r\n", ["a"], false), ("xkey: a\r\nFastly-Soft-Purge: 0\r\n", ["a"], true),
        ] as [(String, [String], Bool)]
    )
    func fieldsSayWhatIsPurged(_ fields: String, _ tags: [String], _ removes: Bool) async throws {
        try await withGateway { gateway, origin, purger in
            let response = try await gateway.send(purge("/a", Self.right + fields))
            #expect(response.status == 200 && response.text == "{}\n")
            #expect(response["Content-Type"] == "application/json")
            let purge = try #require(purger.purges.first)
            #expect(purge.tags == tags && purge.removes == removes)
            #expect(purge.urls == (tags.isEmpty ? [origin.url + "/a"] : []))
            #expect(purge.clientURL == (tags.isEmpty ? "http://gateway.example/a" : nil))
            #expect(origin.connectionCount == 0)
        }
    }

    @Test(arguments: [
        "Fastly-Soft-Purge: yes\r\n", "Fastly-Soft-Purge: 1\r\nFastly-Soft-Purge: 0\r\n", "Surrogate-Key: \r\n",
        "xkey: ,\r\n", "xkey-softpurge: a\r\nFastly-Soft-Purge: 0\r\n",
    ]) func rejectsFieldsThatSayNothingClear(_ fields: String) async throws {
        try await withGateway { gateway, origin, purger in
            let response = try await gateway.send(purge("/a", Self.right + fields))
            #expect(response.status == 400 && response.text.contains("urn:holdfast:problem:invalid-purge"))
            #expect(purger.purges.isEmpty && origin.connectionCount == 0)
        }
    }

    private static func routes(to url: String) throws -> GatewayRoutes {
        try GatewayRoutes([
            GatewayRoute(host: "kept.example", origin: GatewayOrigin(url + "/k"), preservesHost: true),
            GatewayRoute(path: "/v1", origin: GatewayOrigin(url + "/api")),
        ])
    }

    /// A parameter with the name of a secret is part of the URL. Mutant:
    /// `client-purge-looks-for-redacted-urls`.
    @Test func urlIsMappedToTheOriginsTarget() async throws {
        try await withGateway(routes: Self.routes) { gateway, origin, purger in
            let kept = "PURGE /a HTTP/1.1\r\nHost: kept.example\r\n\(Self.right)\r\n"
            var statuses: [Int] = []
            for request in [
                purge("/v1/a?b=%20c&token=S1", Self.right), kept, purge("/other", Self.right),
                purge("/v1/../a", Self.right), purge("*", Self.right),
            ] {
                statuses.append(try await gateway.send(request).status)
            }
            #expect(statuses == [200, 200, 404, 400, 400])
            let urls = [[origin.url + "/api/a?b=%20c&token=S1"], ["http://kept.example/k/a"]]
            #expect(purger.purges.map(\.urls) == urls)
            let clients = ["http://gateway.example/v1/a?b=%20c&token=S1", "http://kept.example/a"]
            #expect(purger.purges.compactMap(\.clientURL) == clients)
            #expect(origin.connectionCount == 0)
        }
    }

    /// Mutant: `client-purge-covers-one-port`.
    @Test func purgeOfAPreservedHostCoversItsPorts() async throws {
        try await withGateway(routes: { try Self.routes(to: $0).accepting([8093]) }) { gateway, _, purger in
            for host in ["kept.example", "kept.example:8093", "kept.example:5"] {
                let response = try await gateway.send("PURGE /a HTTP/1.1\r\nHost: \(host)\r\n\(Self.right)\r\n")
                #expect(response.status == 200)
            }
            let urls = ["http://kept.example/k/a", "http://kept.example:8093/k/a"]
            #expect(purger.purges.map(\.urls) == [urls, urls, urls])
        }
    }

    @Test func gatewayWithoutAPurgerRejectsPurges() async throws {
        try await RawOrigin.with { origin in
            try await RunningGateway.with(
                origin: origin.url,
                configure: { $0.purgers = ["127.0.0.1"].compactMap { AddressRange($0) } }
            ) { gateway in
                let response = try await gateway.send(purge("/a", Self.right))
                #expect(response.status == 405)
                #expect(origin.connectionCount == 0)
            }
        }
    }
}
