import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Testing

/// No-Vary-Search, behind its switch.
@Suite struct NoVarySearchTests {
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
            let answer = try await fixture.get(base + query)
            #expect(answer.text == "one", "\(query)")
            #expect(answer.response.outcome.isHit)
        }
        #expect(fixture.transport.requests.count == 1)
    }

    @Test func otherQueriesDoNot() async throws {
        let fixture = EngineFixture { $0.usesNoVarySearch = true }
        fixture.transport.script(base + "?a=1&utm=x", try reply("one"))
        fixture.transport.script(base + "?a=2&utm=x", try reply("two"))
        try await fixture.get(base + "?a=1&utm=x")
        let other = try await fixture.get(base + "?a=2&utm=x")
        #expect(other.text == "two")
    }

    @Test func withoutTheSwitchEveryQueryIsItsOwn() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(base + "?a=1&utm=x", try reply("one"))
        fixture.transport.script(base + "?a=1&utm=y", try reply("two"))
        try await fixture.get(base + "?a=1&utm=x")
        let other = try await fixture.get(base + "?a=1&utm=y")
        #expect(other.text == "two")
    }

    @Test func anUnsafeRequestInvalidatesWhatAnEquivalentQueryStored() async throws {
        let fixture = EngineFixture { $0.usesNoVarySearch = true }
        fixture.transport.script(base + "?utm=x&a=1", try reply("old"), .status(.ok), try reply("new"))
        try await fixture.get(base + "?utm=x&a=1")
        try await fixture.get(base + "?utm=x&a=1", method: .post)
        let answer = try await fixture.get(base + "?utm=x&a=1")
        #expect(answer.text == "new")
    }

    @Test func aPrincipalsResponseIsNotAnothers() async throws {
        let fixture = EngineFixture { $0.usesNoVarySearch = true }
        fixture.transport.script(base + "?utm=1", try reply("ann's"), try reply("bob's"))
        try await fixture.get(base + "?utm=1", principal: "ann")
        let bob = try await fixture.get(base + "?utm=1", principal: "bob")
        #expect(bob.text == "bob's")
    }
}
