import Foundation
import HTTPTypes
import NIOCore
import TestSupport
import Testing

@testable import Holdfast

@Suite(.timeLimit(.minutes(20))) struct CurlCommandTests {
    static let texts = [
        "plain", "it's", "'; touch injected; '", "$(touch injected) `touch injected` $HOME \\ \" | & > injected",
        "@/etc/passwd", "-X DELETE", "''", "ünï", "two\nlines\r\n", "nul\0", "\u{1b}[31m",
    ]

    @Test(arguments: texts)
    func shellPassesContentAndFieldsUnchanged(text: String) throws {
        let bytes = Array(text.utf8)
        let head = HTTPRequest(
            method: .post,
            scheme: "https",
            authority: "a.example",
            path: "/it's/[1]?q={a}$(id)",
            headerFields: [.contentType: "text/plain", HTTPField.Name("X-Text")!: text, .accept: ""]
        )
        let redaction = SecretRedaction(Secrets())
        let content = ShownContent(bytes, isWhole: true, fields: [:], redaction: redaction, secrets: [])
        let run = try shell("\(CurlCommand(head, content: content, redaction: redaction))")
        #expect(run.words.starts(with: ["-X", "POST", "--globoff", "https://a.example/it's/[1]?q={a}$(id)"]))
        let field = HTTPField(name: HTTPField.Name("X-Text")!, value: text).value
        #expect(run.words.contains("X-Text: \(field.withoutControls)"), "\(run.words)")
        #expect(run.words.contains("Accept;"))
        if run.words.last == "@-" {
            #expect(run.input == bytes)
        } else {
            #expect(run.words.last == text)
            #expect(run.words.dropLast().last == (text.hasPrefix("@") ? "--data-raw" : "--data-binary"))
        }
    }

    @Test func bytesAreWrittenInBase64AndLongContentIsLeftOut() throws {
        let redaction = SecretRedaction(Secrets())
        let bytes = (0...255).map { UInt8($0) }
        let head = HTTPRequest(method: .put, scheme: "https", authority: "a.example", path: "/")
        for isWhole in [true, false] {
            let content = ShownContent(bytes, isWhole: isWhole, fields: [:], redaction: redaction, secrets: [])
            let run = try shell("\(CurlCommand(head, content: content, redaction: redaction))")
            #expect(run.words.suffix(2) == ["--data-binary", isWhole ? "@-" : "@content"])
            #expect(run.input == (isWhole ? bytes : []))
            // The request has no media type, so curl must send none.
            #expect(run.words.contains("Content-Type:"))
        }
    }

    @Test func headRequestDoesNotWaitForContent() {
        let head = HTTPRequest(method: .head, scheme: "https", authority: "a.example", path: "/a/../b")
        let command = CurlCommand(head, content: nil, redaction: SecretRedaction(Secrets()))
        #expect(command.description == "curl --head --path-as-is 'https://a.example/a/../b'")
    }

    /// Runs a command with a `curl` that prints its arguments and its input.
    ///
    /// Uses `posix_spawn`: on Linux, Foundation's `Process` sometimes crashes if several start
    /// while other threads are busy, as threads of tests are.
    private func shell(_ command: String) throws -> (words: [String], input: [UInt8]) {
        let folder = try TemporaryFolder()
        let script =
            "cd '\(folder.path)'; exec </dev/null; curl() { printf '%s\\0' \"$@\" > words; cat > input; }\n\(command)\n"
        let arguments: [String] = ["/bin/sh", "-c", script]
        var words: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        closeDescriptors(from: 3, in: &actions)
        var child: pid_t = 0
        #expect(posix_spawn(&child, "/bin/sh", &actions, nil, &words, environ) == 0)
        var status: Int32 = 0
        while waitpid(child, &status, 0) == -1, errno == EINTR {}
        #expect(status == 0)
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
        #expect(files == ["input", "words"], "\(files)")
        let given = try readFile(folder.path + "/words").split(
            separator: 0,
            omittingEmptySubsequences: false
        )
        let input = try readFile(folder.path + "/input")
        return (given.dropLast().map { String(decoding: $0, as: UTF8.self) }, Array(input))
    }
}
