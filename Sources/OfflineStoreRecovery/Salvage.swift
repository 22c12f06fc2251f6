import HTTPCacheSemantics
import OfflineStore
import StoreFiles

/// Copies the intact entries of one or more databases into a new database.
///
/// Each database takes two steps. First, every readable row is copied to the new file: chunks to
/// their table, and other rows to tables that are dropped at the end. Then each entry is combined
/// and checked. Memory use therefore stays limited for any file size.
///
/// Not sendable, because it runs inside one call.
final class Salvage {
    /// The data about one database that is kept in memory.
    struct Gathered {
        var store: SourceStore?
        var roots: [String: Int] = [:]
        var tagInvalidations: [Int64: (marked: Int64, removed: Int64)] = [:]
        var unsafeTagInvalidations: [Int64: Int64] = [:]
        var prefixInvalidations: [(sequence: Int64, prefix: [UInt8], isRemoval: Bool)] = []
        var unreadable: Set<Int> = []
        /// Pages that another page references as its parent.
        var parents: Set<Int> = []
        /// The number of missing pages whose use is unknown.
        var missing = 0
    }

    /// The number of entries per transaction.
    private static let batch = 256
    /// The number of bytes written before the new database's write-ahead log is checkpointed.
    private static let checkpointBytes = 64 << 20

    var report: StoreRecovery
    /// The hasher for the new store's indexes.
    let hasher: SipHash
    private(set) var sequence: Int64 = 0
    var lastID: Int64 = 0
    var credential: [UInt8]?
    private var written = 0

    /// - Parameter secrets: the new store's secrets.
    init(folder: String, secrets: StoreSecrets) throws {
        report = StoreRecovery(folder: folder)
        guard let hasher = SipHash(secret: secrets.key) else { throw Self.failure(folder, "its secret is incomplete") }
        self.hasher = hasher
    }

    /// Returns the error for a new store that cannot be written although its disk works.
    static func failure(_ folder: String, _ reason: String) -> StoreError {
        StoreError(
            code: .io,
            message: "The new store '\(folder)' cannot be written: \(reason). Recover into another folder."
        )
    }

    private static let stages = [
        """
        CREATE TABLE stage_entry (id INTEGER PRIMARY KEY, kind INTEGER, key_hash INTEGER, key BLOB, variant BLOB, target_hash INTEGER,
            sequence INTEGER, size INTEGER, body_id INTEGER, body_length INTEGER, head BLOB, is_invalidated INTEGER, is_usable_stale INTEGER,
            is_pinned INTEGER, stored_at INTEGER, expires_at INTEGER, last_used_at INTEGER, recency INTEGER, invalidation_cause INTEGER)
        """,
        "CREATE TABLE stage_pair (entry_id INTEGER, tag_id INTEGER, PRIMARY KEY (entry_id, tag_id)) WITHOUT ROWID",
        "CREATE TABLE stage_tag (id INTEGER PRIMARY KEY, hash INTEGER, name BLOB)",
        "CREATE TABLE stage_garbage (body_id INTEGER PRIMARY KEY)",
    ]

    func begin(_ connection: Connection) throws {
        for sql in Self.stages { try connection.run(sql) }
    }

    /// Copies one database.
    ///
    /// - Parameter known: the number of the last invalidation in the sidecar; `nil` if the sidecar
    ///   does not belong to this database.
    func copy(_ image: DatabaseImage, name: String, known: Int64?, to connection: Connection) throws {
        var gathered = Gathered()
        try connection.run("BEGIN IMMEDIATE")
        let use = PageUse(image)
        readSchema(image, &gathered)
        for number in stride(from: 1, through: image.pageCount, by: 1) {
            try read(number, image, use, &gathered, connection)
            try commitIfDue(connection)
        }
        try connection.run("COMMIT")
        try combineEntries(of: gathered, image, use, name: name, known: known, connection)
        for table in ["stage_entry", "stage_pair", "stage_tag"] { try connection.run("DELETE FROM \(table)") }
        try checkpoint(connection)
    }

    // MARK: Page by page

    /// Reads the schema. This must come first, because the meaning of an index page depends on its
    /// index.
    private func readSchema(_ image: DatabaseImage, _ gathered: inout Gathered) {
        guard let first = TreePage(image.page(1), number: 1) else { return }
        let pages = [first] + first.children.prefix(64).compactMap { TreePage(image.page($0), number: $0) }
        for page in pages {
            _ = page.readCells(of: image) { cell in
                if case .schema(let name, let root) = SourceRow(cell) { gathered.roots[name] = root }
            }
        }
    }

