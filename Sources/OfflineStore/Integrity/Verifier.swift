import HTTPCache
import HTTPCacheSemantics
import Logging
import StoreFiles

/// One examination of a store.
///
/// Not sendable, because it runs inside one call. Values to compare are read in one transaction (a
/// snapshot) of a few milliseconds.
final class Verifier {
    /// The number of entries that the quick examination reads.
    static let sampleCount: Int64 = 1024
    /// The maximum size, in bytes, of a database that SQLite checks in the quick examination.
    static let quickCheckLimit: Int64 = 64 << 20
    /// The number of body bytes that one snapshot reads.
    static let snapshotBytes: Int64 = 4 << 20

    let folder: StoreFolder
    let isFull: Bool
    let maximumFindings: Int
    let structureLimit: Int64
    var report: StoreVerification

    init(folder: StoreFolder, isFull: Bool, maximumFindings: Int, structureLimit: Int64) {
        self.folder = folder
        self.isFull = isFull
        self.maximumFindings = maximumFindings
        self.structureLimit = structureLimit
        report = StoreVerification(folder: folder.path, isFull: isFull)
    }

    func find(_ kind: StoreVerification.Kind, _ detail: String, _ row: EntryRow? = nil) {
        report.findingCount += 1
        guard report.findings.count < maximumFindings else { return }
        report.findings.append(
            StoreVerification.Finding(
                kind: kind,
                entryID: row?.id,
                shortID: row.map { StoreEntry.shortID($0.keyHash) },
                redactedURI: row?.redactedURI,
                detail: detail
            )
        )
    }

    func run() throws {
        guard let number = try liveDatabase() else { return }
        report.databaseName = StoreFolder.databaseName(number)
        report.setAside = try folder.databases().filter { $0 != number }.map {
            StoreStatistics.SetAside(name: StoreFolder.databaseName($0), bytes: folder.size(ofDatabase: $0))
        }
        let path = folder.databasePath(number)
        switch try DatabaseHeader(path: path) {
        case .ours: break
        case .missing: return find(.database, "'\(path)' is missing")
        case .foreign: return find(.database, "'\(path)' belongs to another program")
        case .unreadable:
            return find(
                .database,
                "the header of '\(path)' is damaged, so nothing else was checked. "
                    + "Run 'cache-dump recover STORE NEW' to copy what can be read"
            )
        }
        // Before the database, because a writer records a number there first.
        let known = try SequenceSidecar.read(path: folder.sidecarPath)
        let sharing = try StoreDatabase.sharing(path: path, folder: folder.path)
        let connection: Connection
        do {
            connection = try DatabaseOpening.reader(path: path, sharing)
        } catch {
            return try reportDamage(error, in: path)
        }
        defer { connection.close() }
        do {
            try examineDatabase(connection, path: path, known: known)
        } catch {
            try reportDamage(error, in: path)
        }
    }

    /// Records damage that prevents the examination; throws every other failure.
    private func reportDamage(_ error: any Error, in path: String) throws {
        guard let failure = error as? SQLiteFailure, failure.isDamage else { throw error }
        find(
            .database,
            "'\(path)' cannot be read: \(failure.message). Run 'cache-dump recover STORE NEW' to copy what can be read"
        )
    }

    /// Returns the database that opening for writing would use.
    private func liveDatabase() throws -> Int? {
        let content = try StoreOpening.examine(folder, isReadOnly: true)
        switch content {
        case .store(let number): return number
        case .unnamed(let databases):
            find(.current, "the file 'CURRENT' is missing; opening the store for writing creates it again")
            return try databases.last { try StoreOpening.isOurs(folder.databasePath($0)) }
        case .absent, .empty, .other:
            throw StoreOpening.noStore(folder, content)
        }
    }

    private func examineDatabase(_ connection: Connection, path: String, known: Int64?) throws {
        let version = Int32(truncatingIfNeeded: try connection.integer("PRAGMA user_version") ?? 0)
        try DatabaseHeader.checkVersion(version, path: path)
        report.schemaVersion = Int(version)
        let row = try StoreDatabase.row(connection)
        let settings = StoreDatabase.Settings(
            limits: try StoreLimits(CacheManager.Configuration()),
            logger: Logger(label: "holdfast.store")
        )
        let state = try StoreDatabase.state(of: row, settings, isWriter: false)
        switch known {
        case nil:
            find(.sequence, "the sidecar 'sequence' is missing or damaged: opening the store invalidates every entry")
        case let known? where known > row.sequence:
            find(
                .sequence,
                "the sidecar records invalidation \(known), but the database has none after \(row.sequence)"
            )
        default: break
        }
        try examineFile(connection, path: path)
        if isFull {
            try part("entry") { try examineEntries(connection, state) }
            try part("chunk") { try examineOrphanedChunks(connection) }
            if state.has(DatabaseState.tagSchemaVersion) {
                try part("entry_tag") { try examineTagPairs(connection) }
                try part("tag") { try examineTags(connection, state) }
            }
        } else {
            try part("entry") { try examineSample(connection, state) }
            let damaged = try DamageLog.count(connection, state, unmarked: [])
            if damaged > 0 { find(.known, "\(damaged) entries were found damaged earlier and are not served") }
        }
    }

    /// Runs one part of the examination. If a table is too damaged to be read further, that is a
    /// finding, and the examination continues with the next part.
    private func part(_ table: String, _ body: () throws -> Void) throws {
        do {
            try body()
        } catch {
            guard let failure = error as? SQLiteFailure, failure.isDamage else { throw error }
            find(.unreadable, "table '\(table)' cannot be read completely: \(failure.message)")
        }
    }

    /// Runs `body` in one snapshot of the database.
    func snapshot<Result>(_ connection: Connection, _ body: () throws -> Result) throws -> Result {
        try Task.checkCancellation()
        try connection.run("BEGIN")
        defer {
            if connection.isInTransaction { try? connection.run("COMMIT") }
        }
        return try body()
    }

    // MARK: The file

    private func examineFile(_ connection: Connection, path: String) throws {
        let size = try FileStatus(path: path)?.size ?? 0
        let isWritten = FolderLock.isHeld(path: folder.lockPath)
        let check: String
        if isFull {
            guard !isWritten || size <= structureLimit else {
                report.isStructureDeferred = true
                return
            }
            check = "PRAGMA integrity_check(100)"
        } else {
            guard size <= Self.quickCheckLimit else { return }
            check = "PRAGMA quick_check(1)"
        }
        report.isStructureExamined = true
        try part("sqlite_schema") {
            try snapshot(connection) {
                let statement = try connection.prepare(check)
                defer { statement.reset() }
                while try statement.step() {
                    let text = statement.text(0)
                    if text != "ok" { find(.structure, text.split(separator: "\n").joined(separator: "; ")) }
                }
            }
        }
    }
}
