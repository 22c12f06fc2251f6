import Foundation
import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastConfiguration
import HoldfastTesting
import Logging
import NIOCore
import Testing

/// Every file of the cookbook is loaded unchanged and behaves as the cookbook states.
@Suite(.timeLimit(.minutes(20))) struct CookbookTests {
    @Test func everyFileIsQuotedUnchanged() throws {
        let text = try String(
            contentsOfFile: Cookbook.root + "Sources/HoldfastConfiguration/HoldfastConfiguration.docc/Cookbook.md",
            encoding: .utf8
        )
        #expect(try Cookbook.files().count == 24)
        for file in try Cookbook.files() {
            let content = try String(contentsOfFile: Cookbook.folder + file, encoding: .utf8)
            #expect(text.contains("`\(file)`:\n\n```yaml\n\(content)```\n"), "\(file)")
        }
    }

    @Test func silentAPIHasTheLifetimeOfTheRule() async throws {
        let kitchen = try Kitchen("01-silent-api.yaml")
        try await kitchen.expect(
            "https://api.example.com/countries/de",
            answering: .ok("{}"),
            isHitAfter: .seconds(86_399),
            andNotAfter: .seconds(2)
        )
        try await kitchen.expect(
            "https://api.example.com/news",
            answering: .ok("[]"),
            isHitAfter: .seconds(59),
            andNotAfter: .seconds(2)
        )
    }

    @Test func directivesOverrideTheRuleForSilentAPIs() async throws {
        let kitchen = try Kitchen("01-silent-api.yaml")
        let said = ScriptedTransport.Reply.ok("[]", fields: [.cacheControl: "max-age=5"])
        try await kitchen.expect(
            "https://api.example.com/countries/fr",
            answering: said,
            isHitAfter: .seconds(4),
            andNotAfter: .seconds(2)
        )
    }

    @Test func usersHaveResponsesOfTheirOwn() async throws {
        let kitchen = try Kitchen("02-authenticated-api.yaml")
        let url = "https://api.example.com/me"
        kitchen.transport.script(url, .ok("ada"), .ok("bob"))
        let user = try #require(HTTPField.Name("X-User"))
        let first = try await kitchen.get(url, [user: "ada", .authorization: "Bearer 1"])
        let other = try await kitchen.get(url, [user: "bob", .authorization: "Bearer 2"])
        let rotated = try await kitchen.get(url, [user: "ada", .authorization: "Bearer 3"])
        #expect(first.text == "ada")
        #expect(other.text == "bob")
        #expect(rotated.text == "ada")
        #expect(rotated.response.outcome.isHit)
        #expect(kitchen.transport.requests.count == 2)
    }

    @Test func queriesAreStoredAndMutationsAreNot() async throws {
        let kitchen = try Kitchen("03-graphql.yaml")
        let url = "https://api.example.com/graphql"
        kitchen.transport.script(url, .ok("1"), .ok("2"), .ok("3"), .ok("4"))
        let query = #"{"query":"query Feed($n:Int){ feed(n:$n){id} }","variables":{"n":1}}"#
        #expect(try await kitchen.post(url, query).text == "1")
        #expect(try await kitchen.post(url, query).response.outcome.isHit)
        #expect(try await kitchen.post(url, query.replacingOccurrences(of: "1}", with: "2}")).text == "2")
        let mutation = #"{"query":"mutation { like(id: 1) { id } }"}"#
        #expect(try await kitchen.post(url, mutation).text == "3")
        #expect(try await kitchen.post(url, mutation).text == "4")
    }

    @Test func packagesStayAndListsOutliveAFailingIndex() async throws {
        let kitchen = try Kitchen("04-package-index.yaml")
        let file = "https://files.example/packages/a-1.0.whl"
        try await kitchen.expect(file, answering: .ok("wheel"), isHitAfter: .seconds(300 * 86_400), andNotAfter: nil)
        let list = "https://index.example/simple/a/"
        kitchen.transport.script(list, .ok("a-1.0"), .status(.serviceUnavailable))
        try await kitchen.get(list)
        kitchen.clock.advance(by: .seconds(20 * 86_400))
        let response = try await kitchen.get(list)
        #expect(response.text == "a-1.0")
    }

    @Test func browsersShareACopyOfAnImage() async throws {
        let kitchen = try Kitchen("05-images.yaml")
        let url = "https://images.example.com/a.png"
        kitchen.transport.script(
            url,
            .ok("png", fields: [.contentType: "image/png", .vary: "User-Agent", .server: "secret/1.0"])
        )
        let first = try await kitchen.get(url, [.userAgent: "one"])
        let second = try await kitchen.get(url, [.userAgent: "two", .cookie: "session=1"])
        #expect(second.response.outcome.isHit)
        #expect(first.response.head.headerFields[.server] == nil)
        #expect(second.response.head.headerFields[.server] == nil)
        #expect(try await kitchen.stored(url).first?.head.selectingFields.isEmpty == true)
    }

    @Test func noStoreByHabitIsStored() async throws {
        let kitchen = try Kitchen("06-no-store-by-habit.yaml")
        try await kitchen.expect(
            "https://api.example.com/public/prices",
            answering: .ok("[]", fields: [.cacheControl: "no-store, no-cache, must-revalidate, private"]),
            isHitAfter: .seconds(299),
            andNotAfter: .seconds(2)
        )
        #expect(kitchen.transport.requests.allSatisfy { !$0.headerFields.contains(.authorization) })
    }

    @Test func privateContentStaysOut() async throws {
        let kitchen = try Kitchen("06-no-store-by-habit.yaml")
        let url = "https://api.example.com/account"
        let habit = ScriptedTransport.Reply.ok("me", fields: [.cacheControl: "no-store, private"])
        kitchen.transport.script(url, habit, habit)
        try await kitchen.get(url)
        #expect(try await kitchen.get(url).response.outcome.isHit == false)
    }

    @Test func parametersInAnyOrderAreTheSamePage() async throws {
        let kitchen = try Kitchen("07-pagination.yaml")
        kitchen.transport.script("https://api.example.com/items?page=2&size=20", .ok("page"), .ok("new page"))
        try await kitchen.get("https://api.example.com/items?size=20&page=2")
        let other = try await kitchen.get("https://api.example.com/items?page=2&size=20")
        #expect(other.response.outcome.isHit)
        _ = try await kitchen.memory.invalidate(.tag("items"), keepingForOffline: true, at: kitchen.clock.now())
        #expect(try await kitchen.get("https://api.example.com/items?page=2&size=20").text == "new page")
    }

    @Test func firstPageHasItsOwnLifetimeAndOtherPagesHaveTags() async throws {
        let kitchen = try Kitchen("07-pagination.yaml")
        let url = "https://api.example.com/items?page=1"
        try await kitchen.expect(url, answering: .ok("first"), isHitAfter: .seconds(4), andNotAfter: nil)
        kitchen.transport.script(url, .ok("newer"))
        _ = try await kitchen.memory.invalidate(.tag("items"), keepingForOffline: true, at: kitchen.clock.now())
        #expect(try await kitchen.get(url).text == "newer")
    }

    @Test func trackingParametersDoNotChangeTheKey() async throws {
        let kitchen = try Kitchen("08-tracking-parameters.yaml")
        let fresh = ScriptedTransport.Reply.ok("page", fields: [.cacheControl: "max-age=60"])
        kitchen.transport.script("https://www.example.com/a", fresh)
        try await kitchen.get("https://www.example.com/a?utm_source=letter&utm_campaign=x")
        let bare = try await kitchen.get("https://www.example.com/a")
        #expect(bare.response.outcome.isHit)
        #expect(kitchen.transport.requests.map(\.path) == ["/a"])
    }

    @Test func ignoredParametersAreSentAndNotStored() async throws {
        let kitchen = try Kitchen("08-tracking-parameters.yaml")
        let fresh = ScriptedTransport.Reply.ok("page", fields: [.cacheControl: "max-age=60"])
        kitchen.transport.script("https://www.example.com/b?cache_id=7", fresh)
        try await kitchen.get("https://www.example.com/b?cache_id=7")
        let other = try await kitchen.get("https://www.example.com/b?cache_id=8")
        #expect(other.response.outcome.isHit)
        #expect(kitchen.transport.requests.map(\.path) == ["/b?cache_id=7"])
    }

    @Test func flakyUpstreamIsCoveredByTheStore() async throws {
        let kitchen = try Kitchen("09-flaky-upstream.yaml")
        let url = "https://flaky.example.com/a"
        let json: HTTPFields = [.contentType: "application/json", .cacheControl: "max-age=60"]
        kitchen.transport.script(
            url,
            .ok(#"{"items":[1,2,3]}"#, fields: json),
            .status(.badGateway),
            .ok("<html>", fields: [.contentType: "text/html"])
        )
        try await kitchen.get(url)
        kitchen.clock.advance(by: .seconds(2 * 86_400))
        let failing = try await kitchen.get(url)
        #expect(failing.text == #"{"items":[1,2,3]}"#)
        kitchen.clock.advance(by: .seconds(60))
        let portal = try await kitchen.get(url)
        #expect(portal.text == #"{"items":[1,2,3]}"#)
    }

    @Test func kioskWorksForAWeekAndPricesForADay() async throws {
        let kitchen = try Kitchen("10-kiosk.yaml")
        let (page, prices) = ("https://kiosk.example.com/home", "https://kiosk.example.com/prices/today")
        let strict: HTTPFields = [.cacheControl: "max-age=60, must-revalidate"]
        kitchen.transport.script(page, .ok("home", fields: strict))
        kitchen.transport.script(prices, .ok("5", fields: [.cacheControl: "max-age=60"]))
        try await kitchen.get(page)
        try await kitchen.get(prices)
        kitchen.engine.mode = .offline
        kitchen.clock.advance(by: .seconds(6 * 86_400))
        #expect(try await kitchen.get(page).text == "home")
        await #expect(throws: ExchangeError.self) { try await kitchen.get(prices) }
        kitchen.clock.advance(by: .seconds(2 * 86_400))
        await #expect(throws: ExchangeError.self) { try await kitchen.get(page) }
    }
}

enum Cookbook {
    static let root =
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().path + "/"
    static let folder = root + "Examples/Cookbook/"

    static func files() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".yaml") }.sorted()
    }

    // MARK: Cookies

    @Test(arguments: ["22-wordpress.yaml", "23-django.yaml"]) func visitorsWithAnyCookiesShareAPage(_ file: String)
        async throws
    {
        let kitchen = try Kitchen(file)
        let url = "https://www.example.com/2026/post"
        kitchen.transport.script(url, .ok("page", fields: [.vary: "Cookie"]))
        try await kitchen.get(url, [.cookie: "_ga=GA1.1; csrftoken=1"])
        for number in 0..<30 {
            let next = try await kitchen.get(url + "?utm_source=x", [.cookie: "_ga=\(number); consent=yes"])
            #expect(next.text == "page" && next.response.outcome.isHit)
        }
        #expect(kitchen.transport.requests.map { $0.headerFields[.cookie] } == [nil])
    }

    @Test(arguments: [
        ("22-wordpress.yaml", "wordpress_logged_in_1=ada"), ("23-django.yaml", "sessionid=ada"),
        ("24-rails.yaml", "_example_session=ada"),
    ]) func usersPagesNeverReachOthers(_ file: String, _ session: String) async throws {
        let kitchen = try Kitchen(file)
        let url = "https://www.example.com/account"
        kitchen.transport.script(url) { request in
            .ok(request.head.headerFields[.cookie] ?? "visitor", fields: [.cacheControl: "public, max-age=60"])
        }
        #expect(try await kitchen.get(url, [.cookie: "_ga=1; \(session)"]).text == session)
        #expect(try await kitchen.stored(url).isEmpty)
        #expect(try await kitchen.get(url, [.cookie: "_ga=2"]).text == "visitor")
    }

    @Test func loginsAndPreviewsBypassTheStore() async throws {
        let wordPress = try Kitchen("22-wordpress.yaml")
        for url in ["https://www.example.com/wp-login.php", "https://www.example.com/?p=1&preview=true"] {
            wordPress.transport.script(url, repeating: .ok("page", fields: [.cacheControl: "max-age=60"]))
            try await wordPress.get(url)
            #expect(
                try await wordPress.get(url, [.cookie: "wordpress_test_cookie=1"]).response.outcome.forward == .bypass
            )
        }
        let django = try Kitchen("23-django.yaml")
        let url = "https://www.example.com/accounts/login/"
        django.transport.script(url, repeating: .ok("form", fields: [.cacheControl: "max-age=60"]))
        try await django.get(url, [.cookie: "csrftoken=1; sessionid=2"])
        #expect(django.transport.requests.map { $0.headerFields[.cookie] } == ["csrftoken=1; sessionid=2"])
        #expect(try await django.stored(url).isEmpty)
    }

    @Test func pageWithACSRFTokenIsNotShared() async throws {
        let kitchen = try Kitchen("23-django.yaml")
        let url = "https://www.example.com/contact/"
        for token in ["1", "2"] {
            kitchen.transport.script(
                url,
                .ok("form \(token)", fields: [.vary: "Cookie", .setCookie: "csrftoken=\(token)"])
            )
        }
        #expect(try await kitchen.get(url, [.cookie: "csrftoken=0"]).text == "form 1")
        #expect(try await kitchen.get(url).text == "form 2")
    }

    @Test func eachLanguageHasItsCopy() async throws {
        let kitchen = try Kitchen("23-django.yaml")
        let url = "https://www.example.com/"
        kitchen.transport.script(url) { .ok($0.head.headerFields[.cookie] ?? "any") }
        for language in ["django_language=de", "django_language=en"] {
            #expect(try await kitchen.get(url, [.cookie: language]).text == language)
            let again = try await kitchen.get(url, [.cookie: "_ga=1; \(language)"])
            #expect(again.text == language && again.response.outcome.isHit)
        }
        #expect(try await kitchen.get(url, [.cookie: "django_language=fr"]).text == "any")
    }

    @Test func publicPagesAreSharedWithoutTheirSessionCookie() async throws {
        let kitchen = try Kitchen("24-rails.yaml")
        let url = "https://www.example.com/articles/1"
        let fields: HTTPFields = [
            .cacheControl: "max-age=0, private, must-revalidate", .setCookie: "_example_session=1; path=/; HttpOnly",
        ]
        kitchen.transport.script(url, .ok("article", fields: fields))
        #expect(
            try await kitchen.get(url, [.cookie: "_example_session=0"]).response.head.headerFields.contains(.setCookie)
        )
        let next = try await kitchen.get(url, [.cookie: "_ga=1"])
        #expect(next.response.outcome.isHit && !next.response.head.headerFields.contains(.setCookie))
        #expect(kitchen.transport.requests.map { $0.headerFields[.cookie] } == [nil])
    }

}

