import Foundation
import Holdfast
import Testing

/// What the README shows is what is compiled and run: `Tests/ConsumerPackage` is built by `make
/// test`.
@Suite struct DocumentationTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    private func text(_ path: String) throws -> String {
        try String(contentsOf: Self.root.appending(path: path), encoding: .utf8)
    }

    @Test func theReadmesExampleIsTheConsumerPackage() throws {
        let readme = try text("README.md")
        let example = try text("Tests/ConsumerPackage/Sources/Consumer/main.swift")
        #expect(readme.contains("```swift\n\(example)```"))
        #expect(example.split(separator: "\n").filter { $0.hasPrefix("import ") } == ["import Holdfast"])
        #expect(example.split(separator: "\n", omittingEmptySubsequences: false).count <= 23)
    }

    @Test func theConsumerPackageImportsNothingElse() throws {
        let folder = "Tests/ConsumerPackage/Sources/Consumer"
        let files = try FileManager.default.contentsOfDirectory(atPath: Self.root.appending(path: folder).path)
        #expect(files.count >= 2)
        for file in files {
            let imports = try text("\(folder)/\(file)").split(separator: "\n").filter {
                $0.contains("import ") && !$0.hasPrefix("//")
            }
            #expect(imports == ["import Holdfast"], "\(file)")
        }
    }

    @Test func theReadmesConfigurationFileIsValid() throws {
        let readme = try text("README.md")
        let begin = try #require(readme.range(of: "```yaml\n")?.upperBound)
        let end = try #require(readme.range(of: "```", range: begin..<readme.endIndex)?.lowerBound)
        let configuration = try Configuration(yaml: String(readme[begin..<end]))
        #expect(configuration.routes.count == 2 && configuration.rules.rules.count == 1)
    }

    @Test func everyModuleOfThePackageIsInTheReadme() throws {
        let readme = try text("README.md")
        for module in try FileManager.default.contentsOfDirectory(atPath: Self.root.appending(path: "Sources").path)
        where !["CommandLineSupport", "SampleOrigin", "holdfast-cli"].contains(module) {
            #expect(readme.contains("`\(module)`"), "\(module)")
        }
    }
}
