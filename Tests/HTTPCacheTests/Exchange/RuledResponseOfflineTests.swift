import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Testing

@testable import HTTPCache

/// Stored responses that requests in the mode `offline` do not get.
@Suite(.timeLimit(.minutes(20))) struct RuledResponseOfflineTests {
    private struct Case: Sendable {
        var reason: String?
        var fields: HTTPFields = [.cacheControl: "max-age=60"]
        var status = HTTPResponse.Status.ok
        var asked: HTTPFields = [:]
        var path = "/feed?a=1&utm=2"
        var seconds = 3600
        var old: TestRules?
        var new: TestRules?
        var kind = CacheKind.shared

        var label: String { "\(reason ?? "served"), \(status.code), \(fields), \(asked)" }
    }

    private static let cases: [Case] = [
        Case(), Case(reason: "must-revalidate", fields: [.cacheControl: "max-age=60, must-revalidate"]),
        Case(reason: "no-cache", fields: [.cacheControl: "max-age=60, no-cache", .eTag: "\"1\""]),
        Case(reason: "s-maxage", fields: [.cacheControl: "s-maxage=60"]),
        Case(fields: [.cacheControl: "max-age=60, s-maxage=60"], kind: .private),
        Case(reason: "bypass", new: TestRules { $0.isBypassed = true }),
        Case(reason: "bypass", status: .notFound, new: TestRules { $0.overrides.statuses = [200] }),
        Case(
            reason: "bypass",
            new: TestRules { (_: HTTPRequest) in
                RequestRules(
                    settings: ExchangeSettings(),
                    restrictions: [RequestRestriction(.init(query: ["utm": []]), isBypassed: true)]
                )
            }
        ),
        Case(reason: "key", new: TestRules { $0.target.ignoredParameters = ["utm"] }),
        Case(reason: "key", new: TestRules { $0.target.droppedParameters = ["utm"] }),
        Case(reason: "stale.offline", new: TestRules { $0.overrides.maximumStalenessOffline = 60 }),
        Case(new: TestRules { $0.overrides.maximumStalenessOffline = 7200 }),
        Case(reason: "stale-error", status: .notFound),
        Case(
            reason: "partial",
            fields: [.cacheControl: "max-age=60", .contentRange: "bytes 0-3/10", .eTag: "\"1\""],
            status: .partialContent,
            asked: [.range: "bytes=0-3"]
        ), Case(fields: [.cacheControl: "max-age=60", .vary: "Accept"], asked: [.accept: "text/html"]),
        Case(
            reason: "key",
            fields: [.cacheControl: "max-age=60", .vary: "Accept"],
            asked: [.accept: "text/html"],
            new: TestRules { $0.requestFields.removed = [.accept] }
        ),
        Case(
            fields: [.cacheControl: "max-age=60, public", .vary: "Authorization"],
            asked: [.authorization: "Bearer a"]
        ),
        Case(
            asked: [.cookie: "lang=de"],
            old: TestRules { $0.listed.cookies = ["lang": ["de"]] },
            new: TestRules { $0.listed.cookies = ["lang": ["de"]] }
        ), Case(reason: "key", asked: [.cookie: "lang=de"], old: TestRules { $0.listed.cookies = ["lang": ["de"]] }),
    ]

    /// The engine refuses the same requests. Mutants: `check-forgets-errors-and-parts`,
    /// `check-forgets-new-keys`.
    @Test(arguments: cases.indices) func offlineRequestIsRefusedForTheReason(_ index: Int) async throws {
        let example = Self.cases[index]
        let url = "https://a.example" + example.path
        let before = EngineFixture(kind: example.kind, rules: example.old)
        before.transport.script(url, .status(example.status, "0123", fields: example.fields))
        try await before.get(url, example.asked)
        let stored = try #require(before.memory.all.first)
        before.clock.advance(by: .seconds(example.seconds))
        let ruled = RuledResponse(stored, rules: example.new, policy: CachePolicy(kind: example.kind))
        #expect(ruled.offlineRefusal(at: before.clock.now()) == example.reason, "\(example.label)")

        let after = EngineFixture(kind: example.kind, mode: .offline, rules: example.new, memory: before.memory)
        after.clock.advance(by: .seconds(example.seconds))
        var asked = example.asked
        asked[.range] = nil
        let isServed = (try? await after.get(url, asked)) != nil
        #expect(isServed == (example.reason == nil), "\(example.label)")
    }

    /// A response that is fresh now gets stale in a long outage.
    @Test(
        arguments: [
            ("max-age=60", nil), ("max-age=60, must-revalidate", "must-revalidate"),
            ("max-age=60, s-maxage=60, stale-if-error=5", nil),
        ] as [(String, String?)]
    )
    func freshResponseIsJudgedAsStale(_ directives: String, reason: String?) async throws {
        let fixture = EngineFixture(kind: .shared)
        fixture.transport.script(EngineFixture.url, .ok("x", fields: [.cacheControl: directives]))
        try await fixture.get()
        let stored = try #require(fixture.memory.all.first)
        let ruled = RuledResponse(stored, rules: nil, policy: CachePolicy(kind: .shared))
        #expect(ruled.offlineRefusal(at: fixture.clock.now()) == reason)
    }
}
