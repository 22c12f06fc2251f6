import Foundation
import Holdfast
import HoldfastTesting
import NIOCore
import Synchronization
import Testing

/// `client.update(endpoint) { … }` and its rollback.
@Suite(.timeLimit(.minutes(20))) struct UpdateTests {
    struct Movie: Codable, Sendable, Equatable {
        var title: String
        var likes: Int
    }

    struct GetMovie: Endpoint {
        typealias Response = Movie
        var baseURL: String { ScriptedClient.url }
        var path = "/movie"
        var headers: HTTPFields = [:]
        var principal: String?
        var tags: [String] = []
        var valuePath = ValuePath()
    }

    private static let content = #"{"title":"Stalker","likes":1}"#

    private static func reply(_ likes: Int = 1, _ fields: HTTPFields = [:]) -> ScriptedTransport.Reply {
        var fields = fields
        if !fields.contains(.cacheControl) { fields[.cacheControl] = "max-age=60" }
        if !fields.contains(.eTag) { fields[.eTag] = "\"\(likes)\"" }
        return .ok(#"{"title":"Stalker","likes":\#(likes)}"#, fields: fields)
    }

    // MARK: The changed value

    @Test func storesTheChangedValueAsStale() async throws {
        try await ScriptedClient.run { fixture in
            let digests: HTTPFields = [
                .lastModified: "Mon, 01 Dec 2025 00:00:00 GMT", .contentLength: "29",
                HTTPField.Name("Repr-Digest")!: "sha-256=:AAAA:", HTTPField.Name("X-Total")!: "7",
            ]
            fixture.script("/movie", Self.reply(1, digests))
            _ = try await fixture.client.fetch(GetMovie())
            let update = try await fixture.client.update(GetMovie()) { $0.likes += 1 }
            #expect(update.value == Movie(title: "Stalker", likes: 2))
            let stored = try #require(try await fixture.client.stored(GetMovie()))
            #expect(stored.value.likes == 2 && stored.source == .store && stored.isStale)
            #expect(stored.fields[.eTag] == nil && stored.fields[.lastModified] == nil)
            #expect(stored.fields[HTTPField.Name("Repr-Digest")!] == nil)
            #expect(stored.fields[HTTPField.Name("X-Total")!] == "7")
            #expect(stored.fields[.contentLength] == "29" && stored.fields[.cacheControl] == "max-age=60")
        }
    }

    @Test func nextRequestAsksForTheWholeResponse() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/movie", Self.reply(1), Self.reply(7))
            _ = try await fixture.client.fetch(GetMovie())
            try await fixture.client.update(GetMovie()) { $0.likes = 2 }
            let next = try await fixture.client.fetch(GetMovie())
            #expect(next.value.likes == 7 && next.source == .network)
            let sent = try #require(fixture.transport.requests.last)
            #expect(sent.headerFields[.ifNoneMatch] == nil && sent.headerFields[.ifModifiedSince] == nil)
            let stored = try await fixture.client.stored(GetMovie())
            #expect(stored?.value.likes == 7 && stored?.isStale == false)
        }
    }

    /// An origin that handles conditions wrongly, and a HEAD request. Neither makes the changed
    /// value the origin's.
    @Test func nothingFreshensAChangedValue() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/movie", Self.reply(1), .notModified([.eTag: "\"1\"", .cacheControl: "max-age=60"]))
            _ = try await fixture.client.fetch(GetMovie())
            try await fixture.client.update(GetMovie()) { $0.likes = 2 }
            _ = try? await fixture.client.fetch(GetMovie())
            fixture.transport.script(
                ScriptedClient.url + "/movie",
                method: .head,
                .ok("", fields: [.eTag: "\"1\"", .cacheControl: "max-age=60"])
            )
            _ = try? await fixture.client.fetch(
                PathEndpoint(baseURL: ScriptedClient.url, path: "/movie", method: .head),
                .networkOnly
            )
            let stored = try #require(try await fixture.client.stored(GetMovie()))
            #expect(stored.value.likes == 2 && stored.isStale && stored.fields[.eTag] == nil)
        }
    }

    @Test(arguments: ["max-age=60", "max-age=60, must-revalidate", "max-age=60, private"])
    func changedValueIsReadOfflineAndAfterARestart(directives: String) async throws {
        try await ClientFixture.run { fixture in
            let endpoint = fixture.feed
            _ = try await fixture.client.fetch(endpoint, as: AnyJSON.self)
            try await fixture.client.update(endpoint, as: AnyJSON.self) { $0 = ["seen": true] }
            try await fixture.client.close()
            let again = try await ClientFixture.open(fixture.folder, fixture.clock, .init(mode: .offline))
            let stored = try await again.fetch(endpoint, as: AnyJSON.self)
            #expect(stored.value == ["seen": true] && stored.isStale)
            try await again.close()
        }
        try await ScriptedClient.run { fixture in
            fixture.script("/movie", Self.reply(1, [.cacheControl: directives]))
            _ = try await fixture.client.fetch(GetMovie())
            try await fixture.client.update(GetMovie()) { $0.likes = 2 }
            fixture.client.mode = .offline
            #expect(try await fixture.client.fetch(GetMovie()).value.likes == 2)
        }
    }

    @Test func changeToTheSameValueChangesNothing() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/movie", Self.reply(1))
            _ = try await fixture.client.fetch(GetMovie())
            let update = try await fixture.client.update(GetMovie()) { $0.likes = 1 }
            let stored = try await fixture.client.stored(GetMovie())
            #expect(update.value?.likes == 1 && stored?.isStale == false && stored?.fields[.eTag] == "\"1\"")
            #expect(try await update.rollBack() == false)
        }
    }

    @Test func closureIsNotCalledWithoutAStoredValue() async throws {
        try await ScriptedClient.run { fixture in
            var calls = 0
            let update = try await fixture.client.update(GetMovie()) { _ in calls += 1 }
            #expect(update.value == nil && calls == 0)
            #expect(try await update.rollBack() == false)
            fixture.script("/movie", .fresh("<html>", etag: "\"1\""))
            _ = try await fixture.client.fetch(GetMovie(), as: String.self)
            #expect(try await fixture.client.update(GetMovie()) { _ in calls += 1 }.value == nil)
            #expect(try await fixture.client.stored(GetMovie(), as: String.self)?.value == "<html>")
            #expect(calls == 0)
        }
    }

    @Test func errorInTheClosureChangesNothing() async throws {
        struct Refusal: Error {}
        try await ScriptedClient.run { fixture in
            fixture.script("/movie", Self.reply(1))
            _ = try await fixture.client.fetch(GetMovie())
            await #expect(throws: Refusal.self) {
                try await fixture.client.update(GetMovie()) {
                    $0.likes = 9
                    throw Refusal()
                }
            }
            let stored = try await fixture.client.stored(GetMovie())
            #expect(stored?.value.likes == 1 && stored?.isStale == false)
        }
    }

    // MARK: The content around the value

    private struct Deep: Codable, Sendable { var on: Bool }

    @Test func contentAroundTheValueStaysByteForByte() async throws {
        let envelope = Envelope(code: "code", model: "data")
        let before = #"{ "code" : 0, "exact": 12345678901234567890.125,"data":{"list":[1, {"on":"#
        let after = #"} ],"b":1.0e2,"a":"ü\/" }, "data2":{}}"#
        try await ScriptedClient.run(.init(envelope: envelope)) { fixture in
            fixture.script("/movie", .fresh(before + "false" + after))
            let endpoint = GetMovie(valuePath: "list[1]")
            _ = try await fixture.client.fetch(endpoint, as: Deep.self)
            try await fixture.client.update(endpoint, as: Deep.self) { $0.on = true }
            let content = try await fixture.client.stored(endpoint, as: Data.self)?.value
            #expect(content.map { String(decoding: $0, as: UTF8.self) } == before + "true" + after)
            #expect(try await fixture.client.stored(endpoint, as: Deep.self)?.value.on == true)
        }
    }

    @Test func namesFollowTheDecodersKeyStrategy() async throws {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        struct User: Codable, Sendable { var firstName: String }
        try await ScriptedClient.run(.init(decoder: decoder)) { fixture in
            fixture.script("/movie", .fresh(#"{"user_details":{"first_name":"Ada"},"other_key":1}"#))
            let endpoint = GetMovie(valuePath: "userDetails")
            _ = try await fixture.client.fetch(endpoint, as: User.self)
            // The default encoder writes other names than this decoder reads. That is an error, and
            // nothing is stored.
            await expect(.encodingFailed) {
                try await fixture.client.update(endpoint, as: [String: String].self, encoder: Broken()) { $0 = [:] }
            }
            try await fixture.client.update(endpoint, as: User.self, encoder: JSONContentEncoder(encoder)) {
                $0.firstName = "Grace"
            }
            let content = try await fixture.client.stored(endpoint, as: String.self)
            #expect(content == nil)
            let data = try await fixture.client.stored(endpoint, as: Data.self)?.value ?? Data()
            #expect(
                String(decoding: data, as: UTF8.self) == #"{"user_details":{"first_name":"Grace"},"other_key":1}"#
            )
        }
    }

    /// Writes text that no decoder reads.
    private struct Broken: ContentEncoder {
        var contentType: String { "text/plain" }
        func encode(_ value: any Encodable) throws -> Data { Data("{\(value)".utf8) }
    }

    @Test func mismatchedEncoderIsAnError() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/movie", Self.reply(1))
            _ = try await fixture.client.fetch(GetMovie())
            var number = 0
            await expect(.encodingFailed) {
                try await fixture.client.update(GetMovie(), encoder: Counting()) {
                    number += 1
                    $0.likes += number
                }
            }
            #expect(try await fixture.client.stored(GetMovie())?.value.likes == 1)
        }
    }

    private struct Counting: ContentEncoder {
        var contentType: String { "text/plain" }
        func encode(_ value: any Encodable) throws -> Data { Data("\(value)".utf8) }
    }

    @Test func bytesAndTextAreStoredUnchanged() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/x", .fresh("one"))
            _ = try await fixture.client.fetch(fixture.get("/x"))
            try await fixture.client.update(fixture.get("/x")) { $0 += " \"two\"" }
            #expect(try await fixture.client.stored(fixture.get("/x"))?.value == "one \"two\"")
            try await fixture.client.update(fixture.get("/x"), as: Data.self) { $0 = Data([0, 1, 2]) }
            #expect(try await fixture.client.stored(fixture.get("/x"), as: Data.self)?.value == Data([0, 1, 2]))
        }
    }

    @Test func compressedContentIsStoredUncompressed() async throws {
        try await ScriptedClient.run { fixture in
            let coded = compressed(Array(Self.content.utf8), .gzip)
            let fields: HTTPFields = [.cacheControl: "max-age=60", .vary: "Accept-Encoding", .eTag: "\"1\""]
            fixture.script("/movie", .coded(coded, "gzip", fields: fields))
            let fetched = try await fixture.client.fetch(GetMovie())
            #expect(fetched.fields[.contentEncoding] == "gzip")
            let update = try await fixture.client.update(GetMovie()) { $0.likes = 2 }
            let stored = try await fixture.client.stored(GetMovie())
            #expect(stored?.value.likes == 2 && stored?.fields[.contentEncoding] == nil)
            #expect(try await update.rollBack())
            let back = try await fixture.client.stored(GetMovie())
            #expect(back?.value == fetched.value && back?.fields[.contentEncoding] == "gzip")
        }
    }

    // MARK: Variants and principals

    @Test func onlyTheVariantOfTheRequestIsChanged() async throws {
        try await ScriptedClient.run { fixture in
            let german = GetMovie(headers: [.acceptLanguage: "de"])
            let french = GetMovie(headers: [.acceptLanguage: "fr"])
            fixture.script(
                "/movie",
                Self.reply(1, [.vary: "Accept-Language"]),
                Self.reply(1, [.vary: "Accept-Language"])
            )
            for endpoint in [german, french] { _ = try await fixture.client.fetch(endpoint) }
            try await fixture.client.update(german) { $0.likes = 2 }
            #expect(try await fixture.client.stored(german)?.value.likes == 2)
            let other = try await fixture.client.stored(french)
            #expect(other?.value.likes == 1 && other?.isStale == false)
        }
    }

    @Test func onlyThePrincipalsOwnValueIsChanged() async throws {
        try await ScriptedClient.run { fixture in
            let (ada, bob) = (GetMovie(principal: "ada"), GetMovie(principal: "bob"))
            fixture.script("/movie", Self.reply(1), Self.reply(1))
            for endpoint in [ada, bob] { _ = try await fixture.client.fetch(endpoint) }
            try await fixture.client.update(ada) { $0.likes = 2 }
            #expect(try await fixture.client.stored(ada)?.value.likes == 2)
            #expect(try await fixture.client.stored(bob)?.value.likes == 1)
        }
    }

    /// An API that sends `public` first and `private` later leaves two stored responses, both
    /// fresh.
    @Test func olderSharedResponseDoesNotHideAChangedValue() async throws {
        try await ScriptedClient.run { fixture in
            let endpoint = GetMovie(principal: "ada")
            fixture.script("/movie", Self.reply(1, [.cacheControl: "max-age=600, public"]))
            _ = try await fixture.client.fetch(endpoint)
            fixture.clock.advance(by: .seconds(5))
            fixture.script("/movie", Self.reply(2, [.cacheControl: "max-age=600, private"]))
            _ = try await fixture.client.fetch(endpoint, .networkOnly)
            let update = try await fixture.client.update(endpoint) { $0.likes = 3 }
            #expect(try await fixture.client.stored(endpoint)?.value.likes == 3)
            try await update.rollBack()
            let back = try await fixture.client.stored(endpoint)
            #expect(back?.value.likes == 2 && back?.isStale == false)
        }
    }

    @Test func tagsAndInvalidationsStay() async throws {
        try await ScriptedClient.run { fixture in
            let endpoint = GetMovie(tags: ["movies"])
            fixture.script("/movie", Self.reply(1))
            _ = try await fixture.client.fetch(endpoint)
            try await fixture.client.invalidate(endpoint)
            let update = try await fixture.client.update(endpoint) { $0.likes = 2 }
            let call = fixture.client.call(endpoint).with { $0.staleValues = .emitted }
            #expect(try await call.stored()?.isStale == true)
            #expect(try await update.rollBack())
            // A value that was invalidated before stays invalidated.
            #expect(try await fixture.client.stored(endpoint)?.isStale == true)
            try await fixture.store.removeResponses(tagged: "movies")
            #expect(try await fixture.client.stored(endpoint) == nil)
        }
    }

    @MainActor private final class Screen {
        var shown: [Int] = []
    }

    /// This compiles: the change may use the state of the calling actor.
    @MainActor @Test func changeRunsOnTheCallersActor() async throws {
        let screen = Screen()
        try await ScriptedClient.run { fixture in
            fixture.script("/movie", Self.reply(1))
            _ = try await fixture.client.fetch(GetMovie())
            try await fixture.client.update(GetMovie()) { movie in
                MainActor.assertIsolated()
                movie.likes += 1
                screen.shown.append(movie.likes)
            }
        }
        #expect(screen.shown == [2])
    }

    // MARK: Concurrent changes

    @Test func thirtyConcurrentUpdatesAllApply() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/movie", Self.reply(0))
            _ = try await fixture.client.fetch(GetMovie())
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<30 {
                    group.addTask { try await fixture.client.update(GetMovie()) { $0.likes += 1 } }
                }
                try await group.waitForAll()
            }
            #expect(try await fixture.client.stored(GetMovie())?.value.likes == 30)
        }
    }

    @Test func responseRequestedBeforeTheUpdateIsNotStored() async throws {
        try await ScriptedClient.run { fixture in
            let gate = Gate()
            var late = Self.reply(5)
            late.beforeHead = gate
            fixture.script("/movie", Self.reply(1), late, Self.reply(6))
            _ = try await fixture.client.fetch(GetMovie())
            let client = fixture.client
            let fetching = Task { try await client.fetch(GetMovie(), .networkOnly) }
            await fixture.transport.waitForRequests(2)
            try await fixture.client.update(GetMovie()) { $0.likes = 2 }
            gate.open()
            #expect(try await fetching.value.value.likes == 5)
            while fixture.client.inFlightFetchCount > 0, !Task.isCancelled { await Task.yield() }
            #expect(try await fixture.client.stored(GetMovie())?.value.likes == 2)
            // A response that is requested afterwards is stored.
            _ = try await fixture.client.fetch(GetMovie())
            #expect(try await fixture.client.stored(GetMovie())?.value.likes == 6)
        }
    }

    @Test func responseBetweenReadAndWriteIsChangedInstead() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/movie", Self.reply(1), Self.reply(10))
            _ = try await fixture.client.fetch(GetMovie())
            let transport = InTheMiddle(client: fixture.client)
            let seen = try await transport.update()
            #expect(seen == [1, 10])
            #expect(try await fixture.client.stored(GetMovie())?.value.likes == 11)
        }
    }

    /// Makes the network respond after the value was read and before it is written.
    private struct InTheMiddle: ContentEncoder {
        let client: CachingClient
        var contentType: String { "application/json" }
        func encode(_ value: any Encodable) throws -> Data { try JSONContentEncoder().encode(value) }

        func update() async throws -> [Int] {
            let isFirst = Mutex(true)
            let seen = Mutex<[Int]>([])
            let fetched = DispatchSemaphore(value: 0)
            try await client.update(GetMovie()) { movie in
                seen.withLock { $0.append(movie.likes) }
                if isFirst.withLock({ isFirst in
                    defer { isFirst = false }
                    return isFirst
                }) {
                    // Detached, because this thread waits for it.
                    Task.detached {
                        _ = try await client.fetch(GetMovie(), .networkOnly)
                        fetched.signal()
                    }
                    fetched.wait()
                }
                movie.likes += 1
            }
            return seen.withLock { $0 }
        }
    }

    @Test func followingStreamsSeeUpdateAndRollback() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/movie", Self.reply(1))
            let stream = fixture.client.call(GetMovie()).with { $0.followsStore = true }.request()
            var iterator = stream.makeAsyncIterator()
            #expect(try await iterator.next()?.value.likes == 1)
            let update = try await fixture.client.update(GetMovie()) { $0.likes = 2 }
            let changed = try await iterator.next()
            #expect(changed?.value.likes == 2 && changed?.isStale == true && changed?.isUnchanged == false)
            try await update.rollBack()
            let back = try await iterator.next()
            #expect(back?.value.likes == 1 && back?.isStale == false)
        }
    }

    /// Otherwise the value from before the mutation would return at once and be replaced again.
    @Test func fetchingStreamDoesNotFetchAfterAnUpdate() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/movie", Self.reply(1))
            let stream = fixture.client.call(GetMovie()).with {
                $0.followsStore = true
                $0.invalidatedValues = .fetched
            }.request()
            var iterator = stream.makeAsyncIterator()
            #expect(try await iterator.next()?.value.likes == 1)
            for likes in 2...4 {
                try await fixture.client.update(GetMovie()) { $0.likes = likes }
                #expect(try await iterator.next()?.value.likes == likes)
            }
            #expect(fixture.transport.requests.count == 1)
        }
    }

    // MARK: Rollback

    @Test func rollbackRestoresValueAgeAndValidators() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/movie", Self.reply(1), .notModified([.cacheControl: "max-age=60"]))
            _ = try await fixture.client.fetch(GetMovie())
            fixture.clock.advance(by: .seconds(7))
            let before = try await fixture.client.stored(GetMovie())
            let update = try await fixture.client.update(GetMovie()) { $0.likes = 2 }
            #expect(try await update.rollBack())
            let after = try await fixture.client.stored(GetMovie())
            #expect(after?.value == before?.value && after?.age == before?.age && after?.isStale == false)
            #expect(after?.fields == before?.fields)
            #expect(try await update.rollBack() == false)
            fixture.clock.advance(by: .seconds(60))
            // The restored value is validated as before.
            let next = try await fixture.client.fetch(GetMovie())
            #expect(next.value.likes == 1 && fixture.transport.requests.last?.headerFields[.ifNoneMatch] == "\"1\"")
        }
    }

    @Test(arguments: ["response", "update", "removal"])
    func rollbackDoesNothingAfterANewerChange(event: String) async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/movie", Self.reply(1))
            _ = try await fixture.client.fetch(GetMovie())
            let update = try await fixture.client.update(GetMovie()) { $0.likes = 2 }
            switch event {
            case "response":
                fixture.script("/movie", Self.reply(3))
                _ = try await fixture.client.fetch(GetMovie())
            case "update": try await fixture.client.update(GetMovie()) { $0.likes = 3 }
            default: try await fixture.client.remove(GetMovie())
            }
            #expect(try await update.rollBack() == false)
            let expected = event == "removal" ? nil : 3
            #expect(try await fixture.client.stored(GetMovie())?.value.likes == expected)
        }
    }

    @Test func rollbackKeepsALaterInvalidation() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/movie", Self.reply(1), Self.reply(4))
            _ = try await fixture.client.fetch(GetMovie())
            let update = try await fixture.client.update(GetMovie()) { $0.likes = 2 }
            try await fixture.client.invalidate(GetMovie())
            #expect(try await update.rollBack())
            let stored = try await fixture.client.stored(GetMovie())
            #expect(stored?.value.likes == 1 && stored?.isStale == true)
            #expect(try await fixture.client.fetch(GetMovie()).value.likes == 4)
        }
    }

    @Test func readOnlyStoreIsAnError() async throws {
        try await ClientFixture.run { fixture in
            let endpoint = fixture.feed
            _ = try await fixture.client.fetch(endpoint, as: AnyJSON.self)
            let folder = fixture.folder
            let store = try await CacheManager.openReadOnly(at: folder, clock: fixture.clock)
            let reader = CachingClient(store: store, transport: ScriptedTransport(), clock: fixture.clock)
            await #expect(throws: StoreError.self) {
                try await reader.update(endpoint, as: AnyJSON.self) { $0 = ["a": 1] }
            }
            #expect(try await reader.stored(endpoint, as: AnyJSON.self)?.value != ["a": 1])
            try await reader.close()
            try await store.close()
        }
    }
}
