import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Testing

/// `vary` of a rule, in exchanges.
@Suite(.timeLimit(.minutes(20))) struct ListedValuesTests {
    private let url = EngineFixture.url
    private static let device = HTTPField.Name("X-Device") ?? .userAgent

    private func fixture(_ kind: CacheKind = .shared, cookies: CookieRule? = nil) -> EngineFixture {
        let fixture = EngineFixture(
            kind: kind,
            rules: TestRules {
                $0.listed = ListedValues(
                    cookies: ["lang": ["de", "en"], "size": ["1"]],
                    fields: [Self.device: ["phone", "desktop"]]
                )
                $0.cookies = cookies
            }
        )
        fixture.transport.script(url) { request in
            let fields = request.head.headerFields
            return .fresh("\(fields[.cookie] ?? "-") \(fields[Self.device] ?? "-")")
        }
        return fixture
    }

    @Test(arguments: [CacheKind.shared, .private])
    func eachListedValueHasACopyForAll(_ kind: CacheKind) async throws {
        let fixture = fixture(kind, cookies: CookieRule(kept: CookieNames(["session"])))
        let asked: [(HTTPFields, String)] = [
            ([:], "- -"), ([.cookie: "lang=de"], "lang=de -"), ([.cookie: "lang=en; _ga=1"], "lang=en -"),
            ([Self.device: "phone"], "- phone"), ([.cookie: "lang=de", Self.device: "phone"], "lang=de phone"),
        ]
        for (fields, text) in asked {
            let first = try await fixture.get(url, fields)
            #expect(first.text == text && !first.response.outcome.isHit)
        }
        for (fields, text) in asked {
            let again = try await fixture.get(url, fields)
            #expect(again.text == text && again.response.outcome.isHit)
        }
        #expect(fixture.memory.all.allSatisfy { $0.key == $0.key.inPartition(.common) })
        #expect(fixture.memory.all.count == asked.count)
    }

    @Test(arguments: [
        [HTTPField(name: .cookie, value: "lang=fr")], [HTTPField(name: .cookie, value: "lang=DE")],
        [HTTPField(name: .cookie, value: "Lang=de; lang=")], [HTTPField(name: ListedValuesTests.device, value: "tv")],
        [
            HTTPField(name: ListedValuesTests.device, value: "phone"),
            HTTPField(name: ListedValuesTests.device, value: "desktop"),
        ],
        [HTTPField(name: .listedCookies, value: "lang=de"), HTTPField(name: .listedFields, value: "x-device=phone")],
    ])
    func otherValuesAreRemoved(_ fields: [HTTPField]) async throws {
        let fixture = fixture(cookies: CookieRule(kept: CookieNames([])))
        try await fixture.get(url, [.cookie: "lang=de"])
        #expect(try await fixture.get(url, HTTPFields(fields)).text == "- -")
        #expect(try await fixture.get().response.outcome.isHit, "it is the copy for no value")
    }

    @Test func orderOfCookiesDoesNotMatter() async throws {
        let fixture = fixture(cookies: CookieRule(kept: CookieNames([])))
        try await fixture.get(url, [.cookie: "lang=de; size=1"])
        let again = try await fixture.get(url, [.cookie: "size=1; x=1; lang=de"])
        #expect(again.text == "lang=de; size=1 -" && again.response.outcome.isHit)
    }

    @Test func otherCookiesStayCredentialsWithoutARuleForThem() async throws {
        let fixture = fixture()
        #expect(try await fixture.get(url, [.cookie: "lang=de; session=1"]).text == "lang=de; session=1 -")
        #expect(fixture.memory.all.isEmpty)
        #expect(try await fixture.get(url, [.cookie: "lang=de"]).text == "lang=de -")
        #expect(fixture.memory.all.count == 1)
    }

    @Test func keptCookieIsACredentialThoughItsValueIsListed() async throws {
        let fixture = fixture(cookies: CookieRule(kept: CookieNames(["lang"])))
        try await fixture.get(url, [.cookie: "lang=de"])
        #expect(fixture.memory.all.isEmpty)
    }

    @Test func unreadableCookiesSelectNothing() async throws {
        let fixture = fixture(cookies: CookieRule(kept: CookieNames([])))
        #expect(try await fixture.get(url, [.cookie: "lang=de; lang=en"]).text == "lang=de; lang=en -")
        #expect(fixture.memory.all.isEmpty)
    }

    @Test func forwardedCookiesComeWithListedValues() async throws {
        let fixture = fixture(cookies: CookieRule(kept: CookieNames([]), forwardsAll: true))
        #expect(try await fixture.get(url, [.cookie: "_ga=1; lang=de; size=9"]).text == "_ga=1; lang=de -")
        #expect(fixture.memory.all.isEmpty)
        try await fixture.get(url, [.cookie: "lang=de"])
        let hit = try await fixture.get(url, [.cookie: "_ga=1; lang=de"])
        #expect(hit.text == "lang=de -" && hit.response.outcome.isHit)
    }

    @Test func waitingRequestsGetTheirOwnValue() async throws {
        let fixture = fixture(cookies: CookieRule(kept: CookieNames([])))
        let texts = try await withThrowingTaskGroup(of: (String, String).self) { group in
            for number in 0..<30 {
                let value = ["lang=de", "lang=en", "lang=fr"][number % 3]
                group.addTask { (value, try await fixture.get(EngineFixture.url, [.cookie: value]).text) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        for (value, text) in texts { #expect(text == (value == "lang=fr" ? "- -" : "\(value) -")) }
    }

    @Test func validatedCopyStaysWithItsValue() async throws {
        let fixture = fixture(cookies: CookieRule(kept: CookieNames([])))
        try await fixture.get(url, [.cookie: "lang=de"])
        fixture.clock.advance(by: .seconds(61))
        #expect(try await fixture.get(url, [.cookie: "lang=de"]).text == "lang=de -")
        #expect(fixture.transport.requests.map { $0.headerFields[.cookie] } == ["lang=de", "lang=de"])
    }

    @Test func storedRequestIsRebuiltWithItsValues() async throws {
        let fixture = fixture(cookies: CookieRule(kept: CookieNames([])))
        try await fixture.get(url, [.cookie: "size=1; lang=de", Self.device: "phone"])
        let stored = try #require(fixture.memory.all.first)
        let target = try #require(RefreshTarget(key: stored.key, repeatedFields: stored.head.repeatedFields))
        #expect(target.request.headerFields == [.cookie: "lang=de; size=1", Self.device: "phone"])
    }

    @Test func changesNameWhatIsSelectedAndRemoved() throws {
        let fixture = fixture(cookies: CookieRule(kept: CookieNames(["session"])))
        let fields: HTTPFields = [.cookie: "lang=de; size=9; _ga=1; session=1", Self.device: "tv"]
        let prepared = try #require(fixture.engine.prepare(fixture.request(url, fields)))
        #expect(
            prepared.changes == [
                .droppedCookie("_ga"), .listedCookie("lang"), .unlistedCookie("size"), .unlistedField(Self.device),
            ]
        )
    }
}
