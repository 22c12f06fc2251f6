import HTTPCache
import HTTPTypes
import HoldfastGateway
import Testing

/// A POST's content in the key.
@Suite(.timeLimit(.minutes(20)))
struct KeyedContentTests {
    /// One set of settings for all requests below a path, none for others.
    private final class Rules: ExchangeRules {
        private let path: String
        private let found: RequestRules

        init(_ path: String, _ content: ExchangeSettings.KeyedContent) {
            self.path = path
            var settings = ExchangeSettings()
            settings.keyedContent = content
            found = RequestRules(settings: settings)
        }

        func rules(for request: HTTPRequest) -> RequestRules {
            request.path?.hasPrefix(path) == true ? found : .none
        }

        func decisions(for request: HTTPRequest, contentType: String?) -> [RuleDecision] { [] }
    }

    private static func post(_ path: String, _ content: String, fields: String = "") -> String {
        "POST \(path) HTTP/1.1\r\nHost: g\r\nContent-Type: application/json\r\n\(fields)"
            + "Content-Length: \(content.utf8.count)\r\n\r\n\(content)"
    }

    private static let fresh = "Cache-Control: max-age=60\r\n"

    @Test func ruleServesEqualContentFromTheStoreAndOtherContentNot() async throws {
        try await RawOrigin.with([.ok("one", fields: Self.fresh), .ok("two", fields: Self.fresh)]) { origin in
            try await RunningGateway.with(origin: origin.url, rules: Rules("/search", .any)) { gateway in
                let first = try await gateway.send(Self.post("/search", #"{"q":1}"#))
                let other = try await gateway.send(Self.post("/search", #"{"q":2}"#))
                let chunked =
                    "POST /search HTTP/1.1\r\nHost: g\r\nContent-Type: application/json\r\n"
                    + "Transfer-Encoding: chunked\r\n\r\n3\r\n{\"q\r\n4\r\n\":1}\r\n0\r\n\r\n"
                let again = try await gateway.send(chunked)
                #expect([first.text, other.text, again.text] == ["one", "two", "one"])
                #expect(again["Cache-Status"] == "holdfast; hit; ttl=60")
                #expect(origin.requests.map(\.contentText) == [#"{"q":1}"#, #"{"q":2}"#])
            }
        }
    }

    @Test func postWithoutRulePassesUnchangedAndIsNotStored() async throws {
        let answer = RawOrigin.Step.ok("x", fields: Self.fresh)
        try await RawOrigin.with([answer, answer]) { origin in
            try await RunningGateway.with(origin: origin.url, rules: Rules("/search", .any)) { gateway in
                for _ in 0..<2 {
                    let response = try await gateway.send(Self.post("/orders", #"{"q":1}"#))
                    #expect(response["Cache-Status"] == "holdfast; fwd=method")
                }
                #expect(origin.requests.count == 2)
            }
        }
    }

    @Test func servesGraphQLQueriesFromTheStoreAndMutationsNever() async throws {
        let response = RawOrigin.Step.ok("x", fields: Self.fresh)
        try await RawOrigin.with([response, response, response]) { origin in
            try await RunningGateway.with(origin: origin.url, rules: Rules("/graphql", .graphQL)) { gateway in
                for _ in 0..<2 { _ = try await gateway.send(Self.post("/graphql", #"{"query":"query { a }"}"#)) }
                #expect(origin.requests.count == 1)
                for _ in 0..<2 { _ = try await gateway.send(Self.post("/graphql", #"{"query":"mutation { a }"}"#)) }
                #expect(origin.requests.count == 3)
            }
        }
    }

    @Test func contentBeyondTheLimitPassesWholeAndIsNotKeyed() async throws {
        let answer = RawOrigin.Step.ok("x", fields: Self.fresh)
        let content = String(repeating: "a", count: 40)
        try await RawOrigin.with([answer, answer]) { origin in
            try await RunningGateway.with(
                origin: origin.url,
                rules: Rules("/", .any),
                configure: { $0.keyedContentLimit = 39 }
            ) { gateway in
                for _ in 0..<2 {
                    let response = try await gateway.send(Self.post("/", content))
                    #expect(response.status == 200)
                }
                #expect(origin.requests.map(\.contentText) == [content, content])
            }
        }
    }
}
