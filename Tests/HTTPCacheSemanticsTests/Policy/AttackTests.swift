import HTTPCacheSemantics
import HTTPTypes
import Testing

/// Attacks on caches, and mistakes of careless origins. Each test names the mutant, a change of one
/// line of the policy, that makes it fail.
@Suite("Attacks", .timeLimit(.minutes(20)), .tags(.attacks))
struct AttackTests {
    private func decide(
        _ policy: CachePolicy,
        _ pairs: [(String, String)],
        status: Int = 200,
        request own: [(String, String)] = [],
        hasCredentials: Bool = false
    ) -> Storability {
        policy.storability(of: response(pairs, status: status), to: request(own), hasCredentials: hasCredentials)
    }

    // Vary is stored and applied; `*` is never reused.

    /// Mutant: `SelectingField.areSameLines` returns `true` in its `default` case.
    @Test func selectedResponseNeedsItsSelectingField() {
        let head = stored([("Cache-Control", "max-age=60"), ("Vary", "X-Tenant")], selecting: [("X-Tenant", "a")])
        #expect(CachePolicy.shared.selectVariant(from: [head], for: request(), at: noon) == nil)
        #expect(CachePolicy.shared.selectVariant(from: [head], for: request([("x-tenant", "a")]), at: noon) == 0)
    }

    /// Mutant: `SelectingField.line` looks at the first line only (returns `field` at once).
    @Test func readsEveryLineOfASelectingField() {
        let head = stored([("Cache-Control", "max-age=60"), ("Vary", "X-Tenant")], selecting: [("X-Tenant", "a")])
        let smuggled = request([("X-Tenant", "a"), ("X-Tenant", "b")])
        #expect(CachePolicy.shared.selectVariant(from: [head], for: smuggled, at: noon) == nil)
    }

    /// Mutants: `matchesNominated` without its comparison with `*`; `storability` without
    /// `vary.hasWildcard`.
    @Test(arguments: ["*", "Accept, *", "*, Accept"])
    func varyStarIsNeitherStoredNorReused(vary: String) {
        #expect(decide(.shared, [("Cache-Control", "max-age=60"), ("Vary", vary)]) == .forbidden(.varyAny))
        let head = stored([("Cache-Control", "max-age=60"), ("Vary", vary)])
        #expect(CachePolicy.shared.selectVariant(from: [head], for: request(), at: noon) == nil)
    }

    /// Mutant: `matchesNominated` without `count <= FieldNameList.maximumNames`.
    @Test func varyOfAThousandNamesNeverMatches() {
        let vary = (0..<1000).map { "x\($0)" }.joined(separator: ",")
        let head = stored([("Vary", vary)])
        #expect(CachePolicy.shared.selectVariant(from: [head], for: request(), at: noon) == nil)
        #expect(decide(.shared, [("Cache-Control", "max-age=60"), ("Vary", vary)]) == .forbidden(.varyAny))
    }

    // A partial response is not stored as a whole one. (`RangeTests` covers ranges.)

    /// Mutant: `updated` without `FieldRules.isFixedByContent`.
    @Test func notModifiedKeepsLengthAndContentRange() throws {
        let head = stored([("ETag", "\"1\""), ("Content-Length", "5")])
        let update = response(
            [("ETag", "\"1\""), ("Content-Range", "bytes 0-0/5"), ("Content-Length", "1")],
            status: 304
        )
        let new = try #require(CachePolicy.shared.freshened(head, by: update, requestTime: noon, responseTime: noon))
        #expect(new.fields[.contentLength] == "5" && !new.fields.contains(.contentRange))
    }

    // Authorization, RFC 9111 §3.5.

    /// Mutant: `audience` without `directives.mustRevalidate` rejects too much; without the whole
    /// condition, too little.
    @Test(arguments: [
        ("max-age=60", false), ("max-age=60, proxy-revalidate", false), ("max-age=60, no-cache", false),
        ("private=\"x\", max-age=60", false),
        ("max-age=60, public", true), ("s-maxage=60", true), ("max-age=60, must-revalidate", true),
    ])
    func sharesAuthorizedResponseOnlyIfOriginAllowsIt(value: String, isStored: Bool) {
        for own in [("Authorization", "Basic x"), ("authorization", "")] {
            let verdict = decide(.shared, [("Cache-Control", value)], request: [own])
            #expect(verdict == (isStored ? .common : .forbidden(.authorization)))
        }
    }

    /// Mutant: `audience` returns `allowsSharing || directives.mustRevalidate ? .common` in a
    /// private cache.
    @Test func storesPrincipalsResponseForThePrincipal() {
        for value in ["max-age=60", "max-age=60, must-revalidate", "private, public, max-age=60"] {
            #expect(decide(.private, [("Cache-Control", value)], hasCredentials: true) == .principal)
        }
    }

    // Set-Cookie.

