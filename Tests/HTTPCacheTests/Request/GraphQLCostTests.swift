import HTTPTypes
import NIOCore
import TestSupport
import Testing

@testable import HTTPCache

/// Telling whether a POST is a GraphQL query holds no event loop, whatever its content.
@Suite(.timeLimit(.minutes(20))) struct GraphQLCostTests {
    /// The most bytes of content that is keyed by default (`limits.keyed-content`).
    private static let limit = 1 << 20

    private static func repeated(_ part: String, _ start: String, _ end: String) -> String {
        start + String(repeating: part, count: (limit - start.utf8.count - end.utf8.count) / part.utf8.count) + end
    }

    private static func content(_ kind: String) -> String {
        switch kind {
        case "members": repeated(#""a":1,"#, #"{"query":"{a}","variables":{"#, #""b":1}}"#)
        case "lists": repeated("[[],{}],", #"{"query":"{a}","variables":["#, "1]}")
        case "escapes": repeated(#"\u0061"#, #"{"query":"{a}","variables":""#, #""}"#)
        case "space": repeated(" \n", #"{"query":"{a}""#, "}")
        case "words": repeated("true,null,", #"{"query":"{a}","variables":["#, "1]}")
        case "depth": repeated("[", #"{"query":"{a}","variables":"#, "")
        case "names": repeated("a ", #"{"query":"{"#, #"}"}"#)
        case "definitions": repeated("query Q{a}", #"{"query":""#, #"","operationName":"Q"}"#)
        case "strings": repeated(#"\"\\u0061\","#, #"{"query":"{a(b:["#, #"])}"}"#)
        case "block strings": repeated(#"\"\"a\\"#, #"{"query":"{a(b:\"\"\""#, #" \"\"\")}"}"#)
        case "marks": repeated("\u{FEFF}", #"{"query":"{a"#, #"}"}"#)
        case "brackets": repeated("{}", #"{"query":"{a"#, #"}"}"#)
        default: repeated("{", #"{"query":""#, #""}"#)
        }
    }

    /// Mutant: a string is compared with its end at each of its bytes.
    @Test(arguments: [
        "members", "lists", "escapes", "space", "words", "depth", "names", "definitions", "strings", "block strings",
        "marks", "brackets", "open brackets",
    ])
    func noContentHoldsALoop(kind: String) async {
        let head = HTTPRequest(
            method: .post,
            scheme: "https",
            authority: "a.example",
            path: "/graphql",
            headerFields: [.contentType: "application/json"]
        )
        let content = Self.content(kind)
        #expect(content.utf8.count > Self.limit - 100)
        let request = CacheRequest(head: head, body: .buffer(ByteBuffer(string: content)))
        let slow = await ProcessorTime.stepsOverLimit { $0.add(kind, ProcessorTime.of { _ = request.isGraphQLQuery }) }
        #expect(slow.isEmpty, "\(slow)")
    }

    @Test func definitionsAreLimited() {
        func document(_ count: Int) -> String { String(repeating: "query Q { a } ", count: count) + "query A { a }" }
        #expect(GraphQLDocument.operation(in: document(999), named: "A") == .query)
        #expect(GraphQLDocument.operation(in: document(1000), named: "A") == nil)
    }
}
