import HTTPCacheSemantics
import HTTPTypes
import Testing

/// Requests that an attacker makes to share a key that they must not share, or to be sent as
/// something other than the key names.
///
/// docs/attacks.md, 10, 13, 14, 19. Each test names the mutant that makes it fail;
/// `scripts/mutants` applies them.
@Suite(.timeLimit(.minutes(20)), .tags(.key, .attacks)) struct KeyAttackTests {
    // MARK: 10, everything that separates two requests

    /// Mutants: `CanonicalWriter.write(target:)` without its line for the scheme, the host, the
    /// port (either byte), the path, the query.
    @Test(arguments: [
        ("http", "a.example:443", "/x?q"), ("https", "b.example", "/x?q"), ("https", "a.example:8443", "/x?q"),
        // Each changes one byte of the port: 443 is 0x01BB.
        ("https", "a.example:699", "/x?q"), ("https", "a.example:442", "/x?q"),
        ("https", "a.example", "/y?q"), ("https", "a.example", "/X?q"), ("https", "a.example", "/x?r"),
        ("https", "a.example", "/x?Q"), ("https", "a.example", "/x"), ("https", "a.example", "/x?"),
    ])
    func everyPartOfTheTargetChangesTheKey(scheme: String, authority: String, path: String) throws {
        let keyed = try #require(wire("/x?q"))
        let other = try #require(wire(path, scheme: scheme, authority: authority))
        #expect(StoreKey(target: keyed) != StoreKey(target: other))
        #expect(keyed.canonicalBytes != other.canonicalBytes, "invalidation would confuse the two")
    }

    /// The default ports of the two schemes are not the same port.
    ///
    /// Mutant: `TargetURI.defaultPort(of:)` returns 80 for both.
    @Test func omittedPortIsTheSchemesDefault() throws {
        #expect(wire("/", authority: "a.example:443") == wire("/"))
        #expect(wire("/", authority: "a.example:80") != wire("/"))
        #expect(wire("/", scheme: "http", authority: "a.example:443") != wire("/", scheme: "http"))
    }

    /// Mutant: `StoreKey.init` writes `GET` for every method.
    @Test(arguments: ["POST", "QUERY", "OPTIONS", "get", "GET "])
    func everyMethodHasItsOwnKeys(name: String) throws {
        let target = try #require(wire("/"))
        // A name that is not a token is not a method.
        guard let method = HTTPRequest.Method(name) else { return #expect(name == "GET ") }
        #expect(StoreKey(method: method, target: target) != StoreKey(target: target))
    }

    /// Bytes cannot be moved from the end of one part to the start of the next.
    ///
    /// Mutant: `CanonicalWriter.write(_: String?)` without its line for the length.
    @Test func noByteMovesAcrossABorder() throws {
        let paths = ["/ab?c", "/a?bc", "/abc", "/abc?", "/?abc", "/a%3Fbc", "/a?b?c", "/a?b&c"]
        let keys = Set(paths.compactMap { wire($0) }.map { StoreKey(target: $0) })
        #expect(keys.count == paths.count)

        // The border between host and path, and between the partition and the parts after it.
        let hosts = try [#require(wire("/x", authority: "a.b")), #require(wire("/.b/x", authority: "a"))]
        #expect(StoreKey(target: hosts[0]) != StoreKey(target: hosts[1]))
        let plain = try #require(wire("/"))
        let bytes = StoreKey(target: plain).bytes
        let swallowing = String(decoding: bytes.dropFirst(2), as: UTF8.self)
        #expect(StoreKey(partition: .principal(swallowing), target: plain).bytes != bytes)
        #expect(
            StoreKey(partition: .principal("u\u{4}GET"), target: plain)
                != StoreKey(partition: .principal("u"), target: plain)
        )
    }

    /// A length of more than 127 takes two bytes, so a cut-off length byte cannot pass for another
    /// length.
    ///
    /// Mutant: `CanonicalWriter.write(number:)` writes one byte, cut off.
    @Test func longComponentKeepsItsLength() throws {
        let short = try #require(wire("/" + String(repeating: "a", count: 10)))
        for length in [10 + 128, 10 + 256, 10 + 16_384] {
            let long = try #require(wire("/" + String(repeating: "a", count: length)))
            #expect(StoreKey(target: long) != StoreKey(target: short))
            #expect(StoreKey(bytes: StoreKey(target: long).bytes)?.components.target == long)
        }
    }

    // MARK: 13, parameter cloaking

    /// Programs behind the cache disagree on what a parameter is. The key contains the raw query,
    /// so their disagreement cannot be exploited.
    ///
    /// Mutant: `TargetURI.init?(request:)` takes the query from the last `?`, or maps `;` to `&` in
    /// it.
    @Test func similarQueriesHaveDifferentKeys() throws {
        let queries = [
            "a=1", "a=1;utm=x&a=2", "a=1&utm=x;a=2", "a=1&utm=x&a=2", "?a=1", "??a=1", "a=1?", "a=1%26a=2", "a=1&a=2",
            "a=2&a=1", "a=1&", "&a=1", "a=1&&", "a[]=1", "a%5B%5D=1", "A=1", "%61=1", "%61=%31", "a=%31", "a=1+",
            "a=1%20",
            "a=1%00", "a=1%23", "a=1%0a", "a", "a=", "=1", ";", "&", "a=1;", "a=1%3B", "a=1%3b",
        ]
        var seen: [StoreKey: String] = [:]
        for query in queries {
            let target = try #require(wire("/x?" + query), "/x?\(query)")
            let other = seen.updateValue(query, forKey: StoreKey(target: target))
            #expect(other == nil, "'\(query)' and '\(other ?? "")' share a key")
            #expect(target.query == query)
        }
    }

    // MARK: 14, the transport sends exactly the target in the key

    /// Mutant: `TargetURI.init?(request:)` returns `withoutDotSegments(path)`, lower-cases it, or
    /// decodes `%2F`.
    @Test(arguments: [
        "/a%2Fb", "/a%2fb", "/a/b", "/a/../b", "/a/./b", "/a/%2e%2e/b", "/a/%2E%2E/b", "/a/..%2fb", "/../a", "//a",
        "/a//b",
        "//evil.example/a", "/a/", "/a/.", "/a/..", "/a\\b", "/a%5Cb", "/%", "/%zz", "/%00", "/%0d%0aX:y", "/a;b",
        "/a%3Bb",
        "/http://evil.example/", "/a@b", "/a:80", "/*", "/%2e%2e%2f%2e%2e%2fetc",
    ])
    func pathIsKeyedByteByByte(path: String) throws {
        let target = try #require(wire(path))
        #expect(target.requestTarget == path)
        let key = StoreKey(target: target)
        #expect(key.components.target.requestTarget == path)
        // Read back from a store, the key names the same path.
        #expect(StoreKey(bytes: key.bytes) == key)
    }

    /// Mutant: the path is compared after `%2e` was decoded (any of the changes named for
    /// `pathIsKeyedByteByByte`).
    @Test func similarPathsHaveDifferentKeys() throws {
        let paths = [
            "/a/b", "/a%2Fb", "/a%2fb", "/a//b", "/a/./b", "/a/c/../b", "/a/%2e/b", "/a/b/", "/a/b;x", "/a/b%3Bx",
            "/a/b%00",
            "/a/b%20", "/A/b", "/a\\b", "/%61/b", "//a/b",
        ]
        let keys = Set(paths.compactMap { wire($0) }.map { StoreKey(target: $0) })
        #expect(keys.count == paths.count)
    }

    /// A fragment belongs to the client: on the wire it makes a target malformed.
    ///
    /// Mutant: `mayStandInRequestLine` without its comparison with `#`.
    @Test(arguments: [
        "/a#b", "/a?b#c", "#", "/a b", "/a\tb", "/a\r\nX-Injected: 1", "/a\u{0}b", "/a\u{7F}b", "/\u{E9}", "a", "", "*",
        "https://b.example/", "?a",
    ])
    func rejectsTargetsThatCannotBeSentUnchanged(path: String) {
        #expect(wire(path) == nil)
    }

    /// Mutants: `Authority.parse` without its guard on `@`; `isName` that lets any byte pass.
    @Test(arguments: [
        "user@a.example", "user:pw@a.example", "a.example@b.example", "@a.example", "a.example%40b.example",
        "a.example/b",
        "a.example?b", "a.example#b", "a.example\\b", "a.example b", "a.example\r\nb", "", ":80", "a.example:0",
        "a.example:65536", "a.example:80:80", "a.example:+80", "a.example:8 0", "a.example,b.example", "[::1", "::1",
        "[::1]x",
        "[::1%25eth0]", "[::1%eth0]", "[v1.x]", "[1.2.3.4]", "[::g]", "[1::2::3]", "[]", "\u{430}.example",
        "a.example:\u{661}",
    ])
    func rejectsAmbiguousAuthorities(authority: String) {
        #expect(wire("/", authority: authority) == nil)
    }

    /// One name for a resolver may be two for a server, so there are two keys.
    ///
    /// Mutant: `Authority.parse` drops a trailing dot of the host.
    @Test func trailingDotIsAnotherHost() throws {
        let dotted = try #require(wire("/", authority: "a.example."))
        let plain = try #require(wire("/"))
        #expect(dotted.authority == "a.example.")
        #expect(StoreKey(target: dotted) != StoreKey(target: plain))
    }

    /// Mutant: `Authority.parse` takes the port from the last colon of any authority, a bracketed
    /// one's included.
    @Test func ipv6AddressKeepsItsBracketsAndPort() throws {
        let plain = try #require(wire("/", authority: "[2001:DB8::1]"))
        let ported = try #require(wire("/", authority: "[2001:db8::1]:8443"))
        #expect(plain.authority == "[2001:db8::1]" && plain.port == 443)
        #expect(ported.authority == "[2001:db8::1]:8443" && ported.port == 8443)
        #expect(Set([plain, ported].map { StoreKey(target: $0) }).count == 2)
        // Another spelling of the address is another key: nothing is shared that need not be.
        let spelled = try #require(wire("/", authority: "[2001:db8:0::1]"))
        #expect(StoreKey(target: spelled) != StoreKey(target: plain))
    }

    /// Case matters everywhere except in scheme and host. RFC 9110 §4.2.3
    ///
    /// Mutant: `Authority.parse` without lower-casing.
    @Test func onlySchemeAndHostAreLowercased() throws {
        let upper = try #require(wire("/X?Q", scheme: "HTTPS", authority: "A.EXAMPLE:443"))
        #expect(upper == wire("/X?Q"))
        #expect(upper != wire("/x?q"))
    }

    // MARK: 19, content in the key

    /// Mutants: `CanonicalWriter.write(content:)` without its line for the type, the coding, the
    /// digest.
    @Test func everyPartOfTheContentChangesTheKey() throws {
        let target = try #require(wire("/search"))
        let query = try #require(HTTPRequest.Method("QUERY"))
        let (one, two) = ([UInt8](repeating: 1, count: 32), [UInt8](repeating: 2, count: 32))
        let contents: [StoreKey.Content?] = [
            nil, .init(type: nil, coding: nil, sha256: one), .init(type: nil, coding: nil, sha256: two),
            .init(type: "a/b", coding: nil, sha256: one), .init(type: "a/c", coding: nil, sha256: one),
            .init(type: "a/b", coding: "gzip", sha256: one), .init(type: "a/b", coding: "br", sha256: one),
            .init(type: nil, coding: "a/b", sha256: one), .init(type: "", coding: nil, sha256: one),
        ]
        var keys: Set<StoreKey> = []
        for content in contents {
            keys.insert(StoreKey(method: query, target: target, content: content))
            keys.insert(StoreKey(method: .post, target: target, content: content))
        }
        #expect(keys.count == 2 * contents.count)
    }
}
