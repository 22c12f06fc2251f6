import Foundation
import Holdfast
import HoldfastTesting
import TestSupport
import Testing

/// The page "CacheManager".
@Suite(.timeLimit(.minutes(20))) struct CacheManagerPageTests {
    typealias GetFeed = GettingStartedTests.GetFeed

    private struct Draft: Codable, Equatable, Sendable { var text: String }

    private func withFolder(_ body: (String) async throws -> Void) async throws {
        try await TemporaryFolder.with { try await body($0.path + "/store") }
    }

    @Test func storeIsOpenedUsedAndClosed() async throws {
        let draft = Draft(text: "Dear")
        try await withFolder { folder in
            var configuration = CacheManager.Configuration(budget: 256 << 20)
            configuration.memoryBudget = 16 << 20
            let store = try await CacheManager.open(at: folder, configuration: configuration)
            try await store.setObject(draft, forKey: "draft/7", expiry: .after(.days(1)))
            let live: Draft? = try await store.object(forKey: "draft/7")
            if let stored = try await store.storedObject(Draft.self, forKey: "draft/7") {
                print(stored.value, stored.age, stored.isExpired ? "expired" : "live")
            }
            try await store.removeObjects(withPrefix: "draft/")
            #expect(live == draft)
            #expect(try await store.object(Draft.self, forKey: "draft/7") == nil)
            try await store.close()
            let error = await #expect(throws: StoreError.self) { try await store.removeExpired() }
            #expect(error?.code == .closed)
        }
    }

    @Test func secondWriterIsRejected() async throws {
        try await withFolder { folder in
            let store = try await CacheManager.open(at: folder)
            let error = await #expect(throws: StoreError.self) { _ = try await CacheManager.open(at: folder) }
            #expect(error?.code == .inUse)
            let reader = try await CacheManager.openReadOnly(at: folder)
            let rejected = await #expect(throws: StoreError.self) { try await reader.setObject(1, forKey: "one") }
            #expect(rejected?.code == .readOnly)
            try await reader.close()
            try await store.close()
        }
    }

    @Test func settingsOfThePageAreTheDefaults() {
        let defaults = CacheManager.Configuration()
        #expect(CacheManager.Configuration.minimumBudget == 4 << 20)
        #expect(CacheManager.maximumKeyLength == 4096)
        #expect(defaults.budget == 1 << 30)
        #expect(defaults.evictionOrder == .leastRecentlyUsed)
        #expect(defaults.quotas.isEmpty)
        #expect(defaults.memoryBudget == 64 << 20)
        #expect(defaults.maximumResidentBody == 256 << 10)
        #expect(!defaults.refillsMemory)
        #expect(defaults.readerCount == 8)
        #expect(defaults.changeInterval == .milliseconds(250))
        #expect(defaults.checkpointThreshold == nil)
        #expect(defaults.maximumPendingBytes == 64 << 20)
        #expect(defaults.maximumVariantsPerKey == 32)
        #expect(defaults.invalidationLogLength == 4096)
        #expect(!defaults.securelyDeletes)
        #expect(defaults.telemetry == nil)
    }

    @Test func responseIsFoundByTheKeyOfItsEndpoint() async throws {
        try await withTestClient(.init(environment: .production)) { test in
            let client = test.client
            let fields: HTTPFields = [.cacheControl: "max-age=60"]
            test.transport.script(GettingStartedTests.url, .ok(GettingStartedTests.content, fields: fields))
            _ = try await client.fetch(GetFeed(userID: "harbour"))
            if let key = try await client.key(of: GetFeed(userID: "harbour")),
                let stored = try await client.store.storedResponse(for: key)
            {
                print(stored.response.status, stored.age, stored.isExpired ? "expired" : "live")
            }
            let key = try #require(try await client.key(of: GetFeed(userID: "harbour")))
            #expect(try await client.store.response(for: key)?.status == .ok)
            try await client.store.invalidateAllResponses()
            #expect(try await client.store.response(for: key) == nil)
            #expect(try await client.store.storedResponse(for: key)?.isInvalidated == true)
        }
    }
}
