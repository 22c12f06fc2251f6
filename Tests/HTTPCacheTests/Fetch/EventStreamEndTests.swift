import Testing

@testable import HTTPCache

/// Whether an event stream has ended with the event that a rule requires.
@Suite(.timeLimit(.minutes(20))) struct EventStreamEndTests {
    /// A stream, and whether it is whole when `[DONE]` is required.
    static let streams: [(text: String, isWhole: Bool)] = [
        ("data: [DONE]\n\n", true), ("data: [DONE]\r\n\r\n", true), ("data: [DONE]\r\r", true),
        ("data: [DONE]\r\n\n", true), ("data:[DONE]\n\n", true), ("data: 1\n\ndata: [DONE]\n\n", true),
        ("event: [DONE]\ndata: {}\n\n", true), ("data: {}\nevent: [DONE]\n\n", true), ("data\nid: [DONE]\n\n", true),
        ("data: a\ndata: [[[DONE]]]\n\n", true), (": hi\n\ndata: [DONE]\n\n: bye\n\n", true),
        ("data: [DONE]\n\n\n\n", true), ("data: [DONE]\n\nretry: 10\n\n", true), ("data: [D[DONE]\n\n", true),
        ("", false), ("\n\n", false), ("data: [DONE]", false), ("data: [DONE]\n", false), ("data: [DONE]\r\n", false),
        ("data: 1\n\n", false), ("data: [DONE]\n\ndata: 1\n\n", false), ("data: [DONE]\n\ndata: 1", false),
        ("data: [DONE]\n\ndata: 1\n", false), ("data: [DONE]\n\n:", false), (": [DONE]\n\n", false),
        ("data: 1\n: [DONE]\n\n", false), ("event: [DONE]\n\n", false), ("dat: [DONE]\n\n", false),
        ("datas: [DONE]\n\n", false), ("Data: [DONE]\n\n", false), (" data: [DONE]\n\n", false),
        ("data: [DO\ndata: NE]\n\n", false), ("data: [DON\n\n", false), ("data: [done]\n\n", false),
    ]

    @Test(arguments: streams) func onlyWholeStreamsReachTheirEnd(_ text: String, _ isWhole: Bool) {
        var end = EventStreamEnd("[DONE]")
        end.receive(text.utf8)
        #expect(end.isReached == isWhole)
    }

    /// Mutant: a line break that is cut in two counts twice.
    @Test(arguments: streams) func cutsDoNotMatter(_ text: String, _ isWhole: Bool) {
        let bytes = Array(text.utf8)
        for place in 0...bytes.count {
            var end = EventStreamEnd("[DONE]")
            end.receive(bytes[..<place])
            end.receive(bytes[place...])
            #expect(end.isReached == isWhole, "cut at \(place)")
        }
        var end = EventStreamEnd("[DONE]")
        for byte in bytes { end.receive(CollectionOfOne(byte)) }
        #expect(end.isReached == isWhole, "cut everywhere")
    }

    /// Only the whole stream is whole: no beginning of it is.
    @Test(arguments: ["\n", "\r", "\r\n"]) func noBeginningIsWhole(_ lineBreak: String) {
        let text = "event: a\ndata: 1\n\n: c\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
        let bytes = Array(text.replacing("\n", with: lineBreak).utf8)
        var end = EventStreamEnd("message_stop")
        for byte in bytes.dropLast(lineBreak.utf8.count) {
            end.receive(CollectionOfOne(byte))
            #expect(!end.isReached)
        }
        end.receive(bytes.suffix(lineBreak.utf8.count))
        #expect(end.isReached)
    }

    /// A text that overlaps itself is found wherever it begins.
    @Test(arguments: ["a", "aa", "aab", "abab", "abaabab", "aaaa"]) func textIsFoundAnywhere(_ text: String) {
        for number in 0..<1024 {
            let value = String((0..<10).map { number & (1 << $0) == 0 ? "a" : "b" })
            var end = EventStreamEnd(text)
            end.receive("data: \(value)\n\n".utf8)
            // The name 'data' is part of the line, too.
            #expect(end.isReached == "data: \(value)".contains(text), "\(value)")
        }
    }
}
