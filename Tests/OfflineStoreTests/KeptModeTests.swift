import HTTPCache
import HTTPCacheSemantics
import Testing

@testable import OfflineStore

/// The mode that a store keeps for a time.
@Suite struct KeptModeTests {
    let folder: TemporaryFolder
    let mode = TemporaryMode(
        .offline,
        until: Timestamp(milliseconds: 1_795_615_200_250),
        since: Timestamp(seconds: 1),
        reason: "\"ß\n",
        client: "uid 1"
    )

    init() throws { folder = try TemporaryFolder() }

    @Test func isKeptUntilItIsForgotten() async throws {
        let store = try await openStore(folder.store)
        #expect(try store.temporaryMode() == nil)
        try store.keep(mode)
        #expect(try store.temporaryMode() == mode)
        try await store.close()
        let later = try await openStore(folder.store)
        #expect(try later.temporaryMode() == mode)
        var shorter = mode
        shorter.reason = nil
        try later.keep(shorter)
        #expect(try later.temporaryMode() == shorter)
        try later.keep(nil)
        try later.keep(nil)
        #expect(try later.temporaryMode() == nil)
        try await later.close()
        #expect(!TemporaryFolder.names(folder.store).contains { $0.hasPrefix("mode") })
    }

    @Test func interruptedReplacementKeepsTheModeBefore() async throws {
        let store = try await openStore(folder.store)
        try store.keep(mode)
        try writeFile(folder.store + "/mode.new", Array("{".utf8))
        #expect(try store.temporaryMode() == mode)
        try await store.close()
        let later = try await openStore(folder.store)
        #expect(try later.temporaryMode() == mode)
        try await later.close()
    }

    @Test func damagedFileIsNamed() async throws {
        let store = try await openStore(folder.store)
        for content in ["", "{", #"{"mode": "away"}"#] {
            try writeFile(folder.store + "/mode", Array(content.utf8))
            let error = try #require(throws: StoreError.self) { try store.temporaryMode() }
            #expect(error.code == .damaged && error.message.contains("/mode'"), "\(error)")
        }
        try store.keep(mode)
        #expect(try store.temporaryMode() == mode)
        try await store.close()
    }

    @Test func readerKeepsNone() async throws {
        let store = try await openStore(folder.store)
        try store.keep(mode)
        try await store.close()
        let reader = try await CacheManager.openReadOnly(at: folder.store)
        #expect(try reader.temporaryMode() == mode)
        let error = try #require(throws: StoreError.self) { try reader.keep(nil) }
        #expect(error.code == .readOnly)
        try await reader.close()
    }
}
