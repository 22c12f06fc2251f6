import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics
import HTTPTypes
import TestSupport
import Testing

@testable import OfflineStore

/// The store's content as operators list it.
@Suite(.timeLimit(.minutes(20))) struct ListingTests {
    let folder: TemporaryFolder
    let clock = ManualClock()

    init() throws { folder = try TemporaryFolder() }

    private func fill(_ store: CacheManager, _ count: Int) async throws {
        for number in 0..<count {
            let host = number.isMultiple(of: 2) ? "a" : "b"
            let target = try TargetURI("https://\(host).example/\(number)?token=secret")
            let key = StoreKey(partition: .common, method: .get, target: target)
            let tags = number.isMultiple(of: 3) ? ["third", "all"] : ["all"]
            try await store.store(draft(key, at: clock.now(), freshFor: .seconds(60), tags: tags), "x")
        }
        try await store.setObject(1, forKey: "an object")
    }

    /// The numbers in the paths of all pages, and how many pages there were.
    private func numbers(_ store: CacheManager, _ query: ResponseQuery) async throws -> (numbers: [Int], pages: Int) {
        var (query, numbers, pages) = (query, [Int](), 0)
        while true {
            try #require(pages < 1000, "the listing does not end")
            let page = try await store.responses(query)
            #expect(page.responses.count <= query.limit)
            pages += 1
            numbers += page.responses.compactMap { response in
                response.url.flatMap { $0.split(separator: "/").last?.prefix { $0.isNumber } }.flatMap { Int($0) }
            }
            guard let next = page.next else { return (numbers, pages) }
            query.after = next
        }
    }

    @Test func pagesHaveEveryResponseOnce() async throws {
        let store = try await openStore(folder.store, clock: clock)
        try await fill(store, 25)
        for limit in [1, 7, 25, 1000] {
            let read = try await numbers(store, ResponseQuery(limit: limit))
            #expect(read.numbers == Array(0..<25) && read.pages <= 25 / limit + 2, "\(read)")
        }
        try await store.close()
    }

    @Test func selectsByPrefixTagAndState() async throws {
        let store = try await openStore(folder.store, clock: clock)
        try await fill(store, 12)
        let fourth = try TargetURI("https://a.example/4?token=secret")
        _ = try await store.invalidate([.target(fourth)], keepingForOffline: true)
        let prefix = try TargetPrefix("https://a.example/")
        #expect(try await numbers(store, ResponseQuery(prefix: prefix, limit: 4)).numbers == [0, 2, 4, 6, 8, 10])
        #expect(try await numbers(store, ResponseQuery(tag: "third", limit: 2)).numbers == [0, 3, 6, 9])
        #expect(try await numbers(store, ResponseQuery(prefix: prefix, tag: "third", limit: 2)).numbers == [0, 6])
        #expect(try await numbers(store, ResponseQuery(tag: "none", limit: 2)).numbers == [])
        #expect(try await numbers(store, ResponseQuery(state: .invalidated, limit: 2)).numbers == [4])
        #expect(try await numbers(store, ResponseQuery(state: .fresh, limit: 50)).numbers.count == 11)
        clock.advance(by: .seconds(61))
        #expect(try await numbers(store, ResponseQuery(state: .fresh, limit: 50)).numbers == [])
        #expect(try await numbers(store, ResponseQuery(state: .stale, limit: 50)).numbers.count == 11)
        try await store.close()
    }

    /// Stores responses whose order differs by each number.
    private func fillUnordered(_ store: CacheManager, _ count: Int) async throws {
        for number in 0..<count {
            let target = try TargetURI("https://a.example/\(number)")
            let key = StoreKey(partition: .common, method: .get, target: target)
            let lifetime = Duration.seconds(60 + number * 7 % count)
            let stored = draft(key, at: clock.now(), freshFor: lifetime, tags: number % 2 == 0 ? ["even"] : [])
            try await store.store(stored, String(repeating: "x", count: 100 + 1000 * (number * 5 % count)))
        }
        try await store.setObject(1, forKey: "an object")
    }

    @Test(arguments: ResponseOrder.names) func ordersHaveEveryResponseOnceInOrder(_ name: String) async throws {
        let store = try await openStore(folder.store, clock: clock)
        try await fillUnordered(store, 23)
        let order = try #require(ResponseOrder(name))
        let expected = (0..<23).sorted { left, right in
            let values = [left, right].map { number in
                switch order.key {
                case .stored, .used: number
                case .expires: number * 7 % 23
                case .size: number * 5 % 23
                }
            }
            return order.isDescending ? values[0] > values[1] : values[0] < values[1]
        }
        for limit in [1, 5, 23, 1000] {
            var query = ResponseQuery(limit: limit)
            query.order = order
            #expect(try await numbers(store, query).numbers == expected, "\(name), \(limit) a page")
            query.tag = "even"
            #expect(try await numbers(store, query).numbers == expected.filter { $0 % 2 == 0 })
            query.host = try TargetHost("b.example")
            #expect(try await numbers(store, query).numbers == [])
        }
        try await store.close()
    }

    @Test func cursorOfAnotherOrderIsRejected() async throws {
        let store = try await openStore(folder.store, clock: clock)
        try await fillUnordered(store, 3)
        for name in ResponseOrder.names {
            var query = ResponseQuery(limit: 1)
            query.order = try #require(ResponseOrder(name))
            query.after = ResponseCursor("1_2_3")
            await #expect(throws: ResponseCursor.Invalid.self) { try await store.responses(query) }
        }
        for text in ["", "a", "1_", "1_2_3_4_5_6_7_8", "9223372036854775808"] { #expect(ResponseCursor(text) == nil) }
        #expect(ResponseCursor("1_-2")?.description == "1_-2")
        try await store.close()
    }

    @Test func selectsByHostAndPin() async throws {
        let store = try await openStore(folder.store, clock: clock)
        try await fill(store, 6)
        _ = try await store.setPinned(true, [.tag("third")])
        var query = ResponseQuery(limit: 2)
        query.host = try TargetHost("b.example")
        #expect(try await numbers(store, query).numbers == [1, 3, 5])
        query.port = 443
        #expect(try await numbers(store, query).numbers == [1, 3, 5])
        query.isPinned = true
        #expect(try await numbers(store, query).numbers == [3])
        query.port = 8443
        #expect(try await numbers(store, query).numbers == [])
        try await store.close()
    }

    @Test func queriesAreShownOnRequestAlone() async throws {
        let store = try await openStore(folder.store, clock: clock)
        try await fill(store, 1)
        let page = try await store.responses(ResponseQuery(limit: 10))
        let first = try #require(page.responses.first)
        #expect(first.url == "https://a.example/0?REDACTED" && first.bodyLength == 1 && page.next == nil)
        let details = try await store.responses(withID: first.id, showingQueries: false)
        #expect(details.map(\.summary) == [first] && details.first?.tags == ["all", "third"])
        var query = ResponseQuery(limit: 10)
        query.showsQueries = true
        #expect(try await store.responses(query).responses.first?.url == "https://a.example/0?token=secret")
        let shown = try await store.responses(withID: first.id, showingQueries: true)
        #expect(shown.first?.summary.url == "https://a.example/0?token=secret")
        #expect(try await store.responses(withID: "0123456789abcdef", showingQueries: true).isEmpty)
        let prefix = String(first.id.prefix(3))
        #expect(try await store.responses(withID: prefix, showingQueries: true).isEmpty, "a prefix is no id")
        try await store.close()
    }

    /// Mutant: `listing-ignores-the-rules`.
    @Test func stateAndExpiryFollowTheGivenRules() async throws {
        let store = try await openStore(folder.store, clock: clock)
        let target = try TargetURI("https://a.example/x")
        let key = StoreKey(partition: .common, method: .get, target: target)
        let fields: HTTPFields = [.cacheControl: "max-age=60, must-revalidate"]
        let stored = draft(key, at: clock.now(), freshFor: .seconds(60), isUsableStale: false, fields: fields)
        try await store.store(stored, "x")
        clock.advance(by: .seconds(120))
        func listed(_ change: (inout PolicyOverrides) -> Void) async throws -> ResponseSummary? {
            let rules = RulesInForce(OneRule(change), CachePolicy(kind: .shared))
            let summary = try await store.responses(ResponseQuery(limit: 1), under: rules).responses.first
            let id = summary?.id ?? ""
            let details = try await store.responses(withID: id, showingQueries: false, under: rules)
            #expect(details.count == 1 && details.first?.summary == summary)
            return summary
        }
        #expect(try await store.responses(ResponseQuery(limit: 1)).responses.first?.state == .expired)
        let fresh = try await listed { $0.lifetime = 3600 }
        #expect(fresh?.state == .fresh && fresh?.expiresAt == stored.storedAt.adding(.seconds(3600)))
        let stale = try await listed { $0.directivesIgnoredWhenStale = .mustRevalidate }
        #expect(stale?.state == .stale && stale?.isUsableStale == true)
        let same = try await listed { _ in }
        #expect(same?.state == .expired && same?.isUsableStale == false)
        var query = ResponseQuery(limit: 1)
        query.state = .expired
        let rules = RulesInForce(OneRule { $0.lifetime = 3600 }, CachePolicy(kind: .shared))
        #expect(try await store.responses(query, under: rules).responses.isEmpty)
        try await store.close()
    }

    @Test func statisticsCountTheListedEntries() async throws {
        let store = try await openStore(folder.store, clock: clock)
        try await fill(store, 5)
        let statistics = try await store.statistics()
        #expect(statistics.responses == 5 && statistics.objects == 1 && statistics.budget > 0)
        #expect(statistics.storedBytes > 0 && statistics.usedBytes > 0 && !statistics.isReadOnly)
        try await store.close()
    }
}

/// The same overrides for every request.
private struct OneRule: ExchangeRules {
    private let found: RequestRules

    init(_ change: (inout PolicyOverrides) -> Void) {
        var settings = ExchangeSettings()
        change(&settings.overrides)
        found = RequestRules(settings: settings)
    }

    func rules(for request: HTTPRequest) -> RequestRules { found }

    func decisions(for request: HTTPRequest, contentType: String?) -> [RuleDecision] { [] }
}
