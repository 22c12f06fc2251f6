import Logging
import Synchronization

/// Which entries were found to be damaged since opening: known at once here, and soon after in the
/// table, where there is a writer.
///
/// A number is never given twice, so what was noted once holds for good.
final class DamageLog: Sendable {
    /// Entries remembered in memory; of more than these, what the table says counts, and what the
    /// next read finds.
    static let limit = 4096

    private struct State {
        var known: Set<Int64> = []
        /// Those that the table does not say yet.
        var unwritten: Set<Int64> = []
    }

    private let count = Atomic<Int>(0)
    private let state = Mutex(State())

    /// Notes an entry; `true` when it is to be written to the table.
    func note(_ entryID: Int64) -> Bool {
        state.withLock { state in
            guard state.known.count < Self.limit, state.known.insert(entryID).inserted else { return false }
            state.unwritten.insert(entryID)
            count.store(state.known.count, ordering: .releasing)
            return true
        }
    }

    /// Whether nothing was noted.
    var isEmpty: Bool { count.load(ordering: .acquiring) == 0 }

    /// Whether an entry was noted; mostly one comparison, because mostly nothing is damaged.
    func contains(_ entryID: Int64) -> Bool {
        if count.load(ordering: .acquiring) == 0 { return false }
        return state.withLock { $0.known.contains(entryID) }
    }

    /// What is still to be written.
    var unwritten: Set<Int64> { state.withLock { $0.unwritten } }

    func wrote(_ entryIDs: Set<Int64>) {
        state.withLock { $0.unwritten.subtract(entryIDs) }
    }

    /// The recency of damaged entries: below every other's, so that they are the first to go, and
    /// are counted without a scan.
    static let recency: Int64 = -1

    /// The damaged entries of a database.
    ///
    /// Those that are not pinned are together at the beginning of an index; of pinned ones there
    /// are few.
    ///
    /// - Parameter unwritten: what the table did not say before the snapshot that is counted in.
    static func count(_ connection: Connection, _ state: DatabaseState, unmarked unwritten: Set<Int64>) throws -> Int {
        var count = 0
        if state.has(DatabaseState.sweepSchemaVersion) {
            count += Int(try connection.integer(unpinnedText) ?? 0) + Int(try connection.integer(pinnedText) ?? 0)
            for id in unwritten {
                count += Int(
                    try connection.integer("SELECT count(*) FROM entry WHERE id = ?1 AND is_damaged = 0", id) ?? 0
                )
            }
        } else {
            for id in unwritten {
                count += Int(try connection.integer("SELECT count(*) FROM entry WHERE id = ?1", id) ?? 0)
            }
        }
        return count
    }

    private static let unpinnedText =
        "SELECT count(*) FROM entry INDEXED BY entry_by_recency WHERE is_pinned = 0 AND recency < 0 AND is_damaged = 1"
    private static let pinnedText =
        "SELECT count(*) FROM entry INDEXED BY entry_by_expiry WHERE is_pinned = 1 AND is_damaged = 1"
}

extension StoreWriter {
    /// Writes to the table which entries were found to be damaged.
    ///
    /// Best effort: where it fails (a full disk, say) memory knows it all the same, and it is tried
    /// again with the next reason for housekeeping.
    func markDamage(_ connection: Connection) {
        memory.wantsDamageMarks = false
        let unwritten = database.damage.unwritten
        if unwritten.isEmpty || logIsHeld.load(ordering: .relaxed) { return }
        var changes: [MemoryTier.Change] = []
        do {
            try transaction(connection) {
                let statement = try connection.prepare(
                    "UPDATE entry SET is_damaged = 1, recency = ?2 WHERE id = ?1 RETURNING key_hash"
                )
                defer { statement.reset() }
                for id in unwritten {
                    statement.bind(1, id)
                    statement.bind(2, DamageLog.recency)
                    while try statement.step() { changes.append(.changed(statement.integer(0))) }
                    statement.reset()
                }
            }
            database.memory?.apply(changes)
            database.damage.wrote(unwritten)
        } catch {
            logger.debug("damage could not be marked", metadata: ["store.path": "\(path)", "error": "\(error)"])
            reportIfDamage(error)
        }
    }
}

extension StoreCore {
    /// Notes damage when a chunk is missing of a body that its entry still names.
    ///
    /// One snapshot answers both questions, so that an entry that was removed meanwhile is none.
    func noteIfTorn(entryID: Int64, bodyID: Int64, index: Int64, in database: StoreDatabase) throws {
        let isTorn = try read(database) { connection in
            try connection.integer(
                """
                SELECT 1 FROM entry WHERE id = ?1 AND body_id = ?2 AND NOT EXISTS (SELECT 1 FROM chunk WHERE chunk.id = ?3)
                """,
                entryID,
                bodyID,
                bodyID << 16 | index
            ) != nil
        }
        if isTorn { noteDamage("body", entryID: entryID, in: database) }
    }
}
