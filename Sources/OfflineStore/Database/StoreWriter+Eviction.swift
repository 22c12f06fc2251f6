import CSQLite
import CacheEviction
import HTTPCacheSemantics
import Logging
import StoreFiles
import StoreMemory
import Synchronization

/// An entry to evict to free space.
struct EvictionVictim {
    var place: EntryRows
    var size: Int64
    var keyHash: Int64
    /// The column `recency`.
    var position: Int64

    /// The columns that make a victim.
    static let columns = "id, body_id, body_length, size, key_hash, recency"

    init(_ statement: SQLStatement) {
        place = EntryRows(statement)
        size = statement.integer(3)
        keyHash = statement.integer(4)
        position = statement.integer(5)
    }

    var stamp: UseStamp { UseStamp(stored: position) }
}

/// Eviction: removes entries to make room for new ones, so that the folder stays within its budget.
extension StoreWriter {
    /// The most bytes that one transaction evicts.
    static let evictionBytes: Int64 = 16 << 20

    /// The bytes that the folder uses.
    struct Usage {
        var live: Int64
        var free: Int64
        var log: Int64
        /// Bodies without an entry that are still being read; included in `live`.
        var held: Int64
        /// The bytes compared with the budget. The log counts at its largest size. Free pages do
        /// not count, because they are used before the file grows.
        var total: Int64
        /// The total, without the bytes that eviction must not compensate for.
        ///
        /// Eviction cannot free bodies that readers hold. Up to a quarter of the budget, other
        /// entries are evicted instead. Beyond that, entries stay and new ones wait. So slow
        /// readers of large bodies that are repeatedly replaced cannot empty a store, and the
        /// budget still holds.
        var reachable: Int64
    }

    func usage(_ connection: Connection) throws -> Usage {
        let limits = database.limits
        let pages = try connection.integer("PRAGMA page_count") ?? 0
        let free = try connection.integer("PRAGMA freelist_count") ?? 0
        let log = (try? FileStatus(path: path + "-wal"))?.size ?? 0
        let live = (pages - free) * StoreLimits.pageSize
        let held = database.leases.heldBytes
        let total = live + max(log, limits.log) + StoreLimits.fixedFiles
        memory.usageEstimate = total
        return Usage(
            live: live,
            free: free * StoreLimits.pageSize,
            log: log,
            held: held,
            total: total,
            reachable: total - max(0, held - limits.held)
        )
    }

    // MARK: Before a transaction

    /// Evicts entries until the bytes of some operations fit in the budget, so that the budget
    /// holds at every moment.
    ///
    /// - Returns: the operations that fit; the others have failed. Operations without bytes (such
    ///   as an invalidation) always fit.
    func makeRoom(for batch: [WriteJob], _ connection: Connection) -> [WriteJob] {
        let bytes = batch.reduce(0) { $0 + $1.bytes }
        guard bytes > 0, let shortage = makeRoom(for: Self.bytesOnDisk(bytes), connection) else { return batch }
        var room = shortage.room
        return batch.filter { job in
            let incoming = Self.bytesOnDisk(job.bytes)
            guard job.bytes > 0, incoming > room else {
                room -= incoming
                return true
            }
            job.fail(shortage.error)
            if shortage.error.code == .full { noteFullness(shortage.error, bytes: job.bytes, room: shortage.room) }
            return false
        }
    }

    /// Returns the approximate bytes on disk for this many bytes of content, including their pages.
    private static func bytesOnDisk(_ bytes: Int) -> Int64 { Int64(bytes) * 9 / 8 }

    /// - Returns: `nil` if there is enough space, otherwise the available space and the reason.
    private func makeRoom(for incoming: Int64, _ connection: Connection) -> (room: Int64, error: StoreError)? {
        let limits = database.limits
        do {
            while true {
                let usage = try usage(connection)
                let room = limits.budget - usage.total
                // While a reader holds the log, the log must not fill the whole budget.
                let logRoom = limits.heldLog - usage.log
                if room >= incoming, logRoom >= incoming { return nil }
                if try isLogHeld(usage, connection) { return (min(room, logRoom), heldLogError(usage)) }
                if room >= incoming { return nil }
                guard usage.reachable + incoming > limits.budget else { return (room, heldBodiesError(usage)) }
                guard try removePending(connection) || evict(max(incoming, 1 << 20), connection) else {
                    return (room, nothingToEvictError)
                }
                while memory.wantsSweep { try sweep(connection) }
                try checkpoint(connection, truncating: true)
            }
        } catch {
            postponeHousekeeping(after: error)
            // The transaction itself will report the reason.
            return nil
        }
    }

