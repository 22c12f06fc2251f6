import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import NIOCore
import Testing

/// Requests that must not share a stored response, and targets that must be sent as they are keyed,
/// against a whole cache: engine, store and transport together.
///
/// docs/attacks.md, 10, 13, 14, 19. Mutants are changes of one line; `scripts/mutants` applies
/// them.
@Suite(.timeLimit(.minutes(20))) struct KeyAttackTests {
    private let url = EngineFixture.url

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
        #expect(try await response.wholeText() == "a")
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
                let response = try await fixture.engine.respond(to: request).wholeText()
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

    // MARK: Parameters that rules ignore

    @Test func unsafeRequestInvalidatesDespiteIgnoredParameter() async throws {
        let fixture = EngineFixture(
            rules: TestRules {
                $0.target.ignoredParameters = ["session"]
                $0.target.droppedParameters = ["utm"]
                $0.target.sortsParameters = true
            }
        )
        let sent = "\(url)?a=1&b=2&session=1"
        fixture.transport.script(sent, .fresh("one"), .fresh("two"))
        fixture.transport.script("\(url)?a=1&b=2&session=9", .status(.noContent))
        try await fixture.get("\(url)?session=1&b=2&utm=x&a=1")
        try await fixture.get("\(url)?b=2&session=9&a=1&utm=y", method: .post)
        #expect(fixture.memory.all.map(\.head.isInvalidated) == [true])
        #expect(try await fixture.get(sent).text == "two")
    }

    @Test func locationIsInvalidatedUnderItsKey() async throws {
        let fixture = EngineFixture(
            rules: TestRules {
                [
                    reading = RequestRules.with { $0.target.ignoredParameters = ["session"] },
                    writing = RequestRules.none
                ] request in
                request.method == .get ? reading : writing
            }
        )
        fixture.transport.script("\(url)/item?session=1", .fresh("one"))
        fixture.transport.script(url, .status(.created, fields: [.location: "/feed/item?session=2"]))
        try await fixture.get("\(url)/item?session=1")
        try await fixture.get(method: .post)
        #expect(fixture.memory.all.map(\.head.isInvalidated) == [true])
    }

    @Test(arguments: [
        "session=1;callback=evil", "session=1%26callback=evil", "session=1%3Bcallback=evil", "?session=1",
    ])
    func parameterThatMayHoldAnotherIsKeyed(query: String) async throws {
        let fixture = EngineFixture(rules: TestRules { $0.target.ignoredParameters = ["session"] })
        fixture.transport.script("\(url)?\(query)", .fresh("evil"))
        fixture.transport.script("\(url)?session=1", .fresh("good"))
        try await fixture.get("\(url)?\(query)")
        #expect(try await fixture.get("\(url)?session=1").text == "good")
    }

    @Test func requestsUnderDifferentRulesShareNoFetch() async throws {
        let gate = Gate()
        let fixture = EngineFixture(
            kind: .shared,
            rules: TestRules {
                [
                    lax = RequestRules.with {
                        $0.target.ignoredParameters = ["lax"]
                        $0.overrides.ignoredDirectives = [.private]
                    },
                    strict = RequestRules.with { $0.target.ignoredParameters = ["strict"] }
                ] request in
                request.path?.contains("lax") == true ? lax : strict
            }
        )
        let personal = ScriptedTransport.Reply.ok(
            "1",
            fields: [.cacheControl: "private, max-age=60"],
            beforeHead: gate
        )
        fixture.transport.script("\(url)?lax", personal)
        fixture.transport.script("\(url)?strict", .fresh("2", beforeHead: gate))
        async let first = fixture.get("\(url)?lax")
        await fixture.transport.waitForRequests(1)
        async let second = fixture.get("\(url)?strict")
        await fixture.transport.waitForRequests(2)
        gate.open()
        #expect(try await first.text == "1")
        #expect(try await second.text == "2")
    }
}
