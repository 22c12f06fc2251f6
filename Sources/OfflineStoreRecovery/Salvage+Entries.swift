import HTTPCacheSemantics
import OfflineStore
import StoreFiles

/// Turns rows into entries: combines related rows, and leaves out damaged entries.
extension Salvage {
    /// The facts about one database after it was read completely.
    private struct Source {
        /// The hasher for the database's indexes; `nil` if its secrets were not found.
        var hasher: SipHash?
        var gathered: Salvage.Gathered
        /// Whether all invalidations are known.
        var isCertain: Bool
    }

    func combineEntries(
        of gathered: Gathered,
        _ image: DatabaseImage,
        _ use: PageUse,
        name: String,
        known: Int64?,
        _ connection: Connection
    ) throws {
        noteUnreadable(gathered, use)
        let hasher = try verifiedHasher(gathered.store, connection)
        let tables = ["sqlite_schema", "store", "tag_invalidation", "unsafe_tag_invalidation", "prefix_invalidation"]
        let isReadable = tables.allSatisfy { table in
            guard let root = table == "sqlite_schema" ? 1 : gathered.roots[table] else {
                // In an intact schema of an older version, every table of this list except `store`
                // may be absent.
                return table != "store"
            }
            return TreePage(image.page(root), number: root)?.isWhole == true
        }
        let owners = gathered.unreadable.map { owner(of: $0, gathered, use) }
        let isCertain =
            hasher != nil && isReadable && owners.allSatisfy { $0.map { !tables.contains($0) } ?? false }
            && known.map { $0 <= gathered.store?.sequence ?? -1 } ?? false
        if report.sources.isEmpty { report.hasInvalidations = isCertain }
        if credential == nil, hasher != nil { credential = gathered.store?.secrets.credential }
        noteSequence(max(gathered.store?.sequence ?? 0, known ?? 0))
        let source = Source(hasher: hasher, gathered: gathered, isCertain: isCertain)
        var count = 0
        try connection.run("BEGIN IMMEDIATE")
        var last = Int64.max
        // Newest first: the newest version of an entry wins.
        while let entry = try nextEntry(before: last, connection) {
            last = entry.row.id
            if try copy(entry, source, connection) {
                count += 1
            } else {
                try discard(entry.row.bodyID, connection)
            }
            try commitIfDue(connection)
        }
        try connection.run("COMMIT")
        report.sources.append(StoreRecovery.Source(name: name, entries: count))
    }

    // MARK: Unreadable pages

    private func noteUnreadable(_ gathered: Gathered, _ use: PageUse) {
        report.unreadablePages += gathered.missing
        // Interior pages contain no rows. Missing chunks, tags and secrets are detected when they
        // are needed.
        for page in gathered.unreadable.subtracting(gathered.parents) {
            switch owner(of: page, gathered, use) {
            case nil, "entry": report.unreadablePages += 1
            default: break
            }
        }
    }

    /// Returns the name of the table or index that a page belongs to; `nil` if it is unknown.
    private func owner(of page: Int, _ gathered: Gathered, _ use: PageUse) -> String? {
        guard let root = use.root(of: page) else { return nil }
        return root == 1 ? "sqlite_schema" : gathered.roots.first { $0.value == root }?.key
    }

    /// Returns a hasher with the old secret; `nil` if it does not match the hashes of the entries.
    private func verifiedHasher(_ store: SourceStore?, _ connection: Connection) throws -> SipHash? {
        guard let store, let candidate = SipHash(secret: store.secrets.key) else { return nil }
        let statement = try connection.prepare("SELECT kind, key_hash, key FROM stage_entry LIMIT 16")
        defer { statement.reset() }
        var (count, matches) = (0, 0)
        while try statement.step() {
            count += 1
            let domain = statement.integer(0) == 0 ? IndexDomain.responseKey : .objectKey
            if candidate.indexHash(statement.bytes(2), domain) == statement.integer(1) { matches += 1 }
        }
        return count == 0 || matches > count / 2 ? candidate : nil
    }

    // MARK: Entry by entry

    private func nextEntry(before last: Int64, _ connection: Connection) throws -> SourceEntry? {
        let statement = try connection.prepare(
            """
            SELECT \(EntryRow.columns), is_invalidated, is_usable_stale, is_pinned, stored_at, expires_at, last_used_at, recency,
                invalidation_cause
            FROM stage_entry WHERE id < ?1 ORDER BY id DESC LIMIT 1
            """
        )
        defer { statement.reset() }
        statement.bind(1, last)
        return try statement.step() ? SourceEntry(statement) : nil
    }

