import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Testing

/// Responses that one client must not get because of another, or that must not be stored at all,
/// against a whole cache.
///
/// docs/attacks.md, 21, 22, 24, 26, 27. Mutants are changes of one line; `scripts/mutants` applies
/// them.
@Suite(.timeLimit(.minutes(20))) struct PrivacyAttackTests {
    private let url = EngineFixture.url
    private let alice: HTTPFields = [.authorization: "Bearer alice-s3cret"]
    private let bob: HTTPFields = [.authorization: "Bearer bob-s3cret"]

    // MARK: 21: deception

    static let deceptions = [
        "/account", "/account/x.css", "/account;x.css", "/account%3Bx.css", "/account%0ax.css", "/account%23x.css",
        "/account%3Fx.css", "/account%20x.css", "/static/..%2faccount", "/static/%2e%2e/account", "/account/x.js?x.png",
        "/account/favicon.ico",
    ]

    /// No file name makes a response cacheable: these paths behave exactly like `/account`.
    ///
    /// Mutant: `CachePolicy.storability` begins with `if request.path?.contains(".css") == true {
    /// return .shared }`.
    @Test(arguments: deceptions)
    func fileNameMakesNothingCacheable(path: String) async throws {
        let target = "https://a.example" + path
        for fields: HTTPFields in [
            [.setCookie: "sid=1"], [.cacheControl: "private, max-age=60"], [.cacheControl: "no-store"],
            [.cacheControl: "max-age=60", .setCookie: "sid=1"],
        ] {
            let fixture = EngineFixture(kind: .shared)
            fixture.transport.script(target, .ok("victim's", fields: fields), .ok("attacker's", fields: fields))
            // The victim has a session; the attacker comes later without one.
            #expect(try await fixture.get(target, [.cookie: "sid=1"]).text == "victim's")
            #expect(fixture.memory.all.isEmpty)
            #expect(try await fixture.get(target).text == "attacker's")
        }
    }

    /// Without a directive nothing is fresh, whatever its name.
    ///
    /// Mutant: `CachePolicy.heuristicLifetime` without `fields.lastModified` gives a lifetime all
    /// the same.
    @Test(arguments: deceptions)
    func fileNameMakesNothingFresh(path: String) async throws {
        let target = "https://a.example" + path
        for kind in [CacheKind.private, .shared] {
            let fixture = EngineFixture(kind: kind)
            fixture.transport.script(target, .ok("one", fields: [.contentType: "text/css"]), .ok("two"))
            #expect(try await fixture.get(target).text == "one")
            #expect(try await fixture.get(target).text == "two")
        }
    }

    // MARK: 22, 24, 26: credentials, cookies, tenants

    /// Mutant: `CachePolicy.audience` without its line about credentials in a shared cache.
    @Test(arguments: [[.authorization: "Bearer alice"], [.cookie: "sid=alice"]] as [HTTPFields])
    func sharedCacheReturnsPersonalResponseOnlyToItsCaller(credentials: HTTPFields) async throws {
        let fixture = EngineFixture(kind: .shared)
        fixture.transport.script(
            url,
            .fresh("alice's"),
            .fresh("bob's"),
            .ok("anyone's", fields: [.cacheControl: "public, max-age=60"])
        )
        #expect(try await fixture.get(url, credentials).text == "alice's")
        #expect(fixture.memory.all.isEmpty)
        #expect(try await fixture.get(url, bob).text == "bob's")
        #expect(fixture.memory.all.isEmpty)
        #expect(try await fixture.get().text == "anyone's")
        // A public response also answers requests with credentials.
        #expect(try await fixture.get(url, credentials).text == "anyone's")
        #expect(fixture.transport.requests.count == 3)
    }

    /// Mutant: `CachePolicy.reuse` with `isForOthers` always false.
    @Test func sharedCacheForwardsRequestsWithCookies() async throws {
        let fixture = EngineFixture(kind: .shared)
        fixture.transport.script(url, .fresh("anonymous"), .fresh("personal"))
        try await fixture.get()
        let result = try await fixture.get(url, [.cookie: "sid=1"])
        #expect(result.text == "personal")
        let anonymous = try await fixture.get()
        #expect(anonymous.text == "anonymous")
    }

    /// Two principals that ask at the same time do not share a fetch.
    ///
    /// Mutant: `CredentialPartition.partition(of:)` returns `.shared` for credentials; without
    /// `HMAC.update` of the value.
    @Test(arguments: [CacheKind.private, .shared])
    func principalsShareNoFetch(kind: CacheKind) async throws {
        let fixture = EngineFixture(kind: kind)
        let gate = Gate()
        fixture.transport.script(url, .fresh("alice's", beforeHead: gate), .fresh("bob's"))
        async let first = fixture.get(url, alice)
        await fixture.transport.waitForRequests(1)
        let second = try await fixture.get(url, bob)
        gate.open()
        let texts = try await [first.text, second.text]
        #expect(texts == ["alice's", "bob's"])
    }

    /// Mutant: `CredentialPartition.partition(of:)` without its line for a named principal.
    @Test func tenantsShareOnlyPublicResponses() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, .fresh("a's"), .fresh("b's"), .fresh("nobody's"))
        #expect(try await fixture.get(principal: "a").text == "a's")
        #expect(try await fixture.get(principal: "b").text == "b's")
        #expect(try await fixture.get().text == "nobody's")
        #expect(try await fixture.get(principal: "a").text == "a's")
        fixture.engine.mode = .offline
        #expect(try await fixture.get(principal: "b").text == "b's")
        let keys = Set(fixture.memory.all.map(\.key))
        #expect(keys.count == 3)
    }

    /// A validation by one caller adds nothing personal to the shared response.
    ///
    /// Mutant: `FetchContext.decide` freshens whatever `audience(of:)` returns.
    @Test(arguments: [
        (CacheKind.private, HTTPField.Name.authorization), (.shared, .authorization), (.shared, .cookie),
    ])
    func validationAddsNothingPersonalToSharedResponse(kind: CacheKind, name: HTTPField.Name) async throws {
        let fixture = EngineFixture(kind: kind)
        let user = try #require(HTTPField.Name("X-User"))
        let shared: HTTPFields = [.cacheControl: "max-age=60", .eTag: "\"1\""]
        let personal: HTTPFields = [.cacheControl: "private, max-age=60", .eTag: "\"1\"", user: "alice"]
        fixture.transport.script(url, .ok("all", fields: shared), .status(.notModified, fields: personal))
        // In a private cache she gets a stored response of her own.
        if kind == .private { fixture.transport.script(url, .ok("all", fields: personal)) }
        fixture.transport.script(url, .status(.notModified, fields: shared))
        try await fixture.get()
        fixture.clock.advance(by: .seconds(61))
        let hers = try await fixture.get(url, [name: "alice"])
        #expect(hers.text == "all")
        let others = try await fixture.get()
        #expect(others.text == "all")
        #expect(!others.response.head.headerFields.contains(user))
        let open = fixture.memory.all.filter { $0.key.components.partition == .common }
        #expect(open.count == 1 && !open.contains { $0.head.fields.contains(user) })
        #expect(fixture.memory.all.count == (kind == .private ? 2 : 1))
        #expect(fixture.transport.unscripted.isEmpty)
    }

    /// The rest that she fetched is not added to a shared part either.
    ///
    /// Mutant: `FetchContext.complete` without `if stored.isCommon`.
    @Test func personalRestIsNotStoredInSharedPart() async throws {
        let fixture = EngineFixture()
        let user = try #require(HTTPField.Name("X-User"))
        fixture.transport.script(
            url,
            .part("01234", "bytes 0-4/10"),
            .part("56789", "bytes 5-9/10", [user: "alice"]),
            .fresh("0123456789")
        )
        try await fixture.get(url, [.range: "bytes=0-4"])
        let hers = try await fixture.get(url, alice)
        #expect(hers.text == "0123456789")
        let shared = fixture.memory.all.filter { $0.key.components.partition == .common }
        #expect(!shared.contains { $0.head.fields.contains(user) })
    }

    @Test func ignoringPrivateDoesNotShareCredentialedResponses() async throws {
        let fixture = EngineFixture(
            kind: .shared,
            rules: TestRules {
                $0.overrides.ignoredDirectives = [.private, .noStore]
                $0.overrides.lifetime = 60
                $0.ignoredFields = [.authorization, .cookie]
            }
        )
        fixture.transport.script(
            url,
            .ok("authorized", fields: [.cacheControl: "private"]),
            .ok("cookie", fields: [.cacheControl: "private", .setCookie: "a=1"]),
            .ok("plain", fields: [.cacheControl: "private, no-store"])
        )
        try await fixture.get(url, [.authorization: "Bearer x"])
        try await fixture.get()
        #expect(fixture.memory.all.isEmpty)
        try await fixture.get()
        #expect(fixture.memory.all.count == 1, "what the rule says of 'private' and 'no-store' counts for the rest")
        #expect(try await fixture.get().text == "plain")
    }

    // MARK: 27: no-store and private never reach the store

    /// Mutants: `CachePolicy.refusal` without `noStore`; without `isPrivate`; `storability` without
    /// the request's `noStore`.
    @Test(arguments: [
        (CacheKind.private, "no-store, max-age=60", ""), (.private, "No-Store", ""),
        (.private, "max-age=60", "no-store"),
        (.shared, "private, max-age=60", ""), (.shared, "no-store, public, s-maxage=60", ""),
        (.shared, "public, max-age=60", "no-store"),
    ])
    func forbiddenResponsesReachNoStore(kind: CacheKind, value: String, requestValue: String) async throws {
        let fields: HTTPFields = [.cacheControl: value, .eTag: "\"1\"", .contentLocation: "/s3cret"]
        let own: HTTPFields = requestValue.isEmpty ? [:] : [.cacheControl: requestValue]
        var partial = fields
        partial[.contentRange] = "bytes 0-4/10"
        let replies: [(ScriptedTransport.Reply, HTTPRequest.Method, HTTPFields)] = [
            (.ok("s3cret", fields: fields), .get, [:]), (.status(.ok, fields: fields), .head, [:]),
            (.status(.partialContent, "s3cre", fields: partial), .get, [.range: "bytes=0-4"]),
            (.status(.notModified, fields: fields), .get, [.ifNoneMatch: "\"1\""]),
            (.status(.notFound, "s3cret", fields: fields), .get, [:]),
            (.status(.movedPermanently, fields: fields), .get, [:]),
        ]
        for (reply, method, more) in replies {
            let fixture = EngineFixture(kind: kind)
            fixture.transport.script(url, reply)
            var sent = own
            sent.append(contentsOf: more)
            try await fixture.get(url, sent, method: method)
            await fixture.untilIdle()
            #expect(fixture.memory.all.isEmpty, "\(method) \(reply.head.status)")
            #expect(fixture.transport.unscripted.isEmpty)
        }
    }

    /// Mutant: as above; and `Fetcher` begins its write before `FetchContext.decide`.
    @Test func backgroundRefreshStoresNothingForbidden() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(
            url,
            .ok("old", fields: [.cacheControl: "max-age=60, stale-while-revalidate=600", .eTag: "\"1\""]),
            .ok("s3cret", fields: [.cacheControl: "no-store"])
        )
        try await fixture.get()
        fixture.clock.advance(by: .seconds(61))
        try await fixture.get()
        await fixture.transport.waitForRequests(2)
        await fixture.untilIdle()
        #expect(try await fixture.storedTexts() == ["old"])
    }

    /// "No part of the response": neither the fields of a 304, nor those of a HEAD. RFC 9111
    /// §5.2.2.5
    ///
    /// Mutants: `FetchContext.decide` freshens whatever `audience(of:)` says; `Fetcher.update`
    /// without `updating(_:to:)`.
    @Test(arguments: [
        (CacheKind.private, "no-store", HTTPRequest.Method.get), (.shared, "no-store", .get),
        (.shared, "private, max-age=60", .get),
        (.private, "no-store", .head), (.shared, "no-store", .head), (.shared, "private, max-age=60", .head),
    ])
    func forbiddenFieldsAreNotAddedToStoredResponse(
        kind: CacheKind,
        value: String,
        method: HTTPRequest.Method
    ) async throws {
        let fixture = EngineFixture(kind: kind)
        let user = try #require(HTTPField.Name("X-User"))
        fixture.transport.script(
            url,
            .ok("all", fields: [.cacheControl: "max-age=60", .eTag: "\"1\""]),
            .status(
                method == .head ? .ok : .notModified,
                fields: [.cacheControl: value, .eTag: "\"1\"", user: "s3cret"]
            )
        )
        try await fixture.get()
        fixture.clock.advance(by: .seconds(61))
        let result = try await fixture.get(method: method, preference: .networkFirst)
        #expect(result.text == (method == .head ? "" : "all"))
        await fixture.untilIdle()
        #expect(fixture.transport.requests.count == 2)
        #expect(!fixture.memory.all.contains { $0.head.fields.contains(user) })
    }
}
