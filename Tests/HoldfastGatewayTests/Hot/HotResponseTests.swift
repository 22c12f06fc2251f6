import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Testing

@testable import HoldfastGateway

/// Hits that an event loop serves from its hot table. Each condition that ends one is tested on one
/// connection, and thus on one loop.
///
/// Mutants: `ImmediateHit.Conditions.hold` and `age` that always return true, `revalidateHit`
/// without the settings' version, `HotTable.response` without comparing bytes.
@Suite(.timeLimit(.minutes(20)))
struct HotResponseTests {
    private static let plain = "GET /a HTTP/1.1\r\nHost: g\r\n\r\n"
    /// A request that is the same for the cache, but has content for the connection, so it bypasses
    /// the table.
    private static let long = "GET /a HTTP/1.1\r\nHost: g\r\nContent-Length: 0\r\n\r\n"
    private static let fresh = "Cache-Control: max-age=60\r\n"

    /// Stores the origin's first response, and sends requests until the loop serves it from its
    /// table.
    private func heat(
        _ gateway: RunningGateway,
        _ client: RawClient,
        _ request: String = HotResponseTests.plain,
        isHead: Bool = false
    ) async throws {
        _ = try await ask(client, request, isHead: isHead)
        try await until { !gateway.store.all.isEmpty }
        let before = await gateway.server.hotResponseCount()
        for _ in 0..<3 { _ = try await ask(client, request, isHead: isHead) }
        #expect(await gateway.server.hotResponseCount() == before + 1)
    }

    /// Waits until a condition holds that another task brings about.
    private func until(_ condition: () -> Bool) async throws {
        while !condition() {
            try Task.checkCancellation()
            await Task.yield()
        }
    }

    private func ask(_ client: RawClient, _ request: String = HotResponseTests.plain, isHead: Bool = false) async throws
        -> RawResponse
    {
        try await client.send(request)
        return try await client.response(isHead: isHead)
    }

    /// In-flight fetches the table, performs a change, and sends the request again.
    private func respond(
        _ steps: [RawOrigin.Step],
        mode: OfflineMode = .automatic,
        rules: (any ExchangeRules)? = nil,
        _ request: String = HotResponseTests.plain,
        after change: (RunningGateway) async throws -> Void
    ) async throws -> (RawResponse, requests: Int) {
        try await RawOrigin.with(steps) { origin in
            try await RunningGateway.with(origin: origin.url, mode: mode, hasResidentBodies: true, rules: rules) {
                gateway in
                try await RawClient.with(port: gateway.port) { client in
                    try await heat(gateway, client)
                    let before = await gateway.server.hotResponseCount()
                    try await change(gateway)
                    let response = try await ask(client, request)
                    #expect(await gateway.server.hotResponseCount() == before)
                    return (response, origin.requests.count)
                }
            }
        }
    }

    // MARK: The end of a hot response

    @Test(arguments: [true, false]) func endsWithAnInvalidation(keepingForOffline: Bool) async throws {
        let (response, _) = try await respond([.ok("old", fields: Self.fresh), .ok("new", fields: Self.fresh)]) {
            gateway in
            let request = CacheRequest(
                head: HTTPRequest(
                    method: .get,
                    scheme: "http",
                    authority: gateway.store.all.first?.key.components.target.authority,
                    path: "/a"
                )
            )
            try await gateway.engine.invalidate(request, keepingForOffline: keepingForOffline)
        }
        #expect(response.text == "new")
    }

    @Test func endsWithFreshness() async throws {
        let (response, _) = try await respond([.ok("old", fields: Self.fresh), .ok("new", fields: Self.fresh)]) {
            $0.clock.advance(by: .seconds(60))
        }
        #expect(response.text == "new")
    }

    @Test func replacedStoredResponseIsServedAnew() async throws {
        try await RawOrigin.with([.ok("old", fields: Self.fresh), .ok("new", fields: Self.fresh)]) { origin in
            try await RunningGateway.with(origin: origin.url, hasResidentBodies: true) { gateway in
                try await RawClient.with(port: gateway.port) { client in
                    try await heat(gateway, client)
                    _ = try await ask(client, "GET /a HTTP/1.1\r\nHost: g\r\nCache-Control: no-cache\r\n\r\n")
                    #expect(try await ask(client).text == "new")
                }
            }
        }
    }

    @Test func servesFreshenedHead() async throws {
        let renewed = RawOrigin.Step.response(
            "HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\nCache-Control: max-age=60\r\nX-Revision: 2\r\n\r\n"
        )
        let first = RawOrigin.Step.ok("same", fields: Self.fresh + "ETag: \"1\"\r\nX-Revision: 1\r\n")
        try await RawOrigin.with([first, renewed]) { origin in
            try await RunningGateway.with(origin: origin.url, hasResidentBodies: true) { gateway in
                try await RawClient.with(port: gateway.port) { client in
                    try await heat(gateway, client)
                    _ = try await ask(client, "GET /a HTTP/1.1\r\nHost: g\r\nCache-Control: max-age=0\r\n\r\n")
                    #expect(try await ask(client)["X-Revision"] == "2")
                    #expect(try await ask(client).text == "same")
                }
            }
        }
    }

