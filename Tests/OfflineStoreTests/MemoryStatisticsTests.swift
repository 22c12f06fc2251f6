import GRDBSQLite
import OfflineStore
import Testing

/// Each in a process of its own: what is counted is a process's.
@Suite struct MemoryStatisticsTests {
    @Test func aStoreEndsTheCountingOfMemory() async {
        await #expect(processExitsWith: .success) {
            try await MemoryStatisticsTests.useStore()
            #expect(sqlite3_memory_highwater(0) == 0)
        }
    }

    @Test func whoCountedBeforeGoesOnCounting() async {
        await #expect(processExitsWith: .success) {
            try #require(sqlite3_initialize() == SQLITE_OK)
            try await MemoryStatisticsTests.useStore()
            #expect(sqlite3_memory_highwater(0) > 0)
        }
    }

    private static func useStore() async throws {
        let folder = try TemporaryFolder()
        let store = try await openStore(folder.store)
        try await store.setObject("value", forKey: "key")
        let object = try await store.object(String.self, forKey: "key")
        #expect(object == "value")
        #expect(try await store.entry(forObjectKey: "key") != nil)
    }
}
