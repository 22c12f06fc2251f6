import CSQLite
import OfflineStore
import TestSupport
import Testing

/// Each in a process of its own, because the statistics belong to the process.
@Suite(.timeLimit(.minutes(20))) struct MemoryStatisticsTests {
    @Test func openingAStoreDisablesMemoryStatistics() async {
        await #expect(processExitsWith: .success) {
            try await MemoryStatisticsTests.use(try TemporaryFolder())
            #expect(sqlite3_memory_highwater(0) == 0)
        }
    }

    /// Its header is read before it is opened.
    @Test func openingAnExistingStoreDisablesThemToo() async {
        await #expect(processExitsWith: .success) {
            let store = #filePath.split(separator: "/").dropLast(3).joined(separator: "/") + "/Fixtures/stores/schema-2"
            let folder = try TemporaryFolder()
            try copyFolder("/" + store, to: folder.store)
            try await MemoryStatisticsTests.use(folder)
            #expect(sqlite3_memory_highwater(0) == 0)
        }
    }

    @Test func earlierUseOfSQLiteKeepsThem() async {
        await #expect(processExitsWith: .success) {
            try #require(sqlite3_initialize() == SQLITE_OK)
            try await MemoryStatisticsTests.use(try TemporaryFolder())
            #expect(sqlite3_memory_highwater(0) > 0)
        }
    }

    private static func use(_ folder: TemporaryFolder) async throws {
        let store = try await openStore(folder.store)
        try await store.setObject("value", forKey: "key")
        let object = try await store.object(String.self, forKey: "key")
        #expect(object == "value")
        #expect(try await store.entry(forObjectKey: "key") != nil)
    }
}
