import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Testing

/// Vary, RFC 9111 §4.1.
@Suite(.timeLimit(.minutes(20)), .tags(.rfc9111Vary))
struct VaryTests {
    private func variant(_ vary: String, _ original: [(String, String)]) -> StoredResponseHead {
        let response = HTTPCacheSemanticsTests.response([
            ("Vary", vary), ("Date", noonDate), ("Cache-Control", "max-age=60"),
        ])
        return StoredResponseHead(
            selectingFields: CachePolicy.private.selectingFields(of: request(original), for: response),
            status: .ok,
            fields: response.headerFields,
            requestTime: noon,
            responseTime: noon
        )
    }

    @Test(
        arguments: [
            ("Foo", [("Foo", "1")], [("Foo", "1")], true), ("Foo", [("Foo", "1")], [("Foo", "2")], false),
            ("Foo", [("Foo", "1")], [], false), ("Foo", [], [("Foo", "1")], false), ("Foo", [], [], true),
            ("Foo", [("Foo", "")], [], false),
            ("foo, BAR", [("Foo", "1"), ("Bar", "2")], [("bar", "2"), ("FOO", "1")], true),
            ("Foo", [("Foo", "1"), ("Other", "2")], [("Foo", "1"), ("Other", "3")], true),
            // Whitespace and lines.
            ("Foo", [("Foo", "1,2")], [("Foo", " 1, 2 ")], true),
            ("Foo", [("Foo", "1, 2")], [("Foo", "1"), ("Foo", "2")], true),
            ("Foo", [("Foo", "1, 2")], [("Foo", "2"), ("Foo", "1")], false),
            ("Foo", [("Foo", "a")], [("Foo", "A")], false),
            ("Foo", [("Foo", "a b")], [("Foo", "ab")], false),
            ("Foo", [("Foo", "\"a,b\"")], [("Foo", "\"a, b\"")], false),
            ("Foo", [("Foo", "1,,2")], [("Foo", "1,2")], true),
            // Fields whose order and case do not matter.
            ("Accept-Encoding", [("Accept-Encoding", "gzip, br")], [("Accept-Encoding", "BR,GZIP")], true),
            ("Accept-Language", [("Accept-Language", "en, de")], [("Accept-Language", "DE, en")], true),
            ("Accept-Language", [("Accept-Language", "en;q=0.5, de")], [("Accept-Language", "de, en; q=0.5")], true),
            ("Accept-Language", [("Accept-Language", "en;q=0.5, de")], [("Accept-Language", "de;q=0.5, en")], false),
            ("Cookie", [("Cookie", "a=1; b=2")], [("Cookie", "a=1;b=2")], false),
            ("Cookie", [("Cookie", "a=1,2")], [("Cookie", "a=1, 2")], false),
            ("Cookie", [("Cookie", "a=1")], [("Cookie", "a=1")], true),
        ] as [(String, [(String, String)], [(String, String)], Bool)]
    )
    func comparesSelectingFields(
        vary: String,
        original: [(String, String)],
        presented: [(String, String)],
        matches: Bool
    ) {
        #expect(CachePolicy.private.matchesVariant(variant(vary, original), request(presented)) == matches)
        // Also if a store kept the lines as received.
        var raw = variant(vary, original)
        raw.selectingFields = fields(original)
        #expect(CachePolicy.private.matchesVariant(raw, request(presented)) == matches)
    }

