import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import NIOCore
import Testing

/// Invalidation that a caller asks for.
@Suite(.timeLimit(.minutes(20))) struct CallersInvalidationTests {
    private let url = EngineFixture.url

    private struct Ignoring: SettingsOverriding {
        var parameters: [String]
        func apply(to settings: inout ExchangeSettings) { settings.target.ignoredParameters = parameters }
    }

    @Test func keptResponseIsStaleAndServedOffline() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, .fresh("old"), .fresh("new"))
        try await fixture.get()
        try await fixture.engine.invalidate(fixture.request(), keepingForOffline: true)
        #expect(try await fixture.get(preference: .storedOnly).text == "old")
        #expect(try await fixture.get().text == "new")
    }

    @Test func responseThatIsNotKeptIsGone() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, .fresh("old"))
        try await fixture.get()
        try await fixture.engine.invalidate(fixture.request(), keepingForOffline: false)
        #expect(await fixture.failure(preference: .storedOnly) == .offlineMiss)
    }

    @Test func invalidationCoversAllPrincipals() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, .fresh("a"), .fresh("b"), .fresh("c"))
        try await fixture.get(url, [.authorization: "one"])
        try await fixture.get(url, [.authorization: "two"])
        try await fixture.get(url, principal: "three")
        try await fixture.engine.invalidate(fixture.request(), keepingForOffline: true)
        #expect(fixture.memory.all.count == 3)
        #expect(fixture.memory.all.allSatisfy { $0.head.isInvalidated })
    }

    @Test func invalidationLeavesOtherTargets() async throws {
        let fixture = EngineFixture()
        let other = url + "?page=2"
        fixture.transport.script(other, .fresh("other"))
        try await fixture.get(other)
        try await fixture.engine.invalidate(fixture.request(), keepingForOffline: false)
        #expect(try await fixture.get(other).text == "other")
    }

    @Test func invalidationUsesKeysOfRulesAndRequest() async throws {
        let rules = TestRules { $0.target.droppedParameters = ["utm"] }
        let fixture = EngineFixture(rules: rules)
        let sent = url + "?page=1"
        fixture.transport.script(sent, .fresh("old"), .fresh("new"))
        var request = try fixture.request(url + "?utm=x&page=1")
        request.overrides = Ignoring(parameters: ["page"])
        _ = try await fixture.engine.respond(to: request).body.collect(upTo: 100)
        #expect(fixture.memory.all.first?.key.components.target.uri == url)
        try await fixture.engine.invalidate(request, keepingForOffline: true)
        #expect(fixture.memory.all.allSatisfy { $0.head.isInvalidated })
    }

    @Test func earlierFetchIsNotStored() async throws {
        let fixture = EngineFixture()
        let gate = Gate()
        fixture.transport.script(url, .fresh("old", beforeHead: gate))
        async let result = fixture.get()
        await fixture.transport.waitForRequests(1)
        try await fixture.engine.invalidate(fixture.request(), keepingForOffline: true)
        gate.open()
        #expect(try await result.text == "old")
        #expect(await fixture.failure(preference: .storedOnly) == .offlineMiss)
    }

    @Test func tagInvalidatesAllItsResponses() async throws {
        let fixture = EngineFixture(rules: TestRules { $0.tags = ["feed"] })
        fixture.transport.script(url, .fresh("old"), .fresh("new"))
        try await fixture.get()
        try await fixture.engine.invalidate(tagged: "other", keepingForOffline: true)
        #expect(try await fixture.get().text == "old")
        try await fixture.engine.invalidate(tagged: "feed", keepingForOffline: true)
        #expect(try await fixture.get().text == "new")
    }

    @Test func invalidationThrowsStoreErrors() async throws {
        let fixture = EngineFixture()
        fixture.store.fail([.invalidate], .beforehand)
        await #expect(throws: (any Error).self) {
            try await fixture.engine.invalidate(fixture.request(), keepingForOffline: true)
        }
        await #expect(throws: (any Error).self) {
            try await fixture.engine.invalidate(tagged: "feed", keepingForOffline: true)
        }
    }

    @Test func requestWithoutValidTargetIsRejected() async throws {
        let fixture = EngineFixture()
        var request = try fixture.request()
        request.head.scheme = "ftp"
        let refused = request
        await #expect(throws: ExchangeError.self) {
            try await fixture.engine.invalidate(refused, keepingForOffline: true)
        }
    }
}
