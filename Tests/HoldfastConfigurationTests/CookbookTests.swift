import Foundation
import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import Testing

@testable import HoldfastConfiguration

@Suite struct CookbookTests {
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("Examples/Cookbook")
    static let files = ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []).sorted()

    @Test func thereAreTen() { #expect(Self.files.count == 10) }

    @Test(arguments: files) func itLoads(_ file: String) throws {
        let configuration = try Configuration(contentsOf: Self.folder.appendingPathComponent(file).path)
        #expect(!configuration.rules.rules.isEmpty)
    }

    @Test func pagesTakeTheirTagsFromTheGeneralRule() throws {
        let rules = try Configuration(contentsOf: Self.folder.appendingPathComponent("07-pagination.yaml").path).rules
        let first = rules.rules(for: request("https://api.example.com/items?page=1")).settings
        #expect(first.overrides.lifetime == 10 && first.tags == ["items"])
        let second = rules.rules(for: request("https://api.example.com/items?page=2&size=20")).settings
        #expect(second.overrides.lifetime == 120 && second.target.sortsParameters)
    }
}
