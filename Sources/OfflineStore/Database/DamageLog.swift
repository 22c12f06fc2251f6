import Logging
import StoreMemory
import Synchronization

/// The entries found to be damaged since the store was opened. They are recorded here immediately.
/// If this process writes the store, they are also marked in the table soon afterward.
///
/// Entry numbers are never reused, so a record stays valid.
final class DamageLog: Sendable {
    /// The maximum number of recorded entries. Damage to further entries is not recorded, but each
    /// read of such an entry finds it again.
    static let limit = 4096

    private struct State {
        var known: Set<Int64> = []
        /// The entries not yet marked in the table.
        var unwritten: Set<Int64> = []
    }

    private let count = Atomic<Int>(0)
    private let state = Mutex(State())

    /// Records an entry; returns `true` if it must be marked in the table.
    func note(_ entryID: Int64) -> Bool {
        state.withLock { state in
            guard state.known.count < Self.limit, state.known.insert(entryID).inserted else { return false }
            state.unwritten.insert(entryID)
            count.store(state.known.count, ordering: .releasing)
            return true
        }
    }

    /// Whether no entry is recorded.
    var isEmpty: Bool { count.load(ordering: .acquiring) == 0 }

    /// Returns whether an entry is recorded. This usually takes one comparison, because usually
    /// nothing is damaged.
    func contains(_ entryID: Int64) -> Bool {
        if count.load(ordering: .acquiring) == 0 { return false }
        return state.withLock { $0.known.contains(entryID) }
    }

    /// The entries that must still be marked.
    var unwritten: Set<Int64> { state.withLock { $0.unwritten } }

    func markWritten(_ entryIDs: Set<Int64>) {
        state.withLock { $0.unwritten.subtract(entryIDs) }
    }

    /// The recency of damaged entries. It is lower than that of all other entries, so damaged
    /// entries are evicted first, and can be counted without a scan.
    static let recency: Int64 = -1

    /// Returns the number of damaged entries in a database.
    ///
    /// The unpinned ones are next to each other in an index, and there are few pinned entries.
    ///
    /// - Parameter unwritten: the entries that were not marked in the table before the snapshot.
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
    /// Marks the entries that were found to be damaged in the table.
    ///
    /// If this fails (because of a full disk, for example), the entries stay recorded in memory,
    /// and the next housekeeping tries again.
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
            database.damage.markWritten(unwritten)
        } catch {
            logger.debug("damage could not be marked", metadata: ["store.path": "\(path)", "error": "\(error)"])
            reportIfDamage(error)
        }
    }
}

extension StoreCore {
    /// Records that data read from an entry was damaged. The entry is no longer served.
    func noteDamage(_ what: StaticString, entryID: Int64, in database: StoreDatabase) {
        counters.damagedReads.add(1, ordering: .relaxed)
        if database.state.damage.note(entryID) { database.writer?.requestSweep() }
        logger.warning(
            "stored data is damaged; treating it as missing",
            metadata: ["store.path": "\(database.path)", "store.entry": "\(entryID)", "store.part": "\(what)"]
        )
    }

    /// Records damage if a chunk is missing from a body that its entry still references.
    ///
    /// Both are checked in one snapshot, so that an entry that was removed in the meantime is not
    /// reported.
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