/// A shared cache with one of the cookbook's files, on a scripted origin and a clock that stands
/// still.
private struct Kitchen {
    let transport = ScriptedTransport()
    let memory = InMemoryResponseStore()
    let clock = ManualClock()
    let engine: CacheEngine

    init(_ file: String) throws {
        let configuration = try Configuration(contentsOf: Cookbook.folder + file)
        engine = CacheEngine(
            store: memory,
            transport: transport,
            policy: CachePolicy(kind: .shared),
            credentialSecret: [UInt8](repeating: 7, count: 32),
            mode: configuration.mode ?? .automatic,
            options: configuration.options,
            rules: configuration.rules,
            parts: .init(clock: clock),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
    }

    @discardableResult
    func get(_ url: String, _ fields: HTTPFields = [:]) async throws -> (text: String, response: CacheResponse) {
        try await send(url, .get, fields, nil)
    }

    func post(_ url: String, _ content: String) async throws -> (text: String, response: CacheResponse) {
        try await send(url, .post, [.contentType: "application/json"], .buffer(ByteBuffer(string: content)))
    }

    private func send(
        _ url: String,
        _ method: HTTPRequest.Method,
        _ fields: HTTPFields,
        _ body: RequestBody?
    ) async throws -> (text: String, response: CacheResponse) {
        let target = try TargetURI(url)
        let head = HTTPRequest(
            method: method,
            scheme: target.scheme,
            authority: target.authority,
            path: target.requestTarget,
            headerFields: fields
        )
        let response = try await engine.respond(to: CacheRequest(head: head, body: body))
        return (String(buffer: try await response.body.collect(upTo: 1 << 20)), response)
    }

    func stored(_ url: String) async throws -> [StoredResponse] {
        try await memory.lookup(CacheKey(target: TargetURI(url)))
    }

    /// After one fetch, expects a hit after `hit`, and a request to the origin after another
    /// `miss`.
    func expect(
        _ url: String,
        answering reply: ScriptedTransport.Reply,
        isHitAfter hit: Duration,
        andNotAfter miss: Duration?,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        transport.script(url, reply)
        try await get(url)
        clock.advance(by: hit)
        #expect(try await get(url).response.outcome.isHit, "\(url)", sourceLocation: sourceLocation)
        guard let miss else { return }
        clock.advance(by: miss)
        transport.script(url, reply)
        let again = try await get(url)
        #expect(!again.response.outcome.isHit, "\(url)", sourceLocation: sourceLocation)
        #expect(transport.unscripted.isEmpty, sourceLocation: sourceLocation)
    }
}
