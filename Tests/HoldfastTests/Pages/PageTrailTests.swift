import Testing

@testable import Holdfast

@Suite(.timeLimit(.minutes(20))) struct PageTrailTests {
    private static let page = "https://a.example/list/first?q=1"

    /// Returns where a link leads, or why it is refused.
    private func target(_ link: String, on page: String = Self.page) throws -> Result<String, PageTrail.Fault> {
        let (base, first) = (try TargetURI(page), try TargetURI(Self.page))
        do throws(PageTrail.Fault) {
            return .success(try PageTrail.target(of: link, on: base, from: first).uri)
        } catch {
            return .failure(error)
        }
    }

    @Test(arguments: [
        ("?page=2", "https://a.example/list/first?page=2"), ("second", "https://a.example/list/second"),
        ("/other?page=2", "https://a.example/other?page=2"), ("../x", "https://a.example/x"),
        ("//a.example/x", "https://a.example/x"), ("https://A.example:443/x", "https://a.example/x"),
        ("", "https://a.example/list/first?q=1"), ("x#top", "https://a.example/list/x"),
    ])
    func relativeLinksAreResolved(link: String, uri: String) throws {
        #expect(try target(link) == .success(uri))
    }

    @Test(arguments: [
        ("https://b.example/x", "https://b.example"), ("//b.example/x", "https://b.example"),
        ("http://a.example/x", "http://a.example"), ("https://a.example:8443/x", "https://a.example:8443"),
        ("https://a.example.b.example/x", "https://a.example.b.example"),
    ])
    func otherOriginsAreRefused(link: String, origin: String) throws {
        #expect(try target(link) == .failure(.otherOrigin(origin)))
    }

    // A redirect led to another origin, which got no credentials. Its links do not get them either.
    @Test func linkOfARedirectedPageIsRefused() throws {
        #expect(try target("?page=2", on: "https://b.example/x") == .failure(.otherOrigin("https://b.example")))
    }

    @Test(arguments: ["ftp://a.example/x", "javascript:x", "https://user@a.example/x", "https://", "a\u{1}b"])
    func otherLinksAreInvalid(link: String) throws {
        #expect(try target(link) == .failure(.invalidLink))
    }

    @Test func limitCountsTheFirstPage() throws {
        var trail = PageTrail(limit: 3, first: "1")
        try trail.advance(to: "2")
        try trail.advance(to: "3")
        #expect(throws: PageTrail.Fault.tooMany(limit: 3)) { try trail.advance(to: "4") }
        #expect(trail.count == 3)
    }

    @Test(arguments: ["1", "2"]) func repeatedPageIsALoop(mark: String) throws {
        var trail = PageTrail(limit: 3, first: "1")
        try trail.advance(to: "2")
        #expect(throws: PageTrail.Fault.loop) { try trail.advance(to: mark) }
    }
}
