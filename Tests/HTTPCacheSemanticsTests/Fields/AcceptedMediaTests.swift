import HTTPTypes
import Testing

@testable import HTTPCacheSemantics

/// Accept, RFC 9110 §12.5.1.
@Suite(.timeLimit(.minutes(20))) struct AcceptedMediaTests {
    private func prefersHTML(_ values: [String]) -> Bool {
        AcceptedMedia.prefersHTML(fields(values.map { ("Accept", $0) }))
    }

    @Test(arguments: [
        // Chrome, Firefox (two versions), Safari and Edge, for a page.
        "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7",
        "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
        "text/html,application/xhtml+xml,application/xml;q=0.9,image/png,image/svg+xml,*/*;q=0.8",
        "text/html,application/xhtml+xml,application/xml;q=0.9,image/webp,*/*;q=0.8",
        "text/html", "TEXT/HTML", "text/html;charset=utf-8", "text/*", "text/html;q=0.1", "text/html; Q=0.9",
        "text/html;q=0.9, application/json;q=0.8", "text/html, application/json;q=0.999", "*/*;q=0.1, text/html;q=0.2",
        "text/html, application/*;q=0.5", " , text/html , ",
    ])
    func pagesOfBrowsersAreHTML(_ accept: String) { #expect(prefersHTML([accept])) }

    /// Mutant: `equal-weights-are-html`.
    @Test(arguments: [
        // curl and fetch; images and scripts of browsers; axios and jQuery.
        "*/*", "image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8", "application/json, text/plain, */*",
        "application/json, text/javascript, */*; q=0.01", "application/json", "application/problem+json",
        "text/html;q=0", "text/html;q=0.0, */*", "text/html;q=0.5, */*;q=0.8", "text/html, application/json",
        "text/html;q=0.5, application/problem+json;q=0.6", "application/xhtml+xml", "text/plain", "image/*", "",
        "application/json;q=0.1, application/problem+json, text/html;q=0.9", "text/*;q=0.5, application/*;q=0.6",
        // The specific range decides.
        "text/*, text/html;q=0, */*;q=0.1",
    ])
    func othersGetJSON(_ accept: String) { #expect(!prefersHTML([accept])) }

    @Test func withoutTheFieldItIsJSON() { #expect(!prefersHTML([])) }

    @Test func linesAreJoined() {
        #expect(prefersHTML(["application/json;q=0.5", "text/html"]))
        #expect(!prefersHTML(["text/html;q=0.5", "application/json"]))
    }

    @Test(arguments: [
        "text/html;q=2", "text/html;q=", "text/html;q=0.1234", "text/html;q=-1", "texthtml", "text/html/x", "/html",
        "text/", "text /html", "\"text/html\"", ";q=1", "text/html;q=1.1",
    ])
    func malformedMembersDoNotCount(_ member: String) {
        #expect(!prefersHTML([member]))
        #expect(prefersHTML([member + ", text/html"]))
    }
}
