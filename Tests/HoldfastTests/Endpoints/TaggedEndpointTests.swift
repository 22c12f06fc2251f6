import Holdfast
import HoldfastTesting
import Testing

/// Endpoints' own tags, and the responses that mutations invalidate.
@Suite(.timeLimit(.minutes(20))) struct TaggedEndpointTests {
    private struct Item: Endpoint {
        typealias Response = String
        var id: String
        var method: HTTPRequest.Method = .get
        var tags: [String] = []
        var rule: RuleSettings?
        var invalidates: [StoreInvalidation] = []
        var invalidatesTarget = true
        var isMutation: Bool { method != .get }
        var emptyContent: EmptyContent { .json("\"\"") }
        var baseURL: String { ScriptedClient.url }
        var path: String { "/items/\(id)" }
    }

    private func isStale(_ item: Item, _ fixture: ScriptedClient) async throws -> Bool? {
        try await fixture.client.stored(item)?.isStale
    }

    @Test func mutationInvalidatesOnlyTaggedResponses() async throws {
        try await ScriptedClient.run { fixture in
            let tagged = [Item(id: "1", tags: ["items", "item-1"]), Item(id: "2", tags: ["items"])]
            let plain = Item(id: "3")
            for item in tagged + [plain] {
                fixture.script(item.path, .fresh(item.id))
                _ = try await fixture.client.fetch(item)
            }
            fixture.script("/items/4", .ok("done"), .ok("done"))
            _ = try await fixture.client.fetch(Item(id: "4", method: .post, invalidates: [.tag("item-1")]))
            #expect(try await isStale(tagged[0], fixture) == true)
            #expect(try await isStale(tagged[1], fixture) == false)
            _ = try await fixture.client.fetch(Item(id: "4", method: .post, invalidates: [.tag("items")]))
            #expect(try await isStale(tagged[1], fixture) == true)
            #expect(try await isStale(plain, fixture) == false)
        }
    }

    @Test func endpointTagsAddToTheRules() async throws {
        var settings = RuleSettings()
        settings.tags = ["client"]
        let rules = try RuleSet([Rule(matching: .init(urls: ["/items/*"]), settings: settings)])
        var own = RuleSettings()
        own.freshness.lifetime = .seconds(600)
        for tag in ["client", "own"] {
            try await ScriptedClient.run(.init(rules: rules)) { fixture in
                let item = Item(id: "1", tags: ["own", "own"], rule: own)
                fixture.script("/items/1", .ok("1"))
                _ = try await fixture.client.fetch(item)
                try await fixture.store.invalidateResponses(tagged: tag)
                #expect(try await isStale(item, fixture) == true, "\(tag)")
            }
        }
    }

    // A 304 renews the stored response, and its tags stay.
    @Test func confirmedResponseKeepsItsTags() async throws {
        try await ScriptedClient.run { fixture in
            let item = Item(id: "1", tags: ["items"])
            fixture.script("/items/1", .fresh("1", etag: "\"1\""), .notModified([.cacheControl: "max-age=60"]))
            for _ in 0..<2 { _ = try await fixture.client.fetch(item, .networkOnly) }
            #expect(try await isStale(item, fixture) == false)
            try await fixture.store.invalidateResponses(tagged: "items")
            #expect(try await isStale(item, fixture) == true)
        }
    }

    @Test(arguments: [[""], ["a\nb"], [String(repeating: "x", count: 257)], (0..<33).map { "\($0)" }])
    func invalidTagIsAnErrorBeforeAnythingIsSent(_ tags: [String]) async throws {
        try await ScriptedClient.run { fixture in
            await expect(.invalidRule) { _ = try await fixture.client.fetch(Item(id: "1", tags: tags)) }
            #expect(fixture.transport.requests.isEmpty)
        }
    }

    /// Lets a response be served although a success of an unsafe method invalidated it.
    private var despiteInvalidation: RuleSettings {
        var rule = RuleSettings()
        rule.stale.ignore = [.invalidated]
        return rule
    }

    // RFC 9111 §4.4: the server reported a changed state, so the stored response is not served,
    // unless a rule allows it.
    @Test(arguments: [HTTPRequest.Method.post, .put, .patch])
    func mutationInvalidatesItsOwnURLByDefault(_ method: HTTPRequest.Method) async throws {
        for does in [true, false] {
            try await ScriptedClient.run { fixture in
                fixture.script("/items/1", .fresh("1"), .ok("done"))
                _ = try await fixture.client.fetch(Item(id: "1"))
                _ = try await fixture.client.fetch(Item(id: "1", method: method, invalidatesTarget: does))
                #expect(try await isStale(Item(id: "1"), fixture) == (does ? nil : false))
                #expect(try await isStale(Item(id: "1", rule: despiteInvalidation), fixture) == does)
            }
        }
    }

    // A deleted response is gone, and no rule brings it back.
    @Test func deletionRemovesItsOwnURLByDefault() async throws {
        for does in [true, false] {
            try await ScriptedClient.run { fixture in
                let item = Item(id: "1", rule: despiteInvalidation)
                fixture.script("/items/1", .fresh("1"), .ok("done"))
                _ = try await fixture.client.fetch(item)
                _ = try await fixture.client.fetch(Item(id: "1", method: .delete, invalidatesTarget: does))
                #expect(try await isStale(item, fixture) == (does ? nil : false))
            }
        }
    }

    // Targets that the response names are invalidated, too. They are marked, also by a deletion,
    // which removes its own target only.
    @Test(arguments: [HTTPRequest.Method.post, .delete])
    func locationIsInvalidatedInAnyCase(_ method: HTTPRequest.Method) async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/items/1", .fresh("1"))
            fixture.script("/items/2", .ok("done", fields: [.location: "/items/1"]))
            _ = try await fixture.client.fetch(Item(id: "1"))
            _ = try await fixture.client.fetch(Item(id: "2", method: method, invalidatesTarget: false))
            #expect(try await isStale(Item(id: "1"), fixture) == nil)
            #expect(try await isStale(Item(id: "1", rule: despiteInvalidation), fixture) == true)
        }
    }

    // Reading changes nothing, whatever the method. A query whose response is not stored leaves the
    // stored responses alone.
    @Test(arguments: [GraphQLOperation.Form.document, .persisted])
    func readByPostInvalidatesNothing(_ form: GraphQLOperation.Form) async throws {
        struct Query: Endpoint {
            var operation: GraphQLOperation
            var storage = CacheRequest.Storage.byResponse
            var baseURL: String { ScriptedClient.url }
            var path: String { "/graphql" }
            var task: HTTPTask { .graphQL(operation) }
        }
        let kept = Query(operation: GraphQLOperation("{ a }"), storage: .expiring(.after(.seconds(60))))
        let other = Query(operation: GraphQLOperation("{ b }", form: form))
        try await ScriptedClient.run { fixture in
            fixture.transport.script("\(ScriptedClient.url)/graphql", method: .post, repeating: .ok(#"{"data":{}}"#))
            let unknown =
                #"{"errors":[{"message":"PersistedQueryNotFound","extensions":{"code":"PERSISTED_QUERY_NOT_FOUND"}}]}"#
            let target = try fixture.client.request(for: other).head
            if form == .persisted { fixture.script(target.path ?? "", .ok(unknown)) }
            _ = try await fixture.client.fetch(kept)
            _ = try await fixture.client.fetch(other)
            #expect(fixture.transport.requests.count == (form == .persisted ? 3 : 2))
            #expect(try await fixture.client.stored(kept)?.isStale == false)
        }
    }
}
