import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Testing

/// The effects of unsafe requests and HEAD on stored responses. RFC 9111 §4.4, §4.3.5, RFC 9875
@Suite(.timeLimit(.minutes(20))) struct InvalidationTests {
    private let url = EngineFixture.url
    private let other = "https://a.example/other"
    private static let groups = HTTPField.Name("Cache-Groups")
    private static let groupInvalidation = HTTPField.Name("Cache-Group-Invalidation")

    private func stored(_ url: String, in fixture: EngineFixture, _ fields: HTTPFields = [:]) async throws {
        var fields = fields
        fields[.cacheControl] = "max-age=600"
        fixture.transport.script(url, .ok("old", fields: fields), .fresh("new"))
        try await fixture.get(url)
    }

    @Test(
        arguments: [HTTPField.Name.location, .contentLocation],
        ["/other", "https://a.example/other", "other", "//a.example/other"]
    )
    func locationsOfTheSameOriginAreInvalidated(name: HTTPField.Name, reference: String) async throws {
        let fixture = EngineFixture()
        try await stored(other, in: fixture)
        fixture.transport.script(url, .status(.created, fields: [name: reference]))
        try await fixture.get(url, method: .post)
        let result = try await fixture.get(other)
        #expect(result.text == "new")
    }

    /// Mutant: `hasSameOrigin` dropped from `invalidatedTargets`.
    @Test func locationsOfOtherOriginsAreNot() async throws {
        let fixture = EngineFixture()
        try await stored("https://b.example/x", in: fixture)
        fixture.transport.script(url, .status(.created, fields: [.location: "https://b.example/x"]))
        try await fixture.get(url, method: .post)
        let result = try await fixture.get("https://b.example/x")
        #expect(result.text == "old")
    }

    @Test(arguments: [HTTPResponse.Status.badRequest, .internalServerError])
    func failureInvalidatesNothing(status: HTTPResponse.Status) async throws {
        let fixture = EngineFixture()
        try await stored(url, in: fixture)
        let post = "https://a.example/feed"
        let engine = EngineFixture()
        engine.transport.script(post, .fresh("old", 600), .status(status))
        try await engine.get(post)
        try await engine.get(post, method: .put)
        let result = try await engine.get(post)
        #expect(result.text == "old")
    }

    @Test func unknownMethodsInvalidate() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, .fresh("old", 600), .status(.ok), .fresh("new"))
        try await fixture.get()
        try await fixture.get(url, method: try #require(HTTPRequest.Method(rawValue: "FROBNICATE")))
        let result = try await fixture.get()
        #expect(result.text == "new")
    }

    @Test func groupIsInvalidatedTogether() async throws {
        let fixture = EngineFixture()
        let groups = try #require(Self.groups)
        try await stored(other, in: fixture, [groups: #""a", "b""#])
        try await stored("https://a.example/third", in: fixture, [groups: #""c""#])
        fixture.transport.script(url, .status(.ok, fields: [try #require(Self.groupInvalidation): #""b""#]))
        try await fixture.get(url, method: .post)
        let member = try await fixture.get(other)
        let stranger = try await fixture.get("https://a.example/third")
        #expect(member.text == "new")
        #expect(stranger.text == "old")
    }

    @Test func groupBelongsToItsOrigin() async throws {
        let fixture = EngineFixture()
        try await stored("https://b.example/x", in: fixture, [try #require(Self.groups): #""a""#])
        fixture.transport.script(url, .status(.ok, fields: [try #require(Self.groupInvalidation): #""a""#]))
        try await fixture.get(url, method: .post)
        let result = try await fixture.get("https://b.example/x")
        #expect(result.text == "old")
    }

    @Test func groupsCanBeSwitchedOff() async throws {
        let fixture = EngineFixture { $0.usesCacheGroups = false }
        try await stored(other, in: fixture, [try #require(Self.groups): #""a""#])
        fixture.transport.script(url, .status(.ok, fields: [try #require(Self.groupInvalidation): #""a""#]))
        try await fixture.get(url, method: .post)
        let result = try await fixture.get(other)
        #expect(result.text == "old")
    }

    @Test func agreeingHEADFreshens() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(
            url,
            .fresh("body", etag: "\"1\""),
            .status(.ok, fields: [.eTag: "\"1\"", .contentLength: "4", .cacheControl: "max-age=600"])
        )
        try await fixture.get()
        fixture.clock.advance(by: .seconds(61))
        try await fixture.get(url, method: .head)
        let result = try await fixture.get()
        #expect(result.text == "body")
        #expect(result.response.outcome.isHit)
        #expect(fixture.transport.requests.count == 2)
    }

    @Test(arguments: [(HTTPField.Name.eTag, "\"2\""), (.contentLength, "5")])
    func disagreeingHEADInvalidates(name: HTTPField.Name, value: String) async throws {
        let fixture = EngineFixture()
        var fields: HTTPFields = [.eTag: "\"1\"", .contentLength: "4", .cacheControl: "max-age=600"]
        fields[name] = value
        fixture.transport.script(
            url,
            .ok("body", fields: [.cacheControl: "max-age=600", .eTag: "\"1\""]),
            .status(.ok, fields: fields),
            .fresh("other")
        )
        try await fixture.get()
        // The HEAD goes to the origin because it asks for that.
        try await fixture.get(url, [.cacheControl: "no-cache"], method: .head)
        let result = try await fixture.get()
        #expect(result.text == "other")
    }

    /// docs/attacks.md, 60: new fields on the old body, forever with one HEAD in each lifetime.
    ///
    /// Mutant: `CachePolicy.headUpdate` takes a HEAD without validators for one that matches.
    @Test(arguments: [CacheKind.private, .shared], ["", "\"1\""])
    func headWithoutValidatorFreshensNothing(kind: CacheKind, tag: String) async throws {
        let fixture = EngineFixture(kind: kind)
        var old: HTTPFields = [.cacheControl: "max-age=60"]
        if !tag.isEmpty { old[.eTag] = tag }
        fixture.transport.script(
            url,
            .ok("old", fields: old),
            .status(.ok, fields: [.cacheControl: "max-age=600"]),
            .status(.ok, fields: [.cacheControl: "max-age=600", .contentLength: "3"]),
            .fresh("new")
        )
        try await fixture.get()
        fixture.clock.advance(by: .seconds(61))
        for _ in 0..<2 { try await fixture.get(url, method: .head) }
        #expect(try await fixture.get().text == "new")
        #expect(fixture.transport.requests.map(\.method) == [.get, .head, .head, .get])
    }

    /// If a HEAD has nothing to compare, the stored response keeps its own lifetime.
    @Test func headWithoutComparableFieldsKeepsFreshResponse() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(
            url,
            .ok("old", fields: [.cacheControl: "max-age=60"]),
            .status(.ok, fields: [.cacheControl: "max-age=0"])
        )
        try await fixture.get()
        try await fixture.get(url, [.cacheControl: "no-cache"], method: .head)
        fixture.clock.advance(by: .seconds(59))
        let result = try await fixture.get()
        #expect(result.text == "old" && result.response.age == .seconds(59))
    }

    /// docs/attacks.md, 16. Mutant: `method` refusals for HEAD dropped from `storability`.
    @Test func headNeverMakesABody() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, .status(.ok, fields: [.cacheControl: "max-age=600"]), .fresh("body"))
        try await fixture.get(url, method: .head)
        #expect(fixture.memory.all.isEmpty)
        let result = try await fixture.get()
        #expect(result.text == "body")
    }

    @Test func callersConditionIsSentWithTheCachesOwn() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(
            url,
            .fresh("one", etag: "\"1\""),
            .status(.notModified, fields: [.eTag: "\"2\""])
        )
        try await fixture.get()
        fixture.clock.advance(by: .seconds(61))
        let result = try await fixture.get(url, [.ifNoneMatch: "\"2\""])
        let sent = try #require(fixture.transport.requests.last).headerFields[.ifNoneMatch]
        #expect(sent?.contains("\"1\"") == true)
        #expect(sent?.contains("\"2\"") == true)
        #expect(result.response.head.status == .notModified)
        #expect(result.response.head.headerFields[.eTag] == "\"2\"")
        #expect(fixture.transport.requests.count == 2)
    }
}