    @Test func changeOfModeAppliesToTheNextRequest() async throws {
        // Only the version on which the response depends changes. So it is made anew, and is then
        // in the table again.
        let (response, requests) = try await respond([.ok("old", fields: Self.fresh)]) { $0.engine.mode = .offline }
        #expect(response["Cache-Status"] == "holdfast; hit; ttl=60")
        #expect(requests == 1)
    }

    @Test func changedRulesApplyToTheNextRequest() async throws {
        let rules = SwitchedRules()
        let (response, _) = try await respond(
            [.ok("old", fields: Self.fresh), .ok("new", fields: Self.fresh)],
            rules: rules
        ) { gateway in
            rules.bypass()
            gateway.engine.settingsChanged()
        }
        #expect(response.text == "new")
        #expect(response["Cache-Status"] == "holdfast; fwd=bypass")
    }

    @Test func clockThatIsSetBackEndsTheHotResponse() async throws {
        let (response, _) = try await respond([.ok("old", fields: Self.fresh)]) { $0.clock.advance(by: .seconds(-1)) }
        #expect(response["Age"] == "0")
    }

    @Test func eagerRefreshStartsOnTime() async throws {
        var settings = ExchangeSettings()
        settings.eagerRefresh = .value(0.5)
        let (_, requests) = try await respond(
            [.ok("old", fields: Self.fresh), .ok("new", fields: Self.fresh)],
            rules: FixedRules(settings)
        ) { $0.clock.advance(by: .seconds(30)) }
        // The refresh runs in the background and may not have ended.
        #expect(requests <= 2)
    }

    // MARK: Requests that are others

    @Test(arguments: [
        ("Cache-Control: no-cache\r\n", "new"), ("Pragma: no-cache\r\n", "new"), ("Cookie: a=b\r\n", "new"),
        ("Cache-Control: max-age=0\r\n", "new"), ("Accept-Language: de\r\n", "new"),
    ])
    func furtherFieldsMakeAnotherRequest(field: String, content: String) async throws {
        let (response, _) = try await respond(
            [.ok("old", fields: Self.fresh + "Vary: Accept-Language\r\n"), .ok("new", fields: Self.fresh)],
            "GET /a HTTP/1.1\r\nHost: g\r\n\(field)\r\n"
        ) { _ in }
        #expect(response.text == content)
    }

    @Test func givesRangesAndConditionsTheirOwn() async throws {
        let stored = RawOrigin.Step.ok("0123456789", fields: Self.fresh + "ETag: \"1\"\r\n")
        let (part, _) = try await respond([stored], "GET /a HTTP/1.1\r\nHost: g\r\nRange: bytes=2-3\r\n\r\n") { _ in }
        #expect(part.status == 206)
        #expect(part.text == "23")
        let conditional = "GET /a HTTP/1.1\r\nHost: g\r\nIf-None-Match: \"1\"\r\n\r\n"
        let (unchanged, _) = try await respond([stored], conditional) { _ in }
        #expect(unchanged.status == 304)
    }

    @Test func principalsResponseServesNoOtherPrincipal() async throws {
        let (response, requests) = try await respond(
            [.ok("alice", fields: "Cache-Control: max-age=60\r\n"), .ok("bob", fields: Self.fresh)],
            "GET /a HTTP/1.1\r\nHost: g\r\nCookie: user=bob\r\n\r\n"
        ) { _ in }
        #expect(response.text == "bob")
        #expect(requests == 2)
    }

    // MARK: The same bytes

    private static let kept: [(name: String, fields: String, request: String)] = [
        ("plain", "", ""),
        (
            "a date of the origin's",
            "Date: Thu, 01 Jan 2026 00:00:00 GMT\r\nLast-Modified: Thu, 01 Jan 2026 00:00:00 GMT\r\n", ""
        ),
        ("an age", "Age: 7\r\n", ""),
        ("two ages in another case", "age: 7\r\nAGE: 8\r\n", ""),
        ("other caches", "Cache-Status: other; hit; ttl=5\r\nVia: 1.1 other\r\n", ""),
        ("one that looks like ours", "Cache-Status: holdfast; hit; ttl=60\r\n", ""),
        ("a name on two lines", "Link: </a>\r\nLink: </b>\r\n", ""),
        ("variants", "Vary: Accept-Language, X-A\r\n", "Accept-Language: de\r\nX-A: 1\r\n"),
        ("bytes beyond ASCII", "X-Name: J\u{fc}rgen\r\n", ""),
        ("a condition", "ETag: \"1\"\r\n", "If-None-Match: \"1\"\r\n"),
        ("a condition that does not match", "ETag: \"1\"\r\n", "If-None-Match: \"2\"\r\n"),
    ]

