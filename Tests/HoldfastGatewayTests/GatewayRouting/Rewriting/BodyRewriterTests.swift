import NIOCore
import Testing

@testable import GatewayRouting
@testable import HoldfastGateway

/// URLs in content, as values: no sockets.
///
/// Mutants: `rewrite-*` of the group `rewrite`.
@Suite(.timeLimit(.minutes(20)))
struct BodyRewriterTests {
    private func rewrite(
        _ text: String,
        _ route: RewriteSample.Route = .index,
        authority: String? = "gw.local:8080",
        scheme: String = "http"
    ) throws -> String {
        let client = try RewriteSample.client(route, authority: authority, scheme: scheme)
        let result = RewriteSample.rewrite([text], for: client)
        #expect(RewriteSample.rewrite(text.map { String($0) }, for: client) == result, "in pieces: \(text)")
        return result
    }

    @Test(arguments: [
        ("https://index.example/a", "http://index.local:8080/a"),
        ("HTTPS://Index.Example/A", "http://index.local:8080/A"),
        ("https://index.example:443/a", "http://index.local:8080/a"),
        ("https://index.example", "http://index.local:8080"),
        ("https://index.example?q", "http://index.local:8080?q"),
        ("https://files.example/x", "http://files.local:8443/f/x"),
        ("https://files.example/deep/erx", "http://files.local:8443/f/deep/erx"),
        ("https://files.example/deep/er/x", "http://nested.local:8080/x"),
        ("https://files.example/deep/er", "http://nested.local:8080"),
        ("http://api.example:8080/api/x", "http://gw.local:8080/v1/x"),
        ("http://api.example:8080/api\"", "http://gw.local:8080/v1\""),
        ("http://api.example:8080/api#f", "http://gw.local:8080/v1#f"),
        (#"https:\/\/files.example\/deep\/er\/x"#, #"http:\/\/nested.local:8080\/x"#),
        (#"http:\/\/api.example:8080\/api\/x"#, #"http:\/\/gw.local:8080\/v1\/x"#),
        ("href='https://index.example'>", "href='http://index.local:8080'>"),
        ("&quot;https://index.example&quot;", "&quot;http://index.local:8080&quot;"),
        (#"{\"a\":\"https://index.example\"}"#, #"{\"a\":\"http://index.local:8080\"}"#),
        (#"href="//files.example/x""#, #"href="//files.local:8443/f/x""#),
        ("src=//index.example/x", "src=//index.local:8080/x"),
        (#"url(//index.example/x)"#, #"url(//index.local:8080/x)"#),
        (#""\/\/index.example\/x""#, #""\/\/index.local:8080\/x""#),
        ("['https://index.example','a@b']", "['http://index.local:8080','a@b']"),
        ("url(https://index.example);@media", "url(http://index.local:8080);@media"),
        ("https://index.example,https://index.example/@", "http://index.local:8080,http://index.local:8080/@"),
        ("https://10.0.0.7/ http://10.0.0.7/app/x", "https://10.0.0.7/ http://kept.local:8080/k/x"),
    ])
    func replacesURLBelowOrigin(text: String, expected: String) throws {
        #expect(try rewrite(text) == expected)
    }

    /// A URL without a path ends where no host continues.
    @Test(arguments: [
        ("see https://files.example. Then", "see http://files.local:8443/f. Then"),
        ("see https://files.example:443.", "see http://files.local:8443/f."),
        ("https://files.example.\n", "http://files.local:8443/f.\n"),
        ("(see https://files.example.)", "(see http://files.local:8443/f.)"),
        ("see https://files.example.</p>", "see http://files.local:8443/f.</p>"),
        (#"{"a":"see https://files.example."}"#, #"{"a":"see http://files.local:8443/f."}"#),
        (#"{"a":"see https:\/\/files.example.\n"}"#, #"{"a":"see http:\/\/files.local:8443\/f.\n"}"#),
        ("['https://files.example','x']", "['http://files.local:8443/f','x']"),
        ("url(https://files.example),x", "url(http://files.local:8443/f),x"),
        ("https://files.example;x", "http://files.local:8443/f;x"),
        ("[https://files.example]:", "[http://files.local:8443/f]:"),
        (#"\u0022 https://files.example\u0022"#, #"\u0022 http://files.local:8443/f\u0022"#),
        (#"\u003e https://files.example\u003c/p"#, #"\u003e http://files.local:8443/f\u003c/p"#),
        (#" https://files.example\\\""#, #" http://files.local:8443/f\\\""#),
        ("&#x27;https://files.example&#x27;", "&#x27;http://files.local:8443/f&#x27;"),
        ("&#34;https://files.example&#34", "&#34;http://files.local:8443/f&#34"),
        ("https://files.example&nbsp;", "http://files.local:8443/f&nbsp;"),
        ("https://files.example&#x2F;x", "http://files.local:8443/f&#x2F;x"),
        (#"https:\u002f\u002Ffiles.example\u002fx"#, #"http:\u002f\u002ffiles.local:8443\u002ff\u002fx"#),
        (#"https\u003a//files.example\u003A443/x"#, "http://files.local:8443/f/x"),
    ])
    func replacesURLWithoutPath(text: String, expected: String) throws {
        #expect(try rewrite(text) == expected)
    }

    /// A comma and the like may be in a path. There it ends one if nothing of a path follows.
    @Test(arguments: [
        ("https://files.example/deep/er, x", "http://nested.local:8080, x"),
        ("https://files.example/deep/er);", "http://nested.local:8080);"),
        ("https://files.example/deep/er,x/y", "http://files.local:8443/f/deep/er,x/y"),
        ("https://files.example/deep/er;v=1/x", "http://files.local:8443/f/deep/er;v=1/x"),
        ("'https://files.example/deep/er'+x", "'http://nested.local:8080'+x"),
        ("url(https://files.example/deep/er)x", "url(http://nested.local:8080)x"),
        (#"https:\/\/files.example\u002fdeep\/er\/x"#, #"http:\/\/nested.local:8080\/x"#),
        ("http://api.example:8080/api,x", "http://api.example:8080/api,x"),
        ("http://api.example:8080/api'x", "http://api.example:8080/api'x"),
        ("'http://api.example:8080/api'x", "'http://gw.local:8080/v1'x"),
        ("http://api.example:8080/api. x", "http://api.example:8080/api. x"),
    ])
    func replacesPathThatEnds(text: String, expected: String) throws {
        #expect(try rewrite(text) == expected)
    }

    @Test(arguments: [
        "https://index.example.evil/", "https://index.example:8443/", "xhttps://index.example/",
        "https://index.example@evil/", "https://index.example,x@evil/", "https://index.example;u:p@evil/x",
        "https://index.example:443@evil/", "https://index.example:pw@evil/",
        "https://index.example-x/", "https://index.example%2e/", "https://index.example./", "https://index.examplé/",
        "https://xindex.example/", "https://www.index.example/", "http://index.example/", "https:/index.example/",
        #"https:/\/index.example/"#, #"https:\/\/index.example\u002eevil"#, "https://index.example&#46;evil/",
        "https://index.example.evil. x", "https://index.example.. x", "https://index.example.:443/",
        "https://index.example.?q", "https://index.example.443", "https://index.example._", "https://index.exampl. ",
        "\"https://index.example.\"", "'https://index.example.'", "(https://index.example.)",
        ">https://index.example.<", "https://index.example&#46. x", #"https://index.example\u002e x"#,
        "https://index.example&#x2e;evil/", "https://index.example&period;evil/", "https://index.example&amp;x",
        "https://index.example&#00000046;evil/", "https://index.example&#x;", "https://index.example&x;",
        "https://index.example,x&#64;evil/", #"https://index.example,x\u0040evil/"#, "https://index.example.,x@evil/",
        #"https://index.example\u003a8443/"#, "https://index.example&#58;8443/", #"https://index.example\\u002eevil"#,
        #"https://index.example\u00e9/"#, #"https://index.example\u00"#, #"https://index.example\@evil/"#,
        #"https:\u002f/index.example/"#, "https&#58;//index.example/",
        "https://u@index.example/", "https://proxy.example/https://index.example/x", "https://index.example:/x",
        "https://index.example:00443443/", "//index.example/x", " //index.example/x", "a //index.example/x",
        "http://api.example:8080/apix", "http://api.example:8080/api.json", "http://api.example:8080/",
        "http://api.example:8080/API/x", "http://api.example/api/x", "https://", "http", "https://index.exampl",
        // Only a name with one more label takes that route.
        "https://label.example/x",
    ])
    func leavesEverythingElse(text: String) throws {
        #expect(try rewrite(text) == text)
        // With a quote before it, that would be a reference.
        guard !text.hasPrefix("//") else { return }
        #expect(try rewrite("\"\(text)\" ") == "\"\(text)\" ")
    }

    @Test func followsTheClient() throws {
        let url = "http://api.example:8080/api/x"
        #expect(try rewrite(url, .api, authority: "one.local") == "http://one.local/v1/x")
        #expect(try rewrite(url, .api, authority: "two.local:81", scheme: "https") == "https://two.local:81/v1/x")
        #expect(try rewrite(url, .api, authority: "[::1]:80") == "http://[::1]:80/v1/x")
        #expect(try rewrite("https://label.example/x", .label, authority: "a.label.local") == "http://a.label.local/x")
        // 'index.local' is another route's.
        #expect(try rewrite("https://index.example/ \(url)", authority: "index.local") == "http://index.local/ \(url)")
    }

    @Test(arguments: [
        nil, "", "a'b.local", "a\"b", "a<b", "a b", "a/b", "a&b", "a@b", "a%22b", "a;b",
        String(repeating: "a", count: RewriteClient.authorityLimit + 1),
    ])
    func writesNoHostThatMeansSomethingInText(authority: String?) throws {
        let url = "\"http://api.example:8080/api/x\""
        #expect(try rewrite(url, .api, authority: authority) == url)
        // A route's own host needs no client's.
        #expect(try rewrite("https://index.example/x", .api, authority: authority) == "http://index.local/x")
    }

    @Test func translatesOnlyThePathOfAPreservedHost() throws {
        let text = "http://kept.local/app/x https://kept.local/app http://kept.local/other http://kept.local:81/app/"
        let expected = "http://kept.local/k/x https://kept.local/k http://kept.local/other http://kept.local:81/app/"
        #expect(try rewrite(text, .preserved, authority: "kept.local") == expected)
        // From another route such a URL is the client's already.
        #expect(try rewrite(text, .index, authority: "index.local") == text)
    }

    /// A path belongs to the URL.
    @Test func holdsBackNoMoreThanALongestURL() throws {
        var rewriter = BodyRewriter(for: try RewriteSample.client(.index))
        #expect(rewriter.rewrite(ByteBuffer(string: "{\"a\": 1}\n")).readableBytes == 9)
        #expect(rewriter.heldCount == 0)
        var most = 0
        for _ in 0..<2000 {
            _ = rewriter.rewrite(ByteBuffer(string: #"https:\/\/files.example:443\/deep\/er"#))
            most = max(most, rewriter.heldCount)
            _ = rewriter.rewrite(ByteBuffer(string: "https://" + String(repeating: "h", count: 500)))
            most = max(most, rewriter.heldCount)
        }
        #expect((1...URLReader.pathLimit + 80).contains(most))
    }
}
