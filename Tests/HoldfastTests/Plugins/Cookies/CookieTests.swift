import HTTPCacheSemantics
import Testing

@testable import Holdfast

/// Reading `Set-Cookie`, and which requests get a cookie. RFC 6265bis §5
@Suite(.timeLimit(.minutes(20))) struct CookieTests {
    /// 2026-01-01T00:00:00Z
    private static let now = Timestamp(seconds: 1_767_225_600)

    private static func cookie(_ field: String, from origin: String = "https://www.a.example/x/y") throws -> Cookie? {
        Cookie(field, from: try TargetURI(origin), at: now)
    }

    @Test(
        arguments: [
            ("a=b", "a", "b"), ("a=", "a", ""), (" a = b ", "a", "b"), ("a=b=c", "a", "b=c"),
            ("a=\"b; c\"", "a", "\"b"), ("a=b c", "a", "b c"), ("a=\tb\t", "a", "b"), ("a=b;", "a", "b"),
            ("ä=ö", "ä", "ö"), ("a=b; unknown=c; ; =", "a", "b"),
        ]
    )
    func readsNameAndValue(_ field: String, _ name: String, _ value: String) throws {
        let cookie = try #require(try Self.cookie(field))
        #expect(cookie.name == name && cookie.value == value)
        #expect(cookie.domain == "www.a.example" && cookie.isHostOnly && cookie.path == "/x")
        #expect(!cookie.isSecure && cookie.expiry == nil)
    }

    @Test(
        arguments: [
            "", "a", ";", "=", "=b", " =b", "; a=b", "a=b\u{0}", "a=b\r", "a\n=b", "a=b\u{7F}", "a=b; Path=\u{1}",
        ]
    )
    func rejectsFieldsWithoutANameOrWithControls(_ field: String) throws {
        #expect(try Self.cookie(field) == nil)
    }

    @Test func boundsItsLength() throws {
        #expect(try Self.cookie("a=" + String(repeating: "b", count: 4095)) != nil)
        #expect(try Self.cookie("a=" + String(repeating: "b", count: 4096)) == nil)
        // An attribute that is too long counts as absent.
        let path = "/" + String(repeating: "p", count: 1024)
        #expect(try Self.cookie("a=b; Path=\(path)")?.path == "/x")
    }

    /// The domain of a cookie; `nil` if the origin may not set it.
    @Test(
        arguments: [
            ("https://www.a.example/", "", "www.a.example", true),
            ("https://www.a.example/", "; Domain=a.example", "a.example", false),
            ("https://www.a.example/", "; Domain=.A.Example", "a.example", false),
            ("https://www.a.example/", "; DOMAIN = a.example ", "a.example", false),
            ("https://www.a.example/", "; Domain=www.a.example", "www.a.example", false),
            ("https://www.a.example/", "; Domain=", "www.a.example", true),
            ("https://www.a.example/", "; Domain=b.example; Domain=a.example", "a.example", false),
            ("https://www.a.example/", "; Domain=b.example", nil, true),
            ("https://www.a.example/", "; Domain=x.www.a.example", nil, true),
            ("https://www.a.example/", "; Domain=ww.a.example", nil, true),
            ("https://www.a.example/", "; Domain=w.a.example", nil, true),
            // A single label is a public suffix, unless it is the host itself.
            ("https://www.a.example/", "; Domain=example", nil, true),
            ("https://www.a.example/", "; Domain=.example", nil, true),
            ("http://localhost/", "; Domain=localhost", "localhost", true),
            ("http://x.localhost/", "; Domain=localhost", nil, true),
            // An address has no domains above it.
            ("http://127.0.0.1/", "; Domain=127.0.0.1", "127.0.0.1", true),
            ("http://127.0.0.1/", "; Domain=0.0.1", nil, true),
            ("http://[::1]/", "; Domain=[::1]", "[::1]", true),
        ] as [(String, String, String?, Bool)]
    )
    func domainLimitsTheHosts(_ origin: String, _ attribute: String, _ domain: String?, _ isHostOnly: Bool) throws {
        let cookie = try Self.cookie("a=b" + attribute, from: origin)
        #expect(cookie?.domain == domain)
        if let cookie { #expect(cookie.isHostOnly == isHostOnly) }
    }

    @Test(
        arguments: [
            ("/", "/"), ("/x", "/"), ("/x/", "/x"), ("/x/y", "/x"), ("/x/y/z?q=/w", "/x/y"), ("//", "/"),
        ]
    )
    func pathIsThatOfTheOriginsTarget(_ target: String, _ path: String) throws {
        #expect(try Self.cookie("a=b", from: "https://a.example" + target)?.path == path)
    }

    @Test(
        arguments: [
            ("; Path=/z", "/z"), ("; path=/", "/"), ("; Path=z", "/x"), ("; Path=", "/x"), ("; Path", "/x"),
            ("; Path=/z; Path=/w", "/w"), ("; Path=/z; Path=w", "/x"),
        ]
    )
    func lastPathCounts(_ attribute: String, _ path: String) throws {
        #expect(try Self.cookie("a=b" + attribute)?.path == path)
    }

    @Test(
        arguments: [
            ("https", "a=b; Secure", true), ("http", "a=b; Secure", false), ("http", "a=b", true),
            ("https", "__Secure-a=b", false), ("https", "__Secure-a=b; Secure", true),
            ("http", "__Secure-a=b; Secure", false), ("https", "__secure-a=b", false),
            ("https", "__Host-a=b; Secure; Path=/", true), ("https", "__Host-a=b; Secure", false),
            ("https", "__Host-a=b; Path=/", false), ("https", "__Host-a=b; Secure; Path=/; Domain=a.example", false),
            ("https", "__HOST-a=b; Path=/", false),
        ]
    )
    func secureAttributeAndPrefixesAreObeyed(_ scheme: String, _ field: String, _ isAccepted: Bool) throws {
        #expect((try Self.cookie(field, from: scheme + "://a.example/x/y") != nil) == isAccepted)
    }

    /// The lifetime in seconds; `nil`: as long as the jar.
    @Test(
        arguments: [
            ("", nil), ("; Max-Age=60", 60), ("; max-age = 60", 60), ("; Max-Age=x", nil), ("; Max-Age=", nil),
            ("; Max-Age=6 0", nil), ("; Max-Age=+60", nil), ("; Max-Age=1.5", nil),
            ("; Expires=Thu, 01 Jan 2026 00:01:00 GMT", 60), ("; Expires=never", nil),
            ("; Max-Age=30; Expires=Thu, 01 Jan 2026 00:01:00 GMT", 30),
            ("; Expires=Thu, 01 Jan 2026 00:01:00 GMT; Max-Age=x", 60),
            ("; Max-Age=99999999999999999999", 34_560_000), ("; Max-Age=34560001", 34_560_000),
            ("; Expires=Fri, 31 Dec 9999 23:59:59 GMT", 34_560_000),
        ] as [(String, Int64?)]
    )
    func lifetimeIsLimited(_ attribute: String, _ seconds: Int64?) throws {
        let cookie = try #require(try Self.cookie("a=b" + attribute))
        #expect(cookie.expiry == seconds.map { Self.now.adding(milliseconds: $0 * 1000) })
    }

    @Test(arguments: ["; Max-Age=0", "; Max-Age=-1", "; Max-Age=000", "; Expires=Thu, 01 Jan 1970 00:00:00 GMT"])
    func expiredCookieIsRead(_ attribute: String) throws {
        #expect(try Self.cookie("a=b" + attribute)?.hasExpired(at: Self.now) == true)
    }

    @Test(
        arguments: [
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
            ("Sun Nov  6 08:49:37 1994", 784_111_777), ("Sun, 06-Nov-1994 8:49:37 GMT", 784_111_777),
            ("08:49:37 6 nov 94", 784_111_777), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
            ("29 Feb 2024 00:00:00", 1_709_164_800), ("1 Jan 69 00:00:00", 3_124_224_000),
            ("1 Jan 70 00:00:00", 0), ("Mon, 01-January-2024 00:00:00 +0100", 1_704_067_200),
            ("29 Feb 2023 00:00:00", nil), ("31 Apr 2024 00:00:00", nil), ("1 Jan 1600 00:00:00", nil),
            ("1 Jan 2024 24:00:00", nil), ("1 Jan 2024 00:60:00", nil), ("1 Jan 2024 00:00:60", nil),
            ("1 Jan 2024", nil), ("00:00:00 2024", nil), ("", nil), ("0 Jan 2024 00:00:00", nil),
            ("1 Jan 2024 000:00:00", nil), ("1 Foo 2024 00:00:00", nil), ("1 Jan 2024 00:00", nil),
        ] as [(String, Int64?)]
    )
    func readsDates(_ text: String, _ seconds: Int64?) {
        #expect(CookieDate.parse(text) == seconds.map { Timestamp(seconds: $0) })
    }
}