    private func read(
        _ number: Int,
        _ image: DatabaseImage,
        _ use: PageUse,
        _ gathered: inout Gathered,
        _ connection: Connection
    ) throws {
        let isCertain: Bool
        switch use.use(of: number) {
        case .free, .overflow, .map: return
        case .root: isCertain = true
        case .tree(let parent):
            isCertain = true
            gathered.parents.insert(parent)
        case .unknown: isCertain = false
        }
        guard let page = TreePage(image.page(number), number: number) else {
            if isCertain {
                gathered.unreadable.insert(number)
            } else if number > image.presentPages {
                gathered.missing += 1
            }
            return
        }
        let root = page.kind == .tableLeaf || page.kind == .tableInterior ? nil : use.root(of: number)
        let isComplete = try page.readCells(of: image) { cell in
            if let row = SourceRow(cell) {
                try take(row, isCertain: isCertain, &gathered, connection)
            } else if cell.rowID == nil, cell.values.count == 2, let first = cell.values[0].integer,
                let second = cell.values[1].integer
            {
                try takePair(first, second, from: root, gathered, connection)
            }
        }
        if !isComplete, isCertain, !page.isWhole { gathered.unreadable.insert(number) }
    }

    private func take(
        _ row: SourceRow,
        isCertain: Bool,
        _ gathered: inout Gathered,
        _ connection: Connection
    ) throws {
        switch row {
        case .schema(let name, let root): gathered.roots[name] = root
        case .store(let store):
            if gathered.store.map({ $0.sequence <= store.sequence }) ?? true { gathered.store = store }
        case .entry(let entry): try stage(entry, isCertain: isCertain, connection)
        case .chunk(let id, let checksum, let data):
            let statement = try connection.prepare(
                "INSERT OR IGNORE INTO chunk (id, checksum, data) VALUES (?1, ?2, ?3)"
            )
            statement.bind(1, id)
            statement.bind(2, checksum)
            try data.withUnsafeBytes { try statement.run(binding: $0, at: 3) }
            written += data.count
        case .garbage(let bodyID): try discard(bodyID, connection)
        case .tag(let id, let hash, let name):
            let statement = try connection.prepare(
                "INSERT OR REPLACE INTO stage_tag (id, hash, name) VALUES (?1, ?2, ?3)"
            )
            statement.bind(1, id)
            statement.bind(2, hash)
            statement.bind(3, name)
            try statement.run()
            written += name.count + 64
        case .tagInvalidation(let tagID, let marked, let removed):
            gathered.tagInvalidations[tagID] = (marked, removed)
        case .unsafeTagInvalidation(let tagID, let number): gathered.unsafeTagInvalidations[tagID] = number
        case .prefixInvalidation(let sequence, let prefix, let isRemoval):
            gathered.prefixInvalidations.append((sequence, prefix, isRemoval))
        case .damagedChunk, .invalidation: break
        }
    }

    private func stage(_ entry: SourceEntry, isCertain: Bool, _ connection: Connection) throws {
        let row = entry.row
        guard row.isHeadWhole else {
            report.lose(row, "the head of entry \(row.id) is damaged")
            return try discard(row.bodyID, connection)
        }
        // If a row occurs twice, the row on a page that is definitely in use wins.
        let statement = try connection.prepare(
            """
            INSERT OR \(isCertain ? "REPLACE" : "IGNORE") INTO stage_entry
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)
            """
        )
        statement.bind(1, row.id)
        statement.bind(2, row.kind)
        statement.bind(3, row.keyHash)
        statement.bind(4, row.key)
        statement.bind(5, row.variant)
        statement.bind(6, row.targetHash)
        statement.bind(7, row.sequence)
        statement.bind(8, row.size)
        statement.bind(9, row.bodyID)
        statement.bind(10, row.bodyLength)
        statement.bind(11, row.head)
        statement.bind(12, entry.invalidation != nil)
        statement.bind(13, entry.isUsableStale)
        statement.bind(14, entry.isPinned)
        statement.bind(15, entry.storedAt)
        statement.bind(16, entry.expiresAt)
        statement.bind(17, entry.lastUsedAt)
        statement.bind(18, entry.recency)
        statement.bind(19, entry.invalidation?.rawValue ?? 0)
        try statement.run()
        written += row.head.count + row.key.count + 200
    }

