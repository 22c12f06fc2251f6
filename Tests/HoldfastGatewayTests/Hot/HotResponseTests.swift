import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Testing

@testable import HoldfastGateway

/// Hits that an event loop gives from its table: each condition that ends one, on one connection
/// and thus one loop.
///
/// Mutants: `ResidentHit.Conditions.hold` and `age` that always say yes, `hitAgain` without the
/// settings' version, `HotTable.answer` without comparing bytes.
@Suite("Hits answered on the loop")
struct HotResponseTests {
    private static let plain = "GET /a HTTP/1.1\r\nHost: g\r\n\r\n"
    /// The same request for the cache, and one with content for the connection: it takes the long
    /// way.
    private static let long = "GET /a HTTP/1.1\r\nHost: g\r\nContent-Length: 0\r\n\r\n"
    private static let fresh = "Cache-Control: max-age=60\r\n"

    /// Stores what the origin's first step answers, and asks until the loop answers from its table.
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

    /// Waits for what another task does, and not for ever.
    private func until(_ condition: () -> Bool) async throws {
        for _ in 0..<200_000 where !condition() { await Task.yield() }
        try #require(condition())
    }

    private func ask(_ client: RawClient, _ request: String = HotResponseTests.plain, isHead: Bool = false) async throws
        -> RawResponse
    {
        try await client.send(request)
        return try await client.response(isHead: isHead)
    }

    /// Heats, does something, asks again.
    private func answer(
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
                    let answer = try await ask(client, request)
                    #expect(await gateway.server.hotResponseCount() == before)
                    return (answer, origin.requests.count)
                }
            }
        }
    }

    // MARK: What ends one

    @Test(arguments: [true, false]) func endsWithAnInvalidation(keepingForOffline: Bool) async throws {
        let (answer, _) = try await answer([.ok("old", fields: Self.fresh), .ok("new", fields: Self.fresh)]) {
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
        #expect(answer.text == "new")
    }

    @Test func endsWithFreshness() async throws {
        let (answer, _) = try await answer([.ok("old", fields: Self.fresh), .ok("new", fields: Self.fresh)]) {
            $0.clock.advance(by: .seconds(60))
        }
        #expect(answer.text == "new")
    }

    @Test("A stored response that took its place answers") func endsWithReplacement() async throws {
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

    @Test("A head that a 304 brought is served") func endsWithFreshening() async throws {
        let renewed = RawOrigin.Step.answer(
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

    @Test("A change of mode counts for the next request") func endsWithTheMode() async throws {
        // Nothing of the answer changes but the version that it rests on; so it is made anew, and
        // then hot again.
        let (answer, requests) = try await answer([.ok("old", fields: Self.fresh)]) { $0.engine.mode = .offline }
        #expect(answer["Cache-Status"] == "holdfast; hit; ttl=60")
        #expect(requests == 1)
    }

    @Test("Rules that say something else count for the next request") func endsWithTheRules() async throws {
        let rules = SwitchedRules()
        let (answer, _) = try await answer(
            [.ok("old", fields: Self.fresh), .ok("new", fields: Self.fresh)],
            rules: rules
        ) { gateway in
            rules.bypass()
            gateway.engine.settingsChanged()
        }
        #expect(answer.text == "new")
        #expect(answer["Cache-Status"] == "holdfast; fwd=bypass")
    }

    @Test("A clock that is set back ends it") func endsWithTheClock() async throws {
        let (answer, _) = try await answer([.ok("old", fields: Self.fresh)]) { $0.clock.advance(by: .seconds(-1)) }
        #expect(answer["Age"] == "0")
    }

    @Test("Eager refresh is due as ever") func endsWithEagerRefresh() async throws {
        var settings = ExchangeSettings()
        settings.eagerRefresh = .value(0.5)
        let (_, requests) = try await answer(
            [.ok("old", fields: Self.fresh), .ok("new", fields: Self.fresh)],
            rules: FixedRules(settings)
        ) { $0.clock.advance(by: .seconds(30)) }
        // The refresh may be on its way still: it is asked for in the background.
        #expect(requests <= 2)
    }

    // MARK: Requests that are others

    @Test(
        "A request with more in it is another one",
        arguments: [
            ("Cache-Control: no-cache\r\n", "new"), ("Pragma: no-cache\r\n", "new"), ("Cookie: a=b\r\n", "new"),
            ("Cache-Control: max-age=0\r\n", "new"), ("Accept-Language: de\r\n", "new"),
        ]
    )
    func isForOneRequest(field: String, content: String) async throws {
        let (answer, _) = try await answer(
            [.ok("old", fields: Self.fresh + "Vary: Accept-Language\r\n"), .ok("new", fields: Self.fresh)],
            "GET /a HTTP/1.1\r\nHost: g\r\n\(field)\r\n"
        ) { _ in }
        #expect(answer.text == content)
    }

    @Test func givesRangesAndConditionsTheirOwn() async throws {
        let stored = RawOrigin.Step.ok("0123456789", fields: Self.fresh + "ETag: \"1\"\r\n")
        let (part, _) = try await answer([stored], "GET /a HTTP/1.1\r\nHost: g\r\nRange: bytes=2-3\r\n\r\n") { _ in }
        #expect(part.status == 206)
        #expect(part.text == "23")
        let conditional = "GET /a HTTP/1.1\r\nHost: g\r\nIf-None-Match: \"1\"\r\n\r\n"
        let (unchanged, _) = try await answer([stored], conditional) { _ in }
        #expect(unchanged.status == 304)
    }

    @Test("Another principal's request is not answered from this one's") func keepsPrincipalsApart() async throws {
        let (answer, requests) = try await answer(
            [.ok("alice", fields: "Cache-Control: max-age=60\r\n"), .ok("bob", fields: Self.fresh)],
            "GET /a HTTP/1.1\r\nHost: g\r\nCookie: user=bob\r\n\r\n"
        ) { _ in }
        #expect(answer.text == "bob")
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

    @Test("The table, the loop and a task write the same bytes", arguments: kept.indices, ["GET", "HEAD"])
    func writesTheSame(index: Int, method: String) async throws {
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

    /// An answer as it came, and an `OPTIONS` behind it that tells where it ends.
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

    @Test("Pipelined hits and misses keep their order") func keepsOrder() async throws {
        try await RawOrigin.with([.ok("kept", fields: Self.fresh), .ok("one"), .ok("two")]) { origin in
            try await RunningGateway.with(origin: origin.url, hasResidentBodies: true) { gateway in
                try await RawClient.with(port: gateway.port) { client in
                    try await heat(gateway, client)
                    let miss = { (path: String) in "GET /\(path) HTTP/1.1\r\nHost: g\r\n\r\n" }
                    try await client.send(
                        Self.plain + Self.plain + miss("b") + Self.plain + Self.long + miss("c") + Self.plain
                    )
                    var answers: [String] = []
                    for _ in 0..<7 { answers.append(try await client.response().text) }
                    #expect(answers == ["kept", "kept", "one", "kept", "kept", "two", "kept"])
                }
            }
        }
    }

    @Test("A head in pieces is answered when it is whole", arguments: [1, 7, 20]) func takesPieces(size: Int)
        async throws
    {
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

    @Test("A client that does not read is not written to without end") func waitsForReaders() async throws {
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
                            // 60 MB are far more than the sockets between them hold.
                            #expect(await gateway.server.hotResponseCount() < before + count)
                        }
                    }
                }
            }
        }
    }

    @Test("A gateway that stops ends the connection behind the answer") func drains() async throws {
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
