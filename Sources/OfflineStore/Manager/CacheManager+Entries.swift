package import HTTPCache
package import HTTPCacheSemantics
import StoreFiles
import Synchronization

/// Listing and inspecting the store's entries.
extension CacheManager {
    /// Returns every entry, or every entry of a kind, in the order in which they were stored.
    ///
    /// ```swift
    /// for try await entry in store.entries() { print(entry.shortID, entry.redactedURI ?? "") }
    /// ```
    package func entries(_ kind: StoreEntry.Kind? = nil) -> StoreEntries {
        StoreEntries(core: core, kind: kind)
    }

    /// Returns the responses stored for a target URI: all partitions, methods and variants.
    ///
    /// - Throws: ``StoreError``: `closed`, `damaged`, `io`.
    @concurrent
    package func entries(for target: TargetURI) async throws -> [StoreEntry] {
        _ = now()
        return try core.read { connection, database in
            let statement = try connection.prepare(Self.targetQuery.sql(database.state))
            statement.bind(1, database.state.hash(target.canonicalBytes, .target))
            return try Self.entries(statement, database).filter { entry in
                guard case .response(let key) = entry.key else { return false }
                return key.components.target == target
            }
        }
    }

    /// Returns the entries whose ``StoreEntry/shortID`` begins with a prefix, at most 1,000.
    ///
    /// The result is empty if the prefix is not 1 to 16 hexadecimal digits.
    ///
    /// - Throws: ``StoreError``: `closed`, `damaged`, `io`.
    @concurrent
    package func entries(
        withShortIDPrefix prefix: String,
        under rules: RulesInForce? = nil
    ) async throws -> [StoreEntry] {
        _ = now()
        guard let hashes = StoreEntry.keyHashes(withPrefix: prefix) else { return [] }
        return try core.read { connection, database in
            let statement = try connection.prepare(Self.prefixQuery.sql(database.state))
            statement.bind(1, hashes.lowerBound)
            statement.bind(2, hashes.upperBound)
            return try Self.entries(statement, database, under: rules)
        }
    }

    /// Returns the entry of an object's key.
    ///
    /// - Throws: ``StoreError``: `closed`, `damaged`, `io`.
    @concurrent
    package func entry(forObjectKey key: String) async throws -> StoreEntry? {
        _ = now()
        return try core.read { connection, database in
            let statement = try connection.prepare(Self.objectQuery.sql(database.state))
            statement.bind(1, database.state.hash(Array(key.utf8), .objectKey))
            return try Self.entries(statement, database).first { $0.key == .object(key) }
        }
    }

    /// Returns an entry's stored response with its whole head.
    ///
    /// Returns `nil` if the entry is an object, no longer exists, or has a damaged head.
    ///
    /// - Throws: ``StoreError``: `closed`, `damaged`, `io`.
    @concurrent
    package func response(of entry: StoreEntry) async throws -> StoredResponse? {
        _ = now()
        return try record(of: entry.id)?.record.response
    }

    /// Returns an entry's tags, sorted; none for an object or an entry that no longer exists.
    ///
    /// - Throws: ``StoreError``: `closed`, `damaged`, `io`.
    @concurrent
    package func tags(of entry: StoreEntry) async throws -> [String] {
        _ = now()
        return try core.read { connection, database in
            guard database.state.has(DatabaseState.tagSchemaVersion) else { return [] }
            let statement = try connection.prepare(
                "SELECT name FROM entry_tag t CROSS JOIN tag ON tag.id = t.tag_id WHERE t.entry_id = ?1 ORDER BY name"
            )
            defer { statement.reset() }
            statement.bind(1, entry.id)
            var tags: [String] = []
            while try statement.step() {
                statement.withBytes(0) { name in
                    // Internal tags (of origins with quotas) are not shown.
                    if !QuotaTable.isInternal(name) { tags.append(String(decoding: name, as: UTF8.self)) }
                }
            }
            return tags
        }
    }

    /// Opens an entry's body as a stream; returns `nil` if the entry no longer exists, or the
    /// body's first chunk is damaged.
    ///
    /// - Throws: ``StoreError``: `closed`, `damaged`, `io`.
    @concurrent
    package func body(of entry: StoreEntry) async throws -> BodyStream? {
        _ = now()
        guard let (record, database) = try record(of: entry.id) else { return nil }
        return try StoredBody.open(core, database, entryID: record.id, bodyID: record.bodyID, length: record.bodyLength)
    }

    /// Pins or unpins an entry. A pinned entry is not evicted.
    ///
    /// - Returns: `false` if the entry no longer exists.
    @concurrent
    package func setPinned(_ isPinned: Bool, _ entry: StoreEntry) async throws -> Bool {
        _ = now()
        let id = entry.id
        return try await core.write { context in
            guard try context.exists(id) else { return false }
            try context.connection.run("UPDATE entry SET is_pinned = ?2 WHERE id = ?1", id, isPinned ? 1 : 0)
            return context.connection.changes > 0
        }
    }

    func record(of id: Int64) throws -> (record: EntryRecord, database: StoreDatabase)? {
        try core.read { connection, database in
            let statement = try connection.prepare(Self.numberQuery.sql(database.state))
            defer { statement.reset() }
            statement.bind(1, id)
            guard try statement.step(), let record = EntryRecord(statement, database.state) else { return nil }
            return (record, database)
        }
    }

    private static let targetQuery = EntryRecord.Query("target_hash = ?1")
    private static let prefixQuery = EntryRecord.Query("key_hash BETWEEN ?1 AND ?2 LIMIT 1000")
    private static let numberQuery = EntryRecord.Query("id = ?1")

    private static func entries(
        _ statement: SQLStatement,
        _ database: StoreDatabase,
        under rules: RulesInForce? = nil
    ) throws -> [StoreEntry] {
        defer { statement.reset() }
        var entries: [StoreEntry] = []
        while try statement.step() {
            guard let record = EntryRecord(statement, database.state) else { continue }
            entries.append(StoreEntry(record, under: rules))
        }
        return entries
    }
}
