import Foundation
import Testing

/// The code that the pages of `Holdfast.docc` and `docs/capabilities.md` show is compiled: each
/// block stands in a file of this folder, line by line.
@Suite(.timeLimit(.minutes(20))) struct PagesTests {
    private static let here = URL(filePath: #filePath).deletingLastPathComponent()
    private static let pages = here.deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Sources/Holdfast/Holdfast.docc")

    private static func files(_ folder: URL, _ ending: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(ending) }.sorted()
    }

    /// The lines of a file, without the space around them.
    private static func lines(_ file: URL) throws -> [String] {
        try String(contentsOf: file, encoding: .utf8).split(separator: "\n", omittingEmptySubsequences: false)
            .map { $0.trimmingCharacters(in: .whitespaces) }
    }

    @Test func allPagesAreFound() throws {
        #expect(try Self.files(Self.pages, ".md").count >= 22)
    }

    @Test(arguments: try files(pages, ".md") + ["../../../docs/capabilities.md"])
    func everyBlockIsCompiled(page: String) throws {
        let compiled = try Self.files(Self.here, ".swift").map { try Self.lines(Self.here.appending(path: $0)) }
        let blocks = try Self.lines(Self.pages.appending(path: page)).split(separator: "```swift").dropFirst()
        for block in blocks {
            let code = Array(block.prefix { $0 != "```" })
            #expect(!code.isEmpty && code.count < block.count, "A block has no end.")
            #expect(compiled.contains { $0.contains(code) }, "Not compiled:\n\(code.joined(separator: "\n"))")
        }
    }
}
