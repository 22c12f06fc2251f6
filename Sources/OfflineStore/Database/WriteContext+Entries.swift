/// Entries: stored in place of what they replace, removed with their bodies.
extension WriteContext {
    /// Makes an entry visible whose body is written, in place of the one with the same key and variant.
    ///
    /// - Parameter id: the number of the entry and of its body.
    func insert(_ draft: EntryDraft, id: Int64) throws {
        let wasPinned = try replace(draft)
        let head = HeadBinding(entryID: id, keyHash: draft.keyHash, bodyID: id, bodyLength: draft.bodyLength).sealing(
            draft.headContent
        )
        let size =
            Int64(draft.key.count + draft.variant.count + head.count) + draft.bodyLength + StoreLimits.entryOverhead
            + Int64(draft.tags.count) * StoreLimits.tagOverhead
        let statement = try connection.prepare(
            """
            INSERT INTO entry (id, kind, key_hash, key, variant, target_hash, sequence, is_invalidated, is_usable_stale,
                is_pinned, stored_at, expires_at, last_used_at, recency, size, body_id, body_length, head)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?11, ?13, ?14, ?1, ?15, ?16)
            """
        )
        statement.bind(1, id)
        statement.bind(2, draft.kind.rawValue)
        statement.bind(3, draft.keyHash)
        statement.bind(4, draft.key)
        statement.bind(5, draft.variant)
        statement.bind(6, draft.targetHash)
        statement.bind(7, try sequence().last)
        statement.bind(8, draft.isInvalidated)
        statement.bind(9, draft.isUsableStale)
        statement.bind(10, wasPinned)
        statement.bind(11, draft.storedAt)
        statement.bind(12, draft.expiresAt)
        statement.bind(13, state.recency.next())
        statement.bind(14, size)
        statement.bind(15, draft.bodyLength)
        statement.bind(16, head)
        try statement.run()
        try addTags(draft.tags, to: id)
    }

    /// Gives an entry another head for the body it has.
    ///
    /// - Returns: `false` when it is gone.
    func freshen(_ place: EntryPlace, with draft: EntryDraft) throws -> Bool {
        let byTag = try connection.integer(
            "SELECT \(TagInvalidation.state) FROM entry WHERE id = ?1 AND body_id = ?2 AND key_hash = ?3 AND is_damaged = 0",
            place.id,
            place.bodyID,
            draft.keyHash
        )
        guard let byTag, TagInvalidation(byTag) != .removed else { return false }
        // A 304 may bring another `Vary`: then this may now be the variant that another one was.
        _ = try replace(draft, except: place.id)
        let head = HeadBinding(
            entryID: place.id,
            keyHash: draft.keyHash,
            bodyID: place.bodyID,
            bodyLength: place.bodyLength
        ).sealing(draft.headContent)
        let size =
            Int64(draft.key.count + draft.variant.count + head.count) + place.bodyLength + StoreLimits.entryOverhead
            + Int64(draft.tags.count) * StoreLimits.tagOverhead
        let statement = try connection.prepare(
            """
            UPDATE entry SET head = ?2, expires_at = ?3, is_usable_stale = ?4, is_invalidated = ?5, sequence = ?6, variant = ?7,
                size = ?8 WHERE id = ?1
            """
        )
        statement.bind(1, place.id)
        statement.bind(2, head)
        statement.bind(3, draft.expiresAt)
        statement.bind(4, draft.isUsableStale)
        statement.bind(5, draft.isInvalidated)
        statement.bind(6, try sequence().last)
        statement.bind(7, draft.variant)
        statement.bind(8, size)
        try statement.run()
        try setTags(draft.tags, of: place.id)
        return true
    }

    /// Removes an entry and its body.
    func remove(_ place: EntryPlace) throws {
        try connection.run("DELETE FROM entry WHERE id = ?1", place.id)
        try removeTags(of: place.id)
        try discardBody(place.bodyID, length: place.bodyLength)
    }

    /// Removes what a draft takes the place of, and variants beyond the limit for one key.
    ///
    /// - Returns: whether what it takes the place of was pinned: then it is too.
    private func replace(_ draft: EntryDraft, except id: Int64? = nil) throws -> Bool {
        var replaced: [EntryPlace] = []
        var others: [(place: EntryPlace, recency: Int64)] = []
        var wasPinned = false
        let statement = try connection.prepare(
            """
            SELECT id, body_id, body_length, key, variant, is_pinned, recency FROM entry WHERE key_hash = ?1 AND kind = ?2
            """
        )
        statement.bind(1, draft.keyHash)
        statement.bind(2, draft.kind.rawValue)
        while try statement.step() {
            guard statement.integer(0) != id, statement.withOctets(3, { $0.elementsEqual(draft.key) }) else { continue }
            if statement.withOctets(4, { $0.elementsEqual(draft.variant) }) {
                replaced.append(EntryPlace(statement))
                wasPinned = wasPinned || statement.flag(5)
            } else if !statement.flag(5) {
                others.append((EntryPlace(statement), statement.integer(6)))
            }
        }
        statement.reset()
        let excess = others.count + 1 - state.limits.variantsPerKey
        if excess > 0 {
            replaced += others.sorted { $0.recency < $1.recency }.prefix(excess).map(\.place)
        }
        for place in replaced { try remove(place) }
        return wasPinned
    }
}
