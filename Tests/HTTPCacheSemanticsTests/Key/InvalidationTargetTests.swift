import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Testing

/// Invalidated targets, RFC 9111 §4.4.
@Suite(.timeLimit(.minutes(20)), .tags(.rfc9111Invalidation))
struct InvalidationTargetTests {
    private func targets(
        _ pairs: [(String, String)],
        status: Int = 200,
        method: HTTPRequest.Method = .post,
        target: String = "https://a.example/x/y?q"
    ) throws -> [String] {
        CachePolicy.private.invalidatedTargets(
            by: response(pairs, status: status),
            to: request(method: method),
            target: try TargetURI(target)
        ).map(\.uri)
    }

    @Test func namesTargetThenLocationThenContentLocation() throws {
        let own = "https://a.example/x/y?q"
        #expect(try targets([]) == [own])
        #expect(
            try targets([("Content-Location", "/b"), ("Location", "../c")])
                == [own, "https://a.example/c", "https://a.example/b"]
        )
        #expect(try targets([("Location", "https://A.EXAMPLE:443/z#f")]) == [own, "https://a.example/z"])
        #expect(try targets([("Location", "/b"), ("Location", "/c")]) == [own, "https://a.example/b"])
    }

    @Test func namesEachTargetOnce() throws {
        #expect(
            try targets([("Location", ""), ("Content-Location", "y?q"), ("Content-Location", "/z")])
                == ["https://a.example/x/y?q"]
        )
    }

    // One origin must not invalidate another origin's responses. Mutant: without
    // `hasSameOrigin` all of these fail.
    @Test(arguments: [
        "http://a.example/z", "https://b.example/z", "https://a.example:444/z", "//b.example/z",
        "https://a.example.evil/z",
        "https://a.example@b.example/", "ftp://a.example/z", "https:///z", "https:z", "mailto:x",
        "https://a.example:0/",
        "//", "///z", "https://a.example\\@b.example/",
    ])
    func neverInvalidatesAnotherOrigin(location: String) throws {
        #expect(try targets([("Location", location)]) == ["https://a.example/x/y?q"])
    }

    @Test func namesBothSpellingsOfAnEncodedReference() throws {
        #expect(
            try targets([("Location", "/a|b")])
                == ["https://a.example/x/y?q", "https://a.example/a|b", "https://a.example/a%7Cb"]
        )
    }

    @Test(arguments: [("POST", true), ("PUT", true), ("DELETE", true), ("PATCH", true), ("FROB", true), ("get", true)])
    func unsafeAndUnknownMethodsInvalidate(method: String, invalidates: Bool) throws {
        #expect(try targets([], method: #require(HTTPRequest.Method(method))).isEmpty != invalidates)
    }

    @Test(arguments: ["GET", "HEAD", "OPTIONS", "TRACE", "QUERY"])
    func safeMethodsDoNotInvalidate(method: String) throws {
        #expect(try targets([("Location", "/b")], method: #require(HTTPRequest.Method(method))).isEmpty)
    }

    @Test(arguments: [
        (200, true), (204, true), (299, true), (302, true), (399, true), (100, false), (400, false), (404, false),
        (500, false), (503, false), (600, false),
    ])
    func onlySuccessAndRedirectionInvalidate(status: Int, invalidates: Bool) throws {
        #expect(try targets([("Location", "/b")], status: status).isEmpty != invalidates)
    }
}

/// References, RFC 3986 §5.
@Suite(.timeLimit(.minutes(20)), .tags(.rfc3986, .key))
struct ReferenceTests {
    private func resolved(_ reference: String, _ base: String) throws -> String? {
        TargetURI(reference: reference.utf8, relativeTo: try TargetURI(base))?.uri
    }

    /// The examples of §5.4, except those whose scheme or base is not HTTP, and without fragments,
    /// which are not sent.
    @Test(
        arguments: [
            ("g", "http://a/b/c/g"), ("./g", "http://a/b/c/g"), ("g/", "http://a/b/c/g/"), ("/g", "http://a/g"),
            ("//g", "http://g/"), ("?y", "http://a/b/c/d;p?y"), ("g?y", "http://a/b/c/g?y"),
            ("#s", "http://a/b/c/d;p?q"), ("g#s", "http://a/b/c/g"), ("g?y#s", "http://a/b/c/g?y"),
            (";x", "http://a/b/c/;x"), ("g;x", "http://a/b/c/g;x"), ("g;x?y#s", "http://a/b/c/g;x?y"),
            ("", "http://a/b/c/d;p?q"), (".", "http://a/b/c/"), ("./", "http://a/b/c/"), ("..", "http://a/b/"),
            ("../", "http://a/b/"), ("../g", "http://a/b/g"), ("../..", "http://a/"), ("../../", "http://a/"),
            ("../../g", "http://a/g"), ("../../../g", "http://a/g"), ("../../../../g", "http://a/g"),
            ("/./g", "http://a/g"), ("/../g", "http://a/g"), ("g.", "http://a/b/c/g."), (".g", "http://a/b/c/.g"),
            ("g..", "http://a/b/c/g.."), ("..g", "http://a/b/c/..g"), ("./../g", "http://a/b/g"),
            ("./g/.", "http://a/b/c/g/"), ("g/./h", "http://a/b/c/g/h"), ("g/../h", "http://a/b/c/h"),
            ("g;x=1/./y", "http://a/b/c/g;x=1/y"), ("g;x=1/../y", "http://a/b/c/y"),
            ("g?y/./x", "http://a/b/c/g?y/./x"),
            ("g?y/../x", "http://a/b/c/g?y/../x"), ("g#s/../x", "http://a/b/c/g"),
        ]
    )
    func resolvesTheRFCsExamples(reference: String, expected: String) throws {
        #expect(try resolved(reference, "http://a/b/c/d;p?q") == expected)
    }

