import HTTPCacheSemantics
import HTTPTypes
import Testing

/// Extreme values.
@Suite(.timeLimit(.minutes(20)), .tags(.rfc9111Age, .rfc9111Freshness))
struct PolicyEdgeTests {
    static let extremes: [Int64] = [.min, .min + 1, -1, 0, 1, 1_772_366_400_000, .max - 1, .max]

    @Test(arguments: extremes, extremes)
    func noInstantTraps(requestTime: Int64, responseTime: Int64) {
        for explicit in [nil] + Self.extremes.map(Optional.some) {
            let head = stored(
                [
                    ("Date", noonDate), ("Age", "2147483648"), ("Cache-Control", "stale-if-error=1"),
                    ("Last-Modified", "Thu, 01 Jan 1970 00:00:00 GMT"),
                ],
                requestTime: Timestamp(milliseconds: requestTime),
                responseTime: Timestamp(milliseconds: responseTime),
                explicitExpiry: explicit.map(Timestamp.init(milliseconds:))
            )
            for now in Self.extremes {
                let reuse = CachePolicy.private.reuse(
                    of: head,
                    for: request([("Cache-Control", "max-stale=1, min-fresh=1")]),
                    at: Timestamp(milliseconds: now)
                )
                let age = reuse.freshness.age
                #expect(min(age.apparentAge, age.responseDelay, age.correctedAgeValue, age.residentTime) >= 0)
                #expect(age.milliseconds >= age.correctedInitialAge)
            }
            _ = CachePolicy.private.freshUntil(head)
            _ = CachePolicy.private.servedFields(
                of: head,
                age: CachePolicy.private.currentAge(of: head, at: .distantFuture)
            )
        }
    }

    @Test(arguments: [-1.0, 0, .nan, -.infinity])
    func invalidFractionSwitchesHeuristicsOff(fraction: Double) {
        let policy = CachePolicy(kind: .private, heuristicFraction: fraction)
        #expect(policy.lifetimeSeconds([("Date", noonDate), ("Last-Modified", "Thu, 01 Jan 1970 00:00:00 GMT")]) == 0)
    }

