import NIOCore
import Testing

@testable import GatewayRouting
@testable import HoldfastGateway

/// The text before a URL decides whether one begins.
@Suite(.timeLimit(.minutes(20)))
struct BodyRewriterSchemeTests {
    private func rewrite(_ text: String, _ contentType: String, scheme: String = "http") throws -> String {
        let client = try RewriteSample.client(.index, scheme: scheme)
        let result = RewriteSample.rewrite([text], for: client, contentType: contentType)
        let pieces = text.map { String($0) }
        #expect(RewriteSample.rewrite(pieces, for: client, contentType: contentType) == result, "in pieces: \(text)")
        return result
    }

    private static let url = "https://files.example/x"
    private static let replaced = "http://files.local:8443/f/x"

    /// In JSON, the last letter of an escape is none of a word.
    @Test(arguments: [
        #"\n"#, #"\t"#, #"\r"#, #"\b"#, #"\f"#, #"\\"#, #"\""#, #"\u0022"#, #"\u000a"#, #"\u000A"#, #"\u2028"#,
        #"\u00e9"#,
        #"\\\n"#, #"\u003c"#, #"a\u003A "#, #"\ud83d\ude00"#, #"git\u002b"#, #"\ngit+"#, #"\u0022git\u002B"#,
    ])
    func urlBeginsBehindAnEscapeOfJSON(before: String) throws {
        let text = #"{"a": "\#(before)\#(Self.url)"}"#
        #expect(try rewrite(text, "application/json") == #"{"a": "\#(before)\#(Self.replaced)"}"#)
    }

    @Test(arguments: [
        #"\\n"#, #"\\\\t"#, #"\u0061"#, #"\u002f"#, #"\/"#, #"\u002b"#, #"\u00"#, #"\u"#, #"\uzzzz"#, #"\x"#,
        #"\\u0022"#,
        #"a\u003a"#, #"\\ngit+"#, #"x\u0067it+"#,
    ])
    func urlIsPartOfAWordBehindAnEscapeOfJSON(before: String) throws {
        let text = #"{"a": "\#(before)\#(Self.url)"}"#
        #expect(try rewrite(text, "application/json") == text)
    }

    @Test(arguments: [
        #""\u0022//files.example/x\u0022""#, #""\u003d\/\/files.example\/x""#, #""\"\u002f\u002ffiles.example""#,
    ])
    func referenceBeginsBehindAnEscapeOfJSON(text: String) throws {
        #expect(try rewrite(text, "application/json") != text)
        let inner = text.replacing(#"\u0022"#, with: "2").replacing(#"\u003d"#, with: "d").replacing(#"\""#, with: " ")
        #expect(try rewrite(inner, "application/json") == inner)
    }

    /// Elsewhere a backslash is one.
    @Test func otherContentHasNoSuchEscapes() throws {
        let text = #"<a>\nhttps://files.example/x \thttps://files.example/ \u0022https://files.example/</a>"#
        #expect(try rewrite(text, "text/html; charset=utf-8") == text)
        #expect(try rewrite(text, "application/json; charset=utf-8") != text)
    }

    @Test func jsonIsKnownByItsType() {
        for type in [
            "application/json", "Application/JSON ; charset=utf-8", "application/vnd.pypi.simple.v1+json", "text/json",
            "application/x-ndjson", "application/json-seq", "application/json-patch+json",
        ] {
            #expect(BodyRewriter.isJSON(type), "\(type)")
        }
        for type in ["", "json/x", "text/html", "application/json+xml", "text/plain; x=/json", "application/xjson"] {
            #expect(!BodyRewriter.isJSON(type), "\(type)")
        }
    }

    @Test(arguments: ["text/html", "application/json"])
    func urlOfARepositoryIsReplacedBehindGit(type: String) throws {
        for before in ["", "\"", "pkg @ ", "'", ">", ", ", "=", "\":", " :"] {
            for git in ["git+", "GIT+", ""] {
                let expected = before + git + Self.replaced
                #expect(try rewrite(before + git + Self.url, type) == expected)
            }
        }
        let secure = try rewrite("git+\(Self.url)", type, scheme: "https")
        #expect(secure == "git+https://files.local:8443/f/x")
    }

    @Test(
        arguments: [
            "xgit+", "x-git+", "it+", "+", "svn+", "hg+", "git-", "/git+", "a:git+", "+git+", "git+git+", "9git+",
            "view-source:", "blob:", "x:", "1:", "feed:", "git:", "x", "9", ".", "-", "/", "x+",
        ],
        ["text/html", "application/json"]
    )
    func otherSchemesStay(before: String, type: String) throws {
        for start in ["", "\"", "see "] {
            let text = "\(start)\(before)\(Self.url)\""
            #expect(try rewrite(text, type) == text)
        }
    }
}
