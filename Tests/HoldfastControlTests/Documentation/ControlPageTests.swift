import Foundation
import Testing
import Yams

/// docs/control-api.md.
struct ControlPageTests {
    /// `HOLDFAST_WRITE_DOCS=1` writes the page.
    @Test func pageMatchesTheDescription() throws {
        let docs = #filePath.replacing("Tests/HoldfastControlTests/Documentation/ControlPageTests.swift", with: "docs/")
        let description = try String(contentsOfFile: docs + "openapi.yaml", encoding: .utf8)
        let page = try ControlPage.text(try #require(try Yams.compose(yaml: description)))
        if ProcessInfo.processInfo.environment["HOLDFAST_WRITE_DOCS"] != nil {
            try Data(page.utf8).write(to: URL(fileURLWithPath: docs + "control-api.md"))
        }
        let written = try String(contentsOfFile: docs + "control-api.md", encoding: .utf8)
        #expect(written == page, "HOLDFAST_WRITE_DOCS=1 writes it")
    }
}
