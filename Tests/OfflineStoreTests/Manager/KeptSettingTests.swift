import Foundation
import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics
import TestSupport
import Testing

@testable import OfflineStore

/// The settings that a store keeps for a time.
@Suite(.timeLimit(.minutes(20))) struct KeptSettingTests {
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
        #expect(try store.temporary(OfflineMode.self) == nil)
        try store.keep(mode)
        #expect(try store.temporary(OfflineMode.self) == mode)
        try await store.close()
        let later = try await openStore(folder.store)
        #expect(try later.temporary(OfflineMode.self) == mode)
        var shorter = mode
        shorter.reason = nil
        try later.keep(shorter)
        #expect(try later.temporary(OfflineMode.self) == shorter)
        try later.forget(OfflineMode.self)
        try later.forget(OfflineMode.self)
        #expect(try later.temporary(OfflineMode.self) == nil)
        try await later.close()
        #expect(!TemporaryFolder.names(folder.store).contains { $0.hasPrefix("mode") })
    }

    @Test func interruptedReplacementKeepsTheModeBefore() async throws {
        let store = try await openStore(folder.store)
        try store.keep(mode)
        try writeFile(folder.store + "/mode.new", Array("{".utf8))
        #expect(try store.temporary(OfflineMode.self) == mode)
        try await store.close()
        let later = try await openStore(folder.store)
        #expect(try later.temporary(OfflineMode.self) == mode)
        try await later.close()
    }

    @Test func damagedFileIsNamed() async throws {
        let store = try await openStore(folder.store)
        for content in ["", "{", #"{"mode": "away"}"#] {
            try writeFile(folder.store + "/mode", Array(content.utf8))
            let error = try #require(throws: StoreError.self) { try store.temporary(OfflineMode.self) }
            #expect(error.code == .damaged && error.message.contains("/mode'"), "\(error)")
        }
        try store.keep(mode)
        #expect(try store.temporary(OfflineMode.self) == mode)
        try await store.close()
    }

    @Test func fileOfAnEarlierVersionIsRead() async throws {
        let store = try await openStore(folder.store)
        let json = #"{"client":"uid 1","mode":"offline","since":{"milliseconds":1000},"until":{"milliseconds":5}}"#
        try writeFile(folder.store + "/mode", Array(json.utf8))
        let kept = try #require(try store.temporary(OfflineMode.self))
        let expected = TemporaryMode(
            .offline,
            until: Timestamp(milliseconds: 5),
            since: Timestamp(seconds: 1),
            client: "uid 1"
        )
        #expect(kept == expected)
        try await store.close()
    }

    @Test func eachSettingHasAFileOfItsOwn() async throws {
        let store = try await openStore(folder.store)
        let staleness = TemporaryStaleness(
            StalenessExtension(seconds: 172_800),
            until: mode.until,
            since: mode.since,
            client: "uid 2"
        )
        try store.keep(mode)
        try store.keep(staleness)
        try store.forget(OfflineMode.self)
        try await store.close()
        let later = try await openStore(folder.store)
        #expect(try later.temporary(OfflineMode.self) == nil)
        #expect(try later.temporary(StalenessExtension.self) == staleness)
        for seconds in ["-1", "31536001", "\"2d\""] {
            let json = #"{"client":"a","since":{"milliseconds":0},"staleness":\#(seconds),"until":{"milliseconds":9}}"#
            try writeFile(folder.store + "/staleness", Array(json.utf8))
            let error = try #require(throws: StoreError.self) { try later.temporary(StalenessExtension.self) }
            #expect(error.code == .damaged && error.message.contains("/staleness'"), "\(error)")
        }
        try later.forget(StalenessExtension.self)
        try await later.close()
    }

    @Test func folderWithTheFilesAndNoDatabaseIsAStore() async throws {
        // Creating the store was interrupted, or 'CURRENT' was lost.
        let store = try await openStore(folder.store)
        try store.keep(mode)
        try await store.close()
        try FileManager.default.removeItem(atPath: folder.store + "/CURRENT")
        try writeFile(folder.store + "/staleness", [])
        try writeFile(folder.store + "/staleness.new", [])
        let later = try await openStore(folder.store)
        #expect(try later.temporary(OfflineMode.self) == mode)
        try await later.close()
    }

    @Test func readerKeepsNone() async throws {
        let store = try await openStore(folder.store)
        try store.keep(mode)
        try await store.close()
        let reader = try await CacheManager.openReadOnly(at: folder.store)
        #expect(try reader.temporary(OfflineMode.self) == mode)
        let error = try #require(throws: StoreError.self) { try reader.forget(OfflineMode.self) }
        #expect(error.code == .readOnly)
        try await reader.close()
    }
}