    private func heldLogError(_ usage: Usage) -> StoreError {
        StoreError(
            code: .busy,
            message:
                "'\(path)' accepts no new data for now: a read transaction in another process stays open, "
                + "so the write-ahead log of \(usage.log) bytes cannot be reused. End that transaction, then try again."
        )
    }

    private func heldBodiesError(_ usage: Usage) -> StoreError {
        StoreError(
            code: .busy,
            message:
                "'\(path)' accepts no new data for now: \(usage.held) bytes of its budget of \(database.limits.budget) "
                + "hold replaced or removed bodies that are still being read. Try again later, or raise 'budget'."
        )
    }

    private var nothingToEvictError: StoreError {
        StoreError(
            code: .full,
            message:
                "'\(path)' accepts no new data: entries that are pinned, being read or being written use its whole "
                + "budget of \(database.limits.budget) bytes. Unpin some entries, or raise 'budget'."
        )
    }

    /// Whether a reader that never finishes keeps the log from being reused, so that each write
    /// makes the log grow.
    ///
    /// Eviction would not help, because it also writes to the log. Entries stay, and new responses
    /// are declined until the reader finishes.
    func isLogHeld(_ usage: Usage, _ connection: Connection) throws -> Bool {
        var isHeld = usage.log > database.limits.log
        let wasHeld = logIsHeld.load(ordering: .relaxed)
        if isHeld {
            // The first checkpoint waits for readers that are about to finish. Later ones do not,
            // because one of the readers does not finish.
            try checkpoint(connection, truncating: true, isPatient: !wasHeld)
            isHeld = try self.usage(connection).log > database.limits.log
        }
        logIsHeld.store(isHeld, ordering: .relaxed)
        if isHeld, !wasHeld {
            logger.warning(
                "a long-running reader in another process keeps the write-ahead log from shrinking; nothing is stored until that reader ends",
                metadata: ["store.path": "\(path)", "store.log.bytes": "\(usage.log)"]
            )
        }
        return isHeld
    }

    // MARK: Choosing victims

    /// Removes entries that are not pinned, in the eviction order; returns `false` if there are
    /// none.
    func evict(_ excess: Int64, _ connection: Connection) throws -> Bool {
        var line = Line()
        let count: Int
        defer { database.recency.endTaking() }
        do {
            count = try evictVictims(connection) {
                let excess = min(excess, Self.evictionBytes)
                // The space of a body that is being read is not freed yet, so such entries are
                // chosen only if there are no others.
                try takeVictims(&line, worth: excess, areLeased: false, connection)
                if line.victims.isEmpty, line.moved.isEmpty {
                    try takeVictims(&line, worth: excess, areLeased: true, connection)
                }
                for (id, stamp) in line.moved {
                    try connection.run(
                        "UPDATE entry SET recency = ?2, last_used_at = max(last_used_at, ?3) WHERE id = ?1",
                        id,
                        stamp.stored,
                        database.latestInstant
                    )
                }
                return line.victims
            }
        } catch {
            database.recency.putBack(line.used)
            throw error
        }
        return count > 0 || !line.moved.isEmpty
    }

    /// Removes entries in a transaction.
    ///
    /// - Returns: the number of removed entries.
    func evictVictims(_ connection: Connection, choosing victims: () throws -> [EvictionVictim]) throws -> Int {
        let context = WriteContext(connection: connection, state: database, memory: memory)
        var chosen: [EvictionVictim] = []
        do {
            try transaction(connection) {
                chosen = try victims()
                for victim in chosen { try context.remove(victim.place) }
                try context.writeTagBytes()
            }
        } catch {
            context.dropEffects()
            throw error
        }
        context.applyCommit()
        let now = database.recency.last
        for victim in chosen { memory.eviction.evict(victim.keyHash, victim.stamp, now: now) }
        if !chosen.isEmpty {
            let bytes = chosen.reduce(0) { $0 + $1.size }
            events.evicted(chosen.count, bytes)
            logger.debug(
                "evicted",
                metadata: ["store.path": "\(path)", "store.entries": "\(chosen.count)", "store.bytes": "\(bytes)"]
            )
        }
        return chosen.count
    }