    /// - Returns: whether the entry was copied.
    private func copy(_ entry: SourceEntry, _ source: Source, _ connection: Connection) throws -> Bool {
        var entry = entry
        guard let kind = EntryKind(rawValue: entry.row.kind) else { return false }
        let key = kind == .response ? StoreKey(bytes: entry.row.key) : nil
        let isKeyWhole =
            source.hasher.map {
                $0.indexHash(entry.row.key, kind == .response ? .responseKey : .objectKey) == entry.row.keyHash
            } ?? true
        guard isKeyWhole, key != nil || (kind == .object && String(validating: entry.row.key, as: UTF8.self) != nil)
        else {
            report.lose(entry.row, "the key of entry \(entry.row.id) is damaged")
            return false
        }
        noteSequence(entry.row.sequence)
        let tags = try tags(of: entry, source, connection)
        switch fate(of: entry, kind, key, tags, source) {
        case .removed: return false
        case .kept(let invalidation): entry.invalidation = invalidation
        }
        guard try hasWholeBody(entry.row, connection) else {
            report.lose(entry.row, "the body of entry \(entry.row.id) is damaged")
            return false
        }
        entry.row.variant = Self.variant(of: entry.row, kind)
        let names = tags.compactMap(\.name)
        guard try insert(entry, kind, key, tags: names, connection) else { return false }
        report.lostTags += tags.count - names.count
        return true
    }

    private enum Fate {
        case kept(InvalidationCause?)
        case removed
    }

    /// Returns the effect of the invalidations on an entry, including invalidations that were not
    /// yet applied to its row.
    private func fate(
        of entry: SourceEntry,
        _ kind: EntryKind,
        _ key: StoreKey?,
        _ tags: [CarriedTag],
        _ source: Source
    ) -> Fate {
        let number = entry.row.sequence
        var causes: [InvalidationCause?] = [entry.invalidation, source.isCertain ? nil : .unspecified]
        if let store = source.gathered.store, source.hasher != nil {
            if number < (kind == .response ? store.responseRemoved : store.objectRemoved) { return .removed }
            if number < (kind == .response ? store.responseLowWaterMark : store.objectLowWaterMark) {
                causes.append(.unspecified)
            }
        }
        for tag in tags {
            guard let pending = source.gathered.tagInvalidations[tag.id] else { continue }
            if number < pending.removed { return .removed }
            if number < pending.marked { causes.append(.unspecified) }
            if number < source.gathered.unsafeTagInvalidations[tag.id] ?? 0 { causes.append(.unsafeMethod) }
        }
        for pending in source.gathered.prefixInvalidations where number < pending.sequence {
            let isCovered = pending.prefix.withUnsafeBytes { prefix in
                entry.row.key.withUnsafeBytes { kind.covers($0, byPrefix: prefix) }
            }
            guard isCovered else { continue }
            if pending.isRemoval { return .removed }
            causes.append(.unspecified)
        }
        return .kept(causes.compactMap(\.self).max())
    }

    private static func variant(of row: EntryRow, _ kind: EntryKind) -> [UInt8] {
        guard kind == .response, let head = StoredHeadCodec.decode(row.head, binding: row.binding) else { return [] }
        return VariantKey.bytes(of: head)
    }

    /// Returns whether every chunk was found. The checksums of the chunks were already verified.
    private func hasWholeBody(_ row: EntryRow, _ connection: Connection) throws -> Bool {
        if row.bodyLength == 0 { return true }
        guard row.bodyLength > 0, row.chunkCount <= Int64(StoreLimits.chunksPerBody) else { return false }
        let statement = try connection.prepare(
            "SELECT count(*), sum(length(data)) FROM chunk WHERE id BETWEEN ?1 AND ?2"
        )
        defer { statement.reset() }
        statement.bind(1, row.bodyID << 16)
        statement.bind(2, row.bodyID << 16 | (row.chunkCount - 1))
        return try statement.step() && statement.integer(0) == row.chunkCount && statement.integer(1) == row.bodyLength
    }

    // MARK: Tags

    private struct CarriedTag {
        var id: Int64
        /// The name; `nil` if it cannot be read.
        var name: [UInt8]?
    }

    private func tags(of entry: SourceEntry, _ source: Source, _ connection: Connection) throws -> [CarriedTag] {
        let statement = try connection.prepare(
            "SELECT p.tag_id, t.hash, t.name FROM stage_pair p LEFT JOIN stage_tag t ON t.id = p.tag_id WHERE p.entry_id = ?1"
        )
        defer { statement.reset() }
        statement.bind(1, entry.row.id)
        var tags: [CarriedTag] = []
        while try statement.step() {
            let name = statement.bytes(2)
            let isWhole = source.hasher.map { $0.indexHash(name, .tag) == statement.integer(1) } ?? true
            tags.append(CarriedTag(id: statement.integer(0), name: isWhole && !name.isEmpty ? name : nil))
        }
        return tags
    }

