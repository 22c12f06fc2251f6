import Holdfast
import HoldfastTesting
import Testing

/// The page "Pagination".
@Suite(.timeLimit(.minutes(20))) struct PaginationPageTests {
    struct MomentPage: Decodable, Sendable {
        struct Moment: Decodable, Sendable { let id: String, title: String }
        let moments: [Moment]
        let next: String?
    }

    struct GetMoments: Endpoint {
        typealias Response = MomentPage
        var cursor: String?
        let path = "/moments"
        var task: HTTPTask { .query(["cursor": cursor]) }
        var tags: [String] { ["moments"] }
    }

    struct CreateMoment: Endpoint {
        typealias Response = NoContent
        let title: String
        let path = "/moments"
        var task: HTTPTask { .json(["title": title]) }
        var invalidates: [StoreInvalidation] { [.tag("moments")] }
        var invalidatesTarget: Bool { false }
    }

    @MainActor final class MomentList {
        private let client: CachingClient
        private(set) var moments: [MomentPage.Moment] = []
        private var cursor: String?

        init(_ client: CachingClient) { self.client = client }

        func reload() async throws {
            for try await page in client.startWith(GetMoments(), ifNetworkFails: .endingQuietly) {
                if page.isUnchanged { continue }
                (moments, cursor) = (page.value.moments, page.value.next)
            }
        }

        func loadMore() async throws {
            guard let cursor else { return }
            let page = try await client.fetch(GetMoments(cursor: cursor)).value
            guard self.cursor == cursor else { return }
            moments += page.moments
            self.cursor = page.next
        }
    }

    func allMoments(_ client: CachingClient) async throws -> [MomentPage.Moment] {
        var moments: [MomentPage.Moment] = []
        let pages = client.pages(of: GetMoments(), next: .cursor(\.next) { $0.cursor = $1 })
        for try await page in pages { moments += page.value.moments }
        return moments
    }

    struct GetItems: Endpoint {
        typealias Response = [Int]
        var page = 1
        let path = "/items"
        var task: HTTPTask { .query(["page": page]) }
    }

    func allItems(_ client: CachingClient) async throws -> [Int] {
        var items: [Int] = []
        let pages = client.pages(of: GetItems(), next: .number(while: { !$0.isEmpty }) { $0.page = $1 })
        for try await page in pages { items += page.value }
        return items
    }

    private static let url = "https://api.example.com/moments"
    private static let fields: HTTPFields = [.cacheControl: "max-age=60"]
    private static let first = #"{"moments": [{"id": "1", "title": "Low tide"}], "next": "c2"}"#
    private static let last = #"{"moments": [{"id": "2", "title": "Storm"}]}"#

    private func script(_ transport: ScriptedTransport) {
        transport.script(Self.url, method: .get, repeating: .ok(Self.first, fields: Self.fields))
        transport.script(Self.url + "?cursor=c2", repeating: .ok(Self.last, fields: Self.fields))
    }

    @Test func listGrowsByPages() async throws {
        try await withTestClient(.init(environment: .production)) { test in
            script(test.transport)
            let list = await MomentList(test.client)
            try await list.reload()
            try await list.loadMore()
            try await list.loadMore()
            #expect(await list.moments.map(\.id) == ["1", "2"])
            try await list.reload()
            // The stored first page is emitted, and the list starts over.
            #expect(await list.moments.map(\.id) == ["1"])
            try await list.loadMore()
            #expect(await list.moments.map(\.id) == ["1", "2"])
            #expect(test.transport.requests.count == 3)
        }
    }

    @Test func allPagesAreReadOffline() async throws {
        try await withTestClient(.init(environment: .production)) { test async throws in
            script(test.transport)
            #expect(try await allMoments(test.client).map(\.id) == ["1", "2"])
            test.client.mode = .offline
            test.clock.advance(by: .seconds(3600))
            #expect(try await allMoments(test.client).map(\.id) == ["1", "2"])
            await expect(.offlineMiss) { _ = try await test.client.fetch(GetMoments(cursor: "c3")) }
        }
    }

    @Test func numberedPagesAreFetchedTogether() async throws {
        try await withTestClient(.init(environment: .production)) { test in
            let client = test.client
            for page in 1...3 { test.transport.script("https://api.example.com/items?page=\(page)", .ok("[\(page)]")) }
            let pages = try await client.fetch(all: (1...3).map { GetItems(page: $0) }, concurrently: 3)
            let items = try pages.flatMap { try $0.get().value }
            #expect(items == [1, 2, 3])
        }
    }

    @Test func numberedPagesEndWithAnEmptyPage() async throws {
        try await withTestClient(.init(environment: .production)) { test in
            for (page, items) in [(1, "[1, 2]"), (2, "[3]"), (3, "[]")] {
                test.transport.script("https://api.example.com/items?page=\(page)", .ok(items))
            }
            let items = try await allItems(test.client)
            #expect(items == [1, 2, 3] && test.transport.requests.count == 3)
        }
    }

    @Test func mutationInvalidatesAllPagesAndKeepsThemOffline() async throws {
        try await withTestClient(.init(environment: .production)) { test in
            script(test.transport)
            test.transport.script(Self.url, method: .post, .status(.created))
            _ = try await allMoments(test.client)
            _ = try await test.client.fetch(CreateMoment(title: "Ebb"))
            for endpoint in [GetMoments(), GetMoments(cursor: "c2")] {
                #expect(try await test.client.stored(endpoint)?.isStale == true)
            }
        }
    }
}