    /// Mutant: `storesSetCookie` is `true` by default.
    @Test func sharesNoSetCookieByDefault() {
        for value in ["public, max-age=60", "s-maxage=60", "max-age=60"] {
            let pairs = [("Cache-Control", value), ("Set-Cookie", "session=secret")]
            #expect(decide(.shared, pairs) == .forbidden(.setCookie))
        }
    }

    /// Mutant: `audience` without its line about `setsCookie` in a shared cache.
    @Test func sharesSetCookieOnlyWithPublicOrSMaxage() {
        let policy = CachePolicy(kind: .shared, storesSetCookie: true)
        let cookie = ("Set-Cookie", "session=secret")
        for value in [
            "max-age=60", "max-age=60, must-revalidate", "max-age=60, no-cache=\"set-cookie\"", "max-age=60, immutable",
        ] {
            #expect(decide(policy, [("Cache-Control", value), cookie]) == .forbidden(.setCookie))
        }
        #expect(decide(policy, [("Cache-Control", "public, max-age=60"), cookie]) == .common)
        // A targeted field decides, here as everywhere.
        let targeted = [("Cache-Control", "public, max-age=60"), ("CDN-Cache-Control", "max-age=60"), cookie]
        #expect(decide(policy, targeted) == .forbidden(.setCookie))
    }

    /// Mutant: `updated` appends every field of the update at once.
    @Test func notModifiedAddsNoCookieToSharedResponse() throws {
        let head = stored([("ETag", "\"1\""), ("Cache-Control", "max-age=60")])
        let update = response([("ETag", "\"1\""), ("Set-Cookie", "session=secret")], status: 304)
        let new = try #require(CachePolicy.shared.freshened(head, by: update, requestTime: noon, responseTime: noon))
        #expect(!new.fields.contains(.setCookie))
    }

    /// Mutant: `headUpdate` without its lines about credentials.
    @Test func principalsHeadDoesNotUpdateSharedResponse() {
        let head = stored([("Cache-Control", "max-age=60"), ("ETag", "\"1\"")])
        let update = CachePolicy.shared.headUpdate(
            of: head,
            bodyLength: 5,
            by: response([("X-User", "alice"), ("ETag", "\"1\"")]),
            to: request([("Authorization", "Bearer alice")], method: .head),
            requestTime: noon,
            responseTime: noon
        )
        #expect(update == .unrelated)
    }

    // Requests with Cookie.

    /// Mutant: `isForOthers` is `false`.
    @Test(.tags(.rfc9111Stale)) func requestWithCookieNeedsValidationInSharedCache() {
        let head = stored([
            ("Date", noonDate), ("Cache-Control", "max-age=60, stale-while-revalidate=60, stale-if-error=60"),
        ])
        let own = request([("Cookie", "session=a")])
        for seconds in [1, 61] as [Int64] {
            let reuse = CachePolicy.shared.reuse(of: head, for: own, at: noon.adding(milliseconds: seconds * 1000))
            #expect(reuse.decision == .validate(seconds == 1 ? .requestCredentials : .stale))
            #expect(reuse.staleUse == .forbidden(by: "cookie") && !reuse.allowsStaleOnError)
        }
        // The caller's expiry concerns time, not the response's audience.
        var expiring = head
        expiring.explicitExpiry = .distantFuture
        #expect(CachePolicy.shared.reuse(of: expiring, for: own, at: noon).decision == .validate(.requestCredentials))
    }

    /// Mutant: `prohibition` puts `cookie` before the response's own directives.
    @Test(.tags(.rfc9111Stale)) func namesTheResponsesProhibitionBeforeTheCookie() {
        let head = stored([("Date", noonDate), ("Cache-Control", "max-age=60, must-revalidate")])
        let reuse = CachePolicy.shared.reuse(of: head, for: request([("Cookie", "a")]), at: noon)
        #expect(reuse.staleUse == .forbidden(by: "must-revalidate"))
    }

    @Test func cookieValidationIsForwardedAsRequest() {
        #expect(Reuse.ValidationReason.requestCredentials.forwardReason == .request)
    }

    // no-store and private.

