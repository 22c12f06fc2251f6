import Holdfast
import HoldfastTesting
import Testing

/// `client.pages(of:next:)` on a scripted network.
@Suite(.timeLimit(.minutes(20))) struct PageSequenceTests {
    struct Page: Decodable, Sendable, Equatable {
        var items: [Int]
        var next: String?
    }

    struct Items: Endpoint {
        typealias Response = Page
        var baseURL: String { ScriptedClient.url }
        let path = "/items"
        var cursor: String?
        var page: Int?
        var task: HTTPTask { .query(["cursor": cursor, "page": page, "size": 1]) }
        var headers: HTTPFields { [.authorization: "Bearer t"] }
        var tags: [String] { ["items"] }
    }

    private func reply(_ item: Int, link: String? = nil, next: String? = nil) -> ScriptedTransport.Reply {
        var fields: HTTPFields = [.cacheControl: "max-age=60"]
        if let link, let name = HTTPField.Name("Link") { fields[name] = "<\(link)>; rel=\"next\"" }
        return .ok(#"{"items": [\#(item)]\#(next.map { #", "next": "\#($0)""# } ?? "")}"#, fields: fields)
    }

    private func script(_ fixture: ScriptedClient, _ pathAndQuery: String, _ reply: ScriptedTransport.Reply) {
        fixture.transport.script(ScriptedClient.url + pathAndQuery, repeating: reply)
    }

    /// The items of all pages, and the error that ended them.
    private func collect<E: Endpoint>(_ pages: PageSequence<E>) async -> (items: [Int], error: HoldfastError?)
    where E.Response == Page {
        var items: [Int] = []
        do {
            for try await page in pages { items += page.value.items }
            return (items, nil)
        } catch {
            return (items, error as? HoldfastError)
        }
    }

    @Test func linksAreFollowed() async throws {
        try await ScriptedClient.run { fixture in
            script(fixture, "/items?size=1", reply(1, link: "?page=2&size=1"))
            script(fixture, "/items?page=2&size=1", reply(2, link: "\(ScriptedClient.url)/more/../more?page=3"))
            script(fixture, "/more?page=3", reply(3))
            let (items, error) = await collect(fixture.client.pages(of: Items(), next: .link))
            #expect(items == [1, 2, 3] && error == nil)
            let sent = fixture.transport.requests
            #expect(sent.count == 3 && sent.allSatisfy { $0.headerFields[.authorization] == "Bearer t" })
        }
    }

    @Test func cursorsAreFollowed() async throws {
        try await ScriptedClient.run { fixture in
            script(fixture, "/items?size=1", reply(1, next: "b"))
            script(fixture, "/items?cursor=b&size=1", reply(2, next: "c"))
            script(fixture, "/items?cursor=c&size=1", reply(3))
            let pages = fixture.client.pages(of: Items(), next: .cursor(\.next) { $0.cursor = $1 })
            let (items, error) = await collect(pages)
            #expect(items == [1, 2, 3] && error == nil)
        }
    }

    @Test func pagesAreCounted() async throws {
        try await ScriptedClient.run { fixture in
            for page in 4...6 { script(fixture, "/items?page=\(page)&size=1", reply(page)) }
            let next = NextPage<Items>.number(after: 4, while: { $0.items != [6] }) { $0.page = $1 }
            let (items, error) = await collect(fixture.client.pages(of: Items(page: 4), next: next))
            #expect(items == [4, 5, 6] && error == nil)
        }
    }

    // Each page has its own key, so the pages are read offline, and purged together.
    @Test func pagesAreStored() async throws {
        try await ScriptedClient.run { fixture in
            script(fixture, "/items?size=1", reply(1, link: "/items?page=2"))
            script(fixture, "/items?page=2", reply(2))
            let pages = fixture.client.pages(of: Items(), next: .link)
            #expect(await collect(pages).items == [1, 2])
            #expect(await collect(pages).items == [1, 2])
            #expect(fixture.transport.requests.count == 2)
            fixture.client.mode = .offline
            fixture.clock.advance(by: .seconds(3600))
            let (items, error) = await collect(pages)
            #expect(items == [1, 2] && error == nil)
            fixture.client.mode = .automatic
            try await fixture.store.invalidateResponses(tagged: "items")
            #expect(await collect(fixture.client.pages(of: Items(), next: .link, .networkFirst)).items == [1, 2])
            #expect(fixture.transport.requests.count == 4)
        }
    }

    // Only a page that is asked for is requested.
    @Test func nextPageIsRequestedOnDemand() async throws {
        try await ScriptedClient.run { fixture in
            script(fixture, "/items?size=1", reply(1, link: "/items?page=2"))
            var iterator = fixture.client.pages(of: Items(), next: .link).makeAsyncIterator()
            let first = try await iterator.next()
            #expect(first?.value.items == [1] && fixture.transport.requests.count == 1)
        }
    }

    // The link repeats the client's own parameters, which are not added again.
    @Test func parametersOfTheClientAreSentOnce() async throws {
        let defaults = RequestDefaults(parameters: ["key": "k", "lang": "en"])
        try await ScriptedClient.run(.init(defaults: defaults)) { fixture in
            script(fixture, "/items?key=k&lang=en&size=1", reply(1, link: "?key=k&page=2"))
            script(fixture, "/items?key=k&page=2&lang=en", reply(2))
            #expect(await collect(fixture.client.pages(of: Items(), next: .link)).items == [1, 2])
        }
    }

    @Test(arguments: [
        "https://b.example/items?page=2", "http://a.example/items", "//a.example:8443/items", "ftp://a.example/items",
        "https://user:p@a.example/items",
    ])
    func linkToAnotherOriginIsRefusedAfterItsPage(link: String) async throws {
        try await ScriptedClient.run { fixture in
            script(fixture, "/items?size=1", reply(1, link: link + "?token=s3cret"))
            let (items, error) = await collect(fixture.client.pages(of: Items(), next: .link))
            #expect(items == [1] && error?.code == .paginationFailed && fixture.transport.requests.count == 1)
            #expect(error?.message.contains("s3cret") == false && error?.message.contains("Items") == true)
        }
    }

    @Test(arguments: [true, false]) func loopEndsWithAnError(isCursor: Bool) async throws {
        try await ScriptedClient.run { fixture in
            script(fixture, "/items?size=1", reply(1, link: "?cursor=b&size=1", next: "b"))
            script(fixture, "/items?cursor=b&size=1", reply(2, link: "?size=1", next: "b"))
            let next: NextPage<Items> = isCursor ? .cursor(\.next) { $0.cursor = $1 } : .link
            let (items, error) = await collect(fixture.client.pages(of: Items(), next: next))
            #expect(items == [1, 2] && error?.code == .paginationFailed)
            #expect(error?.message.contains("loop") == true && fixture.transport.requests.count == 2)
        }
    }

    @Test(arguments: [1, 3]) func limitEndsWithAnError(limit: Int) async throws {
        try await ScriptedClient.run { fixture in
            for page in 1...limit { script(fixture, "/items?page=\(page)&size=1", reply(page)) }
            let next = NextPage<Items>.number(while: { _ in true }) { $0.page = $1 }
            let pages = fixture.client.pages(of: Items(page: 1), next: next, limit: limit)
            let (items, error) = await collect(pages)
            #expect(items == Array(1...limit) && error?.code == .paginationFailed)
            #expect(error?.message.contains("\(limit) pages") == true)
        }
    }

    @Test func failedPageEndsTheSequence() async throws {
        try await ScriptedClient.run { fixture in
            script(fixture, "/items?size=1", reply(1, link: "/items?page=2"))
            script(fixture, "/items?page=2", .status(.internalServerError))
            var iterator = fixture.client.pages(of: Items(), next: .link).makeAsyncIterator()
            let first = try await iterator.next()
            await expect(.status) { _ = try await iterator.next() }
            let last = try await iterator.next()
            #expect(first?.value.items == [1] && last?.value == nil)
        }
    }

    @Test func linksOfAPOSTAreNotFollowed() async throws {
        struct Search: Endpoint {
            typealias Response = Page
            var baseURL: String { ScriptedClient.url }
            let path = "/search"
            var task: HTTPTask { .json(["q": "x"]) }
            var storage: CacheRequest.Storage { .expiring(.after(.seconds(60))) }
        }
        try await ScriptedClient.run { fixture in
            script(fixture, "/search", reply(1, link: "/search?page=2"))
            let (items, error) = await collect(fixture.client.pages(of: Search(), next: .link))
            #expect(items == [1] && error?.code == .notRepeatable && fixture.transport.requests.count == 1)
        }
    }
}
