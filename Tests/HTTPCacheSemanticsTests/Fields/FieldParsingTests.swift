import HTTPTypes
import HoldfastTesting
import Testing

@testable import HTTPCacheSemantics

/// Cache-Control of responses, RFC 9111 §5.2.2.
@Suite(.timeLimit(.minutes(20)), .tags(.rfc9111ResponseDirectives))
struct ResponseDirectivesTests {
    private func parse(_ lines: String...) -> ResponseDirectives {
        ResponseDirectives(fields(lines.map { ("Cache-Control", $0) }), targeted: [])
    }

    @Test(
        arguments: [
            ("max-age=60", 60), ("MAX-AGE=60", 60), ("max-age=\"60\"", 60), ("max-age=003600", 3600), ("max-age=0", 0),
            (" , ,max-age=60 ,, ", 60), ("foo, max-age=60", 60), ("foo=\"a, max-age=1\", max-age=60", 60),
            ("max-age=1, foo=\"max-age=60\"", 1), ("foo=\"\\\", max-age=1\", max-age=60", 60), ("foo=\"max-age=1", nil),
            ("max-age=2147483648", 2_147_483_648), ("max-age=99999999999", 2_147_483_648),
            ("max-age=999999999999999999999999999999", 2_147_483_648),
            // A value that is not a number gives no freshness.
            ("max-age=abc", 0), ("max-age=-1", 0), ("max-age=1.5", 0), ("max-age='60'", 0), ("max-age=60a", 0),
            ("max-age", 0), ("max-age=", 0), ("max-age =60", 0), ("max-age= 60", 0), ("max-age=60;x", 0),
            ("max-age=+60", 0),
            ("max-age=\"60", 60), ("x-max-age=60", nil), ("max-agee=60", nil), ("=max-age=60", nil), ("", nil),
            // Several: the strictest.
            ("max-age=60, max-age=10", 10), ("max-age=10, max-age=60", 10), ("max-age=60, max-age=60", 60),
            ("max-age=60, max-age=x", 0),
        ] as [(String, Int64?)]
    )
    func parsesMaxAge(value: String, seconds: Int64?) {
        #expect(parse(value).maxAge?.seconds == seconds)
    }

    @Test func joinsLinesButEndsAnOpenQuoteAtItsLine() {
        let directives = parse("foo=\"open", "max-age=5", "no-store")
        #expect(directives.maxAge?.seconds == 5)
        #expect(directives.noStore)
    }

    @Test(arguments: [
        "no-store", "No-StOrE", "no-store=x", "no-store =x", "a,no-store", "no-store\t,b", "no-store=\"\"",
    ])
    func findsNoStoreInEverySpelling(value: String) {
        #expect(parse(value).noStore)
    }

    @Test(arguments: ["xno-store", "no-stor", "a=\"no-store\"", "a=no-store"])
    func findsNoNoStoreInOtherNames(value: String) {
        #expect(!parse(value).noStore)
    }

    @Test func parsesQualifiedForms() {
        #expect(parse("no-cache=\"Set-Cookie, X-A\"").noCache == .fields(["set-cookie", "x-a"]))
        #expect(parse("private=x-a").isPrivate == .fields(["x-a"]))
        #expect(parse("no-cache").noCache == .whole)
        #expect(parse("no-cache=\"a\", no-cache").noCache == .whole)
        #expect(parse("no-cache=\"a\"", "no-cache=\"b\"").noCache == .fields(["a", "b"]))
        #expect(parse("no-cache=\"\"").noCache == .whole)
        #expect(parse("private=\"a b\"").isPrivate == .whole)
        #expect(parse("max-age=1").noCache == .absent)
    }

    @Test func parsesEveryDirective() {
        let directives = parse(
            "public, private, must-revalidate, proxy-revalidate, must-understand, immutable, s-maxage=1, stale-if-error=2, stale-while-revalidate=3"
        )
        #expect(directives.isPublic && directives.isPrivate == .whole && directives.mustRevalidate)
        #expect(directives.proxyRevalidate && directives.mustUnderstand && directives.immutable)
        #expect(directives.sMaxage?.seconds == 1)
        #expect(directives.staleIfError?.seconds == 2)
        #expect(directives.staleWhileRevalidate?.seconds == 3)
    }

    @Test(arguments: [UInt64(1), 77, 4_242])
    func parsersNeverTrap(seed: UInt64) {
        var generator = SeededRandom(seed: seed)
        let alphabet = Array("max-age=\"\\, ;1*W/no-cachepr".utf8) + [0x80, 0xFF, 0x09]
        for _ in 0..<4_000 {
            let bytes: [UInt8] = (0..<Int.random(in: 0...20, using: &generator)).map { _ in
                alphabet[Int.random(in: 0..<alphabet.count, using: &generator)]
            }
            var list = HTTPFields()
            for name in [HTTPField.Name.cacheControl, .vary, .eTag, .age, .expires, .date, .ifNoneMatch, .connection] {
                list.append(HTTPField(name: name, value: bytes))
            }
            _ = StoredFields(list, received: noon, targeted: [])
            _ = ResponseDirectives(targeted: ["cache-control", "vary"], in: list)
            _ = RequestDirectives(list)
            _ = FieldNameList(.vary, in: list)
            _ = EntityTag.matches(EntityTag(list), ifNoneMatch: list)
            _ = SelectingField.normalized("vary", in: list)
        }
    }
}

/// Cache-Control of requests, RFC 9111 §5.2.1.
@Suite(.timeLimit(.minutes(20)), .tags(.rfc9111RequestDirectives))
struct RequestDirectivesTests {
    private func parse(_ pairs: [(String, String)]) -> RequestDirectives { RequestDirectives(fields(pairs)) }

