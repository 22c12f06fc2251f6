import CacheEviction
import HTTPCacheSemantics
import StoreMemory

/// Entries: inserts them in place of existing ones, and removes them with their bodies.
extension WriteContext {
    /// Inserts an entry whose body is written. It replaces the entry with the same key and variant.
    func insert(_ draft: EntryDraft) throws {
        try reserve(draft.id)
        let replaced = try replace(draft)
        let statement = try connection.prepare(
            """
            INSERT INTO entry (id, kind, key_hash, key, variant, target_hash, sequence, is_invalidated, is_usable_stale,
                is_pinned, stored_at, expires_at, last_used_at, recency, size, body_id, body_length, head, invalidation_cause)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?11, ?13, ?14, ?1, ?15, ?16, ?17)
            """
        )
        statement.bind(1, draft.id)
        statement.bind(2, draft.kind.rawValue)
        statement.bind(3, draft.keyHash)
        statement.bind(6, draft.targetHash)
        statement.bind(7, lastSequence)
        statement.bind(8, draft.invalidation != nil)
        statement.bind(9, draft.isUsableStale)
        statement.bind(10, replaced.wasPinned || draft.isPinned)
        statement.bind(11, draft.storedAt)
        statement.bind(12, draft.expiresAt)
        let stamp = memory.eviction.insert(
            draft.keyHash,
            size: draft.size,
            number: state.recency.next(),
            replacing: replaced.quarters
        )
        statement.bind(13, stamp.stored)
        statement.bind(14, draft.size)
        statement.bind(15, draft.bodyLength)
        statement.bind(17, draft.invalidation?.rawValue ?? 0)
        try draft.key.withUnsafeBytes { key in
            try draft.variant.withUnsafeBytes { variant in
                try draft.head.withUnsafeBytes { head in
                    statement.bindBorrowed(4, key)
                    statement.bindBorrowed(5, variant)
                    statement.bindBorrowed(16, head)
                    try statement.run()
                }
            }
        }
        try addTags(draft.tags, to: draft.id, size: draft.size)
        state.filter?.insert(draft.keyHash)
        noteStored(draft, hasOthers: replaced.hasOthers)
    }

    /// Gives the memory tier the stored entry if it is the only one for its key.
    private func noteStored(_ draft: EntryDraft, hasOthers: Bool) {
        if !hasOthers, state.memory != nil, let entry = draft.memoryEntry?(lastSequence) {
            noteChange(.stored(draft.keyHash, entry))
        } else {
            noteChange(.changed(draft.keyHash))
        }
    }

    /// Gives an entry a new head for the same body.
    ///
    /// - Returns: `false` if the entry no longer exists.
    func freshen(_ place: EntryRows, with draft: EntryDraft) throws -> Bool {
        let found = try connection.integer(
            "SELECT 1 FROM entry WHERE id = ?1 AND body_id = ?2 AND key_hash = ?3 AND is_damaged = 0",
            place.id,
            place.bodyID,
            draft.keyHash
        )
        guard found != nil, try exists(place.id) else { return false }
        // A 304 may change `Vary`, so the entry may become the same variant as another one.
        let replaced = try replace(draft, except: place.id)
        try setTags(draft.tags, of: place.id, size: draft.size)
        let statement = try connection.prepare(
            """
            UPDATE entry SET head = ?2, expires_at = ?3, is_usable_stale = ?4, is_invalidated = ?5, sequence = ?6, variant = ?7,
                size = ?8, is_pinned = is_pinned | ?9, invalidation_cause = ?10 WHERE id = ?1
            """
        )
        statement.bind(1, place.id)
        statement.bind(2, draft.head)
        statement.bind(3, draft.expiresAt)
        statement.bind(4, draft.isUsableStale)
        statement.bind(5, draft.invalidation != nil)
        statement.bind(6, lastSequence)
        statement.bind(7, draft.variant)
        statement.bind(8, draft.size)
        statement.bind(9, replaced.wasPinned || draft.isPinned)
        statement.bind(10, draft.invalidation?.rawValue ?? 0)
        try statement.run()
        noteStored(draft, hasOthers: replaced.hasOthers)
        return true
    }

    /// Removes an entry and its body.
    func remove(_ place: EntryRows) throws {
        try removeTags(of: place.id)
        let statement = try connection.prepare("DELETE FROM entry WHERE id = ?1 RETURNING key_hash")
        statement.bind(1, place.id)
        if try statement.step() {
            noteChange(.changed(statement.integer(0)))
            if state.filter?.noteRemoval() == true, memory.filterCursor == nil { memory.filterCursor = .min }
            _ = try statement.step()
        }
        statement.reset()
        try discardBody(place.bodyID, length: place.bodyLength)
    }

    /// Removes the entries that a draft replaces, and variants beyond the limit per key.
    ///
    /// - Returns: whether a replaced entry was pinned, so that the new one must be too; whether the
    ///   key has other variants; the number of replaced entries; and the uses of one, in quarters.
    func replace(_ draft: EntryDraft, except id: Int64? = nil) throws -> (
        wasPinned: Bool, hasOthers: Bool, count: Int, quarters: Int?
    ) {
        if state.filter?.mayContain(draft.keyHash) == false { return (false, false, 0, nil) }
        var replaced: [EntryRows] = []
        var others: [(place: EntryRows, recency: Int64)] = []
        var wasPinned = false
        var hasOthers = false
        var count = 0
        var quarters: Int?
        let statement = try connection.prepare(
            """
            SELECT id, body_id, body_length, key, variant, is_pinned, recency, sequence, \(PendingInvalidation.state)
            FROM entry WHERE key_hash = ?1 AND kind = ?2
            """
        )
        statement.bind(1, draft.keyHash)
        statement.bind(2, draft.kind.rawValue)
        while try statement.step() {
            guard statement.integer(0) != id, statement.withBytes(3, { $0.elementsEqual(draft.key) }) else { continue }
            if !exists(draft.kind, sequence: statement.integer(7), pending: statement.integer(8)) {
                // It already counts as removed for all readers, so its pin is not inherited, and it
                // is not counted.
                replaced.append(EntryRows(statement))
            } else if statement.withBytes(4, { $0.elementsEqual(draft.variant) }) {
                replaced.append(EntryRows(statement))
                wasPinned = wasPinned || statement.flag(5)
                count += 1
                let stamp = UseStamp(stored: statement.integer(6))
                quarters = (state.recency.take(statement.integer(0)).map(stamp.used) ?? stamp).quarters
            } else {
                hasOthers = true
                if !statement.flag(5) { others.append((EntryRows(statement), statement.integer(6))) }
            }
        }
        statement.reset()
        let excess = others.count + 1 - state.limits.variantsPerKey
        if excess > 0 {
            replaced += others.sorted { $0.recency < $1.recency }.prefix(excess).map(\.place)
        }
        for place in replaced { try remove(place) }
        return (wasPinned, hasOthers, count, quarters)
    }
}
