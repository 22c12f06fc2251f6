import HTTPCacheSemantics
import Testing

@Suite(.timeLimit(.minutes(20))) struct MediaTypeTests {
    @Test(arguments: [
        ("text/html", "text/html"), ("TEXT/HTML;charset=utf-8", "text/html"), ("text/html charset=utf-8", "text/html"),
        (" \ttext/html ; charset=utf-8", "text/html"), ("text/html, text/html", "text/html,"), ("text / html", "text"),
        ("", ""), (" ", ""), (";text/html", ""), (" ;text/html", ""),
    ])
    func typeEndsAtSemicolonOrWhitespace(contentType: String, expected: String) {
        #expect(contentType.mediaType == expected)
    }
}
