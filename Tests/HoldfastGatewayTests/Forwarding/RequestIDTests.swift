import Foundation
import HTTPCache
import HTTPTypes
import HoldfastConfiguration
import HoldfastTesting
import Synchronization
import Testing

@testable import HoldfastGateway

/// `clients.request-id`: every request has a name, and no client ever sees another one's.
@Suite(.timeLimit(.minutes(20)))
struct RequestIDTests {
    /// The ways in which the store hands responses out.
    enum Storing: CaseIterable, Sendable {
        case memory, bodiesOnDisk, disk
    }

    /// An origin that has an ID of its own in each response, also in interim ones. The content is
    /// the ID that it got.
    private static func respond(_ request: RawOrigin.Request) -> RawOrigin.Step {
        let name = request.values("X-Request-Id").joined(separator: ",")
        let own = "X-Request-ID: origin\r\nx-request-id: twice\r\n"
        let length = "Content-Length: \(name.utf8.count)\r\n\r\n\(name)"
        let kind = request.target.split(separator: "/").first ?? ""
        switch kind {
        case "stored":
            return .response("HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nETag: \"a\"\r\n\(own)\(length)")
        case "relayed": return .response("HTTP/1.1 200 OK\r\nCache-Control: no-store\r\n\(own)\(length)")
        case "hinted":
            let hint = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\(own)\r\n"
            return .response("\(hint)HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\n\(own)\(length)")
        case "validated" where !request.values("If-None-Match").isEmpty:
            return .response("HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\n\(own)\r\n")
        case "validated":
            return .response("HTTP/1.1 200 OK\r\nCache-Control: no-cache\r\nETag: \"a\"\r\n\(own)\(length)")
        default:
            let size = String(name.utf8.count, radix: 16)
            let chunks = name.isEmpty ? "" : "\(size)\r\n\(name)\r\n"
            return .stream { writer in
                try await writer.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\(own)\r\n")
                try await writer.write("\(chunks)0\r\n\r\n")
            }
        }
    }

    private func withGateway(
        _ storing: Storing = .memory,
        purging: (any ClientPurging)? = nil,
        configure: (inout GatewayConfiguration) -> Void = { _ in },
        _ body: (RunningGateway, RawOrigin) async throws -> Void
    ) async throws {
        try await RawOrigin.with(respond: { Self.respond($0) }) { origin in
            try await RunningGateway.with(
                origin: origin.url,
                hasResidentBodies: storing == .memory,
                wrapping: { storing == .disk ? DiskStore($0) as any ResponseStore : $0 },
                configure: {
                    $0.identifiesRequests = true
                    configure(&$0)
                }
            ) { try await body($0, origin) }
        }
    }

    private func trust(_ configuration: inout GatewayConfiguration) {
        configuration.trustedClients = [AddressRange("127.0.0.0/8")].compactMap(\.self)
    }

