import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import NIOCore
import Testing

@Suite(.timeLimit(.minutes(20))) struct PartitionTests {
    private let url = EngineFixture.url

    private let alice: HTTPFields = [.authorization: "Bearer alice"]
    private let bob: HTTPFields = [.authorization: "Bearer bob"]

    @Test func usersResponseNeverAnswersAnotherUser() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(EngineFixture.url, .fresh("alice's"), .fresh("bob's"), .fresh("anyone's"))
        #expect(try await fixture.get(EngineFixture.url, alice).text == "alice's")
        #expect(try await fixture.get(EngineFixture.url, bob).text == "bob's")
        #expect(try await fixture.get().text == "anyone's")
        #expect(try await fixture.get(EngineFixture.url, alice).text == "alice's")
        #expect(fixture.transport.requests.count == 3)
    }

    @Test func cookiesAreCredentials() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(EngineFixture.url, .fresh("one"), .fresh("two"))
        #expect(try await fixture.get(EngineFixture.url, [.cookie: "session=1"]).text == "one")
        #expect(try await fixture.get(EngineFixture.url, [.cookie: "session=2"]).text == "two")
    }

    @Test func publicResponseIsShared() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(EngineFixture.url, .ok("all", fields: [.cacheControl: "public, max-age=60"]))
        #expect(try await fixture.get(EngineFixture.url, alice).text == "all")
        #expect(try await fixture.get(EngineFixture.url, bob).text == "all")
        #expect(try await fixture.get().text == "all")
        #expect(fixture.transport.requests.count == 1)
    }

    /// A `private` page that was fetched without credentials belongs to a guest. RFC 9111 §5.2.2.7
    @Test func guestsPrivateResponseAnswersNoUser() async throws {
        let fixture = EngineFixture()
        let fields: HTTPFields = [.cacheControl: "private, max-age=60"]
        fixture.transport.script(EngineFixture.url, .ok("guest's", fields: fields), .ok("alice's", fields: fields))
        #expect(try await fixture.get().text == "guest's")
        #expect(try await fixture.get(EngineFixture.url, alice).text == "alice's")
        #expect(try await fixture.get(EngineFixture.url, alice, preference: .storedOnly).text == "alice's")
        #expect(try await fixture.get().text == "guest's")
        await #expect(throws: ExchangeError.self) {
            try await fixture.get(EngineFixture.url, bob, preference: .storedOnly)
        }
        #expect(fixture.transport.requests.count == 2)
    }

    @Test func namedPrincipalKeepsResponsesWhenTokenRotates() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(EngineFixture.url, .fresh("hers"))
        #expect(try await fixture.get(EngineFixture.url, alice, principal: "alice").text == "hers")
        let rotated: HTTPFields = [.authorization: "Bearer alice-2"]
        #expect(try await fixture.get(EngineFixture.url, rotated, principal: "alice").text == "hers")
        #expect(fixture.transport.requests.count == 1)
    }

    @Test func credentialsAreNotInTheKey() async throws {
        let fixture = EngineFixture()
        let key = try #require(fixture.engine.key(for: try fixture.request(EngineFixture.url, alice)))
        #expect(!String(decoding: key.bytes, as: UTF8.self).contains("alice"))
        #expect(key != fixture.engine.key(for: try fixture.request()))
    }

    /// A CSRF token or a DPoP proof differs for each request: if it were keyed, nothing would be
    /// found again.
    @Test(arguments: ["DPoP", "X-CSRF-Token", "X-XSRF-Token"]) func proofsDoNotIdentifyPrincipals(_ name: String)
        async throws
    {
        let proof = try #require(HTTPField.Name(name))
        let fixture = EngineFixture()
        fixture.transport.script(EngineFixture.url, .fresh("one"), .fresh("two"), .fresh("anyone's"))
        #expect(try await fixture.get(EngineFixture.url, [.cookie: "a=1", proof: "1"]).text == "one")
        #expect(try await fixture.get(EngineFixture.url, [.cookie: "a=1", proof: "2"]).text == "one")
        #expect(try await fixture.get(EngineFixture.url, [.cookie: "a=2", proof: "2"]).text == "two")
        #expect(try await fixture.get().text == "anyone's")
    }

    /// Proofs are credentials. RFC 9111 §3.5
    @Test func responseStoredWithProofIsNotServedWithoutIt() async throws {
        let proof = try #require(HTTPField.Name("X-CSRF-Token"))
        let fixture = EngineFixture()
        fixture.transport.script(EngineFixture.url, .fresh("a proof's"), .fresh("anyone's"))
        #expect(try await fixture.get(EngineFixture.url, [proof: "1"]).text == "a proof's")
        #expect(try await fixture.get().text == "anyone's")
    }

    /// Other principals see the responses of a common partition too. Mutant: `isForOthers` is
    /// always `false`.
    @Test(arguments: [HTTPRequest.Method.get, .head])
    func principalsUpdateAddsNoCookieToSharedResponse(method: HTTPRequest.Method) async throws {
        let fixture = EngineFixture()
        let fields: HTTPFields = [.eTag: "\"1\"", .setCookie: "sid=ann", .cacheControl: "max-age=60"]
        let update = ScriptedTransport.Reply.status(method == .get ? .notModified : .ok, fields: fields)
        fixture.transport.script(url, .fresh("one", etag: "\"1\""), update, .ok("ann's", fields: fields))
        try await fixture.get()
        fixture.clock.advance(by: .seconds(61))
        try await fixture.get(method: method, principal: "ann")
        let other = try await fixture.get(preference: .storedOnly)
        #expect(other.text == "one")
        #expect(!other.response.head.headerFields.contains(.setCookie))
    }

    @Test func private304DoesNotFreshenSharedResponse() async throws {
        let fixture = EngineFixture()
        let fields: HTTPFields = [.eTag: "\"1\"", .cacheControl: "private, max-age=60"]
        fixture.transport.script(
            url,
            .fresh("one", etag: "\"1\""),
            .status(.notModified, fields: fields),
            .ok("ann's", fields: fields)
        )
        try await fixture.get()
        fixture.clock.advance(by: .seconds(61))
        let ann = try await fixture.get(principal: "ann")
        #expect(ann.text == "ann's")
        let other = try await fixture.get(preference: .storedOnly)
        #expect(other.text == "one")
        #expect(other.response.isStale)
    }

    /// Mutant: `complete` asks only whether storing is forbidden.
    @Test func principalsRestIsNotStoredInSharedPart() async throws {
        let fixture = EngineFixture()
        func part(_ text: String, _ range: String, _ cacheControl: String) -> ScriptedTransport.Reply {
            let fields: HTTPFields = [.eTag: "\"1\"", .contentRange: "bytes " + range, .cacheControl: cacheControl]
            return .status(.partialContent, text, fields: fields)
        }
        fixture.transport.script(
            url,
            part("he", "0-1/5", "max-age=60"),
            part("llo", "2-4/5", "private, max-age=60"),
            .ok("hello", fields: [.eTag: "\"1\"", .cacheControl: "private, max-age=60"])
        )
        try await fixture.get(url, [.range: "bytes=0-1"])
        let ann = try await fixture.get(principal: "ann")
        #expect(ann.text == "hello")
        let shared = fixture.memory.all.filter { $0.key.components.partition == .common }
        #expect(shared.map(\.head.status.code) == [206])
    }

    /// RFC 9111 §3.5 applies to `Authorization` alone. Mutant: `must-revalidate` excuses a cookie
    /// too.
    @Test func mustRevalidateDoesNotShareCookieResponse() async throws {
        let fixture = EngineFixture(kind: .shared)
        let fields: HTTPFields = [.cacheControl: "max-age=60, must-revalidate"]
        fixture.transport.script(url, .ok("ann's", fields: fields), .ok("nobody's", fields: fields))
        try await fixture.get(url, [.cookie: "sid=ann"])
        let other = try await fixture.get()
        #expect(other.text == "nobody's")
    }

    /// Mutant: all partitions' responses are ranked together.
    @Test func ownResponseBeatsGuestsResponse() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, .fresh("ann's", 10), .fresh("nobody's", 600))
        try await fixture.get(principal: "ann")
        fixture.clock.advance(by: .seconds(20))
        try await fixture.get()
        let ann = try await fixture.get(preference: .storedOnly, principal: "ann")
        #expect(ann.text == "ann's")
    }

    @Test func publicResponseRanksWithOwnResponse() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, .fresh("ann's", 10), .ok("all's", fields: [.cacheControl: "public, max-age=600"]))
        try await fixture.get(principal: "ann")
        fixture.clock.advance(by: .seconds(20))
        try await fixture.get()
        let ann = try await fixture.get(preference: .storedOnly, principal: "ann")
        #expect(ann.text == "all's")
    }

    /// A plugin may name the principal long before the lookup. A log-out in between counts.
    @Test(arguments: ["ada", "bob"]) func requestMadeBeforeALogOutIsStoredForOthersAlone(_ name: String) async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, .fresh("early"), .fresh("late"))
        var request = try fixture.request(principal: name)
        request.fencingNumber = fixture.memory.invalidationSequence
        _ = try await fixture.memory.invalidate(.principal("ada"), .remove, at: fixture.clock.now())
        #expect(String(buffer: try await fixture.engine.respond(to: request).body.collect(upTo: 9)) == "early")
        while fixture.engine.inFlightFetchCount > 0, !Task.isCancelled { await Task.yield() }
        #expect(fixture.memory.all.count == (name == "bob" ? 1 : 0))
        request.fencingNumber = fixture.memory.invalidationSequence
        let expected = name == "bob" ? "early" : "late"
        #expect(String(buffer: try await fixture.engine.respond(to: request).body.collect(upTo: 9)) == expected)
        while fixture.engine.inFlightFetchCount > 0, !Task.isCancelled { await Task.yield() }
        #expect(fixture.memory.all.count == 1)
    }

    /// The same for a validation: a 304 to an early request renews nothing that is hers.
    @Test func validationMadeBeforeALogOutRenewsNothing() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, .fresh("hers", etag: "\"1\""), .status(.notModified, fields: [:]))
        try await fixture.get(principal: "ada")
        fixture.clock.advance(by: .seconds(61))
        var request = try fixture.request(principal: "ada")
        request.fencingNumber = fixture.memory.invalidationSequence
        // Marked, so that there is something to validate.
        _ = try await fixture.memory.invalidate(.principal("ada"), .mark(.unspecified), at: fixture.clock.now())
        #expect(String(buffer: try await fixture.engine.respond(to: request).body.collect(upTo: 9)) == "hers")
        while fixture.engine.inFlightFetchCount > 0, !Task.isCancelled { await Task.yield() }
        #expect(fixture.memory.all.map(\.head.isInvalidated) == [true])
    }
}