    @Test func malformedNumbersRestrictAsMuchAsPossible() {
        let directives = parse([("Cache-Control", "max-age=x, min-fresh=x, max-stale=x, stale-if-error=x")])
        #expect(directives.maxAge == .zero)
        #expect(directives.minFresh == .maximum)
        #expect(directives.maxStale == .upTo(.zero))
        #expect(directives.staleIfError == .zero)
    }

    @Test func parsesBothFormsOfMaxStale() {
        #expect(parse([("Cache-Control", "max-stale")]).maxStale == .any)
        #expect(parse([("Cache-Control", "max-stale=5")]).maxStale == .upTo(DeltaSeconds(seconds: 5)))
        #expect(parse([("Cache-Control", "max-stale, max-stale=5")]).maxStale == .upTo(DeltaSeconds(seconds: 5)))
        #expect(parse([("Cache-Control", "max-stale=5, max-stale")]).maxStale == .upTo(DeltaSeconds(seconds: 5)))
    }

    @Test func usesPragmaOnlyWithoutCacheControl() {
        #expect(parse([("Pragma", "no-cache")]).noCache)
        #expect(parse([("Pragma", "x, No-Cache")]).noCache)
        #expect(!parse([("Pragma", "no-cache"), ("Cache-Control", "max-age=5")]).noCache)
        #expect(!parse([("Pragma", "unrecognized")]).noCache)
    }
}

/// Age, RFC 9111 §5.1.
@Suite(.timeLimit(.minutes(20)), .tags(.rfc9111Age))
struct AgeFieldTests {
    @Test(
        arguments: [
            (["0"], 0), (["7200"], 7200), (["7200, 0"], 7200), (["0, 7200"], 0), (["7200", "0"], 7200),
            (["0", "7200"], 0),
            ([" 30 "], 30), ([",30"], 30), (["2147483649"], 2_147_483_648), (["99999999999999999999"], 2_147_483_648),
            (["abc"], nil), (["-7200"], nil), (["7200.0"], nil), (["7200;foo=bar"], nil), ([""], nil),
            (["\"30\""], nil),
            (["abc", "30"], nil),
        ] as [([String], Int64?)]
    )
    func usesTheFirstMemberIfItIsANumber(lines: [String], seconds: Int64?) {
        #expect(StoredFields(fields(lines.map { ("Age", $0) }), received: noon, targeted: []).age?.seconds == seconds)
    }
}

/// Entity tags, RFC 9110 §8.8.3.
@Suite(.timeLimit(.minutes(20)), .tags(.rfc9110Conditions))
struct EntityTagTests {
    @Test(
        arguments: [
            ("\"a\"", true), ("W/\"a\"", true), ("\"\"", true), ("\"a,b\"", true), ("\"é\"", true), ("\"a\\\"", true),
            ("a", false), ("\"a", false), ("w/\"a\"", false), ("W\"a\"", false), ("\"a\" x", false), ("\"a b\"", false),
            ("", false),
        ] as [(String, Bool)]
    )
    func acceptsOnlyValidEntityTags(text: String, isValid: Bool) {
        #expect((EntityTag(fields([("ETag", text)])) != nil) == isValid)
    }

    @Test(
        arguments: [
            ("\"1\"", "\"1\"", true, true), ("W/\"1\"", "W/\"1\"", false, true), ("W/\"1\"", "\"1\"", false, true),
            ("W/\"1\"", "W/\"2\"", false, false), ("\"1\"", "\"2\"", false, false),
        ] as [(String, String, Bool, Bool)]
    )
    func comparesAsTheRFCsTable(first: String, second: String, strong: Bool, weak: Bool) throws {
        let left = try #require(EntityTag(fields([("ETag", first)])))
        let right = try #require(EntityTag(fields([("ETag", second)])))
        #expect(left.stronglyEquals(right) == strong)
        #expect(left.weaklyEquals(right) == weak)
    }

    @Test(
        arguments: [
            (["\"a\""], true), (["W/\"a\""], true), (["\"x\", \"a\", \"y\""], true), (["\"x\"", "\"a\""], true),
            (["*"], true),
            (["\"x\""], false), (["a"], false), (["a, \"a\""], true), (["\"x, \\\"a\""], false), ([""], false),
            (["\"*\""], false),
        ] as [([String], Bool)]
    )
    func matchesIfNoneMatch(lines: [String], isMatch: Bool) {
        let tag = EntityTag(fields([("ETag", "\"a\"")]))
        #expect(EntityTag.matches(tag, ifNoneMatch: fields(lines.map { ("If-None-Match", $0) })) == isMatch)
    }
}

@Suite(.timeLimit(.minutes(20)), .tags(.rfc9111Vary)) struct FieldNameListTests {
    @Test(
        arguments: [
            (["Accept, ACCEPT ,, x-a"], ["accept", "x-a"], false, false), (["a", "B"], ["a", "b"], false, false),
            (["*"], [], true, false), (["a, *"], ["a"], true, false), (["", "*"], [], true, false),
            (["a b"], [], false, true),
            (["\"a\""], [], false, true), ([], [], false, false),
        ] as [([String], [String], Bool, Bool)]
    )
    func readsNamesWildcardAndMalformedLists(lines: [String], names: [String], wildcard: Bool, malformed: Bool) {
        let list = FieldNameList(.vary, in: fields(lines.map { ("Vary", $0) }))
        #expect(list.names == names)
        #expect(list.hasWildcard == wildcard)
        #expect(list.hasMalformedMember == malformed)
    }
}
