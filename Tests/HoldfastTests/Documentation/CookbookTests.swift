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
        #expect(try Cookbook.files().count == 30)
        for file in try Cookbook.files() {
            let content = try String(contentsOfFile: Cookbook.folder + file, encoding: .utf8)
            #expect(text.contains("`\(file)`:\n\n```yaml\n\(content)```\n"), "\(file)")
        }
    }

    @Test func redirectLeadsToTheConfiguredHost() throws {
        let configuration = try Configuration(contentsOf: Cookbook.folder + "25-https-redirect.yaml")
        #expect(configuration.fixedRoutes.map(\.scheme) == ["http", nil])
        for route in configuration.fixedRoutes {
            #expect(route.answer.status == 301 && route.position == 1)
            #expect(route.answer.location(for: "/a?b=1") == "https://www.example.com/a?b=1")
        }
    }

    @Test func pageForOutagesIsRead() throws {
        let configuration = try Configuration(contentsOf: Cookbook.folder + "26-offline-page.yaml")
        let page = try #require(configuration.routes.first?.errorPages.offline)
        #expect(page.template.filled { "[\($0.rawValue)]" }.contains("<a href=\"[url]\">"))
    }

    /// The gateway of a recording has the address 127.0.0.1, so routes have no host.
    @Test func responsesOfAPaidAPIAreStoredForReplays() async throws {
        let kitchen = try Kitchen("28-paid-api.yaml")
        let configuration = try Configuration(contentsOf: Cookbook.folder + "28-paid-api.yaml")
        #expect(configuration.routes.map(\.host) == [nil])
        let url = "https://api.example.com/v1/models"
        kitchen.transport.script(url, .ok("[]", fields: [.cacheControl: "no-store"]))
        try await kitchen.get(url)
        #expect(try await kitchen.stored(url).count == 1)
    }

    @Test func downloadsAreStoredForReplays() async throws {
        let kitchen = try Kitchen("29-download-host.yaml")
        let configuration = try Configuration(contentsOf: Cookbook.folder + "29-download-host.yaml")
        #expect(configuration.routes.map(\.host) == [nil])
        let url = "https://downloads.example.com/tool-1.4.2.tar.gz"
        kitchen.transport.script(url, .ok("tool", fields: [.cacheControl: "no-store"]))
        try await kitchen.get(url)
        #expect(try await kitchen.stored(url).count == 1)
    }

    @Test func packagesOfTheProxyStayFresh() async throws {
        let kitchen = try Kitchen("30-apt-proxy.yaml")
        let configuration = try Configuration(contentsOf: Cookbook.folder + "30-apt-proxy.yaml")
        #expect(configuration.routes.isEmpty && configuration.isForGateway)
        try await kitchen.expect(
            "https://debian.example/debian/pool/main/h/holdfast_1.0_all.deb",
            answering: .ok("package"),
            isHitAfter: .seconds(364 * 86_400),
            andNotAfter: .seconds(2 * 86_400)
        )
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

    @Test func clientsAndLoginsHaveRates() throws {
        let configuration = try Configuration(contentsOf: Cookbook.folder + "27-limited-clients.yaml")
        let (lists, routes) = (configuration.clients.lists, configuration.routes)
        let addresses = ["10.1.2.3", "fd00::1", "127.0.0.1", "10.66.1.1", "192.0.2.1", "unix"]
        #expect(addresses.map { lists.admit($0, isOwn: true) } == [true, true, true, false, false, false])
        #expect(configuration.limits.requests == Configuration.RequestRate(50, per: .second, burst: 200))
        #expect(routes.map(\.requestRate) == [Configuration.RequestRate(10, per: .minute), nil])
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
