import HTTPCacheSemantics
import HTTPTypes
import Testing

/// Cache groups, RFC 9875.
@Suite(.timeLimit(.minutes(20)), .tags(.rfc9875))
struct CacheGroupTests {
    private let policy = CachePolicy.shared

    private func groups(_ lines: String...) -> [String] {
        policy.groups(of: fields(lines.map { ("Cache-Groups", $0) }))
    }

    @Test func parsesAListOfStrings() {
        #expect(groups("\"a\"") == ["a"])
        #expect(groups("\"a\", \"b\"", "\"c\"") == ["a", "b", "c"])
        #expect(groups("\"a\";revalidate, \"b\"; x=1") == ["a", "b"])
        #expect(groups("\"b\", \"a\", \"b\"") == ["b", "a"])
        #expect(groups("\"A\", \"a\", \"\", \"a b, \\\"c\"") == ["A", "a", "", "a b, \"c"])
        #expect(policy.groups(of: [:]).isEmpty)
    }

    @Test(arguments: [
        "a", "\"a\", b", "\"a\", 1", "\"a\", (\"b\")", "\"a", "\"a\",", "\"a\" \"b\"", "\"é\"", ":YQ==:", "?1", "",
        "%\"a\"", "\"a\\x\"",
    ])
    func ignoresMalformedFieldAsAWhole(value: String) {
        #expect(groups(value).isEmpty)
    }

    @Test func limitsCountAndLengthOfGroups() {
        func list(_ count: Int) -> String { (0..<count).map { "\"g\($0)\"" }.joined(separator: ", ") }
        #expect(groups(list(32)).count == 32)
        #expect(groups(list(100)) == (0..<32).map { "g\($0)" })
        let long = String(repeating: "x", count: 128)
        #expect(groups("\"\(long)\", \"\(long)y\", \"z\"") == [long, "z"])
        // Longer than any real field: it is ignored, so that parsing it costs nothing.
        #expect(groups(list(3000)).isEmpty)
    }

    @Test(
        arguments: [
            ("POST", ["a", "b"]), ("DELETE", ["a", "b"]), ("FROB", ["a", "b"]), ("get", ["a", "b"]), ("GET", []),
            ("HEAD", []), ("OPTIONS", []), ("TRACE", []), ("QUERY", []),
        ]
    )
    func onlyUnsafeMethodsInvalidate(method: String, expected: [String]) throws {
        let method = try #require(HTTPRequest.Method(method))
        let invalidating = response([("Cache-Group-Invalidation", "\"a\";x, \"b\"")])
        #expect(policy.invalidatedGroups(by: invalidating, to: request(method: method)) == expected)
        #expect(
            policy.invalidatedGroups(by: response([("Cache-Groups", "\"a\"")]), to: request(method: method)).isEmpty
        )
    }
}
