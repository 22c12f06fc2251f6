import Foundation
import Holdfast
import HoldfastTesting
import Testing

/// `client.set(endpoint, value)`, mostly where nothing is stored.
@Suite(.timeLimit(.minutes(20))) struct SetTests {
    struct Movie: Codable, Sendable, Equatable {
        var title: String
        var likes: Int
    }

    struct GetMovie: Endpoint {
        typealias Response = Movie
        var baseURL: String { ScriptedClient.url }
        let path = "/movie"
        var principal: String?
        var valuePath = ValuePath()
        var storage = CacheRequest.Storage.byResponse
        var tags: [String] { ["movies"] }
    }

    private static let stalker = Movie(title: "Stalker", likes: 1)

    @Test func valueIsReadWithoutTheNetwork() async throws {
        try await ScriptedClient.run { fixture in
            let update = try await fixture.client.set(GetMovie(), Self.stalker)
            #expect(update.value == Self.stalker)
            let stored = try #require(try await fixture.client.stored(GetMovie()))
            #expect(stored.value == Self.stalker && stored.isStale && stored.status == .ok && stored.age == .zero)
            #expect(stored.fields[.contentType] == "application/json")
            fixture.client.mode = .offline
            fixture.clock.advance(by: .seconds(3600))
            #expect(try await fixture.client.fetch(GetMovie()).value == Self.stalker)
            #expect(fixture.transport.requests.isEmpty)
        }
    }

    @Test func originIsAskedAndItsResponseReplacesTheValue() async throws {
        try await ScriptedClient.run { fixture in
            try await fixture.client.set(GetMovie(), Self.stalker)
            fixture.script("/movie", .fresh(#"{"title":"Mirror","likes":2}"#))
            let fetched = try await fixture.client.fetch(GetMovie())
            #expect(fetched.value.title == "Mirror" && fetched.source == .network)
            let sent = try #require(fixture.transport.requests.first)
            #expect(sent.headerFields[.ifNoneMatch] == nil && sent.headerFields[.ifModifiedSince] == nil)
            #expect(try await fixture.client.stored(GetMovie())?.value.title == "Mirror")
        }
    }

    @Test func valueIsUsedWhileTheOriginIsUnreachable() async throws {
        try await ScriptedClient.run { fixture in
            try await fixture.client.set(GetMovie(), Self.stalker)
            fixture.transport.isReachable = false
            let found = try await fixture.client.fetch(GetMovie())
            #expect(found.value == Self.stalker && found.isStale && found.outcome.detail == .unreachable)
        }
    }

    @Test func storedValueIsUpdated() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/movie", .fresh(#"{"movie":{"title":"Mirror","likes":2},"rest":[1]}"#))
            let endpoint = GetMovie(valuePath: "movie")
            _ = try await fixture.client.fetch(endpoint)
            let update = try await fixture.client.set(endpoint, Self.stalker)
            #expect(try await fixture.client.stored(endpoint)?.value == Self.stalker)
            let content = try await fixture.client.stored(endpoint, as: Data.self)?.value
            #expect(content.map { String(decoding: $0, as: UTF8.self) }?.hasSuffix(#","rest":[1]}"#) == true)
            #expect(try await update.rollBack())
            let former = try await fixture.client.stored(endpoint)
            #expect(former?.value.title == "Mirror" && former?.isStale == false)
        }
    }

    @Test func rollBackRemovesTheValueUnlessAnotherIsStored() async throws {
        try await ScriptedClient.run { fixture in
            let update = try await fixture.client.set(GetMovie(), Self.stalker)
            #expect(try await update.rollBack())
            #expect(try await fixture.client.stored(GetMovie())?.value == nil)
            #expect(try await update.rollBack() == false)
            let again = try await fixture.client.set(GetMovie(), Self.stalker)
            fixture.script("/movie", .fresh(#"{"title":"Mirror","likes":2}"#))
            _ = try await fixture.client.fetch(GetMovie())
            #expect(try await again.rollBack() == false)
            #expect(try await fixture.client.stored(GetMovie())?.value.title == "Mirror")
        }
    }

    // The response was requested before the value was set.
    @Test func earlierResponseIsNotStored() async throws {
        try await ScriptedClient.run { fixture in
            let gate = Gate()
            var slow = ScriptedTransport.Reply.fresh(#"{"title":"Mirror","likes":2}"#)
            slow.beforeHead = gate
            fixture.script("/movie", slow)
            let client = fixture.client
            let fetch = Task { try await client.fetch(GetMovie()).value.title }
            await fixture.transport.waitForRequests(1)
            try await client.set(GetMovie(), Self.stalker)
            gate.open()
            #expect(try await fetch.value == "Mirror")
            #expect(try await client.stored(GetMovie())?.value == Self.stalker)
        }
    }

    @Test func followersAndPurgesReachTheValue() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/movie", .ok(#"{"title":"Mirror","likes":2}"#, fields: [.cacheControl: "no-store"]))
            var iterator = fixture.client.call(GetMovie()).with { $0.followsStore = true }.request()
                .makeAsyncIterator()
            #expect(try await iterator.next()?.value.title == "Mirror")
            try await fixture.client.set(GetMovie(), Self.stalker)
            #expect(try await iterator.next()?.value == Self.stalker)
            try await fixture.store.removeResponses(tagged: "movies")
            #expect(try await fixture.client.stored(GetMovie())?.value == nil)
        }
    }

    @Test func valueBelongsToItsPrincipal() async throws {
        try await ScriptedClient.run { fixture in
            try await fixture.client.set(GetMovie(principal: "ada"), Self.stalker)
            #expect(try await fixture.client.stored(GetMovie(principal: "ada"))?.value == Self.stalker)
            #expect(try await fixture.client.stored(GetMovie(principal: "bob"))?.value == nil)
            #expect(try await fixture.client.stored(GetMovie())?.value == nil)
        }
    }

    @Test func valueAtAPathIsWrapped() async throws {
        try await ScriptedClient.run { fixture in
            let endpoint = GetMovie(valuePath: "data.movie")
            try await fixture.client.set(endpoint, Self.stalker)
            #expect(try await fixture.client.stored(endpoint)?.value == Self.stalker)
            let content = try await fixture.client.stored(endpoint, as: Data.self)?.value
            #expect(content.map { String(decoding: $0, as: UTF8.self) }?.hasPrefix(#"{"data":{"movie":{"#) == true)
        }
    }

    @Test(arguments: [true, false]) func unknownSurroundingsAreAnError(isEnvelope: Bool) async throws {
        let configuration = CachingClient.Configuration(envelope: isEnvelope ? Envelope() : nil)
        try await ScriptedClient.run(configuration) { fixture in
            let endpoint = GetMovie(valuePath: isEnvelope ? "" : "list[0]")
            await expect(.encodingFailed) { try await fixture.client.set(endpoint, Self.stalker) }
            let stored = try await fixture.client.stored(endpoint)
            #expect(stored?.value == nil)
        }
    }

    @Test func requestThatBypassesTheStoreKeepsNothing() async throws {
        try await ScriptedClient.run { fixture in
            let update = try await fixture.client.set(GetMovie(storage: .never), Self.stalker)
            let stored = try await fixture.client.stored(GetMovie())
            #expect(update.value == nil && stored?.value == nil)
        }
    }

    @Test func textIsStoredAsItIs() async throws {
        try await ScriptedClient.run { fixture in
            try await fixture.client.of(PathEndpoint.self).set(fixture.get("/x"), "a \"b\"")
            let stored = try await fixture.client.stored(fixture.get("/x"))
            #expect(stored?.value == "a \"b\"" && stored?.fields[.contentType] == "text/plain; charset=utf-8")
        }
    }
}
