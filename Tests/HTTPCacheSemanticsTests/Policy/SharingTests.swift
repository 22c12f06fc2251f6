import HTTPTypes
import Testing

@testable import HTTPCacheSemantics

/// No rule gives strangers more of a response to a request with credentials than its origin does.
/// RFC 9111 §3.5
///
/// The tables state every directive on which sharing may rest, and every override that may lift it.
@Suite(.timeLimit(.minutes(20)), .tags(.attacks)) struct SharingTests {
    private static let directives = [
        "must-revalidate", "must-revalidate, max-age=60", "must-revalidate, max-age=0", "s-maxage=0",
        "s-maxage=0, max-age=60", "s-maxage=0, must-revalidate", "s-maxage=x, max-age=60", "s-maxage=60",
        "s-maxage=60, must-revalidate", "s-maxage=60, proxy-revalidate", "s-maxage=60, no-cache",
        "must-revalidate, no-cache, max-age=60", "s-maxage=60, private", "must-revalidate, private=\"x-y\"",
        "s-maxage=60, stale-while-revalidate=90", "s-maxage=60, stale-if-error=90", "max-age=60",
        "s-maxage=60, no-store",
    ]

    /// Each changes one thing.
    private static let overrides: [(name: String, change: @Sendable (inout PolicyOverrides) -> Void)] = [
        ("nothing", { _ in }), ("lifetime", { $0.lifetime = 3600 }), ("lifetime of 0", { $0.lifetime = 0 }),
        ("default", { $0.defaultLifetime = 3600 }), ("errors", { $0.errorLifetime = 3600 }),
        ("ignore must-revalidate", { $0.directivesIgnoredWhenStale = .mustRevalidate }),
        ("ignore s-maxage", { $0.directivesIgnoredWhenStale = .sMaxage }),
        ("ignore all", { $0.directivesIgnoredWhenStale = PolicyOverrides.Directives(rawValue: .max) }),
        ("ignored must-revalidate", { $0.ignoredDirectives = .mustRevalidate }),
        ("ignored s-maxage", { $0.ignoredDirectives = .sMaxage }),
        ("ignored no-cache", { $0.ignoredDirectives = .noCache }),
        ("ignored private", { $0.ignoredDirectives = .private }),
        ("ignored all", { $0.ignoredDirectives = PolicyOverrides.Directives(rawValue: .max) }),
        ("while-revalidate", { $0.staleWhileRevalidate = 3600 }), ("on-error", { $0.staleIfError = 3600 }),
        ("unreachable", { $0.maximumStalenessUnreachable = 3600 }),
    ]

    private final class Fixed: PolicyOverriding {
        let dependsOnContentType = false
        let overrides: PolicyOverrides
        init(_ overrides: PolicyOverrides) { self.overrides = overrides }
        func overrides(forContentType contentType: String?) -> PolicyOverrides { overrides }
    }

    private static func policy(_ change: (inout PolicyOverrides) -> Void, kind: CacheKind = .shared) -> CachePolicy {
        var policy = CachePolicy(kind: kind)
        var overrides = PolicyOverrides()
        change(&overrides)
        policy.overriding = Fixed(overrides)
        return policy
    }

    private static func head(
        _ value: String,
        _ basis: SharingBasis,
        _ more: [(String, String)] = [],
        status: Int = 200
    ) -> StoredResponseHead {
        var head = stored([("Cache-Control", value)] + more, status: status)
        head.sharingBasis = basis
        return head
    }

    /// The uses that a stored response allows a stranger.
    private struct Uses: OptionSet {
        let rawValue: Int
        static let unvalidated = Uses(rawValue: 1)
        static let unreachable = Uses(rawValue: 2)
        static let onError = Uses(rawValue: 4)

        init(rawValue: Int) { self.rawValue = rawValue }
        init(_ reuse: Reuse) {
            self = []
            if case .validate = reuse.decision {} else { insert(.unvalidated) }
            if reuse.staleUse == .allowed { insert(.unreachable) }
            // In place of an origin's error a fresh response is served without any extension.
            if reuse.allowsStaleOnError || (reuse.freshness.isFresh && reuse.staleUse == .allowed) { insert(.onError) }
        }
    }

    /// In seconds: fresh, stale within every extension of the origin, and staler than any of them.
    private static let ages: [Int64] = [0, 30, 61, 100, 200]
    private static let strangers: [[(String, String)]] = [
        [], [("Authorization", "Basic stranger")], [("Cookie", "a=stranger")], [("Cache-Control", "max-stale")],
        [("Cache-Control", "stale-if-error=3600")],
    ]

    @Test(arguments: directives) func noRuleGivesStrangersMoreThanTheOriginDoes(_ value: String) {
        let plain = CachePolicy(kind: .shared)
        for more in [[], [("Last-Modified", "Sun, 01 Feb 2026 12:00:00 GMT")]] {
            for status in [200, 404] {
                let head = Self.head(value, .directives, more, status: status)
                for (name, change) in Self.overrides {
                    let policy = Self.policy(change)
                    for own in Self.strangers {
                        for age in Self.ages {
                            let now = noon.adding(milliseconds: age * 1000)
                            let allowed = Uses(plain.reuse(of: head, for: request(own), at: now))
                            let uses = Uses(policy.reuse(of: head, for: request(own), at: now))
                            #expect(uses.isSubset(of: allowed), "\(value), \(name), \(own), \(status), \(age) s")
                        }
                    }
                    if plain.staleUse(of: head) != .allowed { #expect(policy.staleUse(of: head) != .allowed) }
                }
            }
        }
    }

    /// A response that is stored for all may be served to some stranger at some time.
    @Test(arguments: directives) func storesForAllOnlyWhatIsNotWithheld(_ value: String) {
        for (name, change) in Self.overrides {
            let policy = Self.policy(change)
            for own in [[("Authorization", "Basic alice")], [("Cookie", "a=alice")]] {
                let storability = policy.storability(
                    of: response([("Cache-Control", value)]),
                    to: request(own),
                    hasCredentials: true
                )
                guard storability == .common else { continue }
                #expect(!policy.isWithheld(Self.head(value, .directives)), "\(value), \(name), \(own)")
            }
        }
    }

    @Test(arguments: ["s-maxage=0", "s-maxage=0, max-age=60", "s-maxage=x", "s-maxage=60, s-maxage=0", "s-maxage"])
    func sMaxageOfZeroNeverShares(_ value: String) {
        let alice = request([("Authorization", "Basic alice")])
        let answer = response([("Cache-Control", value)])
        #expect(
            CachePolicy.shared.storability(of: answer, to: alice, hasCredentials: true) == .forbidden(.authorization)
        )
        #expect(CachePolicy.private.storability(of: answer, to: alice, hasCredentials: true) == .principal)
        #expect(CachePolicy.shared.isWithheld(Self.head(value, .directives)))
        #expect(!CachePolicy.shared.allowsSharing(Self.head(value, .noCredentials)))
    }

    /// The origin's own permission stays, and rules apply to responses without credentials.
    @Test(arguments: overrides.map(\.name)) func rulesApplyToOtherResponses(_ name: String) throws {
        let policy = Self.policy(try #require(Self.overrides.first { $0.name == name }).change)
        var restricting = policy
        restricting.overriding = nil
        for value in ["public, must-revalidate, max-age=60", "public, s-maxage=60", "public, s-maxage=0"] {
            let (theirs, own) = (Self.head(value, .directives), Self.head(value, .noCredentials))
            #expect(!policy.isWithheld(theirs))
            for age in Self.ages {
                let now = noon.adding(milliseconds: age * 1000)
                #expect(
                    policy.reuse(of: theirs, for: request(), at: now)
                        == policy.reuse(of: own, for: request(), at: now)
                )
            }
        }
        for value in ["must-revalidate, max-age=60", "s-maxage=60"] {
            #expect(!restricting.isWithheld(Self.head(value, .directives)))
            #expect(!policy.isWithheld(Self.head(value, .noCredentials)))
        }
    }

    /// Of a response that an earlier program stored, nothing is recorded.
    @Test(arguments: [
        ("must-revalidate, max-age=60", true), ("s-maxage=0, max-age=60", true), ("s-maxage=0, public", false),
        ("must-revalidate, public", false), ("must-revalidate, s-maxage=60", false), ("s-maxage=60", false),
        ("max-age=60", false), ("no-cache", false),
    ])
    func countsUnrecordedResponsesAsIfCredentialsHadBroughtThem(_ value: String, isWithheld: Bool) {
        let head = Self.head(value, .unrecorded)
        for policy in [
            Self.policy { $0.lifetime = 3600 },
            Self.policy { $0.directivesIgnoredWhenStale = [.mustRevalidate, .sMaxage] },
            Self.policy { $0.ignoredDirectives = [.mustRevalidate, .sMaxage] },
        ] {
            #expect(policy.isWithheld(head) == isWithheld)
            let reuse = policy.reuse(of: head, for: request(), at: noon)
            #expect((reuse.decision == .validate(.responseCredentials)) == isWithheld)
            #expect((reuse.staleUse == .forbidden(by: "credentials")) == isWithheld)
        }
        #expect(
            !Self.policy({ $0.lifetime = 3600 }, kind: .private).isWithheld(Self.head("must-revalidate", .unrecorded))
        )
    }

    @Test func callersExpiryIsNoPermissionToShare() {
        let expiry = noon.adding(milliseconds: 3_600_000)
        var head = stored([("Cache-Control", "must-revalidate")], explicitExpiry: expiry)
        head.sharingBasis = .directives
        #expect(CachePolicy.shared.isWithheld(head))
        for hasExpiry in [true, false] {
            let storability = CachePolicy.shared.storability(
                of: response([("Cache-Control", "must-revalidate, max-age=1")]),
                to: request([("Authorization", "Basic alice")]),
                hasCredentials: true,
                hasExplicitExpiry: hasExpiry
            )
            #expect(storability == (hasExpiry ? .forbidden(.authorization) : .common))
        }
    }

    /// A HEAD with credentials updates a shared response only where its response could be stored.
    @Test func headWithCredentialsUpdatesNothingUnderSuchARule() {
        let head = Self.head("must-revalidate, max-age=60", .noCredentials, [("ETag", "\"1\"")])
        let answer = response([("Cache-Control", "must-revalidate, max-age=60"), ("ETag", "\"1\"")])
        let alice = request([("Authorization", "Basic alice")], method: .head)
        func update(_ policy: CachePolicy) -> HeadUpdate {
            policy.headUpdate(of: head, bodyLength: 0, by: answer, to: alice, requestTime: noon, responseTime: noon)
        }
        if case .freshen = update(.shared) {} else { Issue.record("not freshened") }
        #expect(update(Self.policy { $0.lifetime = 3600 }) == .unrelated)
    }
}