    @Test func clampsTheHeuristicFractionAndLifetime() {
        let pairs = [("Date", noonDate), ("Last-Modified", "Sun, 01 Mar 2026 11:59:00 GMT")]
        #expect(CachePolicy(kind: .private, heuristicFraction: .infinity).lifetimeSeconds(pairs) == 60)
        #expect(
            CachePolicy(kind: .private, heuristicFraction: 1, maximumHeuristicLifetime: 10).lifetimeSeconds(pairs) == 10
        )
        #expect(CachePolicy(kind: .private, maximumHeuristicLifetime: .min).lifetimeSeconds(pairs) == 0)
        #expect(CachePolicy(kind: .private, maximumHeuristicLifetime: .max).lifetimeSeconds(pairs) == 6)
    }

    @Test(arguments: [
        (200, 6), (203, 6), (204, 6), (300, 6), (301, 6), (308, 6), (404, 6), (405, 6), (410, 6), (414, 6), (501, 6),
        (201, 0), (302, 0), (403, 0), (500, 0),
    ])
    func onlySomeStatusesHaveAHeuristicLifetime(status: Int, seconds: Int64) {
        let pairs = [("Date", noonDate), ("Last-Modified", "Sun, 01 Mar 2026 11:59:00 GMT")]
        #expect(CachePolicy.shared.lifetimeSeconds(pairs, status: status) == seconds)
    }

    /// At the last instant that a timestamp can express, a response that never expires was fresh
    /// and indexed as stale: `Fuzz/Findings/policy/fresh-and-indexed-as-stale`.
    @Test(arguments: [CacheKind.private, .shared])
    func nothingIsFreshAtTheLastInstant(kind: CacheKind) {
        let policy = CachePolicy(kind: kind)
        let never = stored(
            [("Cache-Control", "publicproxy-revalidate, max-age=89, spale-if-error=5"), ("ETag", "")],
            requestTime: noon,
            responseTime: Timestamp(milliseconds: 17),
            explicitExpiry: .distantFuture
        )
        // The same happened without a caller's expiry, if the lifetime ended after the last
        // instant.
        let late = Timestamp.distantFuture.adding(milliseconds: -1000)
        let long = stored([("Cache-Control", "max-age=60")], requestTime: late, responseTime: late)
        for head in [never, long] {
            #expect(policy.freshUntil(head) == .distantFuture)
            #expect(!policy.freshness(of: head, at: .distantFuture).isFresh)
            #expect(policy.freshness(of: head, at: Timestamp(milliseconds: .max - 1)).isFresh)
        }
    }

    @Test func ageCalculationFollowsTheRFCsSteps() {
        let head = stored(
            [("Date", "Sun, 01 Mar 2026 11:59:50 GMT"), ("Age", "3")],
            requestTime: noon.adding(milliseconds: -2_500)
        )
        let age = CachePolicy.private.currentAge(of: head, at: noon.adding(milliseconds: 1_250))
        #expect(
            age
                == CurrentAge(
                    apparentAge: 10_000,
                    responseDelay: 2_500,
                    correctedAgeValue: 5_500,
                    correctedInitialAge: 10_000,
                    residentTime: 1_250,
                    milliseconds: 11_250
                )
        )
    }

    @Test func boundsManyNamesAndFields() {
        let names = (0..<20_000).map { "n\($0)" }.joined(separator: ",")
        let flood = response([
            ("Vary", names), ("Connection", names), ("Cache-Control", "max-age=60"), ("n7", "x"), ("X", "y"),
        ])
        let policy = CachePolicy.private
        #expect(policy.storability(of: flood, to: request(), hasCredentials: false) == .forbidden(.varyAny))
        #expect(policy.storedFields(of: flood).map(\.name.canonicalName) == ["vary", "cache-control", "x"])
        #expect(!policy.matchesVariant(stored([("Vary", names)]), request()))

        var full = stored([("ETag", "\"1\""), ("Cache-Control", "max-age=60")])
        let line = HTTPField(name: .server, value: "x")
        // In a variable: each change of the head's own fields would copy them.
        var fields = full.fields
        while fields.count < 65_534 { fields.append(line) }
        full.fields = fields
        let age = policy.currentAge(of: full, at: noon)
        #expect(policy.servedFields(of: full, age: age).count == 65_534)
        #expect(
            policy.freshened(full, by: response([("X", "y")], status: 304), requestTime: noon, responseTime: noon)
                == nil
        )
        var presented = request()
        presented.headerFields = full.fields
        #expect(policy.validationRequest(for: full, request: presented) == nil)
    }

    @Test func everyReasonHasAForwardReason() {
        #expect(Reuse.ValidationReason.stale.forwardReason == .stale)
        #expect(Reuse.ValidationReason.responseNoCache.forwardReason == .stale)
        #expect(Reuse.ValidationReason.invalidated.forwardReason == .stale)
        #expect(Reuse.ValidationReason.requestNoCache.forwardReason == .request)
        #expect(Reuse.ValidationReason.requestMaxAge.forwardReason == .request)
        #expect(Reuse.ValidationReason.requestMinFresh.forwardReason == .request)
    }

    @Test func readsOnlyIfCached() {
        #expect(CachePolicy.private.isOnlyIfCached(request([("Cache-Control", "max-age=0, Only-If-Cached")])))
        #expect(!CachePolicy.private.isOnlyIfCached(request([("Cache-Control", "no-cache")])))
    }
}

/// Cache-Status, RFC 9211 §2.
@Suite(.timeLimit(.minutes(20)), .tags(.rfc9211))
struct CacheStatusTests {
    @Test(arguments: [
        (
            CacheOutcome(isHit: true, timeToLive: -3600, detail: .unreachable),
            "holdfast; hit; ttl=-3600; detail=unreachable"
        ),
        (CacheOutcome(forward: .uriMiss, isStored: true), "holdfast; fwd=uri-miss; stored"),
        (CacheOutcome(forward: .varyMiss, isCollapsed: true), "holdfast; fwd=vary-miss; collapsed"),
        (
            CacheOutcome(forward: .stale, forwardStatus: 304, timeToLive: 60, isStored: true),
            "holdfast; fwd=stale; fwd-status=304; ttl=60; stored"
        ),
        (CacheOutcome(isHit: true, forward: .stale, isStored: true), "holdfast; hit"),
        (CacheOutcome(isHit: true, timeToLive: .min), "holdfast; hit; ttl=-999999999999999"),
        (CacheOutcome(), "holdfast"), (CacheOutcome(forward: .method), "holdfast; fwd=method"),
    ])
    func writesOneMember(outcome: CacheOutcome, text: String) {
        #expect(outcome.cacheStatus() == text)
    }

    @Test func writesNonTokenNameAsString() {
        #expect(CacheOutcome(isHit: true).cacheStatus(cache: "a.example") == "a.example; hit")
        #expect(CacheOutcome(isHit: true).cacheStatus(cache: "1 \"é\\\r\n") == "\"1 \\\"?\\\\??\"; hit")
        #expect(CacheOutcome(isHit: true).cacheStatus(cache: "") == "\"\"; hit")
    }
}
