import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Testing

@Suite(.timeLimit(.minutes(20))) struct RequestCookiesTests {
    private func read(_ lines: String...) -> [String]? {
        RequestCookies(fields(lines.map { ("cookie", $0) }))?.cookies.map { "\($0.name)=\($0.value)" }
    }

    @Test(arguments: [
        ("a=1", ["a=1"]),
        ("a=1; b=2", ["a=1", "b=2"]),
        ("a=", ["a="]),
        ("a==; b==1=", ["a==", "b==1="]),
        ("A=1; a=2", ["A=1", "a=2"]),
        ("__Host-id=x; wp-settings-1=y; _ga=GA1.2.3.4", ["__Host-id=x", "wp-settings-1=y", "_ga=GA1.2.3.4"]),
        ("a=!#$%&'()*+-./:<=>?@[]^_`{|}~", ["a=!#$%&'()*+-./:<=>?@[]^_`{|}~"]),
    ])
    func readsStrictFields(_ line: String, _ cookies: [String]) {
        #expect(read(line) == cookies)
        #expect(RequestCookies(fields([("cookie", line)]))?.written == line)
    }

    @Test func readsSeveralFieldsAsOne() {
        #expect(read("a=1", "b=2; c=3") == ["a=1", "b=2", "c=3"])
        #expect(read() == [])
        #expect(read("a=1", "a=2") == nil, "one name in two fields")
        #expect(read("a=1", "b") == nil, "one of the fields is not strict")
    }

    /// Django, PHP and Node disagree about each of these: some find another cookie than others, or
    /// another value.
    @Test(arguments: [
        "", " ", ";", "a", "a; b=1", "a=1;", "a=1; ", "a=1;b=2", "a=1;  b=2", "a=1 ; b=2", "a=1,b=2", "a=1, b=2",
        "=1", "a=1; =2", "a =1", " a=1", "a=1 ", "a= 1", "a=1 2", "a=\"1\"", "a=\"x; session=1\"",
        "a=\"; session=1; \"",
        "a=\\\"; session=1", "a=1\tb=2", "a=1; a=2", "a=1; b=2; a=1", "session.id=1", "session[]=1", "session[x]=1",
        "s%65ssion=1", "$Version=1; a=1", "$a=1", "a+b=1", "a=ä", "ä=1", "a:b=1", "a/b=1", "a@b=1", "a=1; Path=/; b",
        "a=1\u{0}", "a=1\u{7F}", "a=1\u{B}; b=2", "session=1; \"session\"=2",
    ])
    func readsNothingFromOtherFields(_ line: String) {
        #expect(RequestCookies(HTTPFields([HTTPField(name: .cookie, lenientValue: Array(line.utf8))])) == nil)
    }

    /// Cutting a field anywhere leaves either a shorter list of the same cookies, the last of them
    /// perhaps shorter, or nothing that can be read.
    @Test func everyBeginningOfAFieldIsReadAsABeginning() throws {
        let line = "session=abc; _ga=1.2; lang=de"
        let whole = try #require(RequestCookies(fields([("cookie", line)])))
        for count in 0..<line.utf8.count {
            let begun = String(decoding: line.utf8.prefix(count), as: UTF8.self)
            guard let cookies = RequestCookies(fields([("cookie", begun)]))?.cookies else { continue }
            #expect(cookies.dropLast().elementsEqual(whole.cookies.prefix(cookies.count - 1)))
            #expect(begun.hasSuffix("=\(cookies.last?.value ?? "none")"))
        }
    }

    /// Whatever is read is written as strict text that reads the same.
    @Test func writtenCookiesReadTheSame() {
        let pieces = [
            "a", "b", "session", "=", "1", "; ", ";", " ", ",", "\"", "\\", "\t", "[", "]", ".", "%73", "$Version", "é",
            "A", "_ga", "-",
        ]
        for seed in 0..<20_000 as Range<UInt64> {
            var generator = SeededRandom(seed: seed)
            let line = (0..<Int.random(in: 1...9, using: &generator)).map { _ in
                pieces[Int.random(in: 0..<pieces.count, using: &generator)]
            }.joined()
            let field = HTTPField(name: .cookie, lenientValue: Array(line.utf8))
            guard let cookies = RequestCookies(HTTPFields([field])) else { continue }
            #expect(cookies.written == line, "seed \(seed)")
            #expect(Set(cookies.cookies.map(\.name)).count == cookies.cookies.count, "seed \(seed)")
        }
    }

    @Test func namesMatchByCaseAndEnding() {
        let names = CookieNames(["session", "wordpress_logged_in_*", "a*b", ""])
        #expect(names.contains("session") && !names.contains("Session") && !names.contains("session2"))
        #expect(names.contains("wordpress_logged_in_1") && names.contains("wordpress_logged_in_"))
        #expect(!names.contains("wordpress_logged_in") && !names.contains("a*b") && !names.contains(""))
        #expect(CookieNames(["*"]).contains("anything"))
        #expect(!CookieNames([]).contains("anything"))
    }

    @Test func patternsAreNamesOrBeginnings() {
        for pattern in ["a", "A-b_9", "a*", "*", "__Host-id"] { #expect(CookieNames.isPattern(pattern), "\(pattern)") }
        for text in ["", "a b", "a.b", "a[]", "*a", "a**", "a*b", "ä", "a=", "$a"] {
            #expect(!CookieNames.isPattern(text), "\(text)")
        }
    }

    @Test func overlappingPatternsShareAName() {
        let names = CookieNames(["session", "wp_*"])
        for pattern in ["session", "wp_1", "wp_*", "wp_x*", "w*", "s*", "*"] {
            #expect(names.overlaps(pattern), "\(pattern)")
        }
        for pattern in ["sessions", "Session", "wp", "x*", "sessions*"] {
            #expect(!names.overlaps(pattern), "\(pattern)")
        }
    }

    @Test(arguments: [
        ("a=1; Path=/", "a"), ("a=", "a"), ("__Secure-x=1", "__Secure-x"), ("a =1", nil), (" a=1", nil), ("a", nil),
        ("", nil), ("=1", nil), ("\"a\"=1", nil), ("a.b=1", nil), ("a;b=1", nil),
    ])
    func readsTheNameOfASetCookie(_ value: String, _ name: String?) {
        #expect(HTTPField(name: .setCookie, lenientValue: Array(value.utf8)).setCookieName == name)
    }
}