    @Test(arguments: kept.indices, ["GET", "HEAD"])
    func tableLoopAndTaskWriteTheSameBytes(index: Int, method: String) async throws {
        let (name, fields, more) = Self.kept[index]
        try await RawOrigin.with([.ok("content", fields: Self.fresh + fields)]) { origin in
            try await RunningGateway.with(origin: origin.url, hasResidentBodies: true) { gateway in
                try await RawClient.with(port: gateway.port) { client in
                    _ = try await ask(client, "GET /a HTTP/1.1\r\nHost: g\r\n\(more)\r\n", isHead: false)
                    try await until { !gateway.store.all.isEmpty }
                    for _ in 0..<3 {
                        let rest = "/a HTTP/1.1\r\nHost: g\r\n\(more)"
                        let slow = try await bytes(client, "\(method) \(rest)Content-Length: 0\r\n\r\n")
                        for _ in 0..<4 {
                            #expect(try await bytes(client, "\(method) \(rest)\r\n") == slow, "\(name)")
                        }
                        gateway.clock.advance(by: .milliseconds(1_300))
                    }
                    #expect(await gateway.server.hotResponseCount() >= 8)
                }
            }
        }
    }

    /// The bytes of a response, and of an `OPTIONS` after it that shows where the response ends.
    private func bytes(_ client: RawClient, _ request: String) async throws -> String {
        try await client.send(request)
        var all: [UInt8] = []
        var headEnd: Int?
        while true {
            if headEnd == nil { headEnd = all.withUnsafeBytes { HeadEnd.length(of: $0) } }
            if let headEnd {
                let head = String(decoding: all[..<headEnd], as: UTF8.self)
                let hasContent = !request.hasPrefix("HEAD") && head.hasPrefix("HTTP/1.1 200")
                if all.count == headEnd + (hasContent ? 7 : 0) { return String(decoding: all, as: UTF8.self) }
            }
            all += try #require(await client.read())
        }
    }

    // MARK: The connection

    @Test func pipelinedHitsAndMissesKeepTheirOrder() async throws {
        try await RawOrigin.with([.ok("kept", fields: Self.fresh), .ok("one"), .ok("two")]) { origin in
            try await RunningGateway.with(origin: origin.url, hasResidentBodies: true) { gateway in
                try await RawClient.with(port: gateway.port) { client in
                    try await heat(gateway, client)
                    let miss = { (path: String) in "GET /\(path) HTTP/1.1\r\nHost: g\r\n\r\n" }
                    try await client.send(
                        Self.plain + Self.plain + miss("b") + Self.plain + Self.long + miss("c") + Self.plain
                    )
                    var responses: [String] = []
                    for _ in 0..<7 { responses.append(try await client.response().text) }
                    #expect(responses == ["kept", "kept", "one", "kept", "kept", "two", "kept"])
                }
            }
        }
    }

    @Test(arguments: [1, 7, 20]) func headInPiecesGetsResponseWhenComplete(size: Int) async throws {
        try await RawOrigin.with([.ok("kept", fields: Self.fresh)]) { origin in
            try await RunningGateway.with(origin: origin.url, hasResidentBodies: true) { gateway in
                try await RawClient.with(port: gateway.port) { client in
                    try await heat(gateway, client)
                    var rest = Array((Self.plain + Self.plain).utf8)[...]
                    while !rest.isEmpty {
                        try await client.send(Array(rest.prefix(size)))
                        rest = rest.dropFirst(size)
                    }
                    #expect(try await client.response().text == "kept")
                    #expect(try await client.response().text == "kept")
                }
            }
        }
    }

    @Test func writesToClientThatDoesNotReadAreLimited() async throws {
        let large = String(repeating: "x", count: 200_000)
        try await RawOrigin.with([.ok(large, fields: Self.fresh)]) { origin in
            try await RunningGateway.with(origin: origin.url, hasResidentBodies: true) { gateway in
                try await RawClient.with(port: gateway.port) { client in try await heat(gateway, client) }
                try await RawClient.with(port: gateway.port, receiveBuffer: 4096) { client in
                    let count = 300
                    let before = await gateway.server.hotResponseCount()
                    try await client.send(String(repeating: Self.plain, count: count))
                    for index in 0..<count {
                        #expect(try await client.response().content.count == large.utf8.count)
                        if index == 0 {
                            // 60 MB are far more than the socket buffers hold.
                            #expect(await gateway.server.hotResponseCount() < before + count)
                        }
                    }
                }
            }
        }
    }

    @Test func stoppingGatewayEndsTheConnectionAfterTheResponse() async throws {
        try await RawOrigin.with([.ok("kept", fields: Self.fresh)]) { origin in
            try await RunningGateway.with(origin: origin.url, hasResidentBodies: true) { gateway in
                try await RawClient.with(port: gateway.port) { client in
                    try await heat(gateway, client)
                    await gateway.server.stop()
                    #expect(await client.read() == nil)
                }
            }
        }
    }
}
