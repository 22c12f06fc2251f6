import HTTPCacheSemantics
import HTTPTypes
import Testing

/// What fuzzing found, as small as it gets.
@Suite("Findings of the fuzzers")
struct FuzzFindingsTests {
    /// An empty line and ours together are `, holdfast; hit`, which is no list.
    @Test(arguments: ["", " ", "\t "])
    func anEmptyCacheStatusDoesNotSpoilOurs(value: String) {
        let fields = fields([("Cache-Status", value)])
        let appended = CacheOutcome(isHit: true).appended(to: fields)
        #expect(CacheStatus(appended).members.map(\.cache) == ["holdfast"])
        #expect(appended.count == 1)
    }

    /// A clock that is centuries off made a year before the first, which no date can be written of.
    @Test(arguments: [Timestamp.distantPast, .distantFuture, Timestamp(milliseconds: -62_135_596_800_000)])
    func aTwoDigitYearIsAnInstantThatCanBeWritten(reference: Timestamp) throws {
        let instant = try #require(HTTPDate.parse("Sunday, 06-Nov-94 08:49:37 GMT", reference: reference))
        #expect(HTTPDate.parse(HTTPDate.format(instant), reference: reference) == instant)
    }

    /// At the last instant that a timestamp can say, a response that never expires was fresh and
    /// indexed as stale.
    ///
    /// `Fuzz/Findings/policy/fresh-and-indexed-as-stale`
    @Test(arguments: [CacheKind.private, .shared])
    func atTheEndOfTimeNothingIsFresh(kind: CacheKind) {
        let policy = CachePolicy(kind: kind)
        let never = stored(
            [("Cache-Control", "publicproxy-revalidate, max-age=89, spale-if-error=5"), ("ETag", "")],
            requestTime: noon,
            responseTime: Timestamp(milliseconds: 17),
            explicitExpiry: .distantFuture
        )
        // Not the caller's expiry alone: a lifetime that ends behind the last instant does it as
        // well.
        let late = Timestamp.distantFuture.adding(milliseconds: -1000)
        let long = stored([("Cache-Control", "max-age=60")], requestTime: late, responseTime: late)
        for head in [never, long] {
            #expect(policy.freshUntil(head) == .distantFuture)
            #expect(!policy.freshness(of: head, at: .distantFuture).isFresh)
            #expect(policy.freshness(of: head, at: Timestamp(milliseconds: .max - 1)).isFresh)
        }
    }
}
