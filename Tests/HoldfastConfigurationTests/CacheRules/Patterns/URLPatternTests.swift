import HTTPCacheSemantics
import Testing

@testable import CacheRules
@testable import HoldfastConfiguration

@Suite(.timeLimit(.minutes(20))) struct URLPatternTests {
    @Test(arguments: [
        ("https://a.example/**", "https://a.example/x/y?z", true),
        ("https://a.example/**", "http://a.example/x", false),
        ("https://A.Example/x", "https://a.example/x", true),
        ("https://a.example/x", "https://a.example:8443/x", false),
        ("https://a.example:8443/x", "https://a.example:8443/x", true),
        ("https://a.example:*/x", "https://a.example:99/x", true),
        ("https://a.example:443/x", "https://a.example/x", true), ("http://a.example/x", "http://a.example:80/x", true),
        ("https://*.example.com/**", "https://m.example.com/", true),
        ("https://*.example.com/**", "https://a.m.example.com/", false),
        ("https://**.example.com/**", "https://a.m.example.com/", true),
        ("https://*.example.com/**", "https://example.com/", false),
        ("/images/*.png", "http://any.example:8/images/x.png", true),
        ("/images/*.png", "http://any.example/images/x/y.png", false), ("*://a.example/**", "http://a.example/", true),
        ("http*://a.example/**", "https://a.example/", true), ("https://[::1]:8080/**", "https://[::1]:8080/x", true),
        ("/search?q=*", "https://a.example/search?q=x/y", true), ("/search?q=*", "https://a.example/search", false),
        ("/search?*", "https://a.example/search?", true), ("/search?", "https://a.example/search", false),
        ("/search", "https://a.example/search?q", true), ("/a%2Fb", "https://a.example/a%2fb", true),
        ("/a%2Fb", "https://a.example/a/b", false), ("/%70rivate/**", "https://a.example/private/x", true),
        ("/private/**", "https://a.example/%70rivate/x", true), ("/private/**", "https://a.example//private//x", true),
        ("/private/**", "https://a.example/;a/private;b/x", true), ("/a//*", "https://a.example/a/b", true),
        ("/private/**", "https://a.example/%2570rivate/x", false),
        ("/a?b=%C3%A9%7e", "https://a.example/a?b=%c3%a9~", true),
        ("/a?b//c;d", "https://a.example/a?b/c", false), ("/a%3Bb", "https://a.example/a%3bb", true),
        ("/a/../b", "https://a.example/a/../b", true), ("/b", "https://a.example/a/../b", false),
    ]) func patternsMatchTargets(_ pattern: URLPattern, _ url: String, _ expected: Bool) throws {
        let compiled = try CompiledPattern(pattern)
        #expect(compiled.matches(TargetParts(try TargetURI(url))) == expected)
    }

    @Test(arguments: [
        ("", "is not a pattern"), ("**", "is not a pattern"), ("a.example/x", "is not a pattern"),
        ("ftp://a.example/x", "neither http nor https"),
        ("https://a.example", "has no path"), ("https://**", "has no path"), ("https:///x", "The host"),
        ("https://a b/x", "a space"), ("/ä", "non-ASCII byte"), ("/x#y", "'#'"),
        ("/a;b/c", "path parameters"), ("https://a.example/a;*", "path parameters"),
        ("https://u:p@a.example/", "user information"),
        ("https://a.example:0/", "The port"), ("https://a.example:99999/", "The port"),
        ("https://a.example:8*/", "The port"),
        ("https://[::1/x", "The host"), ("https://[*]/x", "The host"), ("https://a,b/x", "The host"),
    ]) func invalidPatternsAreRejected(_ pattern: URLPattern, _ message: String) {
        #expect { try CompiledPattern(pattern) } throws: { error in
            (error as? Refusal)?.message.contains(message) == true
        }
    }

    @Test func longPatternsAreRejected() {
        #expect(throws: Refusal.self) { try CompiledPattern(URLPattern("/" + String(repeating: "a", count: 8192))) }
    }
}