    /// One line is compared in place, several are normalized first; the results agree.
    @Test(arguments: ["Foo", "Accept-Encoding"])
    func oneLineAndSeveralCompareAlike(name: String) {
        var random = SeededRandom(seed: 20)
        let words = ["a", "B", "b", "a;q=1", "a; q=1", "\"x\"", ""]
        func list() -> [String] {
            (0..<Int.random(in: 0...4, using: &random)).map { _ in words.randomElement(using: &random) ?? "" }
        }
        var equal = 0
        for _ in 0..<2000 {
            let first = list()
            let second = Bool.random(using: &random) ? first : list()
            let one = variant(name, [(name, first.joined(separator: ", "))])
            let presented = request([(name, second.joined(separator: ","))])
            let inLines = request(second.map { (name, $0) })
            let matches = CachePolicy.private.matchesVariant(one, presented)
            if !second.isEmpty {
                #expect(CachePolicy.private.matchesVariant(one, inLines) == matches, "\(first) \(second)")
            }
            equal += matches ? 1 : 0
        }
        #expect(equal > 500)
    }

    @Test(arguments: ["*", "*, Foo", "Foo, *", ", *", "Foo Bar"])
    func starNeverMatches(vary: String) {
        let head = stored([("Vary", vary)], selecting: [("Foo", "1")])
        #expect(!CachePolicy.private.matchesVariant(head, request([("Foo", "1")])))
    }

    @Test func equalSelectionsAreEqualValues() {
        #expect(
            variant("Foo, Bar", [("Foo", "1,2")]).selectingFields
                == variant("bar, foo", [("foo", "1"), ("foo", "2")]).selectingFields
        )
        #expect(variant("Foo", []).selectingFields.isEmpty)
    }

    @Test func withoutVaryEverythingMatches() {
        #expect(CachePolicy.private.matchesVariant(stored([]), request([("Foo", "1")])))
    }

    @Test func prefersAFreshVariantToANewerStaleOne() {
        let older = stored([("Date", "Sun, 01 Mar 2026 11:00:00 GMT"), ("Cache-Control", "max-age=86400")])
        let newer = stored([("Date", noonDate), ("Cache-Control", "max-age=1")])
        let later = noon.adding(milliseconds: 5_000)
        #expect(CachePolicy.private.selectVariant(from: [newer, older], for: request(), at: later) == 1)
        #expect(CachePolicy.private.selectVariant(from: [older, newer], for: request(), at: noon) == 1)
        #expect(CachePolicy.private.selectVariant(from: [newer, older], for: request(), at: noon) == 0)
    }

    @Test func prefersASuccessToANewerError() {
        let older = stored([("Date", "Sun, 01 Mar 2026 11:00:00 GMT"), ("Cache-Control", "max-age=86400")])
        var newer = stored([("Date", noonDate), ("Cache-Control", "max-age=86400")])
        #expect(CachePolicy.private.selectVariant(from: [older, newer], for: request(), at: noon) == 1)
        newer.status = .notFound
        #expect(CachePolicy.private.selectVariant(from: [older, newer], for: request(), at: noon) == 0)
        #expect(CachePolicy.private.selectVariant(from: [newer, older], for: request(), at: noon) == 1)
    }

    @Test func selectsTheMostRecentByDateThenReceipt() {
        let base = stored([("Date", noonDate), ("Cache-Control", "max-age=60")])
        var received = base
        received.responseTime = noon.adding(milliseconds: 10)
        #expect(CachePolicy.private.selectVariant(from: [base, received, base], for: request(), at: noon) == 1)
        var invalidated = received
        invalidated.isInvalidated = true
        #expect(CachePolicy.private.selectVariant(from: [base, invalidated], for: request(), at: noon) == 0)
        #expect(CachePolicy.private.selectVariant(from: [invalidated], for: request(), at: noon) == 0)
    }

    @Test func selectsNothingWithoutAMatch() {
        #expect(CachePolicy.private.selectVariant(from: [], for: request(), at: noon) == nil)
        #expect(
            CachePolicy.private.selectVariant(from: [variant("Foo", [("Foo", "1")])], for: request(), at: noon) == nil
        )
        let variants = [variant("Foo", [("Foo", "1")]), variant("Foo", [("Foo", "2")])]
        #expect(CachePolicy.private.selectVariant(from: variants, for: request([("Foo", "2")]), at: noon) == 1)
    }
}
