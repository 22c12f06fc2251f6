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
}
