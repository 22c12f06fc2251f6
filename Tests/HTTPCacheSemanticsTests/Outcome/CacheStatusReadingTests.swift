import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Testing

/// Cache-Status: parsing and appending, RFC 9211.
@Suite(.timeLimit(.minutes(20)), .tags(.rfc9211))
struct CacheStatusReadingTests {
    private func members(_ lines: String...) -> [CacheStatus.Member] {
        CacheStatus(fields(lines.map { ("Cache-Status", $0) })).members
    }

    @Test func parsesAllParameters() throws {
        let members = members(
            "ExampleCache; hit; ttl=-376",
            "\"CDN, here\"; fwd=uri-miss; fwd-status=304; stored; collapsed"
        )
        #expect(members.map(\.cache) == ["ExampleCache", "CDN, here"])
        let first = try #require(members.first)
        #expect(first.isHit)
        #expect(first.timeToLive == -376)
        #expect(first.forward == nil)
        let last = try #require(members.last)
        #expect(!last.isHit)
        #expect(last.forward == "uri-miss")
        #expect(last.forwardReason == .uriMiss)
        #expect(last.forwardStatus == 304)
        #expect(last.isStored)
        #expect(last.isCollapsed)
        #expect(last.timeToLive == nil)
        let detailed = self.members("a; key=\"x, y\"; detail=\"no word\", b; detail=offline").map {
            ($0.key, $0.detail)
        }
        #expect(detailed.map(\.0) == ["x, y", nil])
        #expect(detailed.map(\.1) == ["no word", "offline"])
    }

    @Test func skipsUnknownParametersAndWrongTypes() throws {
        let member = try #require(
            members(
                "a; hit=1; fwd=\"miss\"; fwd-status=3000; ttl=1.5; stored=?0; collapsed=x; key=k; detail=3; new=1"
            ).first
        )
        #expect(!member.isHit)
        #expect(member.forward == nil)
        #expect(member.forwardStatus == nil)
        #expect(member.timeToLive == nil)
        #expect(!member.isStored)
        #expect(!member.isCollapsed)
        #expect(member.key == nil)
        #expect(member.detail == nil)
        #expect(members("a; fwd=frob").first?.forward == "frob")
        #expect(members("a; fwd=frob").first?.forwardReason == nil)
    }

    @Test(arguments: [
        "a; hit, b c", "a; hit,", "a; HIT", "(a b)", "a; hit, (b)", "1; hit", "a; ttl=9999999999999999",
        "a; detail=\"x", "=",
        "a;; hit", "é", "a, ?1",
    ])
    func ignoresMalformedFields(value: String) {
        #expect(members(value).isEmpty)
        // One malformed line makes all of them invalid.
        #expect(members("good; hit", value).isEmpty)
    }

    @Test func absentOrTooLongFieldHasNoMembers() {
        #expect(CacheStatus([:]).members.isEmpty)
        #expect(members(String(repeating: "a, ", count: 5000) + "a").isEmpty)
    }

    @Test func parsesWrittenOutcomes() throws {
        let outcome = CacheOutcome(
            forward: .stale,
            forwardStatus: 304,
            timeToLive: -5,
            isStored: true,
            isCollapsed: true,
            detail: .staleIfError
        )
        let member = try #require(CacheStatus(outcome.appended(to: [:], cache: "my \"cache\"")).members.first)
        #expect(member.cache == "my \"cache\"")
        #expect(member.forwardReason == .stale)
        #expect(member.forwardStatus == 304)
        #expect(member.timeToLive == -5)
        #expect(member.isStored && member.isCollapsed)
        #expect(member.detail == "stale-if-error")
        for reason in CacheOutcome.ForwardReason.allCases {
            let written = CacheOutcome(forward: reason).appended(to: [:])
            #expect(CacheStatus(written).members.map(\.forwardReason) == [reason])
        }
    }

    @Test func appendsOurMemberLast() {
        let upstream = fields([("Cache-Status", "origin; hit"), ("X", "1"), ("cache-status", "cdn; fwd=miss")])
        let result = CacheOutcome(isHit: true).appended(to: upstream)
        #expect(CacheStatus(result).members.map(\.cache) == ["origin", "cdn", "holdfast"])
        #expect(result.count == 4)
    }

    @Test(arguments: ["=", "", " ", "good; hit,"])
    func replacesAMalformedField(value: String) {
        let upstream = fields([("Cache-Status", value), ("X", "1")])
        let result = CacheOutcome(isHit: true).appended(to: upstream)
        #expect(CacheStatus(result).members.map(\.cache) == ["holdfast"])
        #expect(result.count == 2)
    }

    @Test func replacesAFieldWithOneMalformedLine() {
        let upstream = fields([("Cache-Status", "good; hit"), ("X", "1"), ("Cache-Status", "=")])
        let result = CacheOutcome(isHit: true).appended(to: upstream)
        #expect(CacheStatus(result).members.map(\.cache) == ["holdfast"])
        #expect(result.count == 2)
    }

    /// An empty line and ours together are `, holdfast; hit`, which is not a list.
    @Test(arguments: ["", " ", "\t "])
    func appendsOursBesideAnEmptyField(value: String) {
        let fields = fields([("Cache-Status", value)])
        let appended = CacheOutcome(isHit: true).appended(to: fields)
        #expect(CacheStatus(appended).members.map(\.cache) == ["holdfast"])
        #expect(appended.count == 1)
    }

    @Test(arguments: [51, 52])
    func appendsOursToAnyField(seed: UInt64) {
        var generator = SeededRandom(seed: seed)
        let pieces = [
            "a", "hit", "ttl", "=", "(", ")", "\"a\"", "\"", "?1", "?", ",", ";", " ", "1", "-", ".", ":", "@", "%\"",
            "*", "\\", "999999999999999", "\t", "é",
        ]
        for _ in 0..<5000 {
            let text = (0..<Int.random(in: 0...10, using: &generator)).map { _ in
                pieces[Int.random(in: 0..<pieces.count, using: &generator)]
            }.joined()
            let appended = CacheOutcome(isHit: true).appended(to: fields([("Cache-Status", text)]))
            #expect(CacheStatus(appended).members.last?.cache == "holdfast", "seed \(seed): '\(text)'")
        }
    }
}
