import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Testing

@testable import HTTPCache

/// Stored responses under rules that changed since they were stored.
@Suite(.timeLimit(.minutes(20))) struct RuledResponseTests {
    private let url = EngineFixture.url

    @Test(arguments: [("deflate, gzip", "deflate", false), ("deflate, gzip", "gzip", true), ("dcb, br", "dcb", false)])
    func codingOutsideNormalizedSpellingKeepsItsSelection(
        accepted: String,
        coding: String,
        isMoved: Bool
    ) async throws {
        let before = EngineFixture()
        before.transport.script(
            url,
            .ok("x", fields: [.cacheControl: "max-age=60", .vary: "Accept-Encoding", .contentEncoding: coding])
        )
        try await before.get(url, [.acceptEncoding: accepted])
        let stored = try #require(before.memory.all.first)
        let ruled = RuledResponse(
            stored,
            rules: TestRules { $0.normalizesAcceptEncoding = true },
            policy: CachePolicy(kind: .private)
        )
        let normalized = try #require(AcceptEncoding.normalized([.acceptEncoding: accepted]))
        #expect((ruled.head.selectingFields[.acceptEncoding] == normalized) == isMoved)
    }

    @Test func statusExcludedByRulesIsNotServed() async throws {
        let fixture = EngineFixture(rules: TestRules { $0.overrides.statuses = [200] })
        let before = EngineFixture()
        before.transport.script(url, .status(.notFound, fields: [.cacheControl: "max-age=60"]))
        try await before.get()
        let stored = try #require(before.memory.all.first)
        let ruled = RuledResponse(
            stored,
            rules: TestRules { $0.overrides.statuses = [200] },
            policy: CachePolicy(kind: .private)
        )
        let prepared = try #require(fixture.engine.prepare(try fixture.request()))
        var machine = ReuseMachine(prepared, now: before.clock.now())
        #expect(ruled.isPassedBy)
        if case .serve = machine.decide(on: [stored]) { Issue.record("it is served") }
    }

    /// Rules about the client's scheme.
    enum SchemeRule: CaseIterable {
        case none, ignored, hidden, partlyHidden

        fileprivate var rules: TestRules? {
            switch self {
            case .none: nil
            case .ignored:
                TestRules {
                    $0.ignoredFields = [.clientScheme]
                    $0.overrides.ignoredFields = [HTTPField.Name.clientScheme.canonicalName]
                }
            case .hidden: TestRules { $0.requestFields.removed = [.clientScheme, .forwarded] }
            case .partlyHidden: TestRules { $0.requestFields.removed = [.clientScheme] }
            }
        }
    }

    /// The engine agrees for every rule. Mutants: `check-ignores-the-scheme`,
    /// `check-reports-what-rules-share`.
    @Test(
        arguments: [
            (nil, ["http"], true), (nil, ["http", "https"], false), ("https", ["https"], true),
            ("https", ["http"], false), ("http", ["http", "https"], true),
        ] as [(recorded: String?, schemes: Set<String>, isFound: Bool)],
        SchemeRule.allCases
    )
    func responseIsFoundByClientsOfItsScheme(
        _ example: (recorded: String?, schemes: Set<String>, isFound: Bool),
        _ rule: SchemeRule
    ) async throws {
        let before = EngineFixture(kind: .shared)
        before.engine.selectsByScheme = example.recorded != nil
        before.transport.script(url, .fresh("x"))
        var own: HTTPFields = [:]
        own[.clientScheme] = example.recorded
        try await before.get(url, own)
        let stored = try #require(before.memory.all.first)
        #expect(stored.head.selectingFields[.clientScheme] == example.recorded)
        let ruled = RuledResponse(stored, rules: rule.rules, policy: CachePolicy(kind: .shared))
        let isFound = ruled.isFound(byClientsUsing: example.schemes)
        if case .none = rule { #expect(isFound == example.isFound) }
        if case .ignored = rule { #expect(isFound) }

        let after = EngineFixture(kind: .shared, rules: rule.rules)
        after.engine.selectsByScheme = example.schemes.count > 1
        let isServed = try example.schemes.contains { scheme in
            let fields = HTTPFields(clientScheme: scheme)
            let prepared = try #require(after.engine.prepare(try after.request(url, fields)))
            var machine = ReuseMachine(prepared, now: before.clock.now())
            return if case .serve = machine.decide(on: [stored]) { true } else { false }
        }
        #expect(isFound == isServed)
    }

    /// Such a proxy tells the origin nothing about its clients. Mutant:
    /// `check-takes-proxy-clients-for-others`.
    @Test(
        arguments: [
            (nil, ["http"], true), (nil, ["http", "https"], true), ("https", ["http"], false),
            ("http", ["http", "https"], false),
        ] as [(recorded: String?, schemes: Set<String>, isFound: Bool)],
        SchemeRule.allCases
    )
    func responseOfAForwardProxyIsFoundByItsClients(
        _ example: (recorded: String?, schemes: Set<String>, isFound: Bool),
        _ rule: SchemeRule
    ) async throws {
        let before = EngineFixture(kind: .shared)
        before.engine.selectsByScheme = true
        before.transport.script(url, .fresh("x"))
        var own: HTTPFields = [:]
        own[.clientScheme] = example.recorded
        try await before.get(url, own)
        let stored = try #require(before.memory.all.first)
        #expect(stored.head.selectingFields[.clientScheme] == example.recorded)
        let ruled = RuledResponse(stored, rules: rule.rules, policy: CachePolicy(kind: .shared))
        let isFound = ruled.isFoundByProxyClients(ofGatewayServing: example.schemes)
        if case .none = rule { #expect(isFound == example.isFound) }

        let after = EngineFixture(kind: .shared, rules: rule.rules)
        after.engine.selectsByScheme = example.schemes.count > 1
        let prepared = try #require(after.engine.prepare(try after.request(url)))
        var machine = ReuseMachine(prepared, now: before.clock.now())
        let isServed = if case .serve = machine.decide(on: [stored]) { true } else { false }
        #expect(isFound == isServed)
    }

    @Test func responseOfALibraryHasNoScheme() async throws {
        let before = EngineFixture()
        before.transport.script(url, .fresh("x"))
        try await before.get()
        let stored = try #require(before.memory.all.first)
        let ruled = RuledResponse(stored, rules: nil, policy: CachePolicy(kind: .private))
        #expect(ruled.isFound(byClientsUsing: []))
    }
}
