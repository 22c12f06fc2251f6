import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Testing

/// Changes that rules make to targets and `Accept-Encoding`.
@Suite(.timeLimit(.minutes(20)), .tags(.key)) struct RewritingTests {
    private func target(_ query: String?) throws -> TargetURI {
        try TargetURI("https://a.example/x" + (query.map { "?" + $0 } ?? ""))
    }

    @Test(arguments: [
        ("a=1&utm_source=x&b=2", "a=1&b=2"), ("utm_source=x", nil), ("utm_source=x&utm_medium", nil), ("", ""),
        ("a&&utm_id=1", "a&"), ("utm%5Fid=1&a", "a"), ("UTM_id=1", "UTM_id=1"), ("a=utm_id", "a=utm_id"),
        ("fbclid=1&fbclid2=2", "fbclid2=2"), ("utm_id=1;id=5", "utm_id=1;id=5"), ("?utm_id=1", "?utm_id=1"),
        ("a=%7e&utm_x=1", "a=%7e"), ("&utm_x", nil),
    ])
    func dropsParameters(query: String, expected: String?) throws {
        let names = ParameterNames(["utm_*", "fbclid"])
        let rewritten = try target(query).rewritten(dropping: names)
        #expect(rewritten.query == expected)
        #expect(rewritten.rewritten(dropping: names) == rewritten)
    }

    @Test(arguments: [
        ("b=1&a=2", "a=2&b=1"), ("a=2&a=1", "a=2&a=1"), ("b&a=2&b=0&a=1", "a=2&a=1&b&b=0"), ("%62=1&a", "a&%62=1"),
        ("b=%2f&a=x+y", "a=x+y&b=%2f"), ("b&&a", "&a&b"), ("", ""),
    ])
    func sortsParameters(query: String, expected: String) throws {
        #expect(try target(query).rewritten(sorting: true).query == expected)
    }

    @Test func targetWithoutQueryDoesNotChange() throws {
        let target = try target(nil)
        #expect(target.rewritten(dropping: ParameterNames(["*"]), sorting: true) == target)
        #expect(target.ignoring(ParameterNames(["*"])) == target)
    }

    @Test(arguments: [
        ("session=1&a=2", "a=2"), ("session=1", nil), ("session=1;a=2", "session=1;a=2"),
        ("session=1%26a=2", "session=1%26a=2"), ("session=1%2526a=2", "session=1%2526a=2"),
        ("session=1%3ba=2", "session=1%3ba=2"), ("?session=1", "?session=1"), ("session=a%3D%3D&session=b", nil),
        ("session%5B%5D=1", "session%5B%5D=1"), ("session%00=1", "session%00=1"),
    ])
    func ignoresParameters(query: String, expected: String?) throws {
        #expect(try target(query).ignoring(ParameterNames(["session"])).query == expected)
    }

    /// Servers decode names as in forms. A `%` without two digits stays, and malformed UTF-8 is
    /// U+FFFD.
    @Test(arguments: [
        ("%61+b=1", "a b"), ("a%20b=1", "a b"), ("a%2bb=1", "a+b"), ("a%3Db=1", "a=b"), ("%c3%A9=1", "é"),
        ("%f6=1", "\u{FFFD}"), ("%=1", "%"), ("%4=1", "%4"), ("%zz=1", "%zz"), ("%%34=1", "%4"),
    ])
    func comparesDecodedNames(query: String, name: String) throws {
        let target = try #require(TargetURI(verbatim: "https://a.example/x?" + query))
        #expect(target.ignoring(ParameterNames([name])).query == nil)
        #expect(target.ignoring(ParameterNames([name + "x", "x" + name])) == target)
    }

    /// For every query: a second rewriting changes nothing, pieces keep their bytes, and those of
    /// one name keep their order.
    @Test(arguments: 0..<200 as Range<UInt64>) func rewritingKeepsTheOtherParameters(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let pieces = (0..<Int.random(in: 1...8, using: &random)).map { _ in
            (0..<Int.random(in: 0...5, using: &random)).map { _ in
                ["a", "b", "=", "%61", "%3D", ";", "+", "?", "%26", "*"].randomElement(using: &random) ?? "a"
            }.joined()
        }
        let before = try target(pieces.joined(separator: "&"))
        let names = ParameterNames(["b*"])
        let after = before.rewritten(dropping: names, sorting: true)
        #expect(after.rewritten(dropping: names, sorting: true) == after, "seed \(seed)")
        let kept = after.query.map { $0.split(separator: "&", omittingEmptySubsequences: false).map(String.init) } ?? []
        var left = pieces
        for piece in kept {
            let index = left.firstIndex(of: piece)
            #expect(index != nil || piece.isEmpty, "seed \(seed): '\(piece)' is new")
            if let index { left.remove(at: index) }
        }
        for name in ["a", "%61"] {
            let isNamed = { (piece: String) in piece == name || piece.hasPrefix(name + "=") }
            let same = kept.filter(isNamed)
            #expect(same.isEmpty || same == pieces.filter(isNamed), "seed \(seed): the order of '\(name)'")
        }
        let ignoring = before.ignoring(names)
        #expect(ignoring.ignoring(names) == ignoring, "seed \(seed)")
    }

    @Test(arguments: [
        ("gzip, br", "br, gzip"), ("br;q=0.1,gzip;q=1.000", "br, gzip"), ("GZIP", "gzip"), ("x-gzip", "gzip"),
        ("deflate", "identity"), ("", "identity"), ("identity", "identity"), ("*", "br, gzip, zstd"),
        ("*;q=0", nil), ("gzip, *;q=0", "gzip, identity;q=0"), ("gzip;q=0, *", "br, zstd"),
        ("identity;q=0", nil), ("gzip, identity;q=0", "gzip, identity;q=0"), ("gzip;q=0", "identity"),
        ("gzip, gzip;q=0", "identity"), ("gzip;q=0.", "identity"), ("gzip;q=2", nil), ("gzip;q=1.5", nil),
        ("gzip;q=-1", nil), ("gzip;level=9", nil), ("g zip", nil), (", gzip ,, br ;q=1", "br, gzip"),
    ])
    func acceptEncodingHasOneSpelling(value: String, expected: String?) {
        let normalized = AcceptEncoding.normalized([.acceptEncoding: value])
        #expect(normalized == expected)
        if let normalized {
            #expect(AcceptEncoding.normalized([.acceptEncoding: normalized]) == normalized)
        }
    }

    @Test(arguments: [
        ("gzip", true), ("x-gzip", true), ("*", true), ("gzip;q=0.001", true), ("gzip;q=0", false), ("br", false),
        ("*;q=0", false), ("gzip;q=0, *", false), ("identity, gzip;q=0.9", false), ("identity;q=0.9, gzip", true),
        ("identity;q=0.5, gzip;q=0.5", true), ("identity", false), ("identity;q=0, *;q=0.1", true),
        ("gzip;q=1.1", false),
        ("", false), ("g zip", false),
    ])
    func gzipIsPreferredUnlessAnotherWeightIsHigher(value: String, expected: Bool) {
        #expect(AcceptEncoding.prefersGzip([.acceptEncoding: value]) == expected)
    }

    @Test(
        arguments: [
            ("gzip", ["gzip"], true), ("gzip", ["br"], false), ("gzip", [], true), ("*", ["zstd"], true),
            ("identity;q=0", [], false), ("*;q=0", [], false), ("*;q=0, identity", [], true),
            ("br", ["gzip", "br"], false),
            ("br, gzip", ["gzip", "br"], true), ("", ["gzip"], false), ("", [], true), ("g zip", ["gzip"], false),
            ("g zip", [], true),
        ] as [(String, [String], Bool)]
    )
    func codingsAreAcceptedOneByOne(value: String, codings: [String], expected: Bool) {
        #expect(AcceptEncoding.Accepted([.acceptEncoding: value]).contains(codings) == expected)
    }

    @Test func withoutAcceptEncodingNoCodingIsAccepted() {
        #expect(!AcceptEncoding.Accepted([:]).contains(["br"]))
        #expect(AcceptEncoding.Accepted([:]).contains([]))
        #expect(!AcceptEncoding.prefersGzip([:]))
    }

    /// Mutant: the members are counted for each line.
    @Test(arguments: [(256, 0, true), (128, 128, true), (257, 0, false), (256, 1, false)])
    func readsAtMost256CodingsOfARequest(first: Int, second: Int, isRead: Bool) {
        var fields = HTTPFields()
        for count in [first, second] {
            let members = repeatElement("a", count: max(0, count - 1)) + (count > 0 ? ["gzip"] : [])
            fields.append(HTTPField(name: .acceptEncoding, value: members.joined(separator: ",")))
        }
        #expect(AcceptEncoding.prefersGzip(fields) == isRead)
        #expect(AcceptEncoding.Accepted(fields).contains(["gzip"]) == isRead)
        #expect(AcceptEncoding.normalized(fields) == (isRead ? "gzip" : nil))
    }

    @Test func absentAcceptEncodingStaysAbsent() { #expect(AcceptEncoding.normalized([:]) == nil) }
}
