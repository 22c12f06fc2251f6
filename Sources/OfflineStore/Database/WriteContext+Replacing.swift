import HTTPCache
import HTTPCacheSemantics
import NIOCore
import StoreFiles
import StoreMemory

/// Replaces the body of a stored response, if the response still has the body that was read.
extension WriteContext {
    /// A body that is about to be inserted.
    struct NewBody: Sendable {
        /// The number of the body and of its entry.
        var id: Int64
        var chunks: ChunkRows
        var content: ByteBuffer
    }

    /// The replaced response, and the tags that watchers see.
    struct Replaced: Sendable {
        var response: ReplacedResponse
        var tags: [String]
    }

    /// See ``CacheManager/replaceBody(of:with:excludesFetches:_:)``.
    ///
    /// - Returns: `nil` if the entry no longer exists, is damaged, or has another key.
    func replaceBody(
        of stored: StoredResponse,
        with body: NewBody,
        excludesFetches: Bool,
        at now: Timestamp,
        _ replacement: (ResponseReplacement) -> ResponseReplacement
    ) throws -> Replaced? {
        // An entry keeps its body for its lifetime, so another body means another entry.
        guard case .whole(let original) = try read(stored.id), original.key == stored.key, !original.isDamaged else {
            return nil
        }
        let former = ResponseReplacement(
            head: original.head,
            freshUntil: Timestamp(milliseconds: original.expiresAt),
            isUsableStale: original.isUsableStale
        )
        let next = replacement(former)
        // Before the entry is inserted, so that the entry gets this number and stays valid.
        if excludesFetches { _ = try nextInvalidation(.key, hash: original.keyHash, at: now) }
        let tags = try tags(of: stored.id)
        let response = original.response(next, body, at: now, residentLimit: state.limits.residentBody)
        try insert(draft(original, next, body, tags: tags, response))
        try insert(body.chunks)
        let visibleTags = tags.filter { !QuotaTable.isInternal($0.bytes) }
        return Replaced(
            response: ReplacedResponse(former: former, stored: response),
            tags: visibleTags.map { String(decoding: $0.bytes, as: UTF8.self) }
        )
    }

    private func draft(
        _ original: Original,
        _ next: ResponseReplacement,
        _ body: NewBody,
        tags: [TagName],
        _ response: StoredResponse
    ) -> EntryDraft {
        let target = original.key.components.target
        let length = Int64(body.content.readableBytes)
        let binding = HeadBinding(
            entryID: body.id,
            keyHash: original.keyHash,
            bodyID: body.id,
            bodyLength: length
        )
        let targetHash = state.hash(target.canonicalBytes, .target)
        var draft = EntryDraft(
            id: body.id,
            kind: .response,
            keyHash: original.keyHash,
            key: original.key.bytes,
            variant: original.variant,
            targetHash: targetHash,
            invalidation: original.invalidation,
            isUsableStale: next.isUsableStale,
            isPinned: original.isPinned,
            storedAt: response.storedAt.milliseconds,
            expiresAt: next.freshUntil.milliseconds,
            bodyLength: length,
            head: StoredHeadCodec.encode(next.head, binding: binding),
            tags: tags
        )
        let subject = InvalidationSubject(
            keyHash: original.keyHash,
            targetHash: targetHash,
            tagHashes: tags.map(\.hash)
        )
        draft.memoryEntry = { sequence in
            MemoryEntry(
                key: response.key.bytes,
                value: .responses([response]),
                subject: subject,
                sequence: sequence
            )
        }
        return draft
    }
}

extension WriteContext.Original {
    /// Returns the response that replaces this one.
    ///
    /// - Parameter residentLimit: the largest body that is kept in memory, in bytes.
    fileprivate func response(
        _ next: ResponseReplacement,
        _ body: WriteContext.NewBody,
        at now: Timestamp,
        residentLimit: Int
    ) -> StoredResponse {
        var head = next.head
        head.invalidation = invalidation
        return StoredResponse(
            id: body.id,
            key: key,
            head: head,
            bodyID: body.id,
            bodyLength: Int64(body.content.readableBytes),
            storedAt: now,
            content: ResidentContent(
                body: body.content.readableBytes <= residentLimit ? body.content : nil,
                freshUntil: next.freshUntil
            )
        )
    }
}
