import Foundation
import Holdfast
import HoldfastConfiguration
import HoldfastTesting
import Logging
import SampleOrigin
import TestSupport
import Testing

/// Rules in a service.
@Suite(.timeLimit(.minutes(20)))
struct RulesTests {
    private static let yaml = """
        version: 1
        store: {path: a.store}
        rules:
          - match: {url: "/respond", method: GET}
            freshness: {lifetime: 5 m}
        """

    /// The same values as in the file.
    private static func values() throws -> RuleSet {
        var settings = RuleSettings()
        settings.freshness.lifetime = .seconds(300)
        return try RuleSet([Rule(matching: .init(urls: ["/respond"], methods: [.get]), settings: settings)])
    }

    /// The way by which rules are given.
    enum RuleSource: CaseIterable {
        case file, values
    }

    /// From a file and from Swift.
    @Test(arguments: RuleSource.allCases)
    func ruleMakesResponsesWithoutDirectivesFresh(ruleSource: RuleSource) async throws {
        let rules =
            switch ruleSource {
            case .file: try Configuration(yaml: Self.yaml).rules
            case .values: try Self.values()
            }
        try await ClientFixture.run(.init(rules: rules)) { fixture in
            let endpoint = fixture.get("/respond")
            let first = try await fixture.client.fetch(endpoint, .standard)
            let second = try await fixture.client.fetch(endpoint, .standard)
            #expect(first.source == .network && second.source == .store && !second.isStale)
            fixture.clock.advance(by: .seconds(301))
            let third = try await fixture.client.fetch(endpoint, .standard)
            #expect(third.source == .network)
            #expect(fixture.origin.requestCount == 2)
        }
    }

    @Test func requestsAreForwardedWithoutTheRule() async throws {
        try await ClientFixture.run { fixture in
            for _ in 0..<2 {
                let emission = try await fixture.client.fetch(fixture.get("/respond"), .standard)
                #expect(emission.source == .network)
            }
        }
    }

    @Test func fileSetsAClientsStoreModeAndRules() async throws {
        let folder = try TemporaryFolder()
        let file = folder.path + "/holdfast.yaml"
        try Data((Self.yaml + "\nmode: preferStored\neager-refresh: 0.5\n").utf8).write(to: URL(fileURLWithPath: file))
        let clock = ManualClock()
        try await SampleOrigin.withOrigin { origin in
            for count in 1...2 {
                let client = try await CachingClient.open(
                    Configuration(contentsOf: file),
                    clock: clock,
                    logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
                )
                #expect(client.mode == .preferStored)
                #expect(client.store.folder.hasSuffix("/a.store"))
                let endpoint = PathEndpoint(baseURL: origin.baseURL, path: "/respond")
                let emission = try await client.fetch(endpoint, .standard)
                #expect(emission.source == (count == 1 ? .network : .store))
                try await client.close()
            }
            #expect(origin.requestCount == 1)
        }
        #expect(FileManager.default.fileExists(atPath: folder.path + "/a.store"))
    }

    @Test func fileWithoutAStoreIsAnError() async throws {
        let error = await #expect(throws: ConfigurationError.self) {
            try await CachingClient.open(Configuration(yaml: "version: 1"))
        }
        #expect(error?.description.contains("store.path") == true)
    }

    @Test func fileConfiguresAStore() throws {
        let file = try Configuration(
            yaml: """
                version: 1
                store:
                  budget: 64 MiB
                  memory: 2 MiB
                  largest-resident-body: 16 KiB
                  secure-delete: true
                  keep-offline-copies: true
                  quotas: {tags: {images: 1 MiB}, origins: {"https://a.example": 2 MiB}, each-origin: 3 MiB}
                """
        )
        let store = CacheManager.Configuration(file.store)
        #expect(store.budget == 64 << 20 && store.memoryBudget == 2 << 20 && store.maximumResidentBody == 16 << 10)
        #expect(store.securelyDeletes && store.evictionOrder == .keepingOfflineCopies)
        #expect(
            store.quotas == [
                .tag("images", bytes: 1 << 20), .origin("https://a.example", bytes: 2 << 20),
                .everyOrigin(bytes: 3 << 20),
            ]
        )
        let defaults = CacheManager.Configuration(Configuration().store)
        #expect(defaults.budget == 1 << 30 && defaults.quotas.isEmpty && !defaults.securelyDeletes)
    }
}
