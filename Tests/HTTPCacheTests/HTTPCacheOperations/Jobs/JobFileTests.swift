import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Testing

@testable import HTTPCacheOperations

/// The files of jobs are read strictly, in pieces.
@Suite(.timeLimit(.minutes(20))) struct JobFileTests {
    private static let partition = String(repeating: "0f", count: 16)
    private static let first =
        #"{"holdfast-job":1,"name":"deps","made":1764441568000,"command":"npm","partition":"\#(partition)"}"#
    private static let second = #"{"method":"GET","url":"https://a.example/x"}"#

    /// The end of a line with content.
    private static func content(_ form: String, _ ignored: String) -> String {
        let digest = String(repeating: "0f", count: 32)
        return #","content":"sha256:\#(digest)","form":"\#(form)","ignored":"\#(ignored)"}"#
    }

    private func lines(_ text: String, cutAt cuts: [Int] = []) throws -> [JobFile.Line] {
        var reader = JobFileReader(file: "deps.job")
        var lines: [JobFile.Line] = []
        let bytes = Array(text.utf8)
        var start = 0
        for cut in cuts + [bytes.count] {
            try reader.read(bytes[start..<cut]) { lines.append($0) }
            start = cut
        }
        try reader.end()
        return lines
    }

    private func sample() throws -> (JobFile.Header, [JobFile.Entry]) {
        var header = JobFile.Header(
            name: try #require(JobName("deps-1.0_a")),
            made: Timestamp(milliseconds: 1_764_441_568_123),
            command: "a \"quoted\" name\u{1}\\",
            partition: try #require(JobPartition(Self.partition)),
            keysPosts: true,
            passed: ["POST": 2, "DELETE": 1]
        )
        header.secretParameters = ["key", "a[b]"]
        header.publicParameters = ["state"]
        header.doubtful = 3
        header.statesHTTPS = true
        header.cookies = ["__cf_bm", "sid"]
        header.unrecordedHosts.addUnread("a.example", UnrecordedHosts.noRequest)
        header.unrecordedHosts.addRefused("[::1]:8080", "a \"reason\"")
        let target = try TargetURI("https://a.example:8443/x?a=1&b=%22")
        return (
            header,
            [
                JobFile.Entry(JobRequest(method: .get, target: target)),
                JobFile.Entry(
                    JobRequest(
                        method: .post,
                        target: target,
                        fields: [.accept: "*/*, \"ä\"", .contentType: "application/json"],
                        content: (0..<32).map { UInt8($0 * 7) }
                    )
                ),
                JobFile.Entry(try outlined(target)),
                JobFile.Entry(keyed(target, .any)), JobFile.Entry(keyed(target, .graphQL)),
                JobFile.Entry(keyed(target, .json(MemberPaths([])))),
                JobFile.Entry(keyed(target, .json(MemberPaths(["user", "messages[*].id", "ä\\"])))),
                JobFile.Entry(JobRequest(method: .head, target: target), why: "responseNoStore"),
                JobFile.Entry(JobRequest(method: .get, target: target), why: "credentials"),
            ]
        )
    }

    /// A request with a cut outline of its content.
    private func outlined(_ target: TargetURI) throws -> JobRequest {
        var request = JobRequest(method: .post, target: target, content: Array(repeating: 1, count: 32))
        var outline = JSONOutline()
        for pointer in ["", "/a/\"ä\"", "/a~1b/0\u{1}"] {
            let isLeaf = outline.append(.init(pointer: pointer, digest: "0123abcd"))
            #expect(isLeaf)
        }
        outline.cut()
        request.members = outline
        return request
    }

    private func keyed(_ target: TargetURI, _ form: ContentForm) -> JobRequest {
        var request = JobRequest(method: .post, target: target, content: Array(repeating: 1, count: 32))
        request.form = form
        return request
    }

    @Test func readsWhatWasWrittenHoweverItIsCut() throws {
        let (header, entries) = try sample()
        let text = String(decoding: header.line + entries.flatMap(\.line), as: UTF8.self)
        let expected = [JobFile.Line.header(header)] + entries.map(JobFile.Line.entry)
        #expect(try lines(text) == expected)
        for cut in 0..<text.utf8.count { #expect(try lines(text, cutAt: [cut]) == expected) }
        #expect(entries.compactMap(\.exclusion) == [.credentials] && entries.last?.exclusion != nil)
    }

    @Test func fileThatIsCutShortIsRejected() throws {
        let text = Self.first + "\n" + Self.second + "\n"
        let bytes = Array(text.utf8)
        for length in 0..<bytes.count where length != Self.first.utf8.count + 1 {
            let cut = String(decoding: bytes[..<length], as: UTF8.self)
            #expect(throws: JobFile.Refusal.self, "\(length)") { try lines(cut) }
        }
    }

    @Test(
        arguments: [
            ("", nil, "is empty"), ("\n", 1, "is not JSON"), ("[]\n", 1, "is not a JSON object"),
            ("{}\n", 1, "'holdfast-job'"), (second + "\n", 1, "'holdfast-job'"),
            (first.replacing("job\":1", with: "job\":2") + "\n", 1, "version 2"),
            (first.replacing("deps", with: "../x") + "\n", 1, "'name'"),
            (first.replacing("deps", with: ".x") + "\n", 1, "'name'"),
            (first.replacing("0f0f", with: "0F0f") + "\n", 1, "'partition'"),
            (first.replacing("1764441568000", with: "1.5") + "\n", 1, "'made'"),
            (first.replacing("\"npm\"", with: "[\"npm\"]") + "\n", 1, "'command'"),
            (first.replacing("}", with: ",\"more\":1}") + "\n", 1, "unknown member"),
            (first.replacing("}", with: ",\"made\":1}") + "\n", 1, "twice"),
            (first.replacing("}", with: ",\"public\":\"\u{e4}\"}") + "\n", 1, "'public'"),
            (first.replacing("}", with: ",\"doubtful\":-1}") + "\n", 1, "'doubtful'"),
            (first.replacing("}", with: ",\"cookies\":\"\u{e4}\"}") + "\n", 1, "'cookies'"),
            (first.replacing("}", with: ",\"unread\":{\"a\":1}}") + "\n", 1, "'unread'"),
            (first.replacing("}", with: ",\"refused\":{\"a\":\"\\u001b\"}}") + "\n", 1, "'refused'"),
            (first.replacing("}", with: ",\"passed\":{\"PUT\":9000000000000000000}}") + "\n", 1, "'passed'"),
            (first + "\n\n", 2, "is not JSON"), (first + "\n" + first + "\n", 2, "'method'"),
            (first + "\n" + second.replacing("GET", with: "G T") + "\n", 2, "'method'"),
            (first + "\n" + second.replacing("https", with: "ftp") + "\n", 2, "'url'"),
            (first + "\n" + second.replacing("a.example", with: "u:p@a.example") + "\n", 2, "'url'"),
            (first + "\n" + second.replacing("}", with: ",\"content\":\"sha256:00\"}") + "\n", 2, "'content'"),
            (first + "\n" + second.replacing("}", with: ",\"form\":\"any\"}") + "\n", 2, "unknown member"),
            (first + "\n" + second.replacing("}", with: content("any", "user")) + "\n", 2, "'form'"),
            (first + "\n" + second.replacing("}", with: content("xml", "")) + "\n", 2, "'form'"),
            (first + "\n" + second.replacing("}", with: content("json", "a[")) + "\n", 2, "'ignored'"),
            (first + "\n" + second.replacing("}", with: ",\"members\":{\"a\":\"0123abcd\"}}") + "\n", 2, "Pointer"),
            (first + "\n" + second.replacing("}", with: ",\"members\":{\"/a\":\"5ecret\"}}") + "\n", 2, "Pointer"),
            (first + "\n" + second.replacing("}", with: ",\"membersCut\":true}") + "\n", 2, "unknown member"),
            (first + "\n" + second.replacing("}", with: ",\"fields\":{\"a b\":\"\"}}") + "\n", 2, "'fields'"),
            (first + "\n" + second.replacing("}", with: ",\"fields\":{\"a\":\"\\n\"}}") + "\n", 2, "'fields'"),
            (first + "\n" + second.replacing("}", with: ",\"fields\":{\"a\":1}}") + "\n", 2, "'fields'"),
            (first + "\n" + second.replacing("}", with: ",\"fields\":{\"a\":{\"b\":{}}}}") + "\n", 2, "2 levels"),
            (first + "\n" + second + "\n" + second, 3, "cut short"),
        ] as [(String, Int?, String)]
    )
    func damageIsNamedWithItsLine(_ text: String, _ line: Int?, _ words: String) throws {
        let refusal = try #require(throws: JobFile.Refusal.self) { try lines(text) }
        #expect(refusal.line == line && refusal.message.contains(words), "\(refusal)")
        #expect(refusal.description.contains("'deps.job'"))
    }

    @Test(arguments: ["authorization", "Cookie", "x-api-key", "set-cookie", "private-token"])
    func credentialsAreRejected(_ name: String) throws {
        let line = Self.second.replacing("}", with: ",\"fields\":{\"\(name)\":\"5ecret\"}}")
        let refusal = try #require(throws: JobFile.Refusal.self) { try lines(Self.first + "\n" + line + "\n") }
        #expect(refusal.message.contains("credential") && !"\(refusal)".contains("5ecret"))
    }

    @Test func longLineIsRejectedBeforeItsEnd() throws {
        var reader = JobFileReader(file: "a.job")
        let refusal = try #require(throws: JobFile.Refusal.self) {
            for _ in 0..<1000 { try reader.read(repeatElement(UInt8(ascii: "a"), count: 1000)) { _ in } }
        }
        #expect(refusal.line == 1 && refusal.message.contains("\(JobFile.maximumLineLength)"))
    }

    @Test(arguments: [
        ("a", true), ("A-1_b.c", true), ("", false), ("-a", false), (".a", false), ("a/b", false), ("ä", false),
        (String(repeating: "a", count: 64), true), (String(repeating: "a", count: 65), false), ("a\0", false),
    ])
    func namesAreFileNames(_ text: String, _ isName: Bool) { #expect((JobName(text) != nil) == isName) }

    @Test func partitionsAreRandom() {
        var random = SeededRandom(seed: 1)
        let names = (0..<100).map { _ in JobPartition(using: &random).description }
        #expect(Set(names).count == 100 && names.allSatisfy { JobPartition($0) != nil })
    }
}
