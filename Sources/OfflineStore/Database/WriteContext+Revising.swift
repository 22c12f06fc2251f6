import HTTPCache
import HTTPCacheSemantics
import StoreFiles
import StoreMemory

/// Moves responses to other keys: the row changes, but keeps its number and its body.
extension WriteContext {
    /// The result of revising one response.
    struct Revised: Sendable {
        /// A move from one key to another, or to another variant of the same key.
        struct Move: Sendable {
            var from: StoreKey
            var to: StoreKey
            var tags: [String]
        }

        var summary = RevisionSummary()
        var move: Move?
    }

    /// A row before it is changed.
    struct Original {
        var place: EntryRows
        var keyHash: Int64
        var key: StoreKey
        var variant: [UInt8]
        /// The head as encoded in the row, without marks in other columns.
        var head: StoredResponseHead
        var invalidation: InvalidationCause?
        var isUsableStale: Bool
        var isPinned: Bool
        var storedAt: Int64
        var expiresAt: Int64
        var isDamaged: Bool

        var response: StoredResponse {
            var head = head
            head.invalidate(invalidation)
            return StoredResponse(
                id: place.id,
                key: key,
                head: head,
                bodyID: place.bodyID,
                bodyLength: place.bodyLength,
                storedAt: Timestamp(milliseconds: storedAt),
                content: ResidentContent(body: nil, freshUntil: Timestamp(milliseconds: expiresAt))
            )
        }
    }

    enum Reading {
        case gone
        case unreadable(EntryRows)
        case whole(Original)
    }

    /// Revises one response.
    func revise(_ id: Int64, _ revising: (StoredResponse) -> ResponseRevision?) throws -> Revised {
        var revised = Revised()
        let original: Original
        switch try read(id) {
        case .gone: return revised
        case .unreadable(let place):
            try remove(place)
            revised.summary.damaged = 1
            return revised
        case .whole(let whole): original = whole
        }
        revised.summary.examined = 1
        guard let revision = revising(original.response) else { return revised }
        let draft = try draft(original, revision)
        if draft.key != original.key.bytes || draft.variant != original.variant || changesHead(original, revision) {
            let tags = draft.tags.filter { !QuotaTable.isInternal($0.bytes) }
            revised.move = Revised.Move(
                from: original.key,
                to: revision.key,
                tags: tags.map { String(decoding: $0.bytes, as: UTF8.self) }
            )
            if try isSuperseded(original, draft) {
                revised.summary.superseded = 1
            } else {
                revised.summary.moved = 1
                revised.summary.superseded = try move(original, draft)
            }
        } else if draft.expiresAt != original.expiresAt || draft.isUsableStale != original.isUsableStale {
            try connection.run(
                "UPDATE entry SET expires_at = ?2, is_usable_stale = ?3 WHERE id = ?1",
                id,
                draft.expiresAt,
                draft.isUsableStale ? 1 : 0
            )
            noteChange(.changed(original.keyHash))
            revised.summary.reindexed = 1
        }
        return revised
    }

    /// Whether stored selecting fields change, including fields that select nothing and must be
    /// removed.
    private func changesHead(_ original: Original, _ revision: ResponseRevision) -> Bool {
        revision.selectingFields.map { $0 != original.head.selectingFields } ?? false
    }

    /// Reads the row of a response.
    func read(_ id: Int64) throws -> Reading {
        let statement = try connection.prepare(
            """
            SELECT id, body_id, body_length, kind, key_hash, key, variant, sequence, is_invalidated, is_usable_stale, is_pinned,
                stored_at, expires_at, head, is_damaged, \(PendingInvalidation.state), invalidation_cause
            FROM entry WHERE id = ?1
            """
        )
        defer { statement.reset() }
        statement.bind(1, id)
        guard try statement.step(), statement.integer(3) == EntryKind.response.rawValue,
            exists(.response, sequence: statement.integer(7), pending: statement.integer(15))
        else { return .gone }
        let place = EntryRows(statement)
        let keyHash = statement.integer(4)
        let binding = HeadBinding(
            entryID: place.id,
            keyHash: keyHash,
            bodyID: place.bodyID,
            bodyLength: place.bodyLength
        )
        guard let key = StoreKey(bytes: statement.bytes(5)),
            let head = StoredHeadCodec.decode(statement.bytes(13), binding: binding)
        else { return .unreadable(place) }
        return .whole(
            Original(
                place: place,
                keyHash: keyHash,
                key: key,
                variant: statement.bytes(6),
                head: head,
                invalidation: InvalidationCause.greatest(
                    InvalidationCause(isMarked: statement.flag(8), column: statement.integer(16)),
                    statement.integer(7) < currentLowWaterMark ? .unspecified : nil,
                    PendingInvalidation(statement.integer(15)).cause
                ),
                isUsableStale: statement.flag(9),
                isPinned: statement.flag(10),
                storedAt: statement.integer(11),
                expiresAt: statement.integer(12),
                isDamaged: statement.flag(14) || state.damage.contains(id)
            )
        )
    }