    // MARK: The new rows

    /// - Returns: `false` if a newer database contained the same entry.
    private func insert(
        _ entry: SourceEntry,
        _ kind: EntryKind,
        _ key: StoreKey?,
        tags: [[UInt8]],
        _ connection: Connection
    ) throws -> Bool {
        let row = entry.row
        let keyHash = hasher.indexHash(row.key, kind == .response ? .responseKey : .objectKey)
        if try exists(row, keyHash, connection) { return false }
        let binding = HeadBinding(entryID: row.id, keyHash: keyHash, bodyID: row.bodyID, bodyLength: row.bodyLength)
        let head = binding.sealing(Array(row.head.dropLast(8)))
        let statement = try connection.prepare(
            """
            INSERT INTO entry (id, kind, key_hash, key, variant, target_hash, sequence, is_invalidated, is_usable_stale,
                is_pinned, stored_at, expires_at, last_used_at, recency, size, body_id, body_length, head, invalidation_cause)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)
            """
        )
        statement.bind(1, row.id)
        statement.bind(2, row.kind)
        statement.bind(3, keyHash)
        statement.bind(4, row.key)
        statement.bind(5, row.variant)
        statement.bind(6, key.map { hasher.indexHash($0.components.target.canonicalBytes, .target) })
        statement.bind(7, entry.invalidation != nil)
        statement.bind(8, entry.isUsableStale)
        statement.bind(9, entry.isPinned)
        statement.bind(10, entry.storedAt)
        statement.bind(11, entry.expiresAt)
        statement.bind(12, entry.lastUsedAt)
        // An entry that was marked as damaged has turned out to be intact.
        statement.bind(13, max(1, entry.recency))
        statement.bind(
            14,
            EntryRow.size(
                key: row.key.count,
                variant: row.variant.count,
                head: head.count,
                bodyLength: row.bodyLength,
                tags: Int64(tags.count)
            )
        )
        statement.bind(15, row.bodyID)
        statement.bind(16, row.bodyLength)
        statement.bind(17, head)
        statement.bind(18, entry.invalidation?.rawValue ?? 0)
        try statement.run()
        for tag in tags { try insertTag(tag, of: row.id, connection) }
        lastID = max(lastID, row.id, row.bodyID)
        noteWritten(row.key.count + head.count + 400)
        return true
    }

    private func exists(_ row: EntryRow, _ keyHash: Int64, _ connection: Connection) throws -> Bool {
        let statement = try connection.prepare(
            "SELECT 1 FROM entry WHERE id = ?5 OR (key_hash = ?1 AND kind = ?2 AND key = ?3 AND variant = ?4)"
        )
        defer { statement.reset() }
        statement.bind(1, keyHash)
        statement.bind(2, row.kind)
        statement.bind(3, row.key)
        statement.bind(4, row.variant)
        statement.bind(5, row.id)
        return try statement.step()
    }

    private func insertTag(_ tag: [UInt8], of entryID: Int64, _ connection: Connection) throws {
        let hash = hasher.indexHash(tag, .tag)
        let known = try connection.prepare("SELECT id FROM tag WHERE name_hash = ?1 AND name = ?2")
        known.bind(1, hash)
        known.bind(2, tag)
        var id = try known.step() ? known.integer(0) : nil
        known.reset()
        if id == nil {
            let statement = try connection.prepare("INSERT INTO tag (name_hash, name) VALUES (?1, ?2)")
            statement.bind(1, hash)
            statement.bind(2, tag)
            try statement.run()
            id = try connection.integer("SELECT last_insert_rowid()")
        }
        guard let id else { throw Self.failure(report.folder, "a new tag has no number") }
        try connection.run("INSERT OR IGNORE INTO entry_tag (entry_id, tag_id) VALUES (?1, ?2)", entryID, id)
    }
}

extension SourceEntry {
    /// Creates an entry from a row of ``EntryRow/columns`` and the eight columns after them.
    fileprivate init(_ statement: SQLStatement) {
        row = EntryRow(statement)
        invalidation = InvalidationCause(isMarked: statement.flag(12), column: statement.integer(19))
        isUsableStale = statement.flag(13)
        isPinned = statement.flag(14)
        storedAt = statement.integer(15)
        expiresAt = statement.integer(16)
        lastUsedAt = statement.integer(17)
        recency = statement.integer(18)
    }
}

extension EntryRow {
    /// Whether the head matches its checksum and its row.
    var isHeadWhole: Bool {
        switch EntryKind(rawValue: kind) {
        case .response: StoredHeadCodec.decode(head, binding: binding) != nil
        case .object: head.withUnsafeBytes { ObjectHeadCodec.decode($0, binding: binding) } != nil
        case nil: false
        }
    }
}
