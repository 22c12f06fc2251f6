import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Testing

/// `cookies` and `store.without-cookies` of a rule, in exchanges.
@Suite(.timeLimit(.minutes(20))) struct CookieRuleTests {
    private let url = EngineFixture.url

    private func fixture(
        _ kind: CacheKind = .shared,
        keep: [String],
        forwardsAll: Bool = false,
        _ change: (inout ExchangeSettings) -> Void = { _ in }
    ) -> EngineFixture {
        EngineFixture(
            kind: kind,
            rules: TestRules {
                $0.cookies = CookieRule(kept: CookieNames(keep), forwardsAll: forwardsAll)
                change(&$0)
            }
        )
    }

    private func sent(_ fixture: EngineFixture) -> [String?] {
        fixture.transport.requests.map { $0.headerFields[.cookie] }
    }

    @Test(arguments: [CacheKind.shared, .private])
    func otherCookiesAreNeitherKeyedNorSent(_ kind: CacheKind) async throws {
        let fixture = fixture(kind, keep: ["session"])
        fixture.transport.script(url, .fresh("one"))
        try await fixture.get(url, [.cookie: "_ga=1; theme=dark"])
        for number in 0..<30 {
            let next = try await fixture.get(url, [.cookie: "_ga=\(number); _gid=\(number)"])
            #expect(next.response.outcome.isHit && next.text == "one")
        }
        #expect(try await fixture.get().response.outcome.isHit, "a request without cookies")
        #expect(sent(fixture) == [nil])
        #expect(fixture.memory.all.map { $0.key == $0.key.inPartition(.common) } == [true])
    }

    @Test func keptCookieIsSentAloneAndNothingIsShared() async throws {
        let fixture = fixture(keep: ["session"])
        for number in 1...3 {
            fixture.transport.script(url, .ok("\(number)", fields: [.cacheControl: "public, max-age=60"]))
        }
        #expect(try await fixture.get(url, [.cookie: "_ga=1; session=a; x=2"]).text == "1")
        #expect(try await fixture.get(url, [.cookie: "session=b"]).text == "2")
        #expect(fixture.memory.all.isEmpty, "not even 'public' shares it")
        #expect(try await fixture.get(url, [.cookie: "_ga=1"]).text == "3")
        #expect(sent(fixture) == ["session=a", "session=b", nil])
    }

    @Test(arguments: ["public, max-age=60", "s-maxage=60", "public, max-age=0, stale-while-revalidate=60"])
    func keptCookieGetsNoAnonymousCopy(_ control: String) async throws {
        let fixture = fixture(keep: ["session"])
        fixture.transport.script(url) {
            .ok($0.head.headerFields[.cookie] ?? "anyone", fields: [.cacheControl: control])
        }
        try await fixture.get()
        #expect(try await fixture.get(url, [.cookie: "session=a"]).text == "session=a")
        #expect(try await fixture.get(url, [.cookie: "_ga=1"]).text == "anyone")
        #expect(fixture.memory.all.count == 1)
    }

    @Test func varySelectsByTheKeptCookies() async throws {
        let fixture = fixture(keep: ["session"])
        let fields: HTTPFields = [.cacheControl: "public, max-age=60", .vary: "Cookie"]
        fixture.transport.script(url, .ok("a", fields: fields), .ok("b", fields: fields), .ok("anyone", fields: fields))
        try await fixture.get(url, [.cookie: "session=a; _ga=1"])
        try await fixture.get(url, [.cookie: "_ga=2; session=b"])
        try await fixture.get(url, [.cookie: "_ga=3"])
        #expect(try await fixture.get(url, [.cookie: "x=1; session=a"]).text == "a")
        #expect(try await fixture.get(url, [.cookie: "session=b"]).text == "b")
        #expect(try await fixture.get(url, [.cookie: "theme=dark"]).text == "anyone")
        #expect(try await fixture.get().text == "anyone")
        #expect(fixture.transport.requests.count == 3)
    }

    @Test(arguments: ["a=\"; session=1\"", "session=1; session=2", "session.id=1", "$Version=1; x=1", "a=1;b=2", "x"])
    func unreadableCookiesCountAsCredentials(_ cookie: String) async throws {
        let fixture = fixture(keep: ["session"])
        fixture.transport.script(url, .fresh("hers"), .fresh("anyone's"))
        try await fixture.get(url, [.cookie: cookie])
        #expect(sent(fixture) == [cookie], "it is sent as it is")
        #expect(fixture.memory.all.isEmpty)
        #expect(try await fixture.get(url, [.cookie: "_ga=1"]).text == "anyone's")
        let changes = fixture.engine.prepare(try fixture.request(url, [.cookie: cookie]))?.changes
        #expect(changes == [.unreadCookies])
    }

    @Test func emptyListKeepsNoCookie() async throws {
        let fixture = fixture(keep: [])
        fixture.transport.script(url, .fresh("one"))
        try await fixture.get(url, [.cookie: "session=1"])
        #expect(try await fixture.get(url, [.cookie: "session=2"]).response.outcome.isHit)
        #expect(sent(fixture) == [nil])
    }

    @Test func bypassedRequestsLoseTheSameCookies() async throws {
        let fixture = fixture(keep: ["session"]) { $0.isBypassed = true }
        fixture.transport.script(url, .fresh("one"), .fresh("two"))
        try await fixture.get(url, [.cookie: "_ga=1; session=1"], method: .post)
        try await fixture.get(url, [.cookie: "_ga=1; session=2"])
        #expect(sent(fixture) == ["session=1", "session=2"])
    }

    @Test func ruleThatIgnoresCookiesDoesNotShareAKeptOne() async throws {
        let fixture = fixture(keep: ["session"]) { $0.ignoredFields = [.cookie] }
        fixture.transport.script(url, .fresh("hers"), .fresh("anyone's"))
        try await fixture.get(url, [.cookie: "session=1"])
        #expect(try await fixture.get().text == "anyone's")
    }

    @Test func stalePublicCopyIsNotFreshenedForAKeptCookie() async throws {
        let fixture = fixture(keep: ["session"])
        fixture.transport.script(
            url,
            .ok("one", fields: [.cacheControl: "public, max-age=60", .eTag: "\"1\""]),
            .status(
                .notModified,
                fields: [.cacheControl: "public, max-age=60", .eTag: "\"1\"", .server: "for session=1"]
            )
        )
        try await fixture.get()
        fixture.clock.advance(by: .seconds(61))
        #expect(try await fixture.get(url, [.cookie: "session=1"]).text == "one")
        #expect(fixture.memory.all.map { $0.head.fields.contains(.server) } == [false])
    }

    // MARK: forward

    @Test func forwardedCookiesReachOnlyTheOrigin() async throws {
        let fixture = fixture(keep: ["session"], forwardsAll: true)
        fixture.transport.script(url, .ok("hers", fields: [.cacheControl: "public, max-age=60"]), .fresh("anyone's"))
        #expect(try await fixture.get(url, [.cookie: "_ga=1; x=2"]).text == "hers")
        #expect(fixture.memory.all.isEmpty)
        #expect(try await fixture.get().text == "anyone's")
        let hit = try await fixture.get(url, [.cookie: "_ga=1; x=2"])
        #expect(hit.text == "anyone's" && hit.response.outcome.isHit, "it may still be served")
        #expect(sent(fixture) == ["_ga=1; x=2", nil])
    }

    @Test func forwardedCookiesFreshenNothing() async throws {
        let fixture = fixture(keep: [], forwardsAll: true)
        let fields: HTTPFields = [.cacheControl: "public, max-age=60", .eTag: "\"1\""]
        fixture.transport.script(
            url,
            .ok("one", fields: fields),
            .status(.notModified, fields: [.cacheControl: "public, max-age=60", .eTag: "\"1\"", .server: "for x=1"])
        )
        try await fixture.get()
        fixture.clock.advance(by: .seconds(61))
        #expect(try await fixture.get(url, [.cookie: "x=1"]).text == "one")
        #expect(fixture.memory.all.map { $0.head.fields.contains(.server) } == [false])
        #expect(sent(fixture) == [nil, "x=1"])
    }

    @Test func requestsWithForwardedCookiesShareNoFetch() async throws {
        let fixture = fixture(keep: [], forwardsAll: true)
        let gate = Gate()
        fixture.transport.script(
            url,
            .fresh("one", beforeHead: gate),
            .fresh("two", beforeHead: gate),
            .fresh("three", beforeHead: gate)
        )
        let texts = try await withThrowingTaskGroup(of: String.self) { group in
            for number in 1...3 {
                group.addTask { try await fixture.get(EngineFixture.url, [.cookie: "x=\(number)"]).text }
            }
            await fixture.transport.waitForRequests(3)
            gate.open()
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(texts == ["one", "two", "three"])
    }

    @Test func changesNameCookiesWithoutTheirValues() throws {
        let request = [HTTPField.Name.cookie: "_ga=secret; session=secret; x=1"] as HTTPFields
        let dropping = fixture(keep: ["session"]).engine
        let changes = try #require(dropping.prepare(EngineFixture().request(url, request))).changes
        #expect(changes == [.droppedCookie("_ga"), .droppedCookie("x")])
        let forwarding = fixture(keep: ["session"], forwardsAll: true).engine
        let others = try #require(forwarding.prepare(EngineFixture().request(url, request))).changes
        #expect(others == [.forwardedCookie("_ga"), .forwardedCookie("x")])
    }

    // MARK: store.without-cookies

    @Test func cookieIsLeftOutOfTheCopyButReachesItsClient() async throws {
        let fixture = fixture(keep: []) { $0.overrides.withoutCookies = CookieNames(["seen"]) }
        fixture.transport.script(url, .ok("one", fields: [.cacheControl: "max-age=60", .setCookie: "seen=1"]))
        #expect(try await fixture.get().response.head.headerFields[.setCookie] == "seen=1")
        let hit = try await fixture.get()
        #expect(hit.response.outcome.isHit && !hit.response.head.headerFields.contains(.setCookie))
    }

    @Test func waitingClientsDoNotGetTheCookie() async throws {
        let fixture = fixture(keep: []) { $0.overrides.withoutCookies = CookieNames(["seen"]) }
        let gate = Gate()
        fixture.transport.script(
            url,
            .ok("one", fields: [.cacheControl: "max-age=60", .setCookie: "seen=1"], beforeHead: gate)
        )
        let cookies = try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<30 {
                group.addTask { try await fixture.get().response.head.headerFields.contains(.setCookie) }
            }
            await fixture.transport.waitForRequests(1)
            while fixture.engine.memberCount < 30, !Task.isCancelled { await Task.yield() }
            gate.open()
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(cookies.filter(\.self).count == 1)
        #expect(fixture.transport.requests.count == 1)
    }

    // MARK: Any cookies

    /// The origin repeats all cookies. Whatever clients send, and whatever the origin says: nothing
    /// that a kept cookie influenced is served to a client with other kept cookies, and no cookie
    /// that is dropped arrives.
    @Test func nothingThatAKeptCookieInfluencedIsShared() async throws {
        for seed in 0..<400 as Range<UInt64> { try await play(seed) }
    }

    private func play(_ seed: UInt64) async throws {
        var generator = SeededRandom(seed: seed)
        let keep = generator.keep()
        let (kind, lifetime) = (generator.chance(2) ? CacheKind.shared : .private, generator.chance(2))
        let fixture = fixture(kind, keep: keep) { if lifetime { $0.overrides.defaultLifetime = 60 } }
        let names = CookieNames(keep)
        let responseFields = generator.responseFields()
        fixture.transport.script(url) { .ok("[\($0.head.headerFields[.cookie] ?? "")]", fields: responseFields) }
        for _ in 0..<12 {
            let line = generator.cookies()
            var fields = HTTPFields()
            if let line { fields.append(HTTPField(name: .cookie, value: line)) }
            let cookies = RequestCookies(fields)
            let expected = cookies.map { $0.filter { names.contains($0.name) }.written } ?? line ?? ""
            let text = try await fixture.get(url, fields).text
            // A private cache may use a shareable copy that it got without cookies.
            let isAnonymous = kind == .private && text == "[]"
            #expect(text == "[\(expected)]" || isAnonymous, "seed \(seed): \(keep), \(line ?? "no cookie")")
            if generator.chance(5) { fixture.clock.advance(by: .seconds(61)) }
        }
        for request in fixture.transport.requests {
            guard let cookies = RequestCookies(request.headerFields) else { continue }
            #expect(cookies.cookies.allSatisfy { names.contains($0.name) }, "seed \(seed): \(keep), \(cookies.written)")
        }
    }
}

/// Random cookies, lists of names and response fields.
extension SeededRandom {
    /// Returns `true` once in `count` times.
    fileprivate mutating func chance(_ count: Int) -> Bool { Int.random(in: 0..<count, using: &self) == 0 }

    private mutating func one(of choices: [String]) -> String { choices.randomElement(using: &self) ?? "" }

    fileprivate mutating func keep() -> [String] {
        let all = ["session", "sess*", "Session", "theme", "wp_*", "*", "a"]
        return all.filter { _ in chance(3) }
    }

    fileprivate mutating func responseFields() -> HTTPFields {
        var fields: HTTPFields = [
            .cacheControl: one(of: [
                "max-age=60", "public, max-age=60", "s-maxage=60", "must-revalidate, max-age=60", "",
            ])
        ]
        let vary = one(of: ["", "", "Cookie", "Accept-Language, cookie"])
        if !vary.isEmpty { fields[.vary] = vary }
        return fields
    }

    /// The value of a `Cookie` field; `nil` for none.
    fileprivate mutating func cookies() -> String? {
        if chance(6) { return nil }
        let names = ["session", "Session", "_ga", "theme", "wp_1", "a", "sess", "session.id", "session[]", "$Version"]
        let values = ["", "1", "2", "dark", "\"x", "x; session=9", "x\"; session=9", "a,b", "\\", "=", "\u{E9}"]
        let count = Int.random(in: 1...4, using: &self)
        let pairs = (0..<count).map { _ in
            let isPlain = !chance(6)
            let name = one(of: isPlain ? Array(names.prefix(7)) : names)
            return name + (chance(20) ? "" : "=") + one(of: isPlain ? Array(values.prefix(4)) : values)
        }
        return pairs.joined(separator: chance(10) ? ";" : "; ")
    }
}
