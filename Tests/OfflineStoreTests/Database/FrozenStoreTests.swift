import HTTPCache
import HTTPCacheSemantics
import HoldfastMigrations
import NIOCore
import OfflineStore
import TestSupport
import Testing

/// The stores that programs of every released schema wrote: see Tests/Fixtures/stores/README.md.
@Suite(.timeLimit(.minutes(20))) struct FrozenStoreTests {
    static let versions = [1, 2, 3, 4]

    let folder: TemporaryFolder
    let clock = ManualClock()
    var path: String { folder.store + "/0001.sqlite" }

    init() throws { folder = try TemporaryFolder() }

    private func unpack(_ version: Int) throws {
        let here = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        try copyFolder("/\(here)/Fixtures/stores/schema-\(version)", to: folder.store)
        #expect(try queryInteger(path, "PRAGMA user_version") == version)
    }

    @Test func everyReleasedSchemaHasAFrozenStore() {
        #expect(Self.versions == Migrations.all.dropLast().map { Int($0.version) })
    }

    @Test(arguments: versions)
    func opensAndMigratesOlderSchemas(_ version: Int) async throws {
        try unpack(version)
        let store = try await openStore(folder.store, clock: clock)
        #expect(try await store.statistics().schemaVersion == Int(Migrations.latestVersion))
        #expect(try await store.statistics().setAside.isEmpty)
        #expect(try await store.text(of: try cacheKey("/plain")) == "from schema \(version)")
        let large = try #require(try await store.responses.lookup(try cacheKey("/large")).first)
        // The programs of that time did not record it. RFC 9111 §3.5
        #expect(large.head.sharingBasis == .unrecorded)
        let bytes = ByteBuffer(bytes: (0..<70_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 / 256) })
        #expect(try await store.responses.openBody(of: large)?.collect(upTo: 70_000) == bytes)
        // Old schemas have no cause, so the response is served offline as before.
        #expect(try await store.responses.lookup(try cacheKey("/marked")).map(\.head.invalidation) == [.unspecified])
        #expect(try await store.object([String].self, forKey: "names") == ["a", "b"])
        #expect(store.responses.invalidationSequence.number == 1)

        try await store.store(draft(try cacheKey("/new"), at: clock.now(), tags: ["t"]), "new")
        try await store.invalidateResponses(tagged: "t")
        #expect(try await store.responses.lookup(try cacheKey("/new")).map(\.head.isInvalidated) == [true])
        #expect(try await store.responses.lookup(try cacheKey("/plain")).map(\.head.isInvalidated) == [false])
        try await store.invalidateResponses(tagged: "b")
        // Version 1 had no tags; in version 2 '/plain' has the tag 'b', and '/large' has not.
        let isMarked = version >= 2
        #expect(try await store.responses.lookup(try cacheKey("/plain")).map(\.head.isInvalidated) == [isMarked])
        #expect(try await store.responses.lookup(try cacheKey("/large")).map(\.head.isInvalidated) == [false])
        try await store.close()
        #expect(try queryInteger(path, "PRAGMA user_version") == Int64(Migrations.latestVersion))
        let again = try await openStore(folder.store, clock: clock)
        #expect(try await again.text(of: try cacheKey("/plain")) == "from schema \(version)")
        #expect(again.responses.invalidationSequence.number == 3)
        try await again.close()
    }

    @Test(arguments: versions)
    func readOnlyProcessReadsOlderSchemasAndSeesTheMigration(_ version: Int) async throws {
        try unpack(version)
        let reader = try await openReadOnly(folder.store, clock: clock)
        #expect(try await reader.text(of: try cacheKey("/plain")) == "from schema \(version)")
        #expect(try queryInteger(path, "PRAGMA user_version") == version)
        let entry = try #require(try await reader.entries(for: try TargetURI("https://api.example/plain")).first)
        #expect(try await reader.tags(of: entry) == (version >= 2 ? ["a", "b"] : []))

        let writer = try await openStore(folder.store, clock: clock)
        try await writer.store(draft(try cacheKey("/new"), at: clock.now(), tags: ["t"]), "new")
        try await writer.settle()
        try await writer.close()
        try runSQL(path, "UPDATE store SET sequence = 7; INSERT INTO tag_invalidation SELECT id, 7, 0 FROM tag")
        #expect(try await reader.responses.lookup(try cacheKey("/new")).map(\.head.isInvalidated) == [true])
        let new = try #require(try await reader.entries(for: try TargetURI("https://api.example/new")).first)
        #expect(try await reader.tags(of: new) == ["t"])
        try await reader.close()
    }
}