    /// Each way to a client: a fetch, a hit, a collapsed fetch, a stream, a response that is
    /// relayed otherwise, one that the origin confirms, and one after interim responses.
    @Test(arguments: Storing.allCases, RawClient.counts)
    func noClientSeesAnotherOnesRequestID(storing: Storing, clients: Int) async throws {
        try await withGateway(storing) { gateway, origin in
            let seen = Mutex<[String]>([])
            let hits = Mutex(0)
            try await RawClient.onEach(of: clients, port: gateway.port) { client, number in
                let shared = ["/stored/a", "/hinted/a", "/validated/a", "/relayed/a", "/streamed/a"]
                let targets = shared + ["/relayed/\(number)"]
                for target in targets + targets + targets {
                    try await client.send("GET \(target) HTTP/1.1\r\nHost: g\r\n\r\n")
                    var response = try await client.response()
                    while response.status == 103 { response = try await client.response() }
                    let name = try #require(response["X-Request-Id"], "\(target)")
                    #expect(name.wholeMatch(of: /[0-9a-f]{32}/) != nil, "\(target): \(name)")
                    seen.withLock { $0.append(name) }
                    let status = response["Cache-Status"] ?? ""
                    if status.contains("; hit") { hits.withLock { $0 += 1 } }
                    // The origin got the name that its client gets.
                    let isOwn = !status.contains("; hit") && !status.contains("collapsed") && !status.contains("304")
                    if isOwn { #expect(response.text == name, "\(target): \(status)") }
                }
            }
            let names = seen.withLock { $0 }
            #expect(names.count == clients * 18 && Set(names).count == names.count)
            #expect(hits.withLock { $0 } > 0)
            #expect(await gateway.server.hotResponseCount() == 0)
            let sent = origin.requests.map { $0.values("X-Request-Id") }
            #expect(sent.allSatisfy { $0.count == 1 && names.contains($0[0]) })
        }
    }

    /// This holds whether they are shared or not.
    @Test(arguments: RawClient.counts) func interimResponsesNeverHaveTheOriginsRequestID(clients: Int) async throws {
        try await withGateway { gateway, _ in
            let count = Mutex(0)
            try await RawClient.onEach(of: clients, port: gateway.port) { client, number in
                for target in ["/hinted/a", "/hinted/b", "/hinted/own\(number)"] {
                    try await client.send("GET \(target) HTTP/1.1\r\nHost: g\r\n\r\n")
                    var response = try await client.response()
                    while response.status == 103 {
                        #expect(response["Link"] == "</a>" && response["X-Request-Id"] == nil, "\(target)")
                        count.withLock { $0 += 1 }
                        response = try await client.response()
                    }
                }
            }
            #expect(count.withLock { $0 } >= clients + 2)
        }
    }

    static let names: [(given: [String], isTaken: Bool)] = [
        (["a"], true), (["A-z_0.9"], true), ([String(repeating: "x", count: 128)], true),
        ([String(repeating: "x", count: 129)], false), (["a b"], false), (["é"], false),
        (["a;b"], false), (["a\"b"], false), ([""], false), (["a", "b"], false), (["a", "a"], false),
    ]

    @Test(arguments: names)
    func takesTrustedClientsRequestIDIfItIsHarmless(given: [String], isTaken: Bool) async throws {
        let fields = given.map { "X-Request-Id: \($0)\r\n" }.joined()
        for isTrusted in [true, false] {
            try await withGateway(configure: { if isTrusted { trust(&$0) } }) { gateway, _ in
                try await RawClient.with(port: gateway.port) { client in
                    // The second request has the fields of the first one.
                    for target in ["/relayed/1", "/relayed/2", "/stored/1", "/stored/1"] {
                        try await client.send("GET \(target) HTTP/1.1\r\nHost: g\r\n\(fields)\r\n")
                        let response = try await client.response()
                        let name = try #require(response["X-Request-Id"])
                        #expect((name == given[0]) == (isTaken && isTrusted))
                        if name != given[0] { #expect(name.wholeMatch(of: /[0-9a-f]{32}/) != nil, "\(name)") }
                        if response["Cache-Status"]?.contains("; hit") != true { #expect(response.text == name) }
                    }
                }
            }
        }
    }

    @Test func ownResponsesHaveRequestIDAndProblemsNameItInContent() async throws {
        let requests = [
            ("OPTIONS * HTTP/1.1\r\nHost: g\r\n\r\n", 204), ("PURGE /a HTTP/1.1\r\nHost: g\r\n\r\n", 405),
            ("GET /health HTTP/1.1\r\nHost: g\r\n\r\n", 200), ("HEAD /health HTTP/1.1\r\nHost: g\r\n\r\n", 200),
            ("GET /a HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
            ("TRACE /a HTTP/1.1\r\nHost: g\r\n\r\n", 405),
            ("GET /miss HTTP/1.1\r\nHost: g\r\nCache-Control: only-if-cached\r\n\r\n", 504),
            ("GET /stored/a HTTP/1.1\r\nHost: g\r\nIf-None-Match: \"a\"\r\n\r\n", 304),
            ("HEAD /stored/a HTTP/1.1\r\nHost: g\r\n\r\n", 200),
        ]
        try await withGateway(configure: { $0.healthPath = "/health" }) { gateway, _ in
            #expect(try await gateway.get("/stored/a").status == 200)
            var names: Set<String> = []
            for (request, status) in requests {
                let response = try await gateway.send(request)
                #expect(response.status == status, "\(request)")
                let name = try #require(response["X-Request-Id"], "\(request)")
                #expect(name.wholeMatch(of: /[0-9a-f]{32}/) != nil, "\(request)")
                #expect(names.insert(name).inserted, "\(request)")
                if status >= 400 { #expect(response.text.contains(#","requestId":"\#(name)"}"#), "\(request)") }
            }
        }
    }

    /// This holds for stored responses and for problems.
    @Test func unreachableOriginsResponsesHaveTheIDsOfTheirRequests() async throws {
        try await withGateway { gateway, origin in
            let first = try await gateway.get("/stored/a")
            await origin.stop()
            gateway.clock.advance(by: .seconds(100))
            let stale = try await gateway.get("/stored/a")
            #expect(
                stale["Cache-Status"]?.contains("detail=unreachable") == true && stale.text == first["X-Request-Id"]
            )
            let missing = try await gateway.get("/stored/b")
            #expect(missing.status == 504)
            let names = [first, stale, missing].compactMap { $0["X-Request-Id"] }
            #expect(Set(names).count == 3 && names.allSatisfy { $0.utf8.count == 32 })
        }
    }

    /// Each request has another ID, and yet it is the same request that fails.
    @Test func refusesTargetForWhichTheOriginHangsUp() async throws {
        try await RawOrigin.with(respond: { request in
            request.target == "/bad" ? .hangUp : .ok("fine", fields: "Cache-Control: no-store\r\n")
        }) { origin in
            let configure = { (configuration: inout GatewayConfiguration) in
                RunningGateway.trustingClients(&configuration)
                configuration.identifiesRequests = true
            }
            try await RunningGateway.with(origin: origin.url, configure: configure) { gateway in
                for _ in 0..<10 { _ = try await gateway.get("/bad") }
                let before = origin.requests.count { $0.target == "/bad" }
                #expect(before < 10)
                for _ in 0..<30 {
                    let refused = try await gateway.get("/bad")
                    #expect(refused.status == 504 && refused.text.contains("failed repeatedly"))
                }
                #expect(origin.requests.count { $0.target == "/bad" } == before)
                #expect(try await gateway.get("/fine").status == 200)
            }
        }
    }

    @Test func requestIDSelectsNoVariant() async throws {
        try await RawOrigin.with(respond: { _ in
            .ok("a", fields: "Cache-Control: max-age=60\r\nVary: X-Request-Id\r\n")
        }) { origin in
            try await RunningGateway.with(origin: origin.url, configure: { $0.identifiesRequests = true }) { gateway in
                for _ in 0..<30 {
                    let response = try await gateway.get("/a")
                    #expect(response.text == "a")
                }
                #expect(origin.requests.count == 1)
            }
        }
    }

    @Test func excessConnectionGetsRequestID() async throws {
        try await withGateway(configure: { $0.maximumConnections = 1 }) { gateway, _ in
            try await RawClient.with(port: gateway.port) { first in
                try await first.send("GET /stored/a HTTP/1.1\r\nHost: g\r\n\r\n")
                _ = try await first.response()
                let response = try await RawClient.with(port: gateway.port) { try await $0.response() }
                #expect(response.status == 503)
                let name = try #require(response["X-Request-Id"])
                #expect(name.utf8.count == 32 && response.text.contains(#""requestId":"\#(name)""#))
            }
        }
    }

    @Test func reloadSwitchesRequestIDsAndTheLoopsResponses() async throws {
        try await RawOrigin.with(respond: { Self.respond($0) }) { origin in
            var kept: GatewayConfiguration?
            try await RunningGateway.with(origin: origin.url, configure: { kept = $0 }) { gateway in
                var configuration = try #require(kept)
                func ask(_ client: RawClient) async throws -> RawResponse {
                    try await client.send("GET /stored/a HTTP/1.1\r\nHost: g\r\n\r\n")
                    return try await client.response()
                }
                try await RawClient.with(port: gateway.port) { client in
                    _ = try await gateway.get("/stored/a")
                    for round in 0..<3 {
                        let before = await gateway.server.hotResponseCount()
                        for _ in 0..<4 { #expect(try await ask(client)["X-Request-Id"] == "origin, twice") }
                        #expect(await gateway.server.hotResponseCount() > before, "\(round)")
                        configuration.identifiesRequests = true
                        gateway.server.reconfigure(configuration)
                        let hot = await gateway.server.hotResponseCount()
                        var names: Set<String> = []
                        for _ in 0..<4 { names.insert(try await ask(client)["X-Request-Id"] ?? "") }
                        #expect(names.count == 4 && names.allSatisfy { $0.utf8.count == 32 })
                        #expect(await gateway.server.hotResponseCount() == hot)
                        configuration.identifiesRequests = false
                        gateway.server.reconfigure(configuration)
                    }
                }
            }
        }
    }

    @Test func fieldPassesAndProblemsHaveNoNameIfRequestIDsAreOff() async throws {
        try await withGateway(configure: { $0.identifiesRequests = false }) { gateway, origin in
            let response = try await gateway.get("/relayed/a", fields: "X-Request-Id: mine!\r\n")
            #expect(response.text == "mine!" && response["X-Request-Id"] == "origin, twice")
            let refused = try await gateway.get("/miss", fields: "Cache-Control: only-if-cached\r\n")
            #expect(refused.status == 504 && !refused.text.contains("requestId") && refused["X-Request-Id"] == nil)
            #expect(origin.requests.count == 1)
        }
    }
}
