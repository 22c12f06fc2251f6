import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import NIOCore
import TestSupport
import Testing

/// Attacks and careless origins against a whole cache: engine, store and transport together.
///
/// docs/attacks.md, 10–27, 31, 32. Each test names the mutant, a change of one line, that makes it
/// fail; `scripts/mutants` applies them.
@Suite(.timeLimit(.minutes(20))) struct AttackTests {
    private let url = EngineFixture.url
    private let alice: HTTPFields = [.authorization: "Bearer alice-s3cret"]
    private let bob: HTTPFields = [.authorization: "Bearer bob-s3cret"]

    private func head(
        _ path: String?,
        scheme: String? = "https",
        authority: String? = "a.example",
        _ fields: HTTPFields = [:]
    ) -> CacheRequest {
        CacheRequest(
            head: HTTPRequest(method: .get, scheme: scheme, authority: authority, path: path, headerFields: fields)
        )
    }

    private func text(_ response: CacheResponse) async throws -> String {
        String(buffer: try await response.body.collect(upTo: 1 << 20))
    }

    // MARK: 10, 13, 14: the key is what is sent

    /// Mutant: `engine-key-without-query`.
    @Test(arguments: [
        "http://a.example/feed?q", "https://a.example:8443/feed?q", "https://b.example/feed?q",
        "https://a.example./feed?q",
        "https://a.example/feed", "https://a.example/feed?", "https://a.example/feed?q&x", "https://a.example/feed?q;x",
        "https://a.example/feed??q", "https://a.example/feed?q%26x", "https://a.example/feed?q&q",
        "https://a.example/Feed?q",
        "https://a.example//feed?q", "https://a.example/./feed?q", "https://a.example/x/../feed?q",
        "https://a.example/x/%2e%2e/feed?q", "https://a.example/feed/?q", "https://a.example/%66eed?q",
        "https://a.example/feed%3Fq", "https://a.example/feed%2F?q", "https://a.example/feed;x?q",
        "https://[::1]/feed?q",
    ])
    func storedResponseAnswersNoOtherTarget(other: String) async throws {
        let fixture = EngineFixture(kind: .shared)
        fixture.transport.script("https://a.example/feed?q", .fresh("poisoned"))
        fixture.transport.script(other, .fresh("good"))
        try await fixture.get("https://a.example/feed?q")
        let result = try await fixture.get(other)
        #expect(result.text == "good")
        #expect(fixture.transport.unscripted.isEmpty)
    }

    /// The target is sent byte by byte as it was keyed, or not at all.
    ///
    /// Mutant: `CacheRequest.sending(_:)` lower-cases the path it sends.
    @Test(arguments: [
        "/a%2Fb", "/a%2fB", "/a/../b", "/a/%2e%2E/b", "//a//b", "/a;x=1?b;c&d??e", "/?a=1%26b=2&a=1", "/%zz|", "/a\\b",
        "//evil.example/", "/http://evil.example/", "/A", "/?", "/??", "/%0d%0aX:1",
    ])
    func keyAndSentTargetAreTheSame(path: String) async throws {
        let fixture = EngineFixture()
        fixture.transport.script("https://a.example" + path, .fresh("a"))
        let request = head(path)
        let key = try #require(fixture.engine.key(for: request))
        let response = try await fixture.engine.respond(to: request)
        #expect(try await text(response) == "a")
        let sent = try #require(fixture.transport.requests.first)
        #expect(sent.path == path)
        #expect(sent.path == key.components.target.requestTarget)
        #expect(sent.authority == key.components.target.authority && sent.scheme == key.components.target.scheme)
        #expect(fixture.memory.all.map(\.key) == [key])
    }

    /// Mutant: `CacheEngine.exchange(_:)` takes a request without a target for one to `/` (`??
    /// (try? TargetURI("https://a.example/"))`).
    @Test(arguments: [
        ("https", "user:pw@a.example", "/"), ("https", "a.example", "/a#b"), ("https", "a.example", "/a b"),
        ("https", "a.example", "https://b.example/"), ("https", "a.example", "*"), ("https", "a.example", ""),
        ("https", "a.example", "/\r\nHost: b.example"), ("https", "a.example\r\nX: 1", "/"), ("https", "[::1", "/"),
        ("https", "a.example:99999", "/"), ("https", "", "/"), ("ftp", "a.example", "/"), ("", "a.example", "/"),
    ])
    func invalidTargetsAreNotSent(scheme: String, authority: String, path: String) async {
        let fixture = EngineFixture()
        let error = await #expect(throws: ExchangeError.self) {
            _ = try await fixture.engine.respond(to: self.head(path, scheme: scheme, authority: authority))
        }
        #expect(error?.code == .invalidTarget && error?.status == 400)
        #expect(error?.message.contains("pw") == false && error?.message.contains("\n") == false)
        #expect(fixture.transport.requests.isEmpty && fixture.memory.all.isEmpty)
    }

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

    private func part(_ text: String, _ range: String, _ more: HTTPFields = [:]) -> ScriptedTransport.Reply {
        var fields: HTTPFields = [.cacheControl: "max-age=60", .eTag: "\"1\"", .contentRange: range]
        fields.append(contentsOf: more)
        return .status(.partialContent, text, fields: fields)
    }

    /// The origin sends a part although the whole was requested.
    ///
    /// Mutant: `partialStorability` without `request.headerFields.contains(.range)`.
    @Test func unrequestedPartIsNotStored() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, part("01234", "bytes 0-4/10"), .fresh("0123456789"))
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
        fixture.transport.script(url, part(body, range))
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
        fixture.transport.script(url, part("01234", "bytes 0-4/10"), part("56789", "bytes 5-9/10"))
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
        fixture.transport.script(url, part("01234", "bytes 0-4/10"))
        try await fixture.get(url, [.range: "bytes=0-4"])
        fixture.transport.script(url, part("XXXXX", range), .fresh("0123456789"))
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

    // MARK: 19: keyed content

    /// Mutants: `CacheRequest.keyContent` without type, coding or hash; `isKeyed` true for every
    /// method.
    @Test func contentIsPartOfTheKey() async throws {
        let fixture = EngineFixture()
        let query = try #require(HTTPRequest.Method("QUERY"))
        let variations: [(method: HTTPRequest.Method, fields: HTTPFields, content: String)] = [
            (query, [.contentType: "a/b"], "x"), (query, [.contentType: "a/b"], "y"),
            (query, [.contentType: "a/c"], "x"),
            (query, [.contentType: "a/b", .contentEncoding: "gzip"], "x"), (query, [:], "x"),
            (.post, [.contentType: "a/b"], "x"), (.get, [.contentType: "a/b"], "x"), (.get, [:], ""),
        ]
        for (index, variation) in variations.enumerated() {
            fixture.transport.script(url, .fresh("response \(index)"))
            var request = try fixture.request(url, variation.fields, method: variation.method)
            request.body = variation.content.isEmpty ? nil : .buffer(ByteBuffer(string: variation.content))
            request.keysContent = true
            for _ in 0..<2 {
                let response = try await text(try await fixture.engine.respond(to: request))
                #expect(response == "response \(index)")
            }
        }
        #expect(fixture.transport.requests.count == variations.count)
    }

    /// Mutant: `isContentKeyed` without `keysContent`.
    @Test func postIsStoredOnlyOnRequest() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, .fresh("one"), .fresh("two"))
        #expect(try await fixture.get(method: .post).text == "one")
        #expect(fixture.memory.all.isEmpty)
        #expect(try await fixture.get(method: .post).text == "two")
    }

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
            part("01234", "bytes 0-4/10"),
            part("56789", "bytes 5-9/10", [user: "alice"]),
            .fresh("0123456789")
        )
        try await fixture.get(url, [.range: "bytes=0-4"])
        let hers = try await fixture.get(url, alice)
        #expect(hers.text == "0123456789")
        let shared = fixture.memory.all.filter { $0.key.components.partition == .common }
        #expect(!shared.contains { $0.head.fields.contains(user) })
    }

    // MARK: 25: secrets in logs, errors, keys and stored heads

    /// Mutants: `ExchangeError` messages with `uri` for `redactedTarget`;
    /// `CredentialPartition.selecting` returns the request as it is; the engine's log with
    /// `request.head.path`.
    @Test func logsErrorsAndKeysShowNoSecrets() async throws {
        let log = CapturedLog()
        let transport = ScriptedTransport()
        let memory = InMemoryResponseStore()
        var options = EngineOptions()
        options.hardTimeout = nil
        let engine = CacheEngine(
            store: FaultyResponseStore(memory),
            transport: transport,
            credentialSecret: [UInt8](repeating: 7, count: 32),
            options: options,
            parts: .init(clock: ManualClock(), sleeper: ManualDurationClock()),
            logger: log.logger()
        )
        let secret = "s3cret"
        let target = "https://a.example/x?access_token=\(secret)&page=1"
        let fields: HTTPFields = [
            .authorization: "Bearer \(secret)", .cookie: "sid=\(secret)", .range: "bytes=0-",
            .referer: "https://b.example/?code=\(secret)",
        ]
        func request(_ target: String, _ preference: CacheRequest.Preference = .standard) throws -> CacheRequest {
            var request = CacheRequest(head: try HTTPRequest(url: target, fields: fields))
            request.preference = preference
            return request
        }
        var shown: [String] = []
        func ask(_ request: CacheRequest) async {
            do {
                let response = try await engine.respond(to: request)
                _ = try? await response.body.collect(upTo: 1 << 20)
                shown += [response.outcome.cacheStatus(), "\(response.outcome)"]
            } catch {
                shown += ["\(error)", String(reflecting: error)]
                let outcome = (error as? ExchangeError)?.outcome
                shown += [outcome?.cacheStatus() ?? "", "\((error as? ExchangeError)?.cause.map { "\($0)" } ?? "")"]
            }
        }
        let vary: HTTPFields = [.cacheControl: "max-age=60", .vary: "Cookie, Authorization"]
        let other = target.replacing("/x?", with: "/y?")
        let refused = target.replacing("/x?", with: "/z?")
        transport.script(target, .ok("a", fields: vary))
        transport.script(other, .failure(.connect), .failure(.connect), .failure(.connect))
        transport.script(refused, .failure(.protocolViolation))
        await ask(try request(target))
        await ask(try request(target))
        await ask(try request(target.replacing("page=1", with: "page=2"), .storedOnly))
        await ask(try request(refused))
        await ask(try request(other))
        await ask(try request(other))
        var malformed = try request(target)
        malformed.head.path = "/cb#access_token=\(secret)"
        await ask(malformed)
        malformed.head.authority = "user:\(secret)@a.example"
        await ask(malformed)
        var posted = try request(other)
        posted.head.method = .post
        posted.preference = .storedOnly
        await ask(posted)
        await engine.shutDown()
        await ask(try request(target))

        #expect(log.lines.count >= 9 && shown.count >= 18)
        for line in log.lines + shown { #expect(!line.contains(secret), "\(line)") }
        // The stored response identifies no user: credentials are in its key and selecting fields
        // only as HMACs.
        let stored = try #require(memory.all.first)
        #expect(memory.all.count == 1 && stored.head.selectingFields.count == 2)
        #expect(!stored.head.selectingFields.contains { $0.value.contains(secret) })
        if case .credentials(let digest) = stored.key.components.partition {
            #expect(digest.count == 32 && !String(decoding: digest, as: UTF8.self).contains(secret))
        } else {
            Issue.record("stored for \(stored.key.components.partition)")
        }
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
        #expect(try await bodies(fixture) == ["old"])
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

    private func bodies(_ fixture: EngineFixture) async throws -> [String] {
        var result: [String] = []
        for response in fixture.memory.all {
            let body = try await fixture.memory.openBody(of: response)
            result.append(String(buffer: try await body?.collect(upTo: 1 << 20) ?? ByteBuffer()))
        }
        return result
    }

    // MARK: 31: errors that a malformed request provokes

    /// Mutant: `StatusRules.needsExplicitFreshness` without one of its codes.
    @Test(arguments: [400, 405, 413, 414, 501], [CacheKind.private, .shared])
    func provokedErrorIsNotStored(status: Int, kind: CacheKind) async throws {
        for value in ["public", "public, max-age=86400", "s-maxage=60, stale-if-error=60"] {
            let fixture = EngineFixture(kind: kind)
            fixture.transport.script(
                url,
                .status(
                    .init(code: status),
                    fields: [.lastModified: "Sun, 01 Mar 2020 12:00:00 GMT", .cacheControl: value]
                ),
                .fresh("good")
            )
            let first = try await fixture.get()
            #expect(first.response.head.status.code == status)
            #expect(fixture.memory.all.isEmpty)
            #expect(try await fixture.get().text == "good")
        }
    }

    /// Mutant: `CachePolicy.lifetime` without the cap.
    @Test(arguments: [400, 405, 413, 414, 501])
    func ruleStoresProvokedErrorForAMinute(status: Int) async throws {
        let fixture = EngineFixture(rules: TestRules { $0.overrides.statuses = [200, status] })
        fixture.transport.script(
            url,
            .status(.init(code: status), fields: [.cacheControl: "max-age=86400, stale-if-error=86400"]),
            .fresh("good")
        )
        try await fixture.get()
        fixture.clock.advance(by: .seconds(59))
        #expect(try await fixture.get().response.head.status.code == status)
        fixture.clock.advance(by: .seconds(2))
        #expect(try await fixture.get().text == "good")
    }

    /// Mutant: `StatusRules.isAboutTheRequest` without 431.
    @Test func status431IsNeverStored() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(
            url,
            .status(.init(code: 431), fields: [.cacheControl: "public, max-age=60"]),
            .fresh("good")
        )
        try await fixture.get()
        #expect(fixture.memory.all.isEmpty)
        #expect(try await fixture.get().text == "good")
    }

    /// Mutant: `PreparedRequest.sending` without its line about ranges.
    @Test func rangeBeyondLimitIsNotForwardedAndErrorNotStored() async throws {
        let many = "bytes=" + (0..<17).map { "\($0 * 2)-\($0 * 2)" }.joined(separator: ",")
        let fixture = EngineFixture(kind: .shared)
        fixture.transport.script(
            url,
            .status(.notFound, fields: [.cacheControl: "max-age=60"]),
            .fresh("whole")
        )
        let fields: HTTPFields = [.range: many, .ifRange: "\"1\""]
        #expect(try await fixture.get(url, fields).response.head.status == .notFound)
        #expect(fixture.memory.all.isEmpty)
        let result = try await fixture.get(url, fields)
        #expect(result.text == "whole" && result.response.head.status == .ok)
        for request in fixture.transport.requests {
            #expect(!request.headerFields.contains(.range) && !request.headerFields.contains(.ifRange))
        }
        // The stored response still answers a range in the caller's own field, if it can.
        #expect(try await fixture.get(url, [.range: "bytes=0-1"]).text == "wh")
    }

    // MARK: 32: an error never overwrites a good stored response

    static let errors = [400, 401, 403, 404, 405, 410, 413, 414, 418, 429, 431, 451, 500, 501, 502, 503, 504, 599]

    /// Mutant: `FetchContext.decide` without `response.status.code >= 400`, and `Fetcher.store`
    /// without `mayReplaceStored`: each guards alone.
    @Test(arguments: errors)
    func errorLeavesStoredResponse(status: Int) async throws {
        let error = ScriptedTransport.Reply.status(
            .init(code: status),
            "error",
            fields: [.cacheControl: "public, max-age=86400", .eTag: "\"e\""]
        )
        for preference in [CacheRequest.Preference.standard, .networkFirst, .networkOnly] {
            for conditions: HTTPFields in [
                [:], [.range: "bytes=0-1"], [.cacheControl: "no-cache"], [.ifNoneMatch: "\"9\""],
            ] {
                let fixture = EngineFixture()
                fixture.transport.script(url, .fresh("good", etag: "\"1\""), error)
                try await fixture.get()
                fixture.clock.advance(by: .seconds(61))
                try await fixture.get(url, conditions, preference: preference)
                await fixture.untilIdle()
                #expect(fixture.transport.requests.count == 2)
                #expect(try await bodies(fixture) == ["good"])
                #expect(fixture.memory.all.first?.head.status == .ok)
                // The good response is also served without a network.
                fixture.engine.mode = .offline
                #expect(try await fixture.get().text == "good")
            }
        }
    }

    /// Mutant: as above.
    @Test(arguments: errors)
    func errorInBackgroundLeavesStoredResponse(status: Int) async throws {
        let fixture = EngineFixture()
        fixture.transport.script(
            url,
            .ok("good", fields: [.cacheControl: "max-age=60, stale-while-revalidate=600", .eTag: "\"1\""]),
            .status(.init(code: status), "error", fields: [.cacheControl: "public, max-age=86400"])
        )
        try await fixture.get()
        fixture.clock.advance(by: .seconds(61))
        #expect(try await fixture.get().text == "good")
        await fixture.transport.waitForRequests(2)
        await fixture.untilIdle()
        #expect(try await bodies(fixture) == ["good"])
    }

    /// Mutant: as above.
    @Test(arguments: errors)
    func errorOfProbeLeavesStoredResponse(status: Int) async throws {
        let fixture = EngineFixture()
        fixture.transport.script(
            url,
            .fresh("good", etag: "\"1\""),
            .failure(.connect),
            .status(.init(code: status), "error", fields: [.cacheControl: "public, max-age=86400"])
        )
        try await fixture.get()
        fixture.clock.advance(by: .seconds(61))
        #expect(try await fixture.get().text == "good")
        await fixture.sleeper.sleepers(atLeast: 1)
        fixture.sleeper.advance(by: .seconds(1))
        await fixture.transport.waitForRequests(3)
        await fixture.untilIdle()
        #expect(try await bodies(fixture) == ["good"])
    }

    /// A caller's own expiry applies only to successes.
    ///
    /// Mutant: `FetchContext.head(of:at:)` sets `explicitExpiry` for any status; or `decide`
    /// without its line about errors.
    @Test(arguments: [404, 500, 503])
    func expiringErrorLeavesStoredResponse(status: Int) async throws {
        let fixture = EngineFixture()
        fixture.transport.script(
            url,
            .ok("good"),
            .status(.init(code: status), "error", fields: [.cacheControl: "max-age=60"])
        )
        var request = try fixture.request()
        request.storage = .expiring(.after(.seconds(60)))
        _ = try await text(try await fixture.engine.respond(to: request))
        fixture.clock.advance(by: .seconds(61))
        _ = try await text(try await fixture.engine.respond(to: request))
        #expect(try await bodies(fixture) == ["good"])
    }

    /// The error was requested before the good response was stored, and comes after it.
    ///
    /// Mutant: `Fetcher.store` without `mayReplaceStored`.
    @Test func errorOfEarlierRequestLeavesLaterStoredResponse() async throws {
        let fixture = EngineFixture()
        let (early, late) = (Gate(), Gate())
        fixture.transport.script(url, .fresh("good", beforeHead: early))
        async let first = fixture.get()
        await fixture.transport.waitForRequests(1)
        // It has a condition of its own, so it does not share the first fetch.
        var error = ScriptedTransport.Reply.status(.notFound, "error", fields: [.cacheControl: "max-age=86400"])
        error.beforeHead = late
        fixture.transport.script(url, error)
        async let second = fixture.get(url, [.ifNoneMatch: "\"9\""])
        await fixture.transport.waitForRequests(2)
        early.open()
        #expect(try await first.text == "good")
        late.open()
        #expect(try await second.text == "error")
        await fixture.untilIdle()
        #expect(try await bodies(fixture) == ["good"])
    }

    /// An error for a caller with other fields (another language, no credentials) does not hide
    /// this caller's good response.
    ///
    /// Mutant: `CachePolicy.selectVariant` does not rank successes before errors.
    @Test(arguments: [[:], [.acceptLanguage: "xx"]] as [HTTPFields])
    func errorOfAnotherClientDoesNotHideStoredResponse(other: HTTPFields) async throws {
        let fixture = EngineFixture()
        var own: HTTPFields = [.acceptLanguage: "en"]
        if other.isEmpty { own = alice }
        let vary: HTTPFields = other.isEmpty ? [:] : [.vary: "Accept-Language"]
        var good: HTTPFields = [.cacheControl: "max-age=3600"]
        good.append(contentsOf: vary)
        fixture.transport.script(
            url,
            .ok("good", fields: good),
            .status(.notFound, "error", fields: [.cacheControl: "max-age=86400"])
        )
        #expect(try await fixture.get(url, own).text == "good")
        fixture.clock.advance(by: .seconds(1))
        #expect(try await fixture.get(url, other).text == "error")
        #expect(try await fixture.get(url, own).text == "good")
        fixture.clock.advance(by: .seconds(100_000))
        fixture.engine.mode = .offline
        #expect(try await fixture.get(url, own).text == "good")
    }

    /// A change that failed invalidates nothing. RFC 9111 §4.4
    ///
    /// Mutant: `CachePolicy.invalidatedTargets` without its condition on the status.
    @Test(arguments: [400, 403, 404, 500, 503])
    func failedChangeInvalidatesNothing(status: Int) async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, .fresh("good"), .status(.init(code: status), "error"))
        try await fixture.get()
        try await fixture.get(method: .put)
        let result = try await fixture.get()
        #expect(result.text == "good" && result.response.outcome.isHit)
    }
}