    @Test(
        arguments: [
            ("http:g", nil), ("g:h", nil), ("http:", nil), ("http://", nil), ("//", nil), ("//u@h/", nil), ("1:2", nil),
            ("//h:x/", nil), ("/\u{7F}", nil), ("/a\nb", nil),
            ("HTTPS://G:443/x", "https://g/x"), ("https:/x", nil), ("//g:81?y", "http://g:81/?y"),
            ("?", "http://a/b/?"),
            ("/?", "http://a/?"), ("g:h/..", nil), ("./g:h", "http://a/b/g:h"), ("/a/../../b/./", "http://a/b/"),
            ("//g/../x", "http://g/x"), ("x//../y", "http://a/b/x/y"), ("/x//..", "http://a/x/"),
            ("//[::1]/x", "http://[::1]/x"),
            // Unchanged: neither decoded nor encoded, except bytes that cannot be sent.
            ("%2e%2e/x", "http://a/b/%2e%2e/x"), ("%41|^%zz", "http://a/b/%41|^%zz"), ("a b", "http://a/b/a%20b"),
            ("é", "http://a/b/%C3%A9"), ("?é\u{20}", "http://a/b/?%C3%A9%20"), ("\\x", "http://a/b/\\x"),
        ] as [(String, String?)]
    )
    func resolvesOrRejectsEdgeCases(reference: String, expected: String?) throws {
        #expect(try resolved(reference, "http://a/b/?q") == expected)
    }

    @Test func keepsTheBasesBytes() throws {
        var raw = request()
        raw.path = "/a/../b|/%zz?x|y"
        let base = try #require(TargetURI(request: raw))
        #expect(TargetURI(reference: "".utf8, relativeTo: base) == base)
        #expect(TargetURI(reference: "#top".utf8, relativeTo: base) == base)
        #expect(TargetURI(reference: "?q".utf8, relativeTo: base)?.requestTarget == "/a/../b|/%zz?q")
        #expect(TargetURI(reference: "c".utf8, relativeTo: base)?.requestTarget == "/b|/c")
    }

    @Test func limitsTheLength() throws {
        let base = try TargetURI("http://a/")
        #expect(TargetURI(reference: String(repeating: "a", count: 65_000).utf8, relativeTo: base) != nil)
        #expect(TargetURI(reference: String(repeating: "a", count: 65_536).utf8, relativeTo: base) == nil)
        #expect(TargetURI(reference: String(repeating: " ", count: 30_000).utf8, relativeTo: base) == nil)
        let long = try TargetURI("http://a/" + String(repeating: "b", count: 40_000) + "/")
        #expect(TargetURI(reference: String(repeating: "a", count: 40_000).utf8, relativeTo: long) == nil)
    }

    /// A resolved target has a key, and its URI resolves to itself against any base.
    @Test(arguments: [31, 32])
    func resolvedTargetsHaveAKeyAndResolveToThemselves(seed: UInt64) throws {
        var generator = SeededRandom(seed: seed)
        let pieces = [
            "/", "//", ".", "..", "?", "#", ":", "a", "http:", "%", "%2e", "@", "[", "|", "é", " ", "\\", ";", "1",
        ]
        let bases = try ["http://a/", "https://h:8/b/c?q", "http://[::1]/x/../y//z/?"].map { try TargetURI($0) }
        var count = 0
        for _ in 0..<5000 {
            let text = (0..<Int.random(in: 0...10, using: &generator)).map { _ in
                pieces[Int.random(in: 0..<pieces.count, using: &generator)]
            }.joined()
            let base = bases[Int.random(in: 0..<bases.count, using: &generator)]
            guard let target = TargetURI(reference: text.utf8, relativeTo: base) else { continue }
            count += 1
            #expect(StoreKey(bytes: StoreKey(target: target).bytes) != nil, "'\(text)' from \(base.uri)")
            if !text.isEmpty, text.first != "?", text.first != "#" {
                #expect(TargetURI(reference: target.uri.utf8, relativeTo: base) == target, "'\(text)' from \(base.uri)")
            }
        }
        #expect(count > 500)
        // Bytes that are not text.
        for _ in 0..<2000 {
            let bytes = (0..<Int.random(in: 0...12, using: &generator)).map { _ in
                UInt8.random(in: 0...255, using: &generator)
            }
            _ = TargetURI(reference: bytes, relativeTo: bases[0])
        }
    }
}
