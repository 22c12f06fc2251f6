import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Logging
import NIOCore
import Synchronization
import Testing

/// Responses and values that must never be served, stored or shown.
@Suite(.timeLimit(.minutes(20))) struct ContractTests {
    private let url = EngineFixture.url

    @Test func contentOfGETIsInItsKey() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, .fresh("a"), .fresh("b"))
        for (content, expected) in [("query a", "a"), ("query b", "b"), ("query a", "a")] {
            var request = try fixture.request()
            request.body = .buffer(ByteBuffer(string: content))
            let body = try await fixture.engine.respond(to: request).body.collect(upTo: 99)
            #expect(String(buffer: body) == expected)
        }
    }

    @Test func callersExpiryStoresNoError() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, .status(.internalServerError, "boom"))
        var request = try fixture.request()
        request.storage = .expiring(.after(.seconds(60)))
        _ = try await fixture.engine.respond(to: request).body.collect(upTo: 99)
        #expect(fixture.memory.all.isEmpty)
    }

    @Test(arguments: [OfflineMode.automatic, .preferStored])
    func stale404IsNotServedBeforeOriginIsAsked(mode: OfflineMode) async throws {
        let fixture = EngineFixture(mode: mode)
        fixture.transport.script(url, .status(.notFound, "none"), .fresh("now it is there"))
        _ = try await fixture.get(preference: .storedFirst)
        fixture.clock.advance(by: .seconds(86_400 * 365))
        #expect(try await fixture.get(preference: .storedFirst).text == "now it is there")
    }

    @Test func staleServerErrorIsNotServedOffline() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(
            url,
            .status(.serviceUnavailable, "bad", fields: [.cacheControl: "public, max-age=5"]),
            .failure(.connect)
        )
        try await fixture.get()
        fixture.clock.advance(by: .seconds(3600))
        #expect(await fixture.failure() == .originUnreachable)
        fixture.engine.mode = .offline
        #expect(await fixture.failure() == .offlineMiss)
    }

    @Test func storedPOSTIsNotValidatedWithIfNoneMatch() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, .ok("a", fields: [.eTag: "\"1\""]), .ok("b"))
        for _ in 0..<2 {
            var request = try fixture.request(method: .post)
            request.body = .buffer(ByteBuffer(string: "q"))
            request.keysContent = true
            request.storage = .expiring(.after(.seconds(1)))
            _ = try await fixture.engine.respond(to: request).body.collect(upTo: 99)
            fixture.clock.advance(by: .seconds(5))
        }
        #expect(fixture.transport.requests.count == 2)
        #expect(fixture.transport.requests.last?.headerFields[.ifNoneMatch] == nil)
    }

    @Test func putInvalidatesAndIsNotKeyedByContent() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, .fresh("one"), .status(.noContent), .fresh("two"))
        try await fixture.get()
        var request = try fixture.request(method: .put)
        request.body = .buffer(ByteBuffer(string: "x"))
        request.keysContent = true
        _ = try await fixture.engine.respond(to: request)
        #expect(try await fixture.get().text == "two")
    }

    @Test func olderResponseDoesNotReplaceNewerOne() async throws {
        let fixture = EngineFixture()
        let gate = Gate()
        fixture.transport.script(url, .fresh("old", beforeEnd: gate), .fresh("new"))
        let slow = Task { try await fixture.get(url, [.ifNoneMatch: "\"0\""]).text }
        await fixture.transport.waitForRequests(1)
        #expect(try await fixture.get().text == "new")
        gate.open()
        #expect(try await slow.value == "old")
        #expect(try await fixture.get().text == "new")
    }

    @Test func eventStreamIsNeitherStoredNorShared() async throws {
        let fixture = EngineFixture()
        let gate = Gate()
        fixture.transport.script(
            url,
            .ok("data: 1\n\n", fields: [.contentType: "text/event-stream"], beforeEnd: gate),
            .ok("data: 2\n\n")
        )
        let first = try await fixture.engine.respond(to: try fixture.request())
        #expect(try await fixture.get().text == "data: 2\n\n")
        gate.open()
        #expect(String(buffer: try await first.body.collect(upTo: 99)) == "data: 1\n\n")
    }

    @Test func onlyIfCachedNeverForwardsWhateverThePreference() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, .fresh("one"))
        try await fixture.get()
        for preference in [CacheRequest.Preference.networkFirst, .networkOnly] {
            _ = await fixture.failure(url, [.cacheControl: "only-if-cached"], preference: preference)
        }
        await #expect(throws: ExchangeError.self) {
            try await fixture.get(url, [.cacheControl: "only-if-cached"], method: .post)
        }
        #expect(fixture.transport.requests.count == 1)
    }

    @Test func errorOfAnotherVariantIsStored() async throws {
        let fixture = EngineFixture()
        let fields: HTTPFields = [.cacheControl: "max-age=60", .vary: "Accept-Language"]
        fixture.transport.script(url, .ok("hello", fields: fields), .status(.notFound, "keins", fields: fields))
        try await fixture.get(url, [.acceptLanguage: "en"])
        for _ in 0..<2 { #expect(try await fixture.get(url, [.acceptLanguage: "de"]).text == "keins") }
        #expect(fixture.transport.requests.count == 2)
    }

    @Test func apiKeysInFieldsAreCredentials() async throws {
        let fixture = EngineFixture()
        let name = try #require(HTTPField.Name("X-Api-Key"))
        fixture.transport.script(url, .fresh("alice"), .fresh("bob"))
        for user in ["alice", "bob", "alice"] {
            #expect(try await fixture.get(url, [name: user]).text == user)
        }
    }

    @Test func credentialsAreNotStoredAsSelectingFields() async throws {
        let fixture = EngineFixture()
        let fields: HTTPFields = [.cacheControl: "max-age=60", .vary: "Cookie, Authorization"]
        fixture.transport.script(url, .ok("x", fields: fields), .ok("y", fields: fields))
        let hers: HTTPFields = [.authorization: "Bearer hunter2", .cookie: "sid=hunter2"]
        try await fixture.get(url, hers, principal: "she")
        #expect(!"\(fixture.memory.all)".contains("hunter2"))
        #expect(try await fixture.get(url, hers, principal: "she").response.outcome.isHit)
        #expect(try await fixture.get(url, [.cookie: "sid=other"], principal: "she").text == "y")
    }

    /// An exchange looks up again if an in-flight fetch ended meanwhile. A response that only the
    /// first lookup found is no fallback.
    @Test func responseMissingFromSecondLookupIsNoFallback() throws {
        let fixture = EngineFixture()
        let prepared = try #require(fixture.engine.prepare(try fixture.request()))
        var machine = ReuseMachine(prepared, now: Timestamp(seconds: 1000))
        let head = StoredResponseHead(
            status: .ok,
            fields: [.cacheControl: "max-age=1"],
            requestTime: Timestamp(seconds: 0),
            responseTime: Timestamp(seconds: 0)
        )
        let stored = StoredResponse(
            id: 1,
            key: StoreKey(target: try TargetURI(url)),
            head: head,
            bodyID: 1,
            bodyLength: 0,
            storedAt: Timestamp(seconds: 0)
        )
        _ = machine.decide(on: [stored])
        _ = machine.decide(on: [])
        guard case .refuse(let refusal) = machine.originFailed(TransportError(code: .connect, message: "unreachable"))
        else {
            Issue.record("A response that is gone was served.")
            return
        }
        #expect(refusal.code == .originUnreachable)
    }

    @Test func messagesShowNoSecrets() async throws {
        let fixture = EngineFixture()
        for (authority, path) in [("user:hunter2@a.example", "/"), ("a.example", "/x?token=hunter2#f")] {
            let head = HTTPRequest(method: .get, scheme: "https", authority: authority, path: path)
            do {
                _ = try await fixture.engine.respond(to: CacheRequest(head: head))
                Issue.record("'\(path)' was answered.")
            } catch {
                #expect(!"\(error)".contains("hunter2"), "\(error)")
            }
        }
    }

    @Test func nothingIsForwardedAfterShutDown() async throws {
        let fixture = EngineFixture()
        await fixture.engine.shutDown()
        await #expect(throws: ExchangeError.self) { try await fixture.get(method: .post) }
        #expect(fixture.transport.requests.isEmpty)
    }

    @Test func shutDownDoesNotWaitForIdleReader() async throws {
        let fixture = EngineFixture()
        fixture.store.fail([.append])
        let chunk = ByteBuffer(repeating: 0x61, count: 1 << 20)
        fixture.transport.script(
            url,
            .init(
                head: HTTPResponse(status: .ok, headerFields: [.cacheControl: "max-age=60"]),
                chunks: [ByteBuffer](repeating: chunk, count: 8)
            )
        )
        let held = try await fixture.engine.respond(to: try fixture.request())
        await fixture.engine.shutDown()
        withExtendedLifetime(held) {}
    }
}
