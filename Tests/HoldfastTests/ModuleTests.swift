import Foundation
import Testing

/// The modules that only tools link.
@Suite(.timeLimit(.minutes(20))) struct ModuleTests {
    @Test(arguments: [("OfflineStoreRecovery", ["cache-dump"]), ("HTTPCacheExplaining", ["holdfast-cli"])])
    func onlyToolsImport(_ module: String, _ tools: [String]) throws {
        let sources = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "Sources")
        var importing: Set<String> = []
        let files = try #require(FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil))
        for case let file as URL in files where file.pathExtension == "swift" {
            let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
            guard lines.contains(where: { $0.hasSuffix("import \(module)") && !$0.contains("//") }) else { continue }
            importing.insert(String(file.path.dropFirst(sources.path.count + 1).prefix { $0 != "/" }))
        }
        #expect(importing == Set(tools))
    }
}
