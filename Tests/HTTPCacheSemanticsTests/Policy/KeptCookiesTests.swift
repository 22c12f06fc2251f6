import HTTPCacheSemantics
import HTTPTypes
import Testing

/// A policy whose rules say which cookies affect responses, and which are left out of the store.
@Suite(.timeLimit(.minutes(20))) struct KeptCookiesTests {
    private final class Overrides: PolicyOverriding {
        let dependsOnContentType = true
        let overrides: PolicyOverrides

        init(_ overrides: PolicyOverrides) { self.overrides = overrides }

        /// A response without a type matches no rule for a type.
        func overrides(forContentType contentType: String?) -> PolicyOverrides {
            contentType == nil ? PolicyOverrides() : overrides
        }
    }

    private func policy(
        _ kind: CacheKind = .shared,
        kept: [String]? = nil,
        without: [String]? = nil,
        storesSetCookie: Bool = false
    ) -> CachePolicy {
        var overrides = PolicyOverrides()
        overrides.keptCookies = kept.map { CookieNames($0) }
        overrides.withoutCookies = without.map { CookieNames($0) }
        var policy = CachePolicy(kind: kind, storesSetCookie: storesSetCookie)
        policy.overriding = Overrides(overrides)
        return policy
    }

    private func storability(
        _ policy: CachePolicy,
        _ fields: [(String, String)],
        to asked: [(String, String)] = []
    ) -> Storability {
        let request = request(asked)
        let hasCredentials = !asked.isEmpty
        let typed = response([("content-type", "text/html")] + fields)
        return policy.storability(of: typed, to: request, hasCredentials: hasCredentials)
    }

    @Test(arguments: ["public, max-age=60", "s-maxage=60", "public, s-maxage=60, must-revalidate"])
    func noDirectiveSharesWhatAKeptCookieInfluences(_ directives: String) {
        let fields = [("cache-control", directives)]
        let session = [("cookie", "session=1")]
        #expect(storability(policy(kept: ["session"]), fields, to: session) == .forbidden(.authorization))
        #expect(storability(policy(.private, kept: ["session"]), fields, to: session) == .principal)
        #expect(storability(policy(kept: ["session"]), fields) == .common, "an anonymous request")
        #expect(storability(policy(), fields, to: session) == .common, "no rule says that the cookie has an effect")
    }

    @Test func keptCookiesMayShareByVary() {
        let fields = [("cache-control", "public, max-age=60"), ("vary", "Accept, Cookie")]
        let session = [("cookie", "session=1")]
        #expect(storability(policy(kept: ["session"]), fields, to: session) == .common)
        let unmarked = [("cache-control", "max-age=60"), ("vary", "Cookie")]
        #expect(storability(policy(kept: ["session"]), unmarked, to: session) == .forbidden(.authorization))
    }

    @Test func listedCookiesDoNotKeepAResponseOut() {
        let fields = [("cache-control", "max-age=60"), ("set-cookie", "_ga=1; Path=/"), ("set-cookie", "seen=2")]
        let policy = policy(without: ["_ga", "seen"])
        #expect(storability(policy, fields) == .common)
        let typed = response([("content-type", "text/html")] + fields)
        #expect(policy.storedFields(of: typed).map(\.name) == [.contentType, .cacheControl])
        #expect(storability(self.policy(without: ["_ga"]), fields) == .forbidden(.setCookie), "another cookie")
        #expect(storability(self.policy(), fields) == .forbidden(.setCookie))
    }

    @Test(arguments: ["Seen=1", "seen", "seen =1", "\"seen\"=1", "seen.x=1", ""])
    func otherSetCookiesKeepAResponseOut(_ value: String) {
        let fields = [("cache-control", "max-age=60"), ("set-cookie", "seen=1"), ("set-cookie", value)]
        #expect(storability(policy(without: ["seen"]), fields) == .forbidden(.setCookie))
    }

    @Test(arguments: [[("cookie", "a=1")], [("authorization", "Bearer x")]])
    func listedCookiesCountInResponsesToCredentials(_ asked: [(String, String)]) {
        let fields = [("cache-control", "public, s-maxage=60"), ("set-cookie", "seen=1")]
        #expect(storability(policy(without: ["seen"]), fields, to: asked) == .forbidden(.setCookie))
        #expect(
            storability(policy(without: ["seen"], storesSetCookie: true), fields, to: asked) == .forbidden(.setCookie)
        )
        #expect(storability(policy(.private, without: ["seen"]), fields, to: asked) == .principal)
    }

    @Test func keptCookieIsNeverLeftOut() {
        let fields = [("cache-control", "max-age=60"), ("set-cookie", "session=1")]
        #expect(storability(policy(kept: ["session"], without: ["s*"]), fields) == .forbidden(.setCookie))
    }

    @Test(arguments: [CacheKind.shared, .private])
    func notModifiedAddsNoListedCookie(_ kind: CacheKind) throws {
        let policy = policy(kind, without: ["seen"], storesSetCookie: true)
        let freshened = try #require(
            policy.freshened(
                stored([("content-type", "text/html"), ("etag", "\"1\""), ("cache-control", "public, max-age=60")]),
                by: response([("etag", "\"1\""), ("set-cookie", "seen=1"), ("cache-control", "public")], status: 304),
                requestTime: noon,
                responseTime: noon
            )
        )
        #expect(!freshened.fields.contains(.setCookie))
    }

    /// The response to a user's HEAD neither freshens nor invalidates the copy of visitors.
    @Test(arguments: ["4", "5"]) func headWithAKeptCookieChangesNoSharedCopy(_ length: String) {
        let fields = [("content-type", "text/html"), ("etag", "\"1\""), ("cache-control", "public, max-age=60")]
        func update(_ policy: CachePolicy) -> HeadUpdate {
            var head = request([("cookie", "session=1")])
            head.method = .head
            return policy.headUpdate(
                of: stored(fields),
                bodyLength: 4,
                by: response(fields + [("content-length", length)]),
                to: head,
                requestTime: noon,
                responseTime: noon
            )
        }
        if case .unrelated = update(policy(kept: ["session"])) {} else { Issue.record("The copy changes.") }
        if case .unrelated = update(policy()) { Issue.record("Without a rule, 'public' is enough.") }
    }
}
