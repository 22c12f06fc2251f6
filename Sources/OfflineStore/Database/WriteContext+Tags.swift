import HTTPCache
import HTTPCacheSemantics
import Synchronization

/// Tags: rows that are added and removed with their entries.
extension WriteContext {
    /// Adds tags to an entry that has none.
    ///
    /// - Parameters:
    ///   - tags: tags without duplicates.
    ///   - size: the entry's size.
    func addTags(_ tags: [TagName], to entryID: Int64, size: Int64) throws {
        if tags.isEmpty { return }
        // Before the commit, so that a reader of the entry reads its tags.
        state.usesTags.store(true, ordering: .releasing)
        for tag in tags {
            let id = try tagID(tag) ?? insertTag(tag)
            try connection.run("INSERT OR IGNORE INTO entry_tag (entry_id, tag_id) VALUES (?1, ?2)", entryID, id)
            tagBytes.add(size, to: id)
        }
    }

    /// Sets an entry's tags.
    ///
    /// Call it while the entry's row still has its former size.
    ///
    /// - Parameter size: the entry's new size.
    func setTags(_ tags: [TagName], of entryID: Int64, size: Int64) throws {
        let present = try rows(ofTagsOf: entryID)
        // A 304 usually has the same tags.
        guard Set(present.map(\.tag)) == Set(tags) else {
            try removeTags(of: entryID)
            return try addTags(tags, to: entryID, size: size)
        }
        if present.isEmpty { return }
        let before = try self.size(of: entryID)
        for (id, _) in present { tagBytes.add(size - before, to: id) }
    }

    /// Removes an entry's tags, and tags that no other entry has.
    ///
    /// Call it while the entry's row still exists.
    func removeTags(of entryID: Int64) throws {
        let ids = try integers("SELECT tag_id FROM entry_tag WHERE entry_id = ?1", entryID)
        if ids.isEmpty { return }
        let size = try size(of: entryID)
        try connection.run("DELETE FROM entry_tag WHERE entry_id = ?1", entryID)
        for id in ids {
            if try connection.integer("SELECT 1 FROM entry_tag WHERE tag_id = ?1 LIMIT 1", id) != nil {
                tagBytes.add(-size, to: id)
                continue
            }
            try connection.run("DELETE FROM tag WHERE id = ?1", id)
            tagBytes.forget(id)
            // It no longer applies to any entry, and the tag's number may be reused.
            try connection.run("DELETE FROM tag_invalidation WHERE tag_id = ?1", id)
            try connection.run("DELETE FROM unsafe_tag_invalidation WHERE tag_id = ?1", id)
        }
    }

    private func size(of entryID: Int64) throws -> Int64 {
        try connection.integer("SELECT size FROM entry WHERE id = ?1", entryID) ?? 0
    }

    /// Returns an entry's tags, including internal ones.
    func tags(of entryID: Int64) throws -> [TagName] {
        try rows(ofTagsOf: entryID).map(\.tag)
    }

    private func rows(ofTagsOf entryID: Int64) throws -> [(id: Int64, tag: TagName)] {
        let statement = try connection.prepare(
            "SELECT name_hash, name, tag.id FROM entry_tag t CROSS JOIN tag ON tag.id = t.tag_id WHERE t.entry_id = ?1"
        )
        defer { statement.reset() }
        statement.bind(1, entryID)
        var rows: [(id: Int64, tag: TagName)] = []
        while try statement.step() {
            rows.append((statement.integer(2), TagName(bytes: statement.bytes(1), hash: statement.integer(0))))
        }
        return rows
    }

    /// Writes the changed byte sums of tags, as the last step before the commit.
    ///
    /// Tags that exceed their quota are recorded for housekeeping after the commit.
    func writeTagBytes() throws {
        if tagBytes.isEmpty { return }
        let quotas = state.limits.quotas
        for (id, bytes) in tagBytes.take() {
            guard bytes > 0, !quotas.isEmpty else {
                try connection.run("UPDATE tag SET octets = octets + ?2 WHERE id = ?1", id, bytes)
                continue
            }
            let statement = try connection.prepare(
                "UPDATE tag SET octets = octets + ?2 WHERE id = ?1 RETURNING octets, name_hash, name"
            )
            defer { statement.reset() }
            statement.bind(1, id)
            statement.bind(2, bytes)
            while try statement.step() {
                let tag = TagName(bytes: statement.bytes(2), hash: statement.integer(1))
                if let limit = quotas.limit(ofTag: tag.bytes), statement.integer(0) > limit.bytes {
                    noteBeyondQuota(tag)
                }
            }
        }
    }

