import Foundation
import Holdfast
import HoldfastTesting
import Testing

/// Stored responses that are named by their endpoint: `stored`, `key(of:)`, `invalidate`, `remove`.
@Suite(.timeLimit(.minutes(20))) struct ByEndpointTests {
    private struct Me: Endpoint {
        typealias Response = String
        var baseURL: String { ScriptedClient.url }
        var path: String { "/me" }
        var principal: String?
        var headers: HTTPFields = [:]
    }

    private struct Query: Endpoint {
        typealias Response = String
        var baseURL: String { ScriptedClient.url }
        var path: String { "/graphql" }
        var name: String
        var task: HTTPTask { .graphQL(GraphQLOperation("query { \(name) }")) }
        var method: HTTPRequest.Method { .post }
        var storage: CacheRequest.Storage { .expiring(.after(.seconds(600))) }
    }

    /// Names the principal of requests, as an authenticator does.
    private struct NamingPlugin: PreparingPlugin {
        func prepare(_ request: inout CacheRequest, for call: CallInfo) async throws {
            await Task.yield()
            request.principal = "ada"
        }
    }

    // MARK: The stored value

    @Test func storedReturnsStaleValues() async throws {
        try await ScriptedClient.run { fixture in
            let endpoint = fixture.get("/x")
            #expect(try await fixture.client.stored(endpoint) == nil)
            fixture.script("/x", .fresh("1"))
            _ = try await fixture.client.fetch(endpoint)
            fixture.clock.advance(by: .seconds(3600))
            let stored = try await fixture.client.stored(endpoint)
            #expect(stored?.value == "1" && stored?.isStale == true && stored?.source == .store)
            #expect(try await fixture.client.stored(endpoint, as: Int.self)?.value == 1)
            #expect(try await fixture.client.stored(endpoint, as: [Int].self) == nil)
            #expect(fixture.transport.requests.count == 1)
        }
    }

    @Test func pluginsPrepareTheRequestAsForACall() async throws {
        try await ScriptedClient.run(.init(plugins: [NamingPlugin()])) { fixture in
            fixture.script("/me", .ok("ada's", fields: [.cacheControl: "max-age=60, private"]))
            _ = try await fixture.client.fetch(Me())
            #expect(try await fixture.client.stored(Me())?.value == "ada's")
            let key = try #require(try await fixture.client.key(of: Me()))
            #expect(key.components.partition == .principal("ada"))
            try await fixture.client.update(Me()) { $0 = "changed" }
            #expect(try await fixture.client.stored(Me())?.value == "changed")
            try await fixture.client.remove(Me())
            #expect(try await fixture.client.stored(Me()) == nil)
        }
    }

    // MARK: The key

    @Test(arguments: [nil, "ada"], ["private", "public"])
    func keyFindsTheStoredResponse(principal: String?, directive: String) async throws {
        try await ScriptedClient.run { fixture in
            let endpoint = Me(principal: principal)
            let before = try #require(try await fixture.client.key(of: endpoint))
            #expect(before.components.partition == principal.map { .principal($0) } ?? .common)
            fixture.script("/me", .ok("text", fields: [.cacheControl: "max-age=60, \(directive)"]))
            _ = try await fixture.client.fetch(endpoint)
            let key = try #require(try await fixture.client.key(of: endpoint))
            let response = try await fixture.store.response(for: key)
            #expect(response.map { String(buffer: $0.body) } == "text")
            #expect(key.components.target == before.components.target)
        }
    }

    @Test func uncacheableRequestHasNoKey() async throws {
        try await ScriptedClient.run { fixture in
            var endpoint = fixture.get("/x")
            endpoint.method = .post
            #expect(try await fixture.client.key(of: endpoint) == nil)
            #expect(try await fixture.client.stored(endpoint) == nil)
            #expect(try await fixture.client.update(endpoint) { $0 = "" }.value == nil)
            try await fixture.client.remove(endpoint)
            endpoint = PathEndpoint(baseURL: "nowhere", path: "/x")
            await expect(.invalidURL) { _ = try await fixture.client.key(of: endpoint) }
            await expect(.invalidURL) { _ = try await fixture.client.stored(endpoint) }
            await expect(.invalidURL) { try await fixture.client.invalidate(endpoint) }
            await expect(.invalidURL) { try await fixture.client.remove(endpoint) }
            await expect(.invalidURL) { try await fixture.client.update(endpoint) { $0 = "" } }
        }
    }

    // MARK: Invalidating and removing

    @Test func invalidateMarksAllPrincipalsAndVariantsAndKeepsThem() async throws {
        try await ScriptedClient.run { fixture in
            let endpoints = [
                Me(), Me(principal: "ada"), Me(principal: "ada", headers: [.acceptLanguage: "de"]),
                Me(principal: "bob"),
            ]
            for (index, endpoint) in endpoints.enumerated() {
                let fields: HTTPFields = [.cacheControl: "max-age=60, private", .vary: "Accept-Language"]
                fixture.script("/me", .ok("\(index)", fields: fields))
                _ = try await fixture.client.fetch(endpoint)
            }
            try await fixture.client.invalidate(endpoints[1])
            for (index, endpoint) in endpoints.enumerated() {
                let stored = try await fixture.client.stored(endpoint)
                #expect(stored?.value == "\(index)" && stored?.isStale == true)
            }
            fixture.script("/me", .failure(.connect))
            #expect(try await fixture.client.fetch(endpoints[1]).value == "1")
        }
    }

    @Test func removeDeletesTheResponseOfTheRequest() async throws {
        try await ScriptedClient.run { fixture in
            let german: HTTPFields = [.acceptLanguage: "de"]
            let endpoints = [
                Me(principal: "ada"), Me(principal: "ada", headers: german), Me(principal: "bob"),
            ]
            for (index, endpoint) in endpoints.enumerated() {
                let fields: HTTPFields = [.cacheControl: "max-age=60, private", .vary: "Accept-Language"]
                fixture.script("/me", .ok("\(index)", fields: fields))
                _ = try await fixture.client.fetch(endpoint)
            }
            try await fixture.client.remove(endpoints[0])
            #expect(try await fixture.client.stored(endpoints[0]) == nil)
            #expect(try await fixture.client.stored(endpoints[1]) == nil)
            #expect(try await fixture.client.stored(endpoints[2])?.value == "2")
        }
    }

    @Test func removeDeletesSharedResponses() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/me", .ok("shared", fields: [.cacheControl: "max-age=60, public"]))
            _ = try await fixture.client.fetch(Me(principal: "ada"))
            #expect(try await fixture.client.stored(Me(principal: "bob"))?.value == "shared")
            try await fixture.client.remove(Me(principal: "ada"))
            #expect(try await fixture.client.stored(Me(principal: "bob")) == nil)
        }
    }

    /// All GraphQL requests have one URL.
    @Test(arguments: [false, true]) func requestsKeyedByContentAreAffectedAlone(removes: Bool) async throws {
        try await ScriptedClient.run { fixture in
            let (one, other) = (Query(name: "one"), Query(name: "other"))
            for query in [one, other] {
                fixture.transport.script(
                    ScriptedClient.url + "/graphql",
                    method: .post,
                    .ok(#"{"data":"\#(query.name)"}"#)
                )
                _ = try await fixture.client.fetch(query)
            }
            if removes {
                try await fixture.client.remove(one)
                #expect(try await fixture.client.stored(one) == nil)
            } else {
                try await fixture.client.invalidate(one)
                #expect(try await fixture.client.stored(one)?.isStale == true)
            }
            #expect(try await fixture.client.stored(other)?.isStale == false)
        }
    }

    @Test func concurrentFetchIsNotStored() async throws {
        try await ScriptedClient.run { fixture in
            let gate = Gate()
            fixture.script("/x", .ok("late", fields: [.cacheControl: "max-age=60"], beforeHead: gate))
            let client = fixture.client
            let endpoint = fixture.get("/x")
            let fetching = Task { try await client.fetch(endpoint) }
            await fixture.transport.waitForRequests(1)
            try await client.remove(endpoint)
            gate.open()
            #expect(try await fetching.value.value == "late")
            while client.inFlightFetchCount > 0, !Task.isCancelled { await Task.yield() }
            #expect(try await client.stored(endpoint) == nil)
        }
    }

    @Test func followingStreamsAreNotified() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/x", .fresh("1"), .fresh("2"))
            let endpoint = fixture.get("/x")
            let stream = fixture.client.call(endpoint).with {
                $0.followsStore = true
                $0.invalidatedValues = .fetched
            }.request()
            var iterator = stream.makeAsyncIterator()
            #expect(try await iterator.next()?.value == "1")
            try await fixture.client.invalidate(endpoint)
            let marked = try await iterator.next()
            #expect(marked?.value == "1" && marked?.isStale == true)
            #expect(try await iterator.next()?.value == "2")
        }
    }
}
