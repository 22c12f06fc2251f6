import HTTPCacheSemantics
import HTTPTypes
import Testing

/// Errors that a malformed request provokes, and that keep a good response from other clients.
///
/// docs/attacks.md, 31. Each test names the mutant, a change of one line of the policy, that makes
/// it fail.
@Suite(.timeLimit(.minutes(20)), .tags(.attacks)) struct DenialOfServiceAttackTests {
    /// `ProvokedErrorTests` covers which of them are stored.
    ///
    /// Mutants: `needsExplicitFreshness` without one of its codes; `lifetime` without the cap.
    @Test(arguments: [400, 405, 413, 414, 501])
    func provokedErrorNeedsARuleAndLivesAMinuteAtMost(status: Int) {
        for policy in [CachePolicy.shared, .private] {
            for value in ["public", "max-age=60", "public, max-age=86400"] {
                #expect(policy.verdict(on: [("Cache-Control", value)], status: status) == .forbidden(.statusProvoked))
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
            CachePolicy.shared.verdict(on: [("Cache-Control", "public, max-age=60")], status: 431)
                == .forbidden(.statusAboutRequest)
        )
    }
}
