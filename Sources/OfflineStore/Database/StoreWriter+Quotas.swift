import CacheEviction
import HTTPCacheSemantics
import Logging
import StoreMemory

/// Quotas: after a transaction in which a tag exceeded its quota, entries with the tag are evicted,
/// in the eviction order.
///
/// No index orders a tag's entries by use, and such an index would slow down every recorded read.
/// So all its entries are ranked, some in each step, and the first ones in the eviction order are
/// remembered. Then these are evicted, some in each step. A round frees a tenth of the quota, so
/// each eviction costs the examination of about ten entries.
extension StoreWriter {
    /// The tags or entries that one step examines.
    private static let examinedCount: Int64 = 1024

    var hasQuotaWork: Bool { !database.limits.quotas.isEmpty && !memory.quotas.isEmpty }

    /// Runs one step.
    func enforceQuotas(_ connection: Connection) throws {
        if let examined = memory.quotas.examined { try examineTags(after: examined, connection) }
        guard let tag = memory.quotas.round?.tag ?? memory.quotas.tags.first else { return }
        guard let limit = database.limits.quotas.limit(ofTag: tag.bytes),
            let (id, bytes) = try row(of: tag, connection)
        else {
            memory.quotas.remove(tag)
            return
        }
        let target = limit.bytes / 10 * 9
        guard var round = memory.quotas.round, round.tagID == id else {
            if bytes <= limit.bytes {
                memory.quotas.remove(tag)
            } else {
                let candidates = EvictionCandidates(bytes: bytes - target)
                memory.quotas.round = QuotaWork.Round(tag: tag, tagID: id, candidates: candidates)
            }
            return
        }
        guard round.victims != nil else {
            try rankEntries(&round, connection)
            memory.quotas.round = round
            return
        }
        if bytes > target { try evictEntries(of: &round, excess: bytes - target, connection) }
        if bytes <= target || round.victims?.isEmpty ?? true {
            memory.quotas.round = nil
            // The tag is below its target, or nothing was evicted because all its entries are
            // pinned. A pinned tag is tried again when it grows.
            if bytes <= target || round.evicted == 0 { memory.quotas.remove(tag) }
        } else {
            memory.quotas.round = round
        }
    }

    /// Finds tags that exceeded a quota before the store was opened.
    private func examineTags(after examined: Int64, _ connection: Connection) throws {
        let statement = try connection.prepare(
            "SELECT id, name_hash, name, octets FROM tag WHERE id > ?1 ORDER BY id LIMIT ?2"
        )
        defer { statement.reset() }
        statement.bind(1, examined)
        statement.bind(2, Self.examinedCount)
        var count: Int64 = 0
        while try statement.step() {
            count += 1
            memory.quotas.examined = statement.integer(0)
            let bytes = statement.bytes(2)
            if let limit = database.limits.quotas.limit(ofTag: bytes), statement.integer(3) > limit.bytes {
                memory.quotas.add(TagName(bytes: bytes, hash: statement.integer(1)))
            }
        }
        if count < Self.examinedCount { memory.quotas.examined = nil }
    }

    private func row(of tag: TagName, _ connection: Connection) throws -> (id: Int64, bytes: Int64)? {
        let context = WriteContext(connection: connection, state: database, memory: memory)
        guard let id = try context.tagID(tag) else { return nil }
        return (id, try connection.integer("SELECT octets FROM tag WHERE id = ?1", id) ?? 0)
    }

    private func rankEntries(_ round: inout QuotaWork.Round, _ connection: Connection) throws {
        let statement = try connection.prepare(
            """
            SELECT id, recency, size, is_usable_stale, expires_at, is_pinned, stored_at
            FROM entry_tag t CROSS JOIN entry ON entry.id = t.entry_id
            WHERE t.tag_id = ?1 AND t.entry_id > ?2 ORDER BY t.entry_id LIMIT ?3
            """
        )
        defer { statement.reset() }
        statement.bind(1, round.tagID)
        statement.bind(2, round.cursor)
        statement.bind(3, Self.examinedCount)
        // For entries stored while the clock was ahead, the expiry is meaningless.
        let horizon = database.horizon(at: Timestamp(milliseconds: database.latestInstant)) ?? .max
        var count: Int64 = 0
        while try statement.step() {
            count += 1
            round.cursor = statement.integer(0)
            if statement.flag(5) { continue }
            let (recency, isInUse) = lastUse(of: round.cursor, onDisk: statement.integer(1))
            let rank = EvictionRank(
                database.limits.evictionOrder,
                isUsableStale: statement.flag(3),
                expiresAt: statement.integer(6) > horizon ? .min : statement.integer(4),
                recency: isInUse ? recency + Self.inUse : recency
            )
            round.candidates.add(
                .init(id: statement.integer(0), rank: rank, recency: recency, size: statement.integer(2))
            )
        }
        guard count < Self.examinedCount else { return }
        round.victims = round.candidates.take()
        // A new period makes uses visible between this ranking and the removal, and until the next
        // round.
        database.recency.beginPeriod()
    }

    /// Ranks entries used since the last round after all others. How often and when they were last
    /// used is not recorded.
    private static let inUse: Int64 = 1 << 61

    /// Returns the number of an entry's last use, which may not be on disk yet, and whether it may
    /// have been used since.
    private func lastUse(of id: Int64, onDisk position: Int64) -> (number: Int64, isInUse: Bool) {
        let recency = UseStamp(stored: position).number
        guard let use = database.recency.lastUse(of: id), use.number > recency else { return (recency, false) }
        return (use.number, use.isInPeriod)
    }

    /// Removes the next victims, except for those that were used, pinned or replaced since they
    /// were ranked.
    private func evictEntries(of round: inout QuotaWork.Round, excess: Int64, _ connection: Connection) throws {
        var victims = round.victims ?? []
        round.evicted += try evictVictims(connection) {
            var chosen: [EvictionVictim] = []
            var freed: Int64 = 0
            var rows = 0
            while freed < min(excess, Self.evictionBytes), rows < database.limits.batch,
                let candidate = victims.popLast()
            {
                let statement = try connection.prepare(
                    "SELECT \(EvictionVictim.columns) FROM entry WHERE id = ?1 AND is_pinned = 0"
                )
                defer { statement.reset() }
                statement.bind(1, candidate.id)
                guard try statement.step() else { continue }
                let victim = EvictionVictim(statement)
                let use = lastUse(of: candidate.id, onDisk: victim.position)
                guard use.number == candidate.recency else { continue }
                rows += try rowsRemoved(with: victim, connection)
                chosen.append(victim)
                freed += victim.size
            }
            return chosen
        }
        round.victims = victims
    }
}
