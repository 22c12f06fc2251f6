import HTTPCacheSemantics
import HTTPTypes
import Testing

/// The errors that are stored: every status from 400 on, with every kind of lifetime, with and
/// without a rule.
///
/// docs/attacks.md, 31: a malformed request of one client makes an origin send an error for a good
/// URI, and the next client gets that error.
@Suite(.timeLimit(.minutes(20)), .tags(.attacks, .rfc9111Storing)) struct ProvokedErrorTests {
    /// Errors about the form of the request, by their names in RFC 9110. The key contains none of
    /// that.
    static let provoked: Set<Int> = [400, 405, 406, 408, 411, 413, 414, 415, 422, 501, 505]
    /// Never stored, with any rule: credentials, conditions, ranges and rates belong to the
    /// request.
    static let aboutTheRequest: Set<Int> = [401, 407, 412, 416, 417, 421, 425, 426, 428, 429, 431, 511]

    /// Fields of a response, and whether they state a lifetime in a shared cache.
    private static let stating: [(fields: [(String, String)], isStated: Bool)] = [
        ([("Cache-Control", "max-age=60")], true), ([("Cache-Control", "public, max-age=86400, immutable")], true),
        ([("Cache-Control", "s-maxage=60")], true), ([("CDN-Cache-Control", "max-age=60")], true),
        ([("Expires", "Sun, 01 Mar 2026 13:00:00 GMT")], true), ([("Cache-Control", "max-age=0")], true),
        ([("Cache-Control", "public"), ("Last-Modified", "Sun, 01 Mar 2020 12:00:00 GMT")], false), ([], false),
    ]

    private func policy(_ kind: CacheKind, statuses: Set<Int>? = nil, errors: Int64? = nil) -> CachePolicy {
        var overrides = PolicyOverrides()
        overrides.statuses = statuses
        overrides.errorLifetime = errors
        var policy = CachePolicy(kind: kind)
        policy.overriding = FixedOverrides(overrides)
        return policy
    }

    private func isStored(
        _ policy: CachePolicy,
        _ fields: [(String, String)],
        _ status: Int,
        hasExplicitExpiry: Bool = false
    ) -> Bool {
        let verdict = policy.storability(
            of: response(fields, status: status),
            to: request(),
            hasCredentials: false,
            hasExplicitExpiry: hasExplicitExpiry
        )
        if case .forbidden = verdict { return false }
        return true
    }

    @Test(arguments: 400...599)
    func storesProvokedErrorOnlyIfARuleNamesItsStatus(status: Int) {
        let isProvoked = Self.provoked.contains(status)
        let isRequests = Self.aboutTheRequest.contains(status)
        for (fields, isStated) in Self.stating {
            let place = "\(status) with \(fields)"
            // Without a rule, or with one that sets the lifetime of errors and names no status: not
            // stored, whatever the response states.
            let timed = policy(.shared, errors: 30)
            if isProvoked || isRequests {
                for policy in [CachePolicy.shared, .private, timed] {
                    #expect(!isStored(policy, fields, status), "\(place)")
                    #expect(!isStored(policy, fields, status, hasExplicitExpiry: true), "\(place), caller's expiry")
                }
            } else {
                #expect(isStored(timed, fields, status), "\(place)")
                if isStated { #expect(isStored(.shared, fields, status), "\(place)") }
            }
            // With a rule that names the status: stored if the response or the rule gives a
            // lifetime.
            let named = policy(.shared, statuses: [200, status])
            if isProvoked { #expect(isStored(named, fields, status) == isStated, "\(place), named") }
            if isRequests { #expect(!isStored(named, fields, status), "\(place), named") }
            for kind in [CacheKind.shared, .private] {
                let both = policy(kind, statuses: [200, status], errors: 30)
                #expect(isStored(both, fields, status) == !isRequests, "\(place), named and with a lifetime")
            }
            #expect(!isStored(policy(.shared, statuses: [200]), fields, status), "\(place), others named")
        }
    }

    @Test(arguments: provoked)
    func storedProvokedErrorLivesAMinuteAtMost(status: Int) {
        let policy = policy(.shared, statuses: [status], errors: 86_400)
        #expect(policy.lifetimeSeconds([("Cache-Control", "max-age=86400")], status: status) == 60)
    }

    /// The key does not contain `Range`, so an error that it may have provoked is not stored.
    /// Within the cap it is forwarded, and an error concerns the target.
    @Test func errorForARangeBeyondTheCapIsNotStored() {
        let fresh = [("Cache-Control", "max-age=60")]
        for (range, isStored) in [("bytes=0-1", true), (Self.range(parts: 16), true), (Self.range(parts: 17), false)] {
            for status in [404, 500] {
                let verdict = CachePolicy.shared.storability(
                    of: response(fresh, status: status),
                    to: request([("Range", range)]),
                    hasCredentials: false
                )
                #expect(verdict == (isStored ? .common : .forbidden(.statusAboutRequest)), "\(range): \(status)")
            }
            let whole = CachePolicy.shared.storability(
                of: response(fresh),
                to: request([("Range", range)]),
                hasCredentials: false
            )
            #expect(whole == .common)
        }
    }

    @Test(arguments: [
        ("bytes=0-1", true), (range(parts: 16), true), (range(parts: 17), false),
        ("bytes=0-1" + String(repeating: ",", count: 16), false), ("items=0-9", true),
        ("bytes=" + String(repeating: "0", count: 1018), true), ("bytes=" + String(repeating: "0", count: 1019), false),
        ("", true),
    ])
    func forwardsRangeUpToTheCap(range: String, isForwarded: Bool) {
        #expect(CachePolicy.forwardsRange(of: fields([("Range", range)])) == isForwarded)
        #expect(CachePolicy.forwardsRange(of: [:]))
    }

    /// All lines together count: a recipient that joins them gets one long field.
    @Test func capCountsEveryLineOfARange() {
        let half = Self.range(parts: 9)
        #expect(CachePolicy.forwardsRange(of: fields([("Range", half)])))
        #expect(!CachePolicy.forwardsRange(of: fields([("Range", half), ("range", half)])))
    }

    private static func range(parts: Int) -> String {
        "bytes=" + (0..<parts).map { "\($0 * 2)-\($0 * 2)" }.joined(separator: ",")
    }
}
