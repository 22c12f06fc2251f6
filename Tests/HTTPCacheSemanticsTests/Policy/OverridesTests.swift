import HTTPCacheSemantics
import HTTPTypes
import Testing

/// An operator's overrides take precedence over a response's own fields, in private and shared
/// caches.
@Suite(.timeLimit(.minutes(20))) struct OverridesTests {
    private final class Overriding: PolicyOverriding {
        let overrides: PolicyOverrides
        let contentType: String?
        var dependsOnContentType: Bool { contentType != nil }

        init(_ overrides: PolicyOverrides, for contentType: String?) {
            self.overrides = overrides
            self.contentType = contentType
        }

        func overrides(forContentType contentType: String?) -> PolicyOverrides {
            self.contentType == nil || self.contentType == contentType ? overrides : PolicyOverrides()
        }
    }

    private func policy(
        _ kind: CacheKind,
        for contentType: String? = nil,
        _ change: (inout PolicyOverrides) -> Void
    ) -> CachePolicy {
        var overrides = PolicyOverrides()
        change(&overrides)
        var policy = CachePolicy(kind: kind)
        policy.overriding = Overriding(overrides, for: contentType)
        return policy
    }

    private func cc(_ value: String) -> [(String, String)] { [("Cache-Control", value)] }

    private static let kinds = [CacheKind.private, .shared]

    private func storability(
        _ policy: CachePolicy,
        _ pairs: [(String, String)],
        status: Int = 200,
        request: [(String, String)] = [],
        method: HTTPRequest.Method = .get
    ) -> Storability {
        policy.storability(
            of: response(pairs, status: status),
            to: HTTPCacheSemanticsTests.request(request, method: method),
            hasCredentials: false,
            methodIsKeyed: method == .post
        )
    }

    private func reuse(
        _ policy: CachePolicy,
        _ pairs: [(String, String)],
        request: [(String, String)] = [],
        after seconds: Int64
    ) -> Reuse {
        policy.reuse(
            of: stored(pairs),
            for: HTTPCacheSemanticsTests.request(request),
            at: noon.adding(milliseconds: seconds * 1000)
        )
    }

    // MARK: Freshness

    @Test(arguments: kinds) func lifetimeReplacesTheResponsesOwn(kind: CacheKind) {
        let policy = policy(kind) {
            $0.lifetime = 300
            $0.errorLifetime = 20
            $0.defaultLifetime = 7
        }
        for value in ["max-age=5", "s-maxage=5", "public", "max-age=9999"] {
            let lifetime = policy.freshnessLifetime(of: stored(cc(value)))
            #expect(lifetime == FreshnessLifetime(milliseconds: 300_000, source: .rule))
        }
        #expect(policy.freshnessLifetime(of: stored([("Expires", "0")])).milliseconds == 300_000)
        #expect(policy.lifetimeSeconds(cc("max-age=5"), status: 302) == 300)
        #expect(policy.lifetimeSeconds(cc("max-age=5"), status: 404) == 20)
        #expect(policy.freshUntil(stored(cc("max-age=5"))) == noon.adding(milliseconds: 300_000))
        let explicit = stored(cc("max-age=5"), explicitExpiry: noon.adding(milliseconds: 1000))
        #expect(policy.freshnessLifetime(of: explicit).source == .explicitExpiry)
    }

    @Test(arguments: kinds) func defaultLifetimeAppliesOnlyWithoutAStatedOne(kind: CacheKind) {
        let policy = policy(kind) { $0.defaultLifetime = 300 }
        let silent = policy.freshnessLifetime(of: stored([("Last-Modified", noonDate)]))
        #expect(silent == FreshnessLifetime(milliseconds: 300_000, source: .ruleDefault))
        #expect(policy.lifetimeSeconds(cc("max-age=5")) == 5)
        #expect(policy.lifetimeSeconds([("Expires", "0")]) == 0)
        #expect(policy.lifetimeSeconds(cc("s-maxage=5")) == (kind == .shared ? 5 : 300))
        #expect(policy.lifetimeSeconds([], status: 404) == 0, "errors have their own lifetime")
    }

    @Test(arguments: kinds) func provokedErrorsStayCapped(kind: CacheKind) {
        let policy = policy(kind) { $0.errorLifetime = 9999 }
        #expect(policy.lifetimeSeconds([], status: 400) == 60)
        #expect(policy.lifetimeSeconds([], status: 404) == 9999)
    }

    @Test func lifetimeAppliesToItsContentTypeOnly() {
        let policy = policy(.private, for: "image/png") { $0.lifetime = 300 }
        #expect(policy.lifetimeSeconds([("Content-Type", "image/png")]) == 300)
        #expect(policy.lifetimeSeconds([("Content-Type", "text/plain")]) == 0)
        #expect(policy.lifetimeSeconds([]) == 0)
    }

    // MARK: Storing

    @Test(arguments: kinds) func ignoredDirectivesHaveNoEffect(kind: CacheKind) {
        let policy = policy(kind) { $0.ignoredDirectives = [.noStore, .private, .noCache] }
        #expect(storability(policy, cc("no-store, private, no-cache")) == .common)
        #expect(storability(policy, cc("no-store"), request: cc("no-store")) == .forbidden(.requestNoStore))
        #expect(reuse(policy, cc("no-cache, private, max-age=60"), after: 1).decision == .fresh)
        #expect(policy.storedFields(of: response(cc("private=\"a\"") + [("A", "1")])).count == 2)
    }

    @Test func ignoredSMaxageGivesNoLifetimeAndNoPermission() {
        let policy = policy(.shared) { $0.ignoredDirectives = [.sMaxage] }
        #expect(policy.lifetimeSeconds(cc("s-maxage=60, max-age=5")) == 5)
        #expect(
            storability(policy, cc("s-maxage=60"), request: [("Authorization", "x")]) == .forbidden(.authorization)
        )
    }

    @Test func authorizationAndSetCookieCannotBeIgnored() {
        let policy = policy(.shared) {
            $0.ignoredDirectives = [.private, .noStore]
            $0.lifetime = 60
            $0.ignoredFields = ["authorization", "cookie"]
        }
        #expect(storability(policy, cc("private"), request: [("Authorization", "x")]) == .forbidden(.authorization))
        #expect(storability(policy, cc("private") + [("Set-Cookie", "a=1")]) == .forbidden(.setCookie))
        #expect(storability(policy, cc("private"), request: [("Cookie", "a=1")]) == .common)
    }

    @Test(arguments: kinds) func ruleLifetimeMakesResponsesStorable(kind: CacheKind) {
        let policy = policy(kind) { $0.lifetime = 60 }
        #expect(storability(policy, [], status: 302) == .common)
        #expect(storability(policy, [], method: .post) == .common)
        #expect(storability(policy, [], status: 403) == .forbidden(.notExplicit))
        #expect(storability(policy, cc("no-store")) == .forbidden(.responseNoStore))
        let errors = self.policy(kind) { $0.errorLifetime = 60 }
        #expect(storability(errors, [], status: 403) == .common)
        #expect(storability(errors, [], status: 429) == .forbidden(.statusAboutRequest))
        #expect(storability(errors, [], status: 302) == .forbidden(.notExplicit))
    }

    @Test(arguments: kinds) func storesOnlyTheStatusesOfARule(kind: CacheKind) {
        let policy = policy(kind) { $0.statuses = [200, 301] }
        #expect(storability(policy, cc("max-age=60")) == .common)
        #expect(storability(policy, cc("max-age=60"), status: 404) == .forbidden(.rule))
        #expect(storability(policy, cc("max-age=60"), status: 429) == .forbidden(.statusAboutRequest))
    }

    // MARK: Variants

    @Test(arguments: kinds) func ignoredFieldsAreNeitherComparedNorStored(kind: CacheKind) {
        let policy = policy(kind) { $0.ignoredFields = ["user-agent"] }
        let vary = [("Vary", "User-Agent, Accept")]
        let presented = request([("User-Agent", "a"), ("Accept", "b")])
        #expect(policy.selectingFields(of: presented, for: response(vary)) == fields([("accept", "b")]))
        let head = stored(vary, selecting: [("user-agent", "old"), ("accept", "b")])
        #expect(policy.matchesVariant(head, presented))
        #expect(!policy.matchesVariant(head, request([("User-Agent", "a"), ("Accept", "c")])))
        #expect(!policy.matchesVariant(stored([("Vary", "User-Agent, *")]), presented))
        let freshened = policy.freshened(
            stored([("ETag", "\"1\"")]),
            by: response([("ETag", "\"1\"")] + vary, status: 304),
            requestTime: noon,
            responseTime: noon,
            request: presented
        )
        #expect(freshened?.selectingFields == fields([("accept", "b")]))
    }

    @Test func ignoredCookieMakesNoDifferenceToASharedCache() {
        let policy = policy(.shared) { $0.ignoredFields = ["cookie"] }
        #expect(reuse(policy, cc("max-age=60"), request: [("Cookie", "a")], after: 1).decision == .fresh)
        #expect(
            CachePolicy.shared.reuse(of: stored(cc("max-age=60")), for: request([("Cookie", "a")]), at: noon).decision
                == .validate(.requestCredentials)
        )
    }

    // MARK: Staleness

    @Test(.tags(.rfc5861), arguments: kinds) func staleExtensionsReplaceTheResponses(kind: CacheKind) {
        let policy = policy(kind) {
            $0.staleWhileRevalidate = 10
            $0.staleIfError = 20
        }
        #expect(reuse(policy, cc("max-age=1"), after: 11).decision == .staleWhileRevalidate)
        #expect(reuse(policy, cc("max-age=1, stale-while-revalidate=99"), after: 12).decision == .validate(.stale))
        #expect(reuse(policy, cc("max-age=1"), after: 21).allowsStaleOnError)
        #expect(!reuse(policy, cc("max-age=1, stale-if-error=99"), after: 22).allowsStaleOnError)
        let forbidden = reuse(policy, cc("max-age=1, must-revalidate"), after: 2)
        #expect(forbidden.decision == .validate(.stale) && !forbidden.allowsStaleOnError)
        let none = self.policy(kind) { $0.staleWhileRevalidate = 0 }
        #expect(reuse(none, cc("max-age=1, stale-while-revalidate=9"), after: 2).decision == .validate(.stale))
    }

    @Test(
        .tags(.rfc9111Stale),
        arguments: [
            ("must-revalidate", PolicyOverrides.Directives.mustRevalidate), ("no-cache", .noCache),
            ("proxy-revalidate", .proxyRevalidate), ("s-maxage=1", .sMaxage),
        ]
    ) func liftedDirectiveAllowsStaleUse(directive: String, lifted: PolicyOverrides.Directives) {
        let policy = policy(.shared) { $0.directivesIgnoredWhenStale = lifted }
        let reuse = reuse(policy, cc("max-age=1, \(directive)"), after: 9)
        #expect(reuse.decision == .validate(.stale), "it is validated while the origin is reachable")
        #expect(reuse.staleUse == .allowed)
        #expect(reuse.liftedDirective == String(directive.prefix { $0 != "=" }))
        #expect(policy.staleUse(of: stored(cc(directive))) == .allowed, "the store keeps it for stale use")
        let plain = self.reuse(policy, cc("max-age=1"), after: 9)
        #expect(plain.liftedDirective == nil)
    }

    @Test(.tags(.rfc9111Stale)) func everyForbiddingDirectiveMustBeLifted() {
        let policy = policy(.shared) { $0.directivesIgnoredWhenStale = [.mustRevalidate] }
        let both = reuse(policy, cc("max-age=1, must-revalidate, no-cache"), after: 9)
        #expect(both.staleUse == .forbidden(by: "no-cache"))
        #expect(both.liftedDirective == nil)
        let cookie = reuse(policy, cc("max-age=1, must-revalidate"), request: [("Cookie", "a")], after: 9)
        #expect(cookie.staleUse == .forbidden(by: "cookie"))
    }

    @Test(.tags(.rfc9111Stale)) func privateIsNeverLifted() {
        let policy = policy(.shared) { $0.directivesIgnoredWhenStale = [.noStore, .private] }
        #expect(reuse(policy, cc("max-age=1, private"), after: 9).staleUse == .forbidden(by: "private"))
    }

    @Test(.tags(.rfc9111Stale), arguments: kinds) func exceededStalenessLimitForbidsStaleUse(kind: CacheKind) {
        let policy = policy(kind) {
            $0.maximumStalenessUnreachable = 10
            $0.maximumStalenessOffline = 20
        }
        let expected: [(Int64, Reuse.StaleUse, Reuse.StaleUse)] = [
            (0, .allowed, .allowed), (11, .allowed, .allowed), (12, .forbidden(by: "stale.unreachable"), .allowed),
            (21, .forbidden(by: "stale.unreachable"), .allowed),
            (22, .forbidden(by: "stale.unreachable"), .forbidden(by: "stale.offline")),
        ]
        for (seconds, unreachable, offline) in expected {
            let reuse = reuse(policy, cc("max-age=1"), after: seconds)
            #expect(reuse.staleUse(isOffline: false) == unreachable, "after \(seconds) s")
            #expect(reuse.staleUse(isOffline: true) == offline, "after \(seconds) s")
            #expect(reuse.staleUse == .allowed, "directives do not matter here")
        }
        let forbidden = reuse(policy, cc("max-age=1, must-revalidate"), after: 99)
        #expect(forbidden.staleUse(isOffline: true) == .forbidden(by: "must-revalidate"))
    }

    @Test func notModifiedUsesTheStoredContentType() {
        let policy = policy(.shared, for: "text/plain") { $0.ignoredDirectives = [.private] }
        let head = stored([("ETag", "\"1\""), ("Content-Type", "text/plain")])
        let freshened = policy.freshened(
            head,
            by: response([("ETag", "\"1\""), ("Cache-Control", "private=\"a\""), ("A", "1")], status: 304),
            requestTime: noon,
            responseTime: noon,
            request: request()
        )
        #expect(freshened?.fields.contains { $0.name.canonicalName == "a" } == true)
    }
}