    /// Collects a pair of numbers, an entry and its tag, if the index contains such pairs.
    private func takePair(
        _ first: Int64,
        _ second: Int64,
        from root: Int?,
        _ gathered: Gathered,
        _ connection: Connection
    ) throws {
        let name = root.flatMap { root in gathered.roots.first { $0.value == root }?.key }
        switch name {
        case "entry_tag": break
        case "entry_tag_by_tag":
            return try connection.run("INSERT OR IGNORE INTO stage_pair VALUES (?1, ?2)", second, first)
        case nil:
            // Entry numbers are larger than tag numbers. Other indexes begin with a hash, which is
            // not an entry number.
            guard first > second else { return }
        default: return
        }
        try connection.run("INSERT OR IGNORE INTO stage_pair VALUES (?1, ?2)", first, second)
        written += 32
    }

    func discard(_ bodyID: Int64, _ connection: Connection) throws {
        try connection.run("INSERT OR IGNORE INTO stage_garbage VALUES (?1)", bodyID)
    }

    // MARK: Transactions

    func commitIfDue(_ connection: Connection) throws {
        guard written >= Self.checkpointBytes else { return }
        try Task.checkCancellation()
        try connection.run("COMMIT")
        try checkpoint(connection)
        try connection.run("BEGIN IMMEDIATE")
    }

    private func checkpoint(_ connection: Connection) throws {
        written = 0
        _ = try connection.integer("PRAGMA wal_checkpoint(TRUNCATE)")
    }

    func noteWritten(_ bytes: Int) { written += bytes }
    func noteSequence(_ number: Int64) { sequence = max(sequence, number) }

    // MARK: The end

    /// Finishes the new database, so that it contains only a store.
    ///
    /// - Parameter firstID: the lowest number for the store's future entries.
    func finish(_ connection: Connection, firstID: Int64) throws {
        try connection.run("BEGIN IMMEDIATE")
        try removeOrphans(connection)
        sequence += 1
        try connection.run("UPDATE entry SET sequence = ?1", sequence)
        try connection.run(
            """
            UPDATE tag SET octets = (
                SELECT coalesce(sum(size), 0) FROM entry_tag t CROSS JOIN entry ON entry.id = t.entry_id WHERE t.tag_id = tag.id
            )
            """
        )
        try connection.run(
            "UPDATE store SET next_id = ?1, sequence = ?2, log_floor = ?2",
            max(firstID, lastID + 1),
            sequence
        )
        if let credential {
            let statement = try connection.prepare("UPDATE store SET credential_secret = ?1")
            statement.bind(1, credential)
            try statement.run()
            report.hasCredentialSecret = true
        }
        report.responses = Int(try connection.integer("SELECT count(*) FROM entry WHERE kind = 0") ?? 0)
        report.objects = Int(try connection.integer("SELECT count(*) FROM entry WHERE kind = 1") ?? 0)
        report.bytes = try connection.integer("SELECT coalesce(sum(body_length), 0) FROM entry") ?? 0
        try connection.run("COMMIT")
        for table in ["stage_entry", "stage_pair", "stage_tag", "stage_garbage"] {
            try connection.run("DROP TABLE \(table)")
        }
        try connection.run("PRAGMA synchronous = FULL")
        try connection.run("PRAGMA incremental_vacuum")
        try checkpoint(connection)
    }

    /// Removes chunks without an entry. Chunks that were not garbage in the old database belonged
    /// to a lost entry.
    private func removeOrphans(_ connection: Connection) throws {
        var last = Int64.min
        while let id = try connection.integer("SELECT id FROM chunk WHERE id > ?1 ORDER BY id LIMIT 1", last) {
            let bodyID = id >> 16
            last = id | 0xffff
            if try connection.integer("SELECT 1 FROM entry WHERE id = ?1 AND body_id = ?1", bodyID) != nil { continue }
            if try connection.integer("SELECT 1 FROM stage_garbage WHERE body_id = ?1", bodyID) == nil {
                report.lostBodies += 1
            }
            try connection.run("DELETE FROM chunk WHERE id BETWEEN ?1 AND ?2", bodyID << 16, last)
            noteWritten(StoreLimits.chunkLength)
            try commitIfDue(connection)
        }
    }
}
