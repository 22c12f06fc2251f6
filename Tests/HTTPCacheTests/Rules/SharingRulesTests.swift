import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Testing

/// A rule that is added later gives strangers no response that came to a request with credentials.
/// docs/attacks.md, 77
@Suite(.timeLimit(.minutes(20))) struct SharingRulesTests {
    private let url = EngineFixture.url

    /// Directives that share a response, and a rule that lifts each.
    static let pairs: [(directives: String, rule: @Sendable (inout ExchangeSettings) -> Void)] = [
        ("must-revalidate, max-age=60", { $0.overrides.lifetime = 3600 }),
        ("must-revalidate, max-age=60", { $0.overrides.directivesIgnoredWhenStale = [.mustRevalidate] }),
        ("must-revalidate, max-age=60", { $0.overrides.ignoredDirectives = [.mustRevalidate] }),
        ("must-revalidate", { $0.overrides.defaultLifetime = 3600 }),
        ("must-revalidate, no-cache, max-age=60", { $0.overrides.ignoredDirectives = [.noCache] }),
        ("s-maxage=60", { $0.overrides.lifetime = 3600 }),
        ("s-maxage=60", { $0.overrides.directivesIgnoredWhenStale = [.sMaxage] }),
    ]

    private static let alice: HTTPFields = [.authorization: "Basic alice"]
    private static let strangers: [HTTPFields] = [
        [:], [.authorization: "Basic mallory"], [.cacheControl: "max-stale"], [.cacheControl: "only-if-cached"],
    ]

    private func fixture(_ directives: String) async throws -> EngineFixture {
        let fixture = EngineFixture(kind: .shared)
        fixture.transport.script(url, .ok("alice's", fields: [.cacheControl: directives, .eTag: "\"1\""]))
        try await fixture.get(url, Self.alice)
        #expect(fixture.memory.all.map(\.head.sharingBasis) == [.directives])
        return fixture
    }

    private func reconfigure(_ fixture: EngineFixture, _ change: @escaping (inout ExchangeSettings) -> Void) {
        var options = EngineOptions()
        options.hardTimeout = nil
        fixture.engine.reconfigure(options: options, rules: TestRules(change))
    }

    @Test(arguments: 0..<pairs.count) func strangersGetWhatTheOriginSays(_ index: Int) async throws {
        let (directives, rule) = Self.pairs[index]
        for seconds in [1, 120] {
            let fixture = try await fixture(directives)
            reconfigure(fixture, rule)
            fixture.clock.advance(by: .seconds(seconds))
            for stranger in Self.strangers {
                fixture.transport.script(url, .status(.unauthorized))
                let result = try? await fixture.get(url, stranger)
                #expect(result?.text != "alice's", "\(directives), \(stranger)")
            }
        }
    }

    @Test(arguments: 0..<pairs.count) func strangersGetNothingWhileTheOriginFails(_ index: Int) async throws {
        let (directives, rule) = Self.pairs[index]
        for mode in [OfflineMode.automatic, .preferStored, .offline] {
            for seconds in [1, 120] {
                let fixture = try await fixture(directives)
                reconfigure(fixture, rule)
                fixture.engine.mode = mode
                fixture.clock.advance(by: .seconds(seconds))
                for stranger in Self.strangers {
                    for reply in [ScriptedTransport.Reply.failure(.connect), .status(.serviceUnavailable)] {
                        fixture.transport.script(url, reply)
                        let result = try? await fixture.get(url, stranger)
                        #expect(result?.text != "alice's", "\(directives), \(mode), \(stranger)")
                    }
                }
            }
        }
    }

    /// The ways without a task: what an event loop serves from memory.
    @Test(arguments: 0..<pairs.count) func noResidentHitGivesIt(_ index: Int) async throws {
        let (directives, rule) = Self.pairs[index]
        let fixture = try await fixture(directives)
        reconfigure(fixture, rule)
        for stranger in Self.strangers {
            let prepared = try #require(fixture.engine.prepare(fixture.request(url, stranger)))
            if case .serve = fixture.engine.attempt(on: prepared).begin() { Issue.record("\(directives)") }
        }
    }

    @Test(arguments: 0..<pairs.count) func isNotStoredUnderTheRule(_ index: Int) async throws {
        let (directives, rule) = Self.pairs[index]
        let fixture = EngineFixture(kind: .shared, rules: TestRules(rule))
        fixture.transport.script(url, .ok("alice's", fields: [.cacheControl: directives]))
        let result = try await fixture.get(url, Self.alice)
        #expect(result.response.outcome.notStored == .authorization && fixture.memory.all.isEmpty, "\(directives)")
    }

    /// A 304 to a request without credentials says that such requests may have it.
    @Test func originsWordForAStrangerCounts() async throws {
        let fixture = try await fixture("must-revalidate, max-age=60")
        reconfigure(fixture) { $0.overrides.lifetime = 3600 }
        let fields: HTTPFields = [.cacheControl: "must-revalidate, max-age=60", .eTag: "\"1\""]
        fixture.transport.script(url, .status(.notModified, fields: fields))
        #expect(try await fixture.get().text == "alice's")
        #expect(fixture.memory.all.map(\.head.sharingBasis) == [.noCredentials])
        #expect(try await fixture.get().response.outcome.isHit)
    }

    /// A mirror confirms any tag, and its 304 has no directives: it says nothing about strangers.
    @Test func confirmationWithoutDirectivesSaysNothing() async throws {
        let fixture = try await fixture("must-revalidate, max-age=60")
        reconfigure(fixture) { $0.overrides.lifetime = 3600 }
        let own: HTTPFields = [.cacheControl: "must-revalidate, max-age=60"]
        fixture.transport.script(url, .status(.notModified, fields: [.eTag: "\"1\""]), .ok("anyone's", fields: own))
        #expect(try await fixture.get().text == "anyone's")
        #expect(fixture.memory.all.map(\.head.sharingBasis) == [.noCredentials])
    }

    /// Its own fields may be the client's.
    @Test func confirmationForAClientWithCredentialsIsRecorded() async throws {
        let fixture = EngineFixture(kind: .shared)
        let fields: HTTPFields = [.cacheControl: "must-revalidate, max-age=60", .eTag: "\"1\""]
        fixture.transport.script(url, .ok("page", fields: fields), .status(.notModified, fields: fields))
        try await fixture.get()
        #expect(fixture.memory.all.map(\.head.sharingBasis) == [.noCredentials])
        fixture.clock.advance(by: .seconds(61))
        try await fixture.get(url, Self.alice)
        #expect(fixture.memory.all.map(\.head.sharingBasis) == [.directives])
    }

    /// Without such a rule, and with `public`, sharing is as before.
    @Test func sharesWhatNoRuleTouches() async throws {
        for directives in ["must-revalidate, max-age=60", "s-maxage=60"] {
            #expect(try await fixture(directives).get().response.outcome.isHit)
        }
        let fixture = try await fixture("public, must-revalidate")
        reconfigure(fixture) { $0.overrides.lifetime = 3600 }
        #expect(try await fixture.get().response.outcome.isHit)
    }

    /// A principal's own copy rests on no directive.
    @Test func principalsKeepTheirOwnCopies() async throws {
        let fixture = EngineFixture()
        let fields: HTTPFields = [.cacheControl: "s-maxage=0, max-age=60"]
        fixture.transport.script(url, .ok("alice's", fields: fields), .ok("mallory's", fields: fields))
        try await fixture.get(url, Self.alice)
        #expect(fixture.memory.all.map(\.head.sharingBasis) == [.noCredentials])
        #expect(try await fixture.get(url, Self.alice).response.outcome.isHit)
        #expect(try await fixture.get(url, [.authorization: "Basic mallory"]).text == "mallory's")
    }
}
