import Foundation
import GatewayRouting
import HTTPCacheSemantics
import HoldfastConfiguration
import HoldfastGateway
import Testing

/// The commands of docs/run.md, "The first hour", work with the file that it shows.
@Suite(.timeLimit(.minutes(20))) struct FirstHourTests {
    @Test func triedURLHasARouteInTheManualsOwnFile() throws {
        let path = #filePath.replacing(
            "Tests/HoldfastGatewayTests/Documentation/FirstHourTests.swift",
            with: "docs/run.md"
        )
        let page = try String(contentsOfFile: path, encoding: .utf8)
        let hour = try #require(page.split(separator: "## The first hour").last)
        let yaml = try #require(hour.firstMatch(of: /```yaml\n([^`]+)```/)?.1)
        let tried = try #require(hour.firstMatch(of: /holdfast try (\S+) --config/)?.1)
        let file = try Configuration(yaml: String(yaml), file: "holdfast.yaml")
        let gateway = try GatewayConfiguration(file)
        #expect(file.storeFolder != nil, "'serve' needs a store")
        let url = try TargetURI(String(tried))
        #expect(!gateway.routes.originURLs(of: url).isEmpty, "no route for \(tried)")
        #expect(gateway.listeners.map(\.description).contains { $0.contains(url.authority) })
    }
}