    /// Returns the revised row.
    private func draft(_ original: Original, _ revision: ResponseRevision) throws -> EntryDraft {
        var head = original.head
        if let fields = revision.selectingFields { head.selectingFields = fields }
        let place = original.place
        let target = revision.key.components.target
        let keyHash = state.hash(revision.key.bytes, .responseKey)
        return EntryDraft(
            id: place.id,
            kind: .response,
            keyHash: keyHash,
            key: revision.key.bytes,
            variant: VariantKey.bytes(of: head),
            targetHash: state.hash(target.canonicalBytes, .target),
            invalidation: original.invalidation,
            isUsableStale: revision.isUsableStale ?? original.isUsableStale,
            storedAt: original.storedAt,
            expiresAt: revision.freshUntil?.milliseconds ?? original.expiresAt,
            bodyLength: place.bodyLength,
            head: StoredHeadCodec.encode(
                head,
                binding: HeadBinding(
                    entryID: place.id,
                    keyHash: keyHash,
                    bodyID: place.bodyID,
                    bodyLength: place.bodyLength
                )
            ),
            tags: try tags(of: place.id, from: original.key.components.target, to: target)
        )
    }

    /// Returns the entry's tags, with the internal tag of its origin replaced by the new origin's
    /// tag.
    private func tags(of id: Int64, from: TargetURI, to target: TargetURI) throws -> [TagName] {
        let tags = try self.tags(of: id)
        guard from.originBytes != target.originBytes else { return tags }
        return tags.map { tag in
            guard QuotaTable.isInternal(tag.bytes) else { return tag }
            let bytes = QuotaTable.originTag(target)
            return TagName(bytes: bytes, hash: state.hash(bytes, .tag))
        }
    }

    /// Removes a response if the existing one under its new key was received later.
    ///
    /// - Returns: `false` if there is none; the response then still exists.
    private func isSuperseded(_ original: Original, _ draft: EntryDraft) throws -> Bool {
        let statement = try connection.prepare(
            """
            SELECT id, body_id, body_length, key, variant, head, sequence, is_damaged, \(PendingInvalidation.state)
            FROM entry WHERE key_hash = ?1 AND kind = 0 AND id <> ?2
            """
        )
        statement.bind(1, draft.keyHash)
        statement.bind(2, draft.id)
        var newer: Int64?
        while newer == nil, try statement.step() {
            guard statement.withBytes(3, { $0.elementsEqual(draft.key) }),
                statement.withBytes(4, { $0.elementsEqual(draft.variant) }),
                exists(.response, sequence: statement.integer(6), pending: statement.integer(8)), !statement.flag(7)
            else { continue }
            let place = EntryRows(statement)
            let binding = HeadBinding(
                entryID: place.id,
                keyHash: draft.keyHash,
                bodyID: place.bodyID,
                bodyLength: place.bodyLength
            )
            guard let head = StoredHeadCodec.decode(statement.bytes(5), binding: binding) else { continue }
            let isNewer = (head.responseTime, place.id) > (original.head.responseTime, original.place.id)
            if isNewer || original.isDamaged { newer = place.id }
        }
        statement.reset()
        guard let newer else { return false }
        if original.isPinned {
            try connection.run("UPDATE entry SET is_pinned = 1 WHERE id = ?1", newer)
            noteChange(.changed(draft.keyHash))
        }
        try remove(original.place)
        return true
    }

    /// Moves a response to its new key.
    ///
    /// It gets the latest invalidation number, and an invalidated response is marked in its row. An
    /// unfinished prefix invalidation applies to the former keys, and is not checked for the new
    /// one.
    ///
    /// - Returns: the number of entries it replaced.
    private func move(_ original: Original, _ draft: EntryDraft) throws -> Int {
        let replaced = try replace(draft, except: draft.id)
        try setTags(draft.tags, of: draft.id, size: draft.size)
        let statement = try connection.prepare(
            """
            UPDATE entry SET key_hash = ?2, key = ?3, variant = ?4, target_hash = ?5, sequence = ?6, is_invalidated = ?7,
                is_usable_stale = ?8, is_pinned = ?9, expires_at = ?10, size = ?11, head = ?12, invalidation_cause = ?13
            WHERE id = ?1
            """
        )
        statement.bind(1, draft.id)
        statement.bind(2, draft.keyHash)
        statement.bind(3, draft.key)
        statement.bind(4, draft.variant)
        statement.bind(5, draft.targetHash)
        statement.bind(6, lastSequence)
        statement.bind(7, draft.invalidation != nil)
        statement.bind(8, draft.isUsableStale)
        statement.bind(9, original.isPinned || replaced.wasPinned)
        statement.bind(10, draft.expiresAt)
        statement.bind(11, draft.size)
        statement.bind(12, draft.head)
        statement.bind(13, draft.invalidation?.rawValue ?? 0)
        try statement.run()
        noteRemovedContent()
        state.filter?.insert(draft.keyHash)
        if draft.keyHash != original.keyHash {
            if state.filter?.noteRemoval() == true, memory.filterCursor == nil { memory.filterCursor = .min }
            noteChange(.changed(original.keyHash))
        }
        noteChange(.changed(draft.keyHash))
        return replaced.count
    }
}