    /// Mutants: `refusal` without `noStore`, without `isPrivate`; `forbidsStorage` without
    /// `noStore`.
    @Test(.tags(.rfc9111Stale)) func noStoreAndPrivateAreNeitherStoredNorServed() {
        for value in ["no-store", "max-age=60, No-Store", "public, no-store, s-maxage=60", "no-store=\"x\""] {
            for policy in [CachePolicy.shared, .private] {
                #expect(decide(policy, [("Cache-Control", value)]) == .forbidden(.responseNoStore))
            }
            // A 304 can bring it later.
            let head = stored([("Date", noonDate), ("Cache-Control", "max-age=60"), ("Cache-Control", value)])
            #expect(CachePolicy.shared.decision(head, after: 0) != .fresh)
            #expect(CachePolicy.shared.staleUse(of: head) == .forbidden(by: "no-store"))
        }
        for value in ["private", "Private, max-age=60, public", "private=\"\", max-age=60", "private=x y"] {
            #expect(decide(.shared, [("Cache-Control", value)]) == .forbidden(.privateResponse))
        }
        #expect(
            decide(.shared, [("Cache-Control", "max-age=60")], request: [("Cache-Control", "no-store")])
                == .forbidden(.requestNoStore)
        )
    }

    // Errors that a malformed request provokes.

    /// `ProvokedErrorTests` covers which of them are stored.
    ///
    /// Mutants: `needsExplicitFreshness` without one of its codes; `lifetime` without the cap.
    @Test(arguments: [400, 405, 413, 414, 501])
    func provokedErrorNeedsARuleAndLivesAMinuteAtMost(status: Int) {
        for policy in [CachePolicy.shared, .private] {
            for value in ["public", "max-age=60", "public, max-age=86400"] {
                #expect(decide(policy, [("Cache-Control", value)], status: status) == .forbidden(.statusProvoked))
            }
            for value in ["max-age=86400", "max-age=86400, s-maxage=86400, immutable"] {
                #expect(policy.lifetimeSeconds([("Cache-Control", value)], status: status) == 60)
            }
            #expect(
                policy.lifetimeSeconds(
                    [("Date", noonDate), ("Expires", "Sun, 01 Mar 2027 12:00:00 GMT")],
                    status: status
                ) == 60
            )
            #expect(policy.lifetimeSeconds([("Cache-Control", "max-age=5")], status: status) == 5)
        }
    }

    /// Mutant: the cap is a constant.
    @Test func policySetsTheLifetimeCapOfErrors() {
        let policy = CachePolicy(kind: .shared, maximumErrorLifetime: 5)
        #expect(policy.lifetimeSeconds([("Cache-Control", "max-age=60")], status: 400) == 5)
        #expect(
            CachePolicy(kind: .shared, maximumErrorLifetime: -1).lifetimeSeconds(
                [("Cache-Control", "max-age=60")],
                status: 400
            ) == 0
        )
        #expect(policy.lifetimeSeconds([("Cache-Control", "max-age=60")], status: 404) == 60)
    }

    /// Mutant: `extensions` without its guard.
    @Test(.tags(.rfc5861)) func provokedErrorIsNeverServedStale() {
        let head = stored(
            [("Date", noonDate), ("Cache-Control", "max-age=60, stale-while-revalidate=86400, stale-if-error=86400")],
            status: 400
        )
        let reuse = CachePolicy.shared.reuse(of: head, for: request(), at: noon.adding(milliseconds: 61_000))
        #expect(reuse.decision == .validate(.stale) && !reuse.allowsStaleOnError)
    }

    /// Mutant: the cap is applied to the caller's expiry.
    @Test func callersExpiryIsNotCapped() {
        let head = stored([], status: 400, explicitExpiry: noon.adding(milliseconds: 3_600_000))
        #expect(CachePolicy.shared.decision(head, after: 3599) == .fresh)
    }

    /// Mutant: `isAboutTheRequest` without 431.
    @Test func neverStoresA431() {
        #expect(
            decide(.shared, [("Cache-Control", "public, max-age=60")], status: 431) == .forbidden(.statusAboutRequest)
        )
    }

    // Connection removes no field that is in the key or protects.

    /// Mutant: `isProtectedInRequests` without one of its names.
    @Test(arguments: [
        "Authorization", "Cookie", "Host", "Cache-Control", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto",
        "X-Forwarded-Port",
        "Forwarded", "Via", "Range", "If-None-Match", "If-Range", "If-Match", "Content-Length", "Content-Type",
        "Content-Encoding", "Accept",
        "Accept-Encoding", "Origin", "Pragma", "Expect", "X-Real-IP",
    ])
    func connectionRemovesNoProtectedRequestField(name: String) {
        let kept = CachePolicy.forwardedFields(
            of: fields([("Connection", "close, \(name.lowercased()), x-a"), (name, "v"), ("X-A", "1")])
        )
        #expect(kept.map(\.name.rawName) == [name])
    }

    /// Mutants: `isProtected` without one of its names; `storable` that keeps nominated fields.
    @Test func connectionRemovesOnlyUnprotectedResponseFields() {
        let protecting = [
            "Cache-Control", "CDN-Cache-Control", "Vary", "Age", "Date", "ETag", "Expires", "Last-Modified",
            "Content-Encoding", "Content-Length",
            "Content-Range", "Content-Type",
        ]
        let names = protecting + ["X-Internal"]
        let received = response([("Connection", names.joined(separator: ", "))] + names.map { ($0, "1") })
        #expect(CachePolicy.shared.storedFields(of: received).map(\.name.rawName) == protecting)
        #expect(CachePolicy.shared.forwardedResponseFields(of: received.headerFields).map(\.name.rawName) == protecting)
    }
}
