import HTTPCacheSemantics
import HTTPTypes
import Testing

/// A response that was received while the clock was ahead, for steps of the clock in both
/// directions.
@Suite(.timeLimit(.minutes(20)), .tags(.rfc9111Age)) struct WrongClockTests {
    /// The sources of a freshness lifetime, and the lifetime in milliseconds.
    private static let kinds: [(name: String, fields: HTTPFields, expiry: Int64?, lifetime: Int64)] = [
        ("max-age", [.cacheControl: "max-age=60"], nil, 60_000),
        ("long max-age", [.cacheControl: "max-age=31536000"], nil, 31_536_000_000),
        ("Expires", [.expires: "Sun, 01 Mar 2026 12:01:00 GMT"], nil, 60_000),
        ("heuristic", [.lastModified: "Sun, 01 Mar 2026 11:50:00 GMT"], nil, 60_000),
        ("the caller's expiry", [:], 60_000, 60_000),
        ("nothing", [:], nil, 0),
    ]

    private func head(_ fields: HTTPFields, expiry: Timestamp?) -> StoredResponseHead {
        var fields = fields
        fields[.date] = "Sun, 01 Mar 2026 12:00:00 GMT"
        return StoredResponseHead(
            status: .ok,
            fields: fields,
            requestTime: Self.received,
            responseTime: Self.received,
            explicitExpiry: expiry
        )
    }

    /// 2026-03-01T12:00:00Z
    private static let received = Timestamp(seconds: 1_772_366_400)

    /// Steps by the tolerance and its neighbors, by hours and by years, before and after the time
    /// of receipt.
    private static let steps: [Int64] = [
        0, 1, 1000, 4999, 5000, 5001, 59_999, 60_000, 60_001, 3_600_000, 86_400_000, 31_536_000_000, 1 << 50,
    ]

    @Test(arguments: [CacheKind.private, .shared]) func isFreshUnlessAheadOfTheClockOrExpired(_ cache: CacheKind) {
        let policy = CachePolicy(kind: cache)
        for kind in Self.kinds {
            let head = head(kind.fields, expiry: kind.expiry.map { Self.received.adding(milliseconds: $0) })
            for step in Self.steps.flatMap({ [$0, -$0] }) {
                let now = Self.received.adding(milliseconds: step)
                let freshness = policy.freshness(of: head, at: now)
                let isFresh = step >= -5000 && max(0, step) < kind.lifetime
                #expect(freshness.isFresh == isFresh, "\(kind.name) \(step) ms after it came")
                if step >= -5000 {
                    #expect(freshness.age.milliseconds == max(0, step), "\(kind.name) \(step) ms after it came")
                } else {
                    #expect(freshness.age.milliseconds == .max, "\(kind.name) \(step) ms after it came")
                }
            }
        }
    }

    @Test func neverExpiringResponseIgnoresTheClock() {
        let head = head([:], expiry: .distantFuture)
        for step in Self.steps.flatMap({ [$0, -$0] }) {
            let freshness = CachePolicy(kind: .private).freshness(
                of: head,
                at: Self.received.adding(milliseconds: step)
            )
            #expect(freshness.isFresh && freshness.age.milliseconds == max(0, step))
        }
    }

    /// Its staleness is unknown, so no limit of staleness allows it; without a limit it is served
    /// offline.
    @Test(.tags(.rfc9111Stale, .rfc5861)) func responseAheadOfTheClockExceedsEachLimit() {
        let policy = CachePolicy(kind: .private)
        let directives = "max-age=60, stale-while-revalidate=31536000, stale-if-error=31536000"
        let head = head([.cacheControl: directives], expiry: nil)
        let request = HTTPRequest(
            method: .get,
            scheme: "https",
            authority: "a.example",
            path: "/",
            headerFields: [.cacheControl: "max-stale=31536000"]
        )
        let reuse = policy.reuse(of: head, for: request, at: Self.received.adding(milliseconds: -3_600_000))
        #expect(reuse.decision == .validate(.stale))
        #expect(!reuse.allowsStaleOnError && reuse.staleUse == .allowed)
    }
}
