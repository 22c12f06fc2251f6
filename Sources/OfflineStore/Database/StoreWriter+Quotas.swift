import HTTPCacheSemantics
import Logging

/// Quotas: after the transaction in which a tag came to more than its quota, the least recently
/// used of its carriers go.
///
/// No index has a tag's carriers in the order of their use, and one would cost every read that is
/// noted. So all carriers are looked at, some in each step, and those who stand first in line are
/// kept in mind; then they go, some in each step. A round makes room for a tenth of the quota, so
/// that each entry that goes has cost a look at about ten.
extension StoreWriter {
    /// Tags or carriers that one step looks at.
    private static let examinedCount: Int64 = 1024

    var hasQuotaWork: Bool { !database.limits.quotas.isEmpty && !memory.quotas.isEmpty }

    /// One step.
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
            try look(&round, connection)
            memory.quotas.round = round
            return
        }
        if bytes > target { try evict(&round, excess: bytes - target, connection) }
        if bytes <= target || round.victims?.isEmpty ?? true {
            memory.quotas.round = nil
            // Nobody could go: all are pinned. It is tried again when there are more.
            if bytes <= target || round.evicted == 0 { memory.quotas.remove(tag) }
        } else {
            memory.quotas.round = round
        }
    }

    /// Looks for tags that are beyond a quota since before the store was opened.
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

    private func look(_ round: inout QuotaWork.Round, _ connection: Connection) throws {
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
        // What was stored while the clock was ahead says nothing of when it expires.
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
        // So that what is used between here and their removal shows, and what is used until the
        // next round.
        database.recency.beginPeriod()
    }

    /// Puts what was used since the last round behind everything that was not: how often and when
    /// it was used last is not noted.
    private static let inUse: Int64 = 1 << 61

    /// The number of an entry's last use, which may not be on the disk yet, and whether it may have
    /// been used since.
    private func lastUse(of id: Int64, onDisk recency: Int64) -> (number: Int64, isInUse: Bool) {
        guard let use = database.recency.lastUse(of: id), use.number > recency else { return (recency, false) }
        return (use.number, use.isInPeriod)
    }

    /// Removes the next ones, but for those that were used, pinned or replaced since they were
    /// looked at.
    private func evict(_ round: inout QuotaWork.Round, excess: Int64, _ connection: Connection) throws {
        var victims = round.victims ?? []
        round.evicted += try evict(connection) {
            var chosen: [EvictionVictim] = []
            var freed: Int64 = 0
            var rows = 0
            while freed < min(excess, Self.evictionBytes), rows < database.limits.batch,
                let candidate = victims.popLast()
            {
                let statement = try connection.prepare(
                    "SELECT \(EvictionVictim.columns), recency FROM entry WHERE id = ?1 AND is_pinned = 0"
                )
                defer { statement.reset() }
                statement.bind(1, candidate.id)
                guard try statement.step() else { continue }
                let victim = EvictionVictim(statement)
                let use = lastUse(of: candidate.id, onDisk: statement.integer(4))
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
