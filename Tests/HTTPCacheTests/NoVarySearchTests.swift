import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Testing

/// No-Vary-Search, behind its switch.
@Suite(.timeLimit(.minutes(20))) struct NoVarySearchTests {
    private let base = "https://a.example/list"
    private static let rule = HTTPField.Name("No-Vary-Search")

    private func reply(_ text: String, _ rule: String = #"params=("utm"), key-order"#) throws -> ScriptedTransport.Reply
    {
        .ok(text, fields: [.cacheControl: "max-age=60", try #require(Self.rule): rule])
    }

    @Test func equivalentQueriesShareAStoredResponse() async throws {
        let fixture = EngineFixture { $0.usesNoVarySearch = true }
        fixture.transport.script(base + "?a=1&b=2&utm=x", try reply("one"))
        try await fixture.get(base + "?a=1&b=2&utm=x")
        for query in ["?a=1&b=2&utm=x", "?b=2&a=1", "?utm=y&a=1&b=2", "?a=1&b=2"] {
            let result = try await fixture.get(base + query)
            #expect(result.text == "one", "\(query)")
            #expect(result.response.outcome.isHit)
        }
        #expect(fixture.transport.requests.count == 1)
    }

    @Test func otherQueriesShareNoResponse() async throws {
        let fixture = EngineFixture { $0.usesNoVarySearch = true }
        fixture.transport.script(base + "?a=1&utm=x", try reply("one"))
        fixture.transport.script(base + "?a=2&utm=x", try reply("two"))
        try await fixture.get(base + "?a=1&utm=x")
        let other = try await fixture.get(base + "?a=2&utm=x")
        #expect(other.text == "two")
    }

    @Test func switchedOffEveryQueryIsSeparate() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(base + "?a=1&utm=x", try reply("one"))
        fixture.transport.script(base + "?a=1&utm=y", try reply("two"))
        try await fixture.get(base + "?a=1&utm=x")
        let other = try await fixture.get(base + "?a=1&utm=y")
        #expect(other.text == "two")
    }

    @Test func unsafeRequestInvalidatesEquivalentQueries() async throws {
        let fixture = EngineFixture { $0.usesNoVarySearch = true }
        fixture.transport.script(base + "?utm=x&a=1", try reply("old"), .status(.ok), try reply("new"))
        try await fixture.get(base + "?utm=x&a=1")
        try await fixture.get(base + "?utm=x&a=1", method: .post)
        let result = try await fixture.get(base + "?utm=x&a=1")
        #expect(result.text == "new")
    }

    @Test func principalsShareNoResponses() async throws {
        let fixture = EngineFixture { $0.usesNoVarySearch = true }
        fixture.transport.script(base + "?utm=1", try reply("ann's"), try reply("bob's"))
        try await fixture.get(base + "?utm=1", principal: "ann")
        let bob = try await fixture.get(base + "?utm=1", principal: "bob")
        #expect(bob.text == "bob's")
    }

    /// Mutant: a response found under an equivalent query is served whatever its own fields are.
    @Test func ruleOfOneResponseDoesNotApplyToAnother() async throws {
        let fixture = EngineFixture { $0.usesNoVarySearch = true }
        let base = "https://a.example/list"
        let rule = try #require(HTTPField.Name("No-Vary-Search"))
        let ruled: HTTPFields = [.cacheControl: "max-age=60", rule: #"params=("user")"#]
        fixture.transport.script(base + "?a=1&user=ann", .ok("public", fields: ruled))
        fixture.transport.script(base + "?b=2", .fresh("for nobody"))
        fixture.transport.script(base + "?b=2&user=ann", .fresh("for ann"))
        try await fixture.get(base + "?a=1&user=ann")
        try await fixture.get(base + "?b=2")
        let ann = try await fixture.get(base + "?b=2&user=ann")
        #expect(ann.text == "for ann")
    }

    /// Mutant: no tag for responses with a rule: the invalidation looks for rules in one partition
    /// only.
    @Test(arguments: ["ann", "bob"])
    func unsafeRequestInvalidatesQueriesInEveryPartition(principal: String) async throws {
        let fixture = EngineFixture { $0.usesNoVarySearch = true }
        let target = "https://a.example/list?utm=x&a=1"
        let rule = try #require(HTTPField.Name("No-Vary-Search"))
        let ruled: HTTPFields = [.cacheControl: "max-age=60", rule: #"params=("utm")"#]
        fixture.transport.script(target, .ok("old", fields: ruled), .status(.ok), .ok("new", fields: ruled))
        try await fixture.get(target, principal: "ann")
        try await fixture.get(target, method: .post, principal: principal)
        let ann = try await fixture.get(target, principal: "ann")
        #expect(ann.text == "new")
    }
}
