import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import TestSupport
import Testing

@testable import HTTPCache

/// Origins that set cookies, and clients that send them back, in a recording.
@Suite(.timeLimit(.minutes(20))) struct JobCookieTests {
    private static func recording() -> JobRun {
        var use = JobRun.Use()
        use.comparesIdentities = true
        return JobRun(partition: "one", use)
    }

    // MARK: Exchanges

    /// A client that keeps cookies, whose origin sets the cookie anew in each response.
    struct Client: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var cookie: String
        var fields: HTTPFields = [:]
        var responses: HTTPFields = [.cacheControl: "max-age=60"]

        static let all = [
            Client(testDescription: "of a CDN", cookie: "__cf_bm"),
            Client(testDescription: "with a key", cookie: "sid", fields: [.authorization: "Bearer 5ecret"]),
            Client(testDescription: "session", cookie: "sid"),
            Client(testDescription: "private", cookie: "sid", responses: [.cacheControl: "private, max-age=60"]),
        ]
    }

    /// Mutant: cookies that the origin set are another identity.
    @Test(arguments: Client.all) func clientThatKeepsCookiesIsRecordedWhole(_ client: Client) async throws {
        let seen = JobExchanges()
        let memory = InMemoryResponseStore()
        let fixture = EngineFixture(kind: .shared, memory: memory, job: Self.recording(), exchanges: seen)
        var sent = client.fields
        for number in 1...5 {
            let url = "https://a.example/\(number)"
            var fields = client.responses
            fields[.setCookie] = "\(client.cookie)=c00kie-\(number); Path=/; HttpOnly"
            fixture.transport.script(url, .ok("text \(number)", fields: fields))
            let response = try await fixture.get(url, sent).response
            #expect(response.head.headerFields[.setCookie] == fields[.setCookie])
            sent[.cookie] = "\(client.cookie)=c00kie-\(number)"
            await fixture.untilIdle()
        }
        #expect(seen.endings == Array(repeating: "kept", count: 5))
        #expect(seen.all.map(\.cookies) == Array(repeating: [client.cookie], count: 5))
        #expect(fixture.transport.requests.last?.headerFields[.cookie] == "\(client.cookie)=c00kie-4")
        #expect(memory.all.allSatisfy { !$0.head.fields.contains(.setCookie) })
        let replayed = EngineFixture(kind: .shared, mode: .offline, memory: memory, job: JobRun(partition: "one"))
        for number in 1...5 {
            let (text, response) = try await replayed.get("https://a.example/\(number)")
            #expect(text == "text \(number)" && !response.head.headerFields.contains(.setCookie))
        }
    }

    /// A rule stores it although the origin forbids that; the cookie is no further obstacle.
    ///
    /// Mutant: a cookie keeps a response out of a job.
    @Test func cookieKeepsNoResponseOut() async throws {
        let rules = TestRules { $0.overrides.directivesIgnoredWhenStale = [.noStore] }
        let memory = InMemoryResponseStore()
        let fixture = EngineFixture(kind: .shared, rules: rules, memory: memory, job: Self.recording())
        let fields: HTTPFields = [.cacheControl: "no-store", .setCookie: "__cf_bm=c00kie; Path=/"]
        fixture.transport.script(EngineFixture.url, .ok("text", fields: fields))
        let first = try await fixture.get()
        #expect(first.response.outcome.isStored && first.response.head.headerFields.contains(.setCookie))
        await fixture.untilIdle()
        #expect(memory.all.count == 1)
        // An engine without a job still keeps one client's cookie from another.
        let other = EngineFixture(kind: .shared, rules: rules)
        other.transport.script(EngineFixture.url, .ok("text", fields: fields))
        #expect(try await other.get().response.outcome.notStored == .setCookie)
    }

    /// Mutant: all cookies belong to one identity.
    @Test func secondSessionIsPassedOnAndItsCookiesStayItsOwn() async throws {
        let seen = JobExchanges()
        let fixture = EngineFixture(kind: .shared, job: Self.recording(), exchanges: seen)
        fixture.transport.script("https://a.example/") { _ in
            .ok("text", fields: [.cacheControl: "no-cache", .setCookie: "sid=new"])
        }
        func get(_ cookie: String) async throws {
            try await fixture.get("https://a.example/", [.cookie: cookie])
            await fixture.untilIdle()
        }
        try await get("sid=hers")
        try await get("sid=his")
        try await get("sid=hers")
        try await get("sid=new")
        #expect(seen.endings == ["kept", "credentials", "kept", "kept"])
    }

    // MARK: Identities

    private let partitions = CredentialPartition(secret: [UInt8](repeating: 7, count: 32))

    private func identity(_ identities: JobIdentities, _ fields: HTTPFields) throws -> JobIdentities.Identity {
        let head = try HTTPRequest(url: EngineFixture.url, fields: fields)
        return identities.identity(of: CacheRequest(head: head)) { partitions.partition(of: $0) }
    }

    private func cookies(_ text: String) throws -> [RequestCookies.Cookie] {
        try #require(RequestCookies([.cookie: text])).cookies
    }

    /// The cookies of a request that was sent after `a=1; b=1` was recorded, and its origin had set
    /// `a=2`.
    @Test(
        arguments: [
            ("a=1; b=1", true), ("b=1; a=2", true), ("a=2", true), ("a=2; __cf_bm=x", true), ("a=2; b=2", false),
            ("a=3", false), ("a=2; c=1", false), ("a=2, b=1", false), ("__cf_bm=x", false),
        ]
    )
    func cookiesOfIdentityAreTold(_ text: String, _ isSame: Bool) throws {
        var identities = JobIdentities()
        let first = try identity(identities, [.cookie: "a=1; b=1"])
        #expect(first.isByCookies)
        identities.give(try cookies("a=1; b=1"), to: first.partition)
        identities.give(try cookies("a=2"), to: first.partition)
        let found = try identity(identities, [.cookie: text]).partition
        #expect((found == first.partition) == isSame)
    }

    @Test func otherCredentialsDecideIfThereAreAny() throws {
        var identities = JobIdentities()
        let key: HTTPFields = [.authorization: "Bearer 5ecret"]
        let first = try identity(identities, key)
        #expect(!first.isByCookies)
        identities.give(try cookies("a=1"), to: first.partition)
        let given = identities
        func partition(_ fields: HTTPFields) throws -> StoreKey.Partition { try identity(given, fields).partition }
        #expect(try partition([.authorization: "Bearer 5ecret", .cookie: "a=1; _cfuvid=x"]) == first.partition)
        // A cookie from elsewhere may be that of another user.
        #expect(try partition([.authorization: "Bearer 5ecret", .cookie: "a=2"]) != first.partition)
        #expect(try partition([.authorization: "Bearer other", .cookie: "a=1"]) != first.partition)
        // A proof accompanies a session, and differs in each request.
        let proof = try #require(HTTPField.Name("X-CSRF-Token"))
        #expect(try partition([.cookie: "b=1", proof: "x"]) == partition([.cookie: "b=1", proof: "y"]))
        #expect(try partition([.cookie: "__cf_bm=x"]) == .common)
    }

    /// Old cookies are forgotten, so an origin cannot fill the memory.
    @Test func cookiesAreBounded() throws {
        var identities = JobIdentities()
        let first = try identity(identities, [.cookie: "a=0"]).partition
        for number in 0...JobRun.cookieLimit {
            identities.give([RequestCookies.Cookie(name: "a", value: "\(number)")], to: first)
        }
        #expect(try identity(identities, [.cookie: "a=\(JobRun.cookieLimit)"]).partition == first)
        #expect(try identity(identities, [.cookie: "a=1"]).partition == first)
        identities.give([RequestCookies.Cookie(name: "b", value: "1")], to: first)
        #expect(try identity(identities, [.cookie: "a=1"]).partition != first)
    }

    @Test(
        arguments: [
            ("sid=1", "1"), ("sid=1; Path=/; HttpOnly", "1"), ("sid=;Path=/", ""), ("sid=\"1\"", nil), ("sid", nil),
            ("=1", nil), ("sid=1 ; Path=/", nil), ("s d=1", nil),
        ] as [(String, String?)]
    )
    func settingCookieIsReadOnlyInItsStrictForm(_ line: String, _ value: String?) {
        let field = HTTPField(name: .setCookie, value: line)
        #expect(field.settingCookie == value.map { RequestCookies.Cookie(name: "sid", value: $0) })
    }
}
