import Foundation
import HTTPCacheSemantics
import HoldfastTesting
import Testing

@testable import Holdfast

/// Data in paths stays within its segment.
@Suite(.timeLimit(.minutes(20))) struct URLPathTests {
    private enum GitHub: Endpoint {
        case user(String)
        case file(String, revision: Int)
        case search(String)
        case both(String, String)
        case trusted(String)
        var baseURL: String { "https://api.example/v1" }
        var path: URLPath {
            switch self {
            case .user(let name): "/users/\(name)"
            case .file(let name, let revision): "/files/\(name).json/\(revision)"
            case .search(let text): "/search?q=\(text)"
            case .both(let one, let other): "/x/\(one)\(other)/y"
            case .trusted(let text): "/x/\(raw: text)"
            }
        }
    }

    private struct Text: Endpoint {
        let baseURL = "https://api.example/v1"
        var path: String
    }

    private func target(_ endpoint: some Endpoint) throws -> String {
        let request = try endpoint.request(defaults: .init())
        return try #require(request.head.path)
    }

    @Test(arguments: [
        ("harbour", "harbour"), ("a b", "a%20b"), ("a/b", "a%2Fb"), ("a?admin=1", "a%3Fadmin%3D1"), ("a#b", "a%23b"),
        ("100%", "100%25"), ("a%2Fb", "a%252Fb"), ("ü", "%C3%BC"), ("a;b", "a%3Bb"), ("a:b@c", "a%3Ab%40c"),
        ("a\r\n", "a%0D%0A"), ("a+b&c=d", "a%2Bb%26c%3Dd"), ("...", "..."), (".well-known", ".well-known"),
        ("a..b", "a..b"), ("-._~", "-._~"), ("a\\b", "a%5Cb"),
    ])
    func valueStaysWithinItsSegment(value: String, encoded: String) throws {
        #expect(try target(GitHub.user(value)) == "/v1/users/\(encoded)")
        #expect(URLPath(segments: ["users", value]).text == "/users/\(encoded)")
    }

    @Test(arguments: [
        ".", "..", "../admin", "a/../../admin", "..\\admin", "%2e%2e", "%252e%252e/admin", "..;x", "..?x", "..#x",
        "./x",
        "x/.", "x/..", "..\u{0}",
    ])
    func dotSegmentAsAValueFailsTheCall(value: String) async {
        await expect(.invalidURL) { _ = try target(GitHub.user(value)) }
        await expect(.invalidURL) { _ = try target(GitHub.trusted(value)) }
        await expect(.invalidURL) { _ = try target(AnyEndpoint(GitHub.user(value))) }
        // A '?' in a text begins a query.
        await expect(.invalidURL) { _ = try target(Text(path: "/users/\(value)")) }
    }

    @Test func dotsOfTwoValuesAreADotSegmentTogether() async throws {
        await expect(.invalidURL) { _ = try target(GitHub.both(".", ".")) }
        #expect(try target(GitHub.both("..", "a")) == "/v1/x/..a/y")
        #expect(try target(GitHub.file("..", revision: 1)) == "/v1/files/...json/1")
    }

    @Test func emptyValueFailsTheCall() async throws {
        await expect(.invalidURL) { _ = try target(GitHub.user("")) }
        await expect(.invalidURL) { _ = try target(GitHub.file("", revision: 1)) }
        #expect(try target(GitHub.search("")) == "/v1/search?q=")
        #expect(URLPath(segments: []).text == "")
    }

    @Test func valueInAQueryStaysOneValue() throws {
        #expect(try target(GitHub.search("a&admin=1#x ../..")) == "/v1/search?q=a%26admin%3D1%23x%20..%2F..")
    }

    @Test func valuesOfUsualTypesAreInterpolated() throws {
        enum Kind: String { case photo = "photo/raw" }
        let id = try #require(UUID(uuidString: "E621E1F8-C36C-495A-93FC-0C247A3E6E5F"))
        let path: URLPath = "/\(7)/\("a/b".prefix(2))/\(true)/\(Kind.photo)/\(id)/\(raw: "c/d?e")"
        #expect(path.text == "/7/a%2F/true/photo%2Fraw/E621E1F8-C36C-495A-93FC-0C247A3E6E5F/c/d?e")
        #expect(path == URLPath(raw: path.text) && "\(path)" == path.text)
    }

    @Test func literalTextIsSentUnchanged() throws {
        #expect(try target(Text(path: "/users/a?b=c")) == "/v1/users/a?b=c")
        #expect(try target(Text(path: "x?y=../..")) == "/v1/x?y=../..")
    }

    @Test func errorShowsEndpointAndPathAndNoQuery() {
        for path in ["/a/../b?key=secret", "/a/%2E./b?key=secret"] {
            let error = #expect(throws: HoldfastError.self) { try target(Text(path: path)) }
            #expect(error?.message.contains("'Text'") == true && error?.message.contains("secret") == false)
        }
    }

    /// The request has exactly the segments that its author wrote, and no query; otherwise none is
    /// sent.
    @Test(arguments: [1, 2, 3, 4, 5, 6, 7, 8] as [UInt64])
    func noValueLeavesItsSegment(seed: UInt64) throws {
        let alphabet = [
            "a", ".", "..", "/", "\\", "%", "2e", "2f", "25", "?", "#", ";", ":", "@", "\u{0}", "é", "//", " ",
        ]
        var random = SeededRandom(seed: seed)
        var sent = 0
        for _ in 0..<200 {
            let value = (0..<Int.random(in: 0...5, using: &random))
                .map { _ in alphabet.randomElement(using: &random) ?? "" }.joined()
            guard let path = try? target(GitHub.user(value)) else { continue }
            sent += 1
            let segments = path.split(separator: "/", omittingEmptySubsequences: false)
            #expect(segments.count == 4 && segments[2] == "users", "seed \(seed): \(path)")
            #expect(!path.contains { "?#;\\".contains($0) }, "seed \(seed): \(path)")
            #expect(!PathNormalForm.hasDotSegment(path), "seed \(seed): \(path)")
            #expect(segments[3].removingPercentEncoding == value, "seed \(seed): \(path)")
        }
        #expect(sent > 50)
    }
}