    /// Returns the number of rows that are removed with an entry. Each may be on its own page, and
    /// all these pages go to the log.
    func rowsRemoved(with victim: EvictionVictim, _ connection: Connection) throws -> Int {
        guard database.usesTags.load(ordering: .acquiring) else { return 1 }
        let tags = try connection.integer("SELECT count(*) FROM entry_tag WHERE entry_id = ?1", victim.place.id)
        return 1 + Int(tags ?? 0)
    }

    /// Entries to evict, and entries used since they were written, which move to a later position.
    private struct Line {
        var victims: [EvictionVictim] = []
        var moved: [(id: Int64, stamp: UseStamp)] = []
        /// The uses that were taken from the log.
        var used: [Int64: RecordedUses] = [:]
        var freed: Int64 = 0
        /// The rows to change.
        var rows = 0
    }

    /// Entries that expire last, were stored ahead of the clock, and cannot be used offline.
    private static let storedAhead = """
        WHERE stored_at > ?1 AND id IN (
            SELECT id FROM entry INDEXED BY entry_by_expiry
            WHERE is_usable_stale = 0 AND is_pinned = 0 AND expires_at < \(Int64.max) ORDER BY expires_at DESC LIMIT 1024
        )
        """

    /// Chooses entries until they add up to a number of bytes, or until a transaction is full.
    private func takeVictims(
        _ line: inout Line,
        worth excess: Int64,
        areLeased: Bool,
        _ connection: Connection
    ) throws {
        switch database.limits.evictionOrder {
        case .leastRecentlyUsed:
            try walk(&line, excess, areLeased: areLeased, connection)
        case .keepingOfflineCopies:
            // Entries stored while the clock was ahead would be last in this order, but they are
            // useless.
            if let horizon = database.horizon(at: Timestamp(milliseconds: database.latestInstant)) {
                try takeByExpiry(&line, excess, Self.storedAhead, areLeased: areLeased, horizon: horizon, connection)
            }
            try takeByExpiry(
                &line,
                excess,
                "INDEXED BY entry_by_expiry WHERE is_usable_stale = 0 AND is_pinned = 0 ORDER BY expires_at",
                areLeased: areLeased,
                connection
            )
            // Only entries that can be used offline are left, and those taken above.
            try walk(&line, excess, areLeased: areLeased, connection)
        }
    }

    /// Takes entries in the order of a statement, however recently they were used.
    private func takeByExpiry(
        _ line: inout Line,
        _ excess: Int64,
        _ condition: String,
        areLeased: Bool,
        horizon: Int64? = nil,
        _ connection: Connection
    ) throws {
        let statement = try connection.prepare("SELECT \(EvictionVictim.columns) FROM entry \(condition)")
        defer { statement.reset() }
        if let horizon { statement.bind(1, horizon) }
        let ahead = Set(line.victims.map(\.place.id))
        // The statement has no limit, because it must step past entries that cannot be evicted.
        while line.freed < excess, line.rows < database.limits.batch, try statement.step() {
            let victim = EvictionVictim(statement)
            if database.leases.isLeased(victim.place.bodyID) != areLeased { continue }
            if ahead.contains(victim.place.id) { continue }
            try take(victim, &line, connection)
        }
    }

    private func take(_ victim: EvictionVictim, _ line: inout Line, _ connection: Connection) throws {
        line.rows += try rowsRemoved(with: victim, connection)
        line.victims.append(victim)
        line.freed += victim.size
    }

