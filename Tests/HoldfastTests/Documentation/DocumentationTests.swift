import Foundation
import Holdfast
import HoldfastConfiguration
import Testing

/// README shows code that is compiled and run: `make test` builds `Tests/ConsumerPackage`.
@Suite(.timeLimit(.minutes(20))) struct DocumentationTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    private func text(_ path: String) throws -> String {
        try String(contentsOf: Self.root.appending(path: path), encoding: .utf8)
    }

    /// README may leave out the beginning of the program: the imports, the types, the arguments.
    @Test func exampleInReadmeIsCompiled() throws {
        let readme = try text("README.md")
        let begin = try #require(readme.range(of: "```swift\n")?.upperBound)
        let end = try #require(readme.range(of: "```", range: begin..<readme.endIndex)?.lowerBound)
        let block = String(readme[begin..<end])
        #expect(block.contains("CachingClient.open(") && block.contains("client.close()"))
        #expect(try text("Tests/ConsumerPackage/Sources/Consumer/main.swift").contains(block))
    }

    @Test func consumerPackageImportsOnlyHoldfast() throws {
        let folder = "Tests/ConsumerPackage/Sources/Consumer"
        let files = try FileManager.default.contentsOfDirectory(atPath: Self.root.appending(path: folder).path)
        #expect(files.count >= 2)
        for file in files {
            let imports = try text("\(folder)/\(file)").split(separator: "\n").filter {
                $0.contains("import ") && !$0.hasPrefix("//")
            }
            // 'exit' is Foundation's.
            let expected = file == "main.swift" ? ["import Foundation", "import Holdfast"] : ["import Holdfast"]
            #expect(imports.map(String.init) == expected, "\(file)")
        }
    }

    @Test func configurationInGatewayManualIsValid() throws {
        let manual = try text("docs/gateway.md")
        let begin = try #require(manual.range(of: "```yaml\n")?.upperBound)
        let end = try #require(manual.range(of: "```", range: begin..<manual.endIndex)?.lowerBound)
        let configuration = try Configuration(yaml: String(manual[begin..<end]))
        #expect(configuration.routes.count == 2 && configuration.rules.rules.count == 1)
    }

    /// README has one word for the modules that only declare a C library.
    private static func isOfC(_ module: String) -> Bool {
        FileManager.default.fileExists(
            atPath: root.appending(path: "Sources/\(module)/module.modulemap").path(percentEncoded: false)
        )
    }

    @Test func readmeNamesEveryModule() throws {
        let readme = try text("README.md")
        for module in try FileManager.default.contentsOfDirectory(atPath: Self.root.appending(path: "Sources").path)
        where !["CommandLineSupport", "holdfast-cli"].contains(module) && !Self.isOfC(module) {
            #expect(readme.contains("`\(module)`"), "\(module)")
        }
    }
}
