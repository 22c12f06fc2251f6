import HTTPCacheSemantics
import HTTPTypes
import Testing

/// Responses with `no-store` that are stored because an operator lifts it, for offline use only.
@Suite(.timeLimit(.minutes(20)), .tags(.rfc9111Storing)) struct KeptForOfflineTests {
    private final class Lifting: PolicyOverriding {
        let overrides: PolicyOverrides
        var dependsOnContentType: Bool { false }
        init(_ lifted: PolicyOverrides.Directives) {
            var overrides = PolicyOverrides()
            overrides.directivesIgnoredWhenStale = lifted
            self.overrides = overrides
        }
        func overrides(forContentType contentType: String?) -> PolicyOverrides { overrides }
    }

    private func policy(_ kind: CacheKind, lifting lifted: PolicyOverrides.Directives = .noStore) -> CachePolicy {
        var policy = CachePolicy(kind: kind)
        policy.overriding = Lifting(lifted)
        return policy
    }

    private func storability(
        _ policy: CachePolicy,
        _ pairs: [(String, String)],
        status: Int = 200,
        request pairsOfRequest: [(String, String)] = [],
        hasCredentials: Bool = false,
        isFollowed: Bool = false
    ) -> Storability {
        policy.storability(
            of: response(pairs, status: status),
            to: request(pairsOfRequest),
            hasCredentials: hasCredentials,
            isFollowed: isFollowed
        )
    }

    private static let values = ["no-store", "no-store, max-age=60", "no-cache, no-store, must-revalidate, private"]
    private static let kinds = [CacheKind.private, .shared]

    @Test(arguments: values, kinds) func storesASuccess(value: String, kind: CacheKind) {
        let fields = [("Cache-Control", value)]
        let isForOne = kind == .shared && value.contains("private")
        #expect(storability(policy(kind), fields) == (isForOne ? .forbidden(.privateResponse) : .common))
        #expect(storability(CachePolicy(kind: kind), fields) == .forbidden(.responseNoStore))
        let others = policy(kind, lifting: [.mustRevalidate, .noCache, .proxyRevalidate, .sMaxage])
        #expect(storability(others, fields) == .forbidden(.responseNoStore), "other directives are lifted")
    }

    @Test(arguments: [301, 302, 404, 410, 500]) func storesNothingButASuccess(status: Int) {
        for kind in Self.kinds {
            let fields = [("Cache-Control", "no-store, max-age=60")]
            #expect(storability(policy(kind), fields, status: status) == .forbidden(.responseNoStore))
        }
    }

    /// Without lifting it, a 302 needs a lifetime, followed or not. RFC 9110 §15.1
    @Test(arguments: [302, 303, 307], [[("Cache-Control", "no-store")], []])
    func followedRedirectIsStoredLikeASuccess(status: Int, fields: [(String, String)]) {
        for kind in Self.kinds {
            #expect(storability(policy(kind), fields, status: status, isFollowed: true) == .common)
            #expect(storability(policy(kind), fields, status: status) != .common)
            #expect(storability(CachePolicy(kind: kind), fields, status: status, isFollowed: true) != .common)
        }
    }

    @Test func obeysTheRequestsNoStore() {
        let fields = [("Cache-Control", "no-store")]
        #expect(storability(policy(.private), fields, request: fields) == .forbidden(.requestNoStore))
    }

    @Test func varyStarIsNotLifted() {
        let fields = [("Cache-Control", "no-store"), ("Vary", "*")]
        #expect(storability(policy(.private), fields) == .forbidden(.varyAny))
    }

    /// Mutant: `isForOffline` is always false.
    @Test(arguments: ["no-store", "no-store, public", "no-store, s-maxage=60"])
    func storesResponseToCredentialsForItsPrincipal(value: String) {
        let fields = [("Cache-Control", value)]
        #expect(storability(policy(.private), fields, hasCredentials: true) == .principal)
        #expect(storability(policy(.shared), fields, hasCredentials: true) == .forbidden(.authorization))
        let token = [("Authorization", "Bearer x")]
        let mustRevalidate = [("Cache-Control", value + ", must-revalidate")]
        #expect(storability(policy(.shared), mustRevalidate, request: token) == .forbidden(.authorization))
    }

    @Test(arguments: kinds) func storesSetCookieForItsPrincipalAlone(kind: CacheKind) {
        let fields = [("Cache-Control", "no-store"), ("Set-Cookie", "sid=1")]
        #expect(storability(policy(kind), fields) == .forbidden(.setCookie))
        guard kind == .private else { return }
        #expect(storability(policy(kind), fields, hasCredentials: true) == .principal)
    }

    /// Mutant: `statedLifetime` treats the response like any other.
    @Test(
        .tags(.rfc9111Stale),
        arguments: kinds,
        [
            [("Cache-Control", "no-store, max-age=3600")],
            [("Cache-Control", "no-store, public, s-maxage=3600")],
            [("Cache-Control", "no-store"), ("Last-Modified", "Sat, 01 Mar 2025 12:00:00 GMT")],
            [("Cache-Control", "no-store"), ("Expires", "Mon, 01 Mar 2027 12:00:00 GMT")],
        ]
    ) func isStaleFromTheStart(kind: CacheKind, pairs: [(String, String)]) {
        let head = stored(pairs)
        let policy = policy(kind, lifting: [.noStore, .sMaxage])
        #expect(policy.freshUntil(head) <= noon)
        let reuse = policy.reuse(of: head, for: request(), at: noon)
        #expect(reuse.decision == .validate(.stale), "it is validated while the origin is reachable")
        #expect(reuse.staleUse == .allowed && reuse.liftedDirective == "no-store")
        #expect(policy.staleUse(of: head) == .allowed, "the store keeps it for stale use")
    }

    @Test(.tags(.rfc9111Stale)) func otherProhibitionsMustBeLiftedToo() {
        let head = stored([("Cache-Control", "no-store, must-revalidate")])
        let alone = policy(.private).reuse(of: head, for: request(), at: noon)
        #expect(alone.staleUse == .forbidden(by: "must-revalidate"))
        let both = policy(.private, lifting: [.noStore, .mustRevalidate]).reuse(of: head, for: request(), at: noon)
        #expect(both.staleUse == .allowed)
    }

    /// Mutant: `mayServeCollapsed` without `forbidsStorage`; `isForOneUser` without it.
    @Test func servesNoOtherUser() {
        let policy = policy(.private)
        let head = stored([("Cache-Control", "no-store")])
        #expect(!policy.mayServeCollapsed(head))
        #expect(policy.isForOneUser(head))
        let other = stored([("Cache-Control", "max-age=60")])
        #expect(policy.mayServeCollapsed(other) && !policy.isForOneUser(other))
    }

    @Test func callersExpirySetsItsFreshness() {
        let head = stored([("Cache-Control", "no-store")], explicitExpiry: noon.adding(milliseconds: 60_000))
        #expect(policy(.private).reuse(of: head, for: request(), at: noon).decision == .fresh)
    }

    @Test func ignoredNoStoreIsServedNormally() {
        var overrides = PolicyOverrides()
        overrides.directivesIgnoredWhenStale = .noStore
        overrides.ignoredDirectives = .noStore
        final class Ignoring: PolicyOverriding {
            let overrides: PolicyOverrides
            var dependsOnContentType: Bool { false }
            init(_ overrides: PolicyOverrides) { self.overrides = overrides }
            func overrides(forContentType contentType: String?) -> PolicyOverrides { overrides }
        }
        var policy = CachePolicy(kind: .private)
        policy.overriding = Ignoring(overrides)
        let head = stored([("Cache-Control", "no-store, max-age=60")])
        #expect(policy.reuse(of: head, for: request(), at: noon).decision == .fresh)
        #expect(policy.mayServeCollapsed(head) && !policy.isForOneUser(head))
    }
}
