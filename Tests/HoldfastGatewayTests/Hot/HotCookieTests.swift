import HTTPCache
import HoldfastConfiguration
import Testing

@testable import HoldfastGateway

/// Cookies that a rule removes, with responses from the table of an event loop.
@Suite(.timeLimit(.minutes(20))) struct HotCookieTests {
    /// An origin that repeats the cookies of each request, behind a gateway that keeps `session`.
    private func withGateway(
        _ rule: String = "cookies: {keep: [session]}",
        fields: String = "Cache-Control: max-age=60\r\n",
        _ body: (RunningGateway, RawOrigin) async throws -> Void
    ) async throws {
        let rules = try Configuration(yaml: "version: 1\nrules: [{\(rule)}]").rules
        try await RawOrigin.with(
            [],
            respond: { .ok("[\($0.values("cookie").joined(separator: "|"))]", fields: fields) }
        ) { origin in
            try await RunningGateway.with(origin: origin.url, rules: rules) { try await body($0, origin) }
        }
    }

    private func request(_ cookie: String) -> String {
        "GET /a HTTP/1.1\r\nHost: gateway.example\r\n" + (cookie.isEmpty ? "" : "Cookie: \(cookie)\r\n") + "\r\n"
    }

    @Test func thirtyClientsWithRandomCookiesShareOneCopy() async throws {
        try await withGateway { gateway, origin in
            #expect(try await gateway.get("/a", fields: "Cookie: _ga=0\r\n").text == "[]")
            try await RawClient.onEach(of: 30, port: gateway.port) { client, number in
                for visit in 0..<6 {
                    // The last four are equal, so that the table serves the same bytes again.
                    try await client.send(request("_ga=GA1.\(number).\(min(visit, 2)); seen=\(number)"))
                    let response = try await client.response()
                    #expect(response.text == "[]" && response["Cache-Status"]?.contains("; hit") == true)
                }
            }
            #expect(await gateway.server.hotResponseCount() > 0)
            #expect(origin.requests.map { $0.values("cookie") } == [[]])
        }
    }

    @Test func hotCopyIsNotServedToAKeptOrUnreadableCookie() async throws {
        try await withGateway { gateway, _ in
            try await RawClient.with(port: gateway.port) { client in
                for cookie in [
                    "_ga=1", "_ga=1", "_ga=1", "_ga=1; session=a", "session=a", "_ga=1", "a=\"; session=a\"",
                ] {
                    try await client.send(request(cookie))
                    let expected = ["_ga=1": "[]", "_ga=1; session=a": "[session=a]"][cookie] ?? "[\(cookie)]"
                    #expect(try await client.response().text == expected)
                }
            }
        }
    }

    @Test func listedValuesHaveHotCopiesOfTheirOwn() async throws {
        try await withGateway("cookies: {keep: []}, vary: {cookies: {lang: [de, en]}}") { gateway, origin in
            for cookie in ["lang=de", "lang=en", "lang=fr"] { _ = try await gateway.send(request(cookie)) }
            try await RawClient.with(port: gateway.port) { client in
                for _ in 0..<4 {
                    for (cookie, text) in [
                        ("lang=de", "[lang=de]"), ("lang=en", "[lang=en]"), ("lang=fr", "[]"), ("", "[]"),
                    ] {
                        try await client.send(request(cookie))
                        #expect(try await client.response().text == text)
                    }
                }
            }
            #expect(await gateway.server.hotResponseCount() > 0)
            #expect(origin.requests.count == 3)
        }
    }

    @Test func conditionOnACookieKeepsRequestsFromHotCopies() async throws {
        let rules = "cookies: {keep: [edit]}}, {match: {cookie: [edit]}, bypass: true"
        try await withGateway(rules) { gateway, origin in
            #expect(try await gateway.get("/a").text == "[]")
            try await RawClient.with(port: gateway.port) { client in
                for cookie in ["", "", "", "edit=1", "edit=1", "edit=1", ""] {
                    try await client.send(request(cookie))
                    #expect(try await client.response().text == "[\(cookie)]")
                }
            }
            #expect(origin.requests.count == 4, "one for the copy, and each with the cookie")
        }
    }

    @Test func cookieThatIsLeftOutReachesNoHotClient() async throws {
        let fields = "Cache-Control: max-age=60\r\nSet-Cookie: seen=1; Path=/\r\n"
        try await withGateway("cookies: {keep: []}, store: {without-cookies: [seen]}", fields: fields) {
            gateway,
            origin in
            #expect(try await gateway.get("/a")["Set-Cookie"] != nil)
            try await RawClient.with(port: gateway.port) { client in
                for _ in 0..<4 {
                    try await client.send(request("_ga=1"))
                    #expect(try await client.response()["Set-Cookie"] == nil)
                }
            }
            #expect(origin.requests.count == 1)
        }
    }
}