    /// Continues the walk along the entries in the order of use (``EvictionPass``).
    ///
    /// It reads the index alone, and then the rows of victims. A row costs ten times as much.
    private func walk(_ line: inout Line, _ excess: Int64, areLeased: Bool, _ connection: Connection) throws {
        let room = database.limits.batch - line.rows
        guard line.freed < excess, room > 0 else { return }
        let now = database.recency.last
        let taken = Set(line.victims.map(\.place.id))
        var pass = EvictionPass(needed: excess - line.freed, atMost: room, now: now)
        let start = memory.evictionPlace
        var young: EvictionPlace?
        for part in start == nil ? [EvictionPart.all] : [.rest, .passed, .young] {
            guard !pass.isDone, line.rows < database.limits.batch else { break }
            guard let place = part == .young ? young : start ?? .oldest else { break }
            let statement = try connection.prepare(
                """
                SELECT recency, id FROM entry INDEXED BY entry_by_recency
                WHERE is_pinned = 0 AND (recency, id) \(part.comparison) (?1, ?2) ORDER BY recency, id
                """
            )
            defer { statement.reset() }
            statement.bind(1, place.recency)
            statement.bind(2, place.id)
            while !pass.isDone, line.rows < database.limits.batch, try statement.step() {
                let place = EvictionPlace(recency: statement.integer(0), id: statement.integer(1))
                // The body of an entry has the number of the entry.
                if database.leases.isLeased(place.id) != areLeased || taken.contains(place.id) { continue }
                let stamp = UseStamp(stored: place.recency)
                if part == .rest, memory.eviction.isTooYoung(stamp, now: now) {
                    young = place
                    break
                }
                memory.evictionPlace = place
                let sizeInRow = stamp.size == nil ? try size(of: place.id, connection) : nil
                let decision = pass.examine(
                    place.id,
                    stamp,
                    sizeInRow: sizeInRow,
                    // An entry that is old on disk may just have been used.
                    uses: database.recency.uses(of: place.id),
                    isWatched: StoreEviction.watches(place.id),
                    &memory.eviction
                )
                switch decision {
                case .keep: break
                case .evict: try takeVictim(place.id, &line, &pass, areLeased: areLeased, connection)
                case .move(let stamp):
                    line.used[place.id] = database.recency.take(place.id)
                    line.moved.append((place.id, stamp))
                    line.rows += 1
                }
            }
        }
        // An entry with many tags fills a transaction alone.
        while line.rows < database.limits.batch, let id = pass.next(memory.eviction) {
            try takeVictim(id, &line, &pass, areLeased: areLeased, connection)
        }
        pass.finish(&memory.eviction, of: memory.usageEstimate ?? database.limits.budget)
    }

    private func size(of id: Int64, _ connection: Connection) throws -> Int64? {
        try connection.integer("SELECT size FROM entry WHERE id = ?1", id)
    }

    /// Takes an entry that a walk chose, unless its body is being read.
    private func takeVictim(
        _ id: Int64,
        _ line: inout Line,
        _ pass: inout EvictionPass,
        areLeased: Bool,
        _ connection: Connection
    ) throws {
        let statement = try connection.prepare("SELECT \(EvictionVictim.columns) FROM entry WHERE id = ?1")
        defer { statement.reset() }
        statement.bind(1, id)
        guard try statement.step() else { return }
        var victim = EvictionVictim(statement)
        guard database.leases.isLeased(victim.place.bodyID) == areLeased else { return }
        if victim.position >= 0, let uses = database.recency.take(id) {
            line.used[id] = uses
            victim.position = victim.stamp.used(uses).stored
        }
        try take(victim, &line, connection)
        pass.count(victim.size)
    }
}

/// A position in the index by use.
struct EvictionPlace {
    /// Before all entries.
    static let oldest = EvictionPlace(recency: .min, id: .min)

    var recency: Int64
    var id: Int64
}

/// The parts of a walk along the index by use, relative to a position in it.
private enum EvictionPart {
    /// Everything, from the oldest entry on.
    case all
    /// From the place where the last walk ended, up to entries that are too young.
    case rest
    /// Up to the place where the last walk ended.
    case passed
    /// The entries that are too young to be due.
    case young

    var comparison: String {
        switch self {
        case .all, .rest: ">"
        case .passed: "<="
        case .young: ">="
        }
    }
}
