import HoldfastTesting
import Testing

@testable import HTTPCacheSemantics

@Suite(.timeLimit(.minutes(20)), .tags(.rfc3986)) struct PathNormalFormTests {
    @Test(arguments: [
        ("/", "/"), ("/a/b", "/a/b"), ("/a/b?c//d", "/a/b"), ("/%61%7E%2d", "/a~-"), ("/%c3%a9%2f", "/%C3%A9%2F"),
        ("//a///b//", "/a/b/"), ("/a;x=1/b;y", "/a/b"), ("/;a/b", "/b"), ("/a/;x", "/a/"), ("/a/;x//;y/b", "/a/b"),
        ("/a;", "/a"), (";a", ""), ("/a%3Bb", "/a%3Bb"), ("/%2570", "/%2570"), ("/%", "/%"), ("/%7", "/%7"),
        ("/%zz%41", "/%zzA"), ("/a;x?b", "/a"), ("/./a/..", "/./a/.."), ("/a/b;c/", "/a/b/"),
    ]) func pathsHaveOneNormalForm(_ path: String, _ expected: String) {
        #expect(String(decoding: PathNormalForm.path(path.utf8), as: UTF8.self) == expected)
    }

    @Test(arguments: [
        ("a=%7Eb", "a=~b"), ("a=%2f;b//c", "a=%2F;b//c"), ("%", "%"), ("?%3f", "?%3F"),
    ]) func queriesKeepEverythingButTheirEscapes(_ query: String, _ expected: String) {
        #expect(String(decoding: PathNormalForm.query(query.utf8), as: UTF8.self) == expected)
    }

    @Test(
        arguments: [
            ("/v1", ""), ("/v1/", "/"), ("/v1//a", "//a"), ("//v1//a", "//a"), ("/v%31/%61", "/%61"),
            ("/v1;x/a;y?z", "/a;y?z"),
            ("/v1?q", "?q"), ("/;x/v1;?q", "?q"), ("/v10", nil), ("/v1%2Fa", nil), ("/v1%", nil), ("/v", nil),
            ("/V1", nil),
            ("/v1%3B/a", nil), ("", nil), ("/v%2531", nil),
        ] as [(String, String?)]
    ) func prefixLeavesTheRestUnchanged(_ target: String, _ rest: String?) {
        #expect(PathPrefix("/v1/").rest(of: target).map(String.init) == rest)
    }

    private static let dots = [
        ".", "..", "%2e", "%2E%2e", ".%2e", "%252e%252e", "%25252e.", "..;x", ".;", "%25%32%65", "%%32%65.", "..%3bx",
        "..%00", "..%23a",
        "%2e;",
    ]
    private static let before = ["/", "/a/", "//", "/a//", "/a%2f", "/a%5C", "/a\\", "/%252f", "/a;b/", "/;/"]
    private static let after = ["", "/", "/b", "?", "?q", "%2Fb", "\\b", "%5cb", "//b", "%255cb"]

    @Test func findsDotSegmentsInEverySpelling() {
        for before in Self.before {
            for dots in Self.dots {
                for after in Self.after where !(dots.contains(";") && after.hasPrefix("%")) {
                    #expect(PathNormalForm.hasDotSegment(before + dots + after), "\(before + dots + after)")
                }
            }
        }
    }

    @Test(arguments: [
        "/", "", "/a.b/..c/c../...", "/.well-known/x", "/a?/../", "/a?..", "/a;../b", "/a;x=/..y", "/%2e%2e%2e",
        "/a%2e",
        "/%", "/%2", "/.%", "/..%2", "/%zz..", "/a/..%20", "/file.%2ehtml", "/..%252g", "/%25%32%66",
    ]) func namesWithDotsAreNoDotSegments(_ target: String) {
        #expect(!PathNormalForm.hasDotSegment(target))
    }

    @Test func normalFormIsIdempotent() {
        var generator = SeededRandom(seed: 62)
        let parts = ["/", "a", "%61", "%2f", "%2F", ";", "x", "//", "%3b", ".", "?", "~", "%7e", "%C3%a9"]
        for _ in 0..<20_000 {
            let text =
                "/"
                + (0..<Int.random(in: 0...9, using: &generator)).map { _ in
                    parts.randomElement(using: &generator) ?? ""
                }.joined()
            let once = PathNormalForm.path(text.utf8)
            #expect(PathNormalForm.path(once) == once, "\(text)")
        }
    }
}
