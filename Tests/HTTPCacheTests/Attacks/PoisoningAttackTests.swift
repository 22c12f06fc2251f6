import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Testing

/// Responses that are stored for requests that they must not answer, against a whole cache.
///
/// docs/attacks.md, 15–18. Mutants are changes of one line; `scripts/mutants` applies them.
@Suite(.timeLimit(.minutes(20))) struct PoisoningAttackTests {
    private let url = EngineFixture.url

    // MARK: 15: Vary

    /// Mutants: `ExchangeFlow.isFitting` without `policy.matchesVariant(head, prepared.selecting)`;
    /// `FetchDecision.head(of:at:)` with empty `selectingFields`.
    @Test func variantAnswersOnlyMatchingCallers() async throws {
        let fixture = EngineFixture(kind: .shared)
        let name = try #require(HTTPField.Name("X-Tenant"))
        let gate = Gate()
        let vary: HTTPFields = [.cacheControl: "max-age=60", .vary: "X-Tenant"]
        fixture.transport.script(url, .ok("a's", fields: vary, beforeHead: gate), .ok("b's", fields: vary))
        async let first = fixture.get(url, [name: "a"])
        await fixture.transport.waitForRequests(1)
        async let second = fixture.get(url, [name: "b"])
        // The second caller joins the first, or finds its response. In both cases that response is
        // not its own.
        for _ in 0..<100 { await Task.yield() }
        gate.open()
        let texts = try await [first.text, second.text]
        #expect(texts == ["a's", "b's"])
        let again = try await [fixture.get(url, [name: "b"]).text, fixture.get(url, [name: "a"]).text]
        #expect(again == ["b's", "a's"])
        fixture.transport.script(url, .ok("nobody's", fields: vary))
        let without = try await fixture.get()
        #expect(without.text == "nobody's")
    }

    /// Mutant: `storability` without `vary.hasWildcard`, together with `matchesNominated` without
    /// its comparison with `*`.
    @Test func varyStarIsNeitherStoredNorShared() async throws {
        let fixture = EngineFixture()
        let vary: HTTPFields = [.cacheControl: "max-age=60", .vary: "*"]
        fixture.transport.script(url, .ok("one", fields: vary), .ok("two", fields: vary))
        #expect(try await fixture.get().text == "one")
        #expect(fixture.memory.all.isEmpty)
        #expect(try await fixture.get().text == "two")
    }

    // MARK: 16: HEAD

    /// Mutant: `CachePolicy.storability` lets HEAD pass (`method != .get && method != .head`), and
    /// `ReuseMachine` knows no better.
    @Test func headResponseNeverAnswersGet() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(
            url,
            .status(.ok, fields: [.cacheControl: "max-age=60", .contentLength: "5"]),
            .fresh("whole")
        )
        try await fixture.get(method: .head)
        #expect(fixture.memory.all.isEmpty)
        let result = try await fixture.get()
        #expect(result.text == "whole")
        // The stored body is not sent for a HEAD.
        let head = try await fixture.get(method: .head)
        #expect(head.response.outcome.isHit && head.text.isEmpty)
    }

    // MARK: 17: partial content

    /// The origin sends a part although the whole was requested.
    ///
    /// Mutant: `partialStorability` without `request.headerFields.contains(.range)`.
    @Test func unrequestedPartIsNotStored() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, .part("01234", "bytes 0-4/10"), .fresh("0123456789"))
        try await fixture.get()
        #expect(fixture.memory.all.isEmpty)
        let whole = try await fixture.get()
        #expect(whole.text == "0123456789")
    }

    /// Mutants: `Fetcher.store` without its comparison of `storable` and `received`;
    /// `partialStorability` without `Self.part(fields) != nil`.
    @Test(arguments: [
        ("bytes 0-4/10", "012"), ("bytes 0-4/10", "0123456"), ("bytes 4-0/10", "01234"), ("bytes 0-4/3", "01234"),
        ("bytes 0-4", "01234"), ("octets 0-4/10", "01234"), ("bytes */10", "01234"),
        ("bytes 0-4/10, bytes 5-9/10", "01234"),
    ])
    func partWithWrongContentRangeIsNotStored(range: String, body: String) async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, .part(body, range))
        // A body of another length breaks off, which its caller may see as an error.
        _ = try? await fixture.get(url, [.range: "bytes=0-4"])
        await fixture.untilIdle()
        #expect(fixture.memory.all.isEmpty)
    }

    /// A part from another place than requested answers only for its own bytes.
    ///
    /// Mutant: `CachePolicy.selection` of a stored 206 without `held(by:)`, and `Exchange.open`
    /// without the range. A store that is asked for bytes it does not have guards too.
    @Test func storedPartAnswersOnlyItsOwnBytes() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, .part("01234", "bytes 0-4/10"), .part("56789", "bytes 5-9/10"))
        try await fixture.get(url, [.range: "bytes=5-9"])
        let again = try await fixture.get(url, [.range: "bytes=5-9"])
        #expect(again.text == "56789")
        #expect(again.response.head.headerFields[.contentRange] == "bytes 5-9/10")
    }

    /// The rest comes from another place, or from another representation: the whole is fetched
    /// again.
    ///
    /// Mutants: `FetchContext.complete` without `combined.head.status == .ok`;
    /// `CachePolicy.combined` without the comparison of validators.
    @Test(arguments: ["bytes 6-9/10", "bytes 5-9/11", "bytes 0-4/10"])
    func mismatchedRestIsNotAppendedToBeginning(range: String) async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, .part("01234", "bytes 0-4/10"))
        try await fixture.get(url, [.range: "bytes=0-4"])
        fixture.transport.script(url, .part("XXXXX", range), .fresh("0123456789"))
        let whole = try await fixture.get()
        #expect(whole.text == "0123456789")
        #expect(whole.response.head.status == .ok)
    }

    /// A weak validator does not prove that beginning and rest belong together.
    ///
    /// Mutant: `completionRequest` takes the entity tag of any strength.
    @Test func weakValidatorCombinesNoParts() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(
            url,
            .status(
                .partialContent,
                "01234",
                fields: [.cacheControl: "max-age=60", .eTag: "W/\"1\"", .contentRange: "bytes 0-4/10"]
            )
        )
        try await fixture.get(url, [.range: "bytes=0-4"])
        fixture.transport.script(url, .fresh("0123456789"))
        let whole = try await fixture.get()
        #expect(whole.text == "0123456789")
        #expect(fixture.transport.requests.last?.headerFields.contains(.range) == false)
    }

    // MARK: 18: redirects

    /// Mutant: `CacheEngine.key(for:)` makes every scheme `https` (the key of `http://…` redirects
    /// to itself otherwise).
    @Test(arguments: [301, 302, 303, 307, 308])
    func redirectIsStoredOnlyForItsOwnSchemeHostAndPort(status: Int) async throws {
        let fixture = EngineFixture(kind: .shared)
        let redirect: HTTPFields = [.cacheControl: "max-age=60", .location: "https://evil.example/feed"]
        fixture.transport.script("http://a.example/feed", .status(.init(code: status), fields: redirect))
        let first = try await fixture.get("http://a.example/feed")
        #expect(first.response.head.status.code == status)
        #expect(fixture.memory.all.count == 1)
        for other in ["https://a.example/feed", "http://b.example/feed", "http://a.example:8080/feed"] {
            fixture.transport.script(other, .fresh("good"))
            let result = try await fixture.get(other)
            #expect(result.text == "good" && result.response.head.status == .ok)
        }
        // The redirect is served for its own target, and not followed.
        let again = try await fixture.get("http://a.example/feed")
        #expect(again.response.outcome.isHit && again.response.head.status.code == status)
    }
}
