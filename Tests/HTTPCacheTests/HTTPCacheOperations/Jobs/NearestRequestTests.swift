import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import Testing

@testable import HTTPCacheOperations

/// A refused request names the recorded one that differs least.
@Suite(.timeLimit(.minutes(20))) struct NearestRequestTests {
    private func request(_ url: String, _ fields: HTTPFields = [:], content: [UInt8]? = nil) throws -> JobRequest {
        JobRequest(method: .get, target: try TargetURI(url), fields: fields, content: content)
    }

    private func nearest(
        _ asked: JobRequest,
        _ fields: HTTPFields = [:],
        among recorded: [JobRequest]
    ) -> NearestRequest {
        var nearest = NearestRequest(to: JobExchange(ordinal: 1, request: asked, asked: fields, ending: .kept))
        for request in recorded { nearest.take(request) }
        return nearest
    }

    private func difference(_ asked: String, _ recorded: String) throws -> String? {
        nearest(try request(asked), among: [try request(recorded)]).difference?.description
    }

    @Test(arguments: [
        ("?a=1", "?a=2", "the parameter 'a' is '1', and was '2'"),
        ("?a=1", "", "the parameter 'a' is '1', and was absent"),
        ("", "?a=1", "the parameter 'a' is absent, and was '1'"),
        ("?a=1&b=2&a=3", "?a=1&b=2&a=4", "the parameter 'a' is '3', and was '4'"),
        ("?key=5ecret", "?key=other", "the parameter 'key' is 'REDACTED', and was 'REDACTED'"),
        ("?a", "?b", "the parameter 'a' is '', and was absent"),
    ])
    func firstDifferenceIsNamed(_ asked: String, _ recorded: String, _ words: String) throws {
        #expect(try difference("https://a.example/x\(asked)", "https://a.example/x\(recorded)") == words)
    }

    @Test func fieldsOriginAndContentAreCompared() throws {
        let url = "https://a.example/x"
        let german = nearest(
            try request(url),
            [.acceptLanguage: "en", .userAgent: "x"],
            among: [try request(url, [.acceptLanguage: "de"])]
        )
        #expect(german.difference == .field("accept-language", asked: "en", recorded: "de"))
        #expect(
            try difference(url, "http://a.example/x") == "the origin is 'https://a.example', and was 'http://a.example'"
        )
        let content = nearest(try request(url, content: [1]), among: [try request(url, content: [2])])
        #expect(content.difference == .content)
    }

    private func outline(_ leaves: [(String, String)]) -> JSONOutline {
        var outline = JSONOutline()
        for (pointer, digest) in leaves { outline.append(.init(pointer: pointer, digest: digest)) }
        return outline
    }

    /// Mutant: all recorded contents are equally near.
    @Test func contentWithFewestDifferentMembersIsNearest() throws {
        let url = "https://a.example/x"
        var recorded: [JobRequest] = []
        for (index, digest) in ["00000002", "00000001"].enumerated() {
            var one = try request(url, content: [UInt8(index)])
            one.members = outline([("/a", digest), ("/b", "00000003")])
            recorded.append(one)
        }
        var asked = try request(url, content: [9])
        asked.members = outline([("/a", "00000001"), ("/b", "00000009")])
        let found = nearest(asked, among: recorded)
        #expect(found.nearest == recorded.last && found.difference == .member("/b", .changed))
        let report = try #require(found.report)
        #expect(report.differs == "content" && report.name == "/b")
        #expect(report.difference == "the content's member '/b' has another value")
        asked.members = nil
        #expect(nearest(asked, among: recorded).difference == .content)
        asked.members = recorded.first?.members
        #expect(nearest(asked, among: recorded).difference == .form)
    }

    @Test func namesOfMembersAreShownWithoutControlCharacters() {
        let difference = NearestRequest.Difference.member("/a\u{1B}[31m", .added)
        #expect(difference.description == "the content's member '/a?[31m' was absent")
    }

    /// Mutant: the first recorded request is the nearest.
    @Test func leastDifferentIsChosen() throws {
        let recorded = try ["?a=9&b=9", "?a=1&b=9", "?a=9"].map { try request("https://a.example/x\($0)") }
        let found = nearest(try request("https://a.example/x?a=1&b=2"), among: recorded)
        #expect(found.nearest?.target.query == "a=1&b=9")
        #expect(found.difference == .parameter("b", asked: "2", recorded: "9"))
    }

    @Test func otherPathsAndMethodsAreNotNear() throws {
        var post = try request("https://a.example/x")
        post.method = .post
        let found = nearest(try request("https://a.example/x"), among: [post, try request("https://a.example/y")])
        #expect(found.nearest == nil && found.difference == nil)
    }

    @Test func longValuesAreCutAndWorkIsBounded() throws {
        let long = String(repeating: "a", count: 60_000)
        let words = try #require(try difference("https://a.example/x?a=\(long)", "https://a.example/x?a=b"))
        #expect(words.utf8.count < 300)
        let many = (0..<30_000).map { "\($0)" }.joined(separator: "&")
        let other = nearest(
            try request("https://a.example/x?\(many.prefix(60_000))"),
            among: Array(repeating: try request("https://a.example/x?b=1"), count: 2 * NearestRequest.limit)
        )
        #expect(other.nearest != nil)
    }
}