    /// Records an invalidation of all entries with a tag. It takes effect with this commit; the
    /// sweep applies it to the rows.
    func invalidateTag(_ tag: TagName, number: Int64, _ effect: InvalidationEffect) throws {
        // No entry has the tag.
        guard let id = try tagID(tag) else { return }
        try connection.run(
            """
            INSERT INTO tag_invalidation (tag_id, marked, removed) VALUES (?1, ?2, ?3) ON CONFLICT (tag_id)
            DO UPDATE SET marked = max(marked, excluded.marked), removed = max(removed, excluded.removed)
            """,
            id,
            effect == .remove ? 0 : number,
            effect == .remove ? number : 0
        )
        if effect == .mark(.unsafeMethod) {
            try connection.run(
                """
                INSERT INTO unsafe_tag_invalidation (tag_id, number) VALUES (?1, ?2) ON CONFLICT (tag_id)
                DO UPDATE SET number = max(number, excluded.number)
                """,
                id,
                number
            )
        }
        // Entries that the sweep has passed may have been freshened since, so it starts over.
        memory.tagCursor = .min
        requestTagSweep()
    }

    /// Applies unfinished tag invalidations to some entries.
    ///
    /// - Parameter count: the most entries to examine.
    /// - Returns: whether there is nothing more to do.
    func sweepTags(atMost count: Int64) throws -> Bool {
        let pending = try connection.prepare(
            """
            SELECT i.tag_id, marked, removed, coalesce(number, 0) FROM tag_invalidation i
            LEFT JOIN unsafe_tag_invalidation u ON u.tag_id = i.tag_id ORDER BY i.tag_id LIMIT 1
            """
        )
        guard try pending.step() else { return true }
        let (tagID, marked, removed) = (pending.integer(0), pending.integer(1), pending.integer(2))
        let unsafe = pending.integer(3)
        pending.reset()
        let statement = try connection.prepare(
            """
            SELECT id, body_id, body_length, sequence, is_invalidated, invalidation_cause
            FROM entry_tag t CROSS JOIN entry ON entry.id = t.entry_id
            WHERE t.tag_id = ?1 AND t.entry_id > ?2 ORDER BY t.entry_id LIMIT ?3
            """
        )
        statement.bind(1, tagID)
        statement.bind(2, memory.tagCursor)
        statement.bind(3, count)
        var seen: Int64 = 0
        var marks: [(id: Int64, cause: InvalidationCause)] = []
        var removals: [EntryRows] = []
        while try statement.step() {
            seen += 1
            memory.tagCursor = statement.integer(0)
            let sequence = statement.integer(3)
            let known = InvalidationCause(isMarked: statement.flag(4), column: statement.integer(5))
            let cause: InvalidationCause? = sequence < unsafe ? .unsafeMethod : sequence < marked ? .unspecified : nil
            if sequence < removed {
                removals.append(EntryRows(statement))
            } else if let cause, known.map({ $0 < cause }) ?? true {
                marks.append((statement.integer(0), cause))
            }
        }
        statement.reset()
        for (id, cause) in marks { try mark(id, cause) }
        for place in removals { try remove(place) }
        if seen < count {
            try connection.run("DELETE FROM tag_invalidation WHERE tag_id = ?1", tagID)
            try connection.run("DELETE FROM unsafe_tag_invalidation WHERE tag_id = ?1", tagID)
            memory.tagCursor = .min
        }
        return false
    }

    /// Returns a tag's number if any entry has it.
    func tagID(_ tag: TagName) throws -> Int64? { try tag.number(connection) }

    private func insertTag(_ tag: TagName) throws -> Int64 {
        let statement = try connection.prepare("INSERT INTO tag (name_hash, name) VALUES (?1, ?2) RETURNING id")
        defer { statement.reset() }
        statement.bind(1, tag.hash)
        statement.bind(2, tag.bytes)
        guard try statement.step() else { throw Self.missingRow }
        return statement.integer(0)
    }

    private func integers(_ sql: String, _ value: Int64) throws -> [Int64] {
        let statement = try connection.prepare(sql)
        defer { statement.reset() }
        statement.bind(1, value)
        var integers: [Int64] = []
        while try statement.step() { integers.append(statement.integer(0)) }
        return integers
    }
}
