import Synchronization

/// Tags: rows that come and go with the entries that carry them.
extension WriteContext {
    /// Gives an entry that has no tags its tags.
    func addTags(_ tags: [TagName], to entryID: Int64) throws {
        if tags.isEmpty { return }
        // Before the commit: whoever reads the entry reads its tags.
        state.usesTags.store(true, ordering: .releasing)
        for tag in tags {
            let id = try tagID(tag) ?? insertTag(tag)
            try connection.run("INSERT OR IGNORE INTO entry_tag (entry_id, tag_id) VALUES (?1, ?2)", entryID, id)
        }
    }

    /// Gives an entry these tags and no others.
    func setTags(_ tags: [TagName], of entryID: Int64) throws {
        // A 304 mostly brings the tags that were there.
        if try Set(self.tags(of: entryID)) == Set(tags) { return }
        try removeTags(of: entryID)
        try addTags(tags, to: entryID)
    }

    /// Removes an entry's rows, and the tags that nobody else carries.
    func removeTags(of entryID: Int64) throws {
        let ids = try integers("SELECT tag_id FROM entry_tag WHERE entry_id = ?1", entryID)
        if ids.isEmpty { return }
        try connection.run("DELETE FROM entry_tag WHERE entry_id = ?1", entryID)
        for id in ids where try connection.integer("SELECT 1 FROM entry_tag WHERE tag_id = ?1 LIMIT 1", id) == nil {
            try connection.run("DELETE FROM tag WHERE id = ?1", id)
            // Nobody is left to whom it applies, and the number may be given to another tag.
            try connection.run("DELETE FROM tag_invalidation WHERE tag_id = ?1", id)
        }
    }

    /// With every response goes every tag.
    func removeAllTags() throws {
        try connection.run("DELETE FROM entry_tag")
        try connection.run("DELETE FROM tag")
        try connection.run("DELETE FROM tag_invalidation")
    }

    /// The tags of an entry.
    func tags(of entryID: Int64) throws -> [TagName] {
        let statement = try connection.prepare(
            "SELECT name_hash, name FROM entry_tag t CROSS JOIN tag ON tag.id = t.tag_id WHERE t.entry_id = ?1"
        )
        defer { statement.reset() }
        statement.bind(1, entryID)
        var tags: [TagName] = []
        while try statement.step() { tags.append(TagName(octets: statement.octets(1), hash: statement.integer(0))) }
        return tags
    }

    /// Notes an invalidation of everything with a tag: in force with this commit, applied to the rows by the sweep.
    func invalidate(_ tag: TagName, number: Int64, keepingForOffline: Bool) throws {
        // Nobody carries it.
        guard let id = try tagID(tag) else { return }
        try connection.run(
            """
            INSERT INTO tag_invalidation (tag_id, marked, removed) VALUES (?1, ?2, ?3) ON CONFLICT (tag_id)
            DO UPDATE SET marked = max(marked, excluded.marked), removed = max(removed, excluded.removed)
            """,
            id,
            keepingForOffline ? number : 0,
            keepingForOffline ? 0 : number
        )
        // Entries that the sweep has passed may have been freshened since, and are concerned again.
        memory.tagCursor = .min
        requestTagSweep()
    }

    /// Applies unfinished invalidations of tags to some entries.
    ///
    /// - Parameter count: entries at most.
    /// - Returns: whether there is nothing more to do.
    func sweepTags(atMost count: Int64) throws -> Bool {
        let pending = try connection.prepare(
            "SELECT tag_id, marked, removed FROM tag_invalidation ORDER BY tag_id LIMIT 1"
        )
        guard try pending.step() else { return true }
        let (tagID, marked, removed) = (pending.integer(0), pending.integer(1), pending.integer(2))
        pending.reset()
        let statement = try connection.prepare(
            """
            SELECT id, body_id, body_length, sequence, is_invalidated FROM entry_tag t CROSS JOIN entry ON entry.id = t.entry_id
            WHERE t.tag_id = ?1 AND t.entry_id > ?2 ORDER BY t.entry_id LIMIT ?3
            """
        )
        statement.bind(1, tagID)
        statement.bind(2, memory.tagCursor)
        statement.bind(3, count)
        var seen: Int64 = 0
        var marks: [Int64] = []
        var removals: [EntryPlace] = []
        while try statement.step() {
            seen += 1
            memory.tagCursor = statement.integer(0)
            if statement.integer(3) < removed {
                removals.append(EntryPlace(statement))
            } else if statement.integer(3) < marked, !statement.flag(4) {
                marks.append(statement.integer(0))
            }
        }
        statement.reset()
        for id in marks { try connection.run("UPDATE entry SET is_invalidated = 1 WHERE id = ?1", id) }
        for place in removals { try remove(place) }
        if seen < count {
            try connection.run("DELETE FROM tag_invalidation WHERE tag_id = ?1", tagID)
            memory.tagCursor = .min
        }
        return false
    }

    private func tagID(_ tag: TagName) throws -> Int64? {
        let statement = try connection.prepare("SELECT id, name FROM tag WHERE name_hash = ?1")
        defer { statement.reset() }
        statement.bind(1, tag.hash)
        while try statement.step() {
            if statement.withOctets(1, { $0.elementsEqual(tag.octets) }) { return statement.integer(0) }
        }
        return nil
    }

    private func insertTag(_ tag: TagName) throws -> Int64 {
        let statement = try connection.prepare("INSERT INTO tag (name_hash, name) VALUES (?1, ?2) RETURNING id")
        defer { statement.reset() }
        statement.bind(1, tag.hash)
        statement.bind(2, tag.octets)
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

extension TagName {
    fileprivate init(octets: [UInt8], hash: Int64) {
        self.octets = octets
        self.hash = hash
    }
}
