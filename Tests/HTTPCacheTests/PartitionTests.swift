import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Testing

@Suite struct PartitionTests {
    private let alice: HTTPFields = [.authorization: "Bearer alice"]
    private let bob: HTTPFields = [.authorization: "Bearer bob"]

    @Test func oneUsersResponseNeverAnswersAnother() async throws {
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

    @Test func aPublicResponseIsSharedByAll() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(EngineFixture.url, .ok("all", fields: [.cacheControl: "public, max-age=60"]))
        #expect(try await fixture.get(EngineFixture.url, alice).text == "all")
        #expect(try await fixture.get(EngineFixture.url, bob).text == "all")
        #expect(try await fixture.get().text == "all")
        #expect(fixture.transport.requests.count == 1)
    }

    /// A page that says `private` and was fetched without credentials is a guest's. RFC 9111
    /// §5.2.2.7
    @Test func whatIsPrivateToAGuestAnswersNoUser() async throws {
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

    @Test func aNamedPrincipalKeepsItsResponsesWhenItsTokenRotates() async throws {
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

    /// A CSRF token or a DPoP proof is another for each request: keyed, nothing would be found
    /// again.
    @Test(arguments: ["DPoP", "X-CSRF-Token", "X-XSRF-Token"]) func proofsTellNoPrincipalsApart(_ name: String)
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

    /// They make a request credentialed. RFC 9111 §3.5
    @Test func whatIsStoredBesideAProofAnswersNobodyWithout() async throws {
        let proof = try #require(HTTPField.Name("X-CSRF-Token"))
        let fixture = EngineFixture()
        fixture.transport.script(EngineFixture.url, .fresh("a proof's"), .fresh("anyone's"))
        #expect(try await fixture.get(EngineFixture.url, [proof: "1"]).text == "a proof's")
        #expect(try await fixture.get().text == "anyone's")
    }
}
