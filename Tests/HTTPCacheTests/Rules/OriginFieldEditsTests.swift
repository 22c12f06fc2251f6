import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import NIOCore
import Synchronization
import Testing

@testable import HTTPCache

/// `from-origin` of a rule, in exchanges.
@Suite(.timeLimit(.minutes(20))) struct OriginFieldEditsTests {
    private let url = EngineFixture.url
    private static let gitProtocol = HTTPField.Name("Git-Protocol") ?? .accept

    private func fixture(
        _ kind: CacheKind = .shared,
        remove removed: Set<HTTPField.Name> = [],
        vary: [HTTPField.Name] = [],
        _ change: (inout ExchangeSettings) -> Void = { _ in }
    ) -> EngineFixture {
        EngineFixture(
            kind: kind,
            rules: TestRules {
                $0.fromOrigin = OriginFieldEdits(removed: removed, vary: vary)
                change(&$0)
            }
        )
    }

    private static func fresh(_ body: String, _ fields: HTTPFields) -> ScriptedTransport.Reply {
        var fields = fields
        fields[.cacheControl] = "max-age=60"
        return .ok(body, fields: fields)
    }

    // MARK: Removing

    @Test(arguments: [CacheKind.shared, .private])
    func removedFieldsReachNeitherStoreNorClient(_ kind: CacheKind) async throws {
        let fixture = fixture(kind, remove: [.setCookie, .server])
        fixture.transport.script(url, Self.fresh("one", [.setCookie: "a=1", .server: "x", .eTag: "\"1\""]))
        let first = try await fixture.get()
        #expect(first.response.outcome.isStored)
        let second = try await fixture.get()
        #expect(second.response.outcome.isHit && second.text == "one")
        for fields in [first.response.head.headerFields, second.response.head.headerFields] {
            #expect(!fields.contains(.setCookie) && !fields.contains(.server) && fields[.eTag] == "\"1\"")
        }
        #expect(fixture.memory.all.map { $0.head.fields.contains(.setCookie) } == [false])
    }

    /// The client whose request was sent gets no more than those that waited.
    @Test func clientsThatShareAFetchGetTheSame() async throws {
        let fixture = fixture(remove: [.setCookie])
        let gate = Gate()
        var reply = Self.fresh("one", [.setCookie: "a=1"])
        reply.beforeHead = gate
        fixture.transport.script(url, reply)
        let tasks = (0..<30).map { _ in Task { try await fixture.get().response.head.headerFields } }
        await fixture.transport.waitForRequests(1)
        gate.open()
        for task in tasks { #expect(try await !task.value.contains(.setCookie)) }
    }

    @Test(
        arguments: [
            [.authorization: "Bearer a"], [.cookie: "a=1"], [HTTPField.Name("DPoP") ?? .accept: "a"],
        ] as [HTTPFields]
    )
    func requestsWithCredentialsGetEverything(_ credentials: HTTPFields) async throws {
        let fixture = fixture(remove: [.setCookie, .server], vary: [.accept])
        fixture.transport.script(url, Self.fresh("one", [.setCookie: "a=1", .server: "x"]), Self.fresh("two", [:]))
        let fields = try await fixture.get(url, credentials).response.head.headerFields
        #expect(fields[.setCookie] == "a=1" && fields[.server] == "x" && !fields.contains(.vary))
        #expect(fixture.memory.all.isEmpty)
        #expect(try await fixture.get().text == "two")
    }

    /// As for storing, an ignored cookie is no credential, but an ignored 'Authorization' is one.
    @Test(arguments: [([.cookie: "a=1"], false), ([.authorization: "Bearer a"], true)] as [(HTTPFields, Bool)])
    func ignoredCredentialsCountAsForStoring(_ credentials: HTTPFields, _ isKept: Bool) async throws {
        let fixture = fixture(remove: [.server]) { $0.ignoredFields = [.cookie, .authorization] }
        fixture.transport.script(url, .ok("one", fields: [.cacheControl: "public, max-age=60", .server: "x"]))
        let fields = try await fixture.get(url, credentials).response.head.headerFields
        #expect(fields.contains(.server) == isKept)
        #expect(fixture.memory.all.isEmpty == isKept)
    }

    /// Mutant: clients with credentials get the changed response of another client.
    @Test(arguments: [CacheKind.shared, .private])
    func clientsWithAndWithoutCredentialsShareNothing(_ kind: CacheKind) async throws {
        let fixture = fixture(kind, remove: [.server])
        fixture.transport.script(url) {
            .ok(
                $0.head.headerFields[.authorization] ?? "none",
                fields: [.cacheControl: "public, max-age=60", .server: "x"]
            )
        }
        for _ in 0..<2 {
            let with = try await fixture.get(url, [.authorization: "Bearer a"])
            #expect(with.text == "Bearer a" && with.response.head.headerFields.contains(.server))
            let without = try await fixture.get()
            #expect(without.text == "none" && !without.response.head.headerFields.contains(.server))
        }
    }

    @Test func cookiesThatAreOnlyForwardedAreCredentials() async throws {
        let fixture = fixture(remove: [.setCookie]) {
            $0.cookies = CookieRule(kept: CookieNames([]), forwardsAll: true)
        }
        fixture.transport.script(url, Self.fresh("one", [.setCookie: "a=1"]))
        let response = try await fixture.get(url, [.cookie: "b=1"]).response
        #expect(response.head.headerFields[.setCookie] == "a=1" && response.outcome.notStored == .authorization)
    }

    /// Requests that bypass the store lose the fields as well, and so do unsafe methods.
    @Test(arguments: [HTTPRequest.Method.get, .post, .head]) func noResponseHasTheFields(
        _ method: HTTPRequest.Method
    ) async throws {
        let fixture = fixture(remove: [.setCookie]) { $0.isBypassed = true }
        fixture.transport.script(url, Self.fresh("one", [.setCookie: "a=1"]))
        let response = try await fixture.get(method: method).response
        #expect(!response.head.headerFields.contains(.setCookie))
    }

    @Test func validationsBringNoFieldBack() async throws {
        let fixture = fixture(remove: [.setCookie, .server])
        fixture.transport.script(
            url,
            .ok("one", fields: [.cacheControl: "max-age=1", .eTag: "\"1\"", .setCookie: "a=1"]),
            .notModified([.cacheControl: "max-age=60", .setCookie: "a=2", .server: "x"])
        )
        try await fixture.get()
        fixture.clock.advance(by: .seconds(2))
        let second = try await fixture.get().response
        #expect(second.isValidated && !second.head.headerFields.contains(.setCookie))
        #expect(fixture.memory.all.map { $0.head.fields.contains(.server) } == [false])
    }

    @Test func interimResponsesLoseTheFieldsToo() throws {
        let fixture = fixture(remove: [.server])
        let prepared = try #require(fixture.engine.prepare(fixture.request()))
        let seen = Mutex<[HTTPFields]>([])
        let sending = TransportRequest(
            head: prepared.request.head,
            onInformational: { interim in seen.withLock { $0.append(interim.headerFields) } }
        )
        let interim = HTTPResponse(status: .earlyHints, headerFields: [.server: "x", .eTag: "\"1\""])
        prepared.editingInterims(sending).onInformational?(interim)
        let credentials = try #require(fixture.engine.prepare(fixture.request(url, [.cookie: "a=1"])))
        credentials.editingInterims(sending).onInformational?(interim)
        #expect(seen.withLock { $0.map { $0.contains(.server) } } == [false, true])
    }

    // MARK: Vary

    @Test func addedNamesSelectByPlainValues() async throws {
        let fixture = fixture(vary: [Self.gitProtocol, .accept])
        fixture.transport.script(
            url,
            Self.fresh("v2", [:]),
            Self.fresh("v1", [.vary: "Accept-Encoding, git-protocol"]),
            Self.fresh("json", [:])
        )
        let first = try await fixture.get(url, [Self.gitProtocol: "version=2"])
        #expect(first.text == "v2" && first.response.head.headerFields[.vary] == "Git-Protocol, Accept")
        let second = try await fixture.get()
        #expect(second.text == "v1")
        #expect(second.response.head.headerFields[.vary] == "Accept-Encoding, git-protocol, Accept")
        #expect(try await fixture.get(url, [.accept: "application/json"]).text == "json")
        #expect(try await fixture.get(url, [Self.gitProtocol: "version=2"]).text == "v2")
        #expect(try await fixture.get().text == "v1")
        #expect(fixture.transport.requests.count == 3)
        let values = fixture.memory.all.compactMap { $0.head.selectingFields[Self.gitProtocol] }
        #expect(values == ["version=2"], "plain values, which another store knows too")
    }

    @Test(
        arguments: [
            ([], "Accept"), (["Accept"], "Accept"), (["ACCEPT, Origin"], "ACCEPT, Origin"),
            (["Origin", "Range"], "Origin, Range, Accept"), (["*"], "*"), (["Origin, *"], "Origin, *"),
            (["a b"], "a b, Accept"),
        ] as [([String], String)]
    )
    func varyIsExtended(_ lines: [String], _ expected: String) {
        var fields = HTTPFields(lines.map { HTTPField(name: .vary, value: $0) })
        fields.addToVary([.accept])
        #expect(fields[values: .vary].joined(separator: ", ") == expected)
    }
}
