import HTTPCache
import HTTPCacheSemantics
import NIOCore
import StoreFiles
import StoreMemory
import Synchronization

/// Stores one response while its body arrives.
final class SQLiteResponseWriter: StoredResponseWriter {
    private enum Phase {
        case writing
        case finished
        case abandoned
    }

    private let draft: ResponseDraft
    /// The fencing number; `nil` stores the response regardless of invalidations.
    private let fencingNumber: InvalidationSequence?
    private let core: StoreCore
    private let body: BodyWriter
    /// The smallest quota that applies to the response.
    private let quota: QuotaTable.Limit?
    private let phase = Mutex(Phase.writing)

    /// - Parameter reserved: the space that the caller reserved, in bytes.
    init(
        core: StoreCore,
        database: StoreDatabase,
        draft: ResponseDraft,
        fencingNumber: InvalidationSequence?,
        reserved: Int64
    ) {
        self.core = core
        self.draft = draft
        self.fencingNumber = fencingNumber
        quota = database.state.limits.quotas.tightest(for: draft)
        body = BodyWriter(core: core, database: database, reserved: reserved) { [key = draft.key] in
            "The body for '\(key.components.method) \(key.components.target.redacted)'"
        }
    }

    @concurrent
    func append(_ chunk: ByteBuffer) async throws {
        try check(during: "append to")
        if let quota, body.length + Int64(chunk.readableBytes) + draft.head.storedBytes + draft.tagBytes > quota.bytes {
            phase.withLock { $0 = .abandoned }
            throw quota.error("The body for '\(draft.key.components.method) \(draft.key.components.target.redacted)'")
        }
        try await body.append(chunk)
    }

    var readableLength: Int64 {
        get async { body.length }
    }

    @concurrent
    func readBack(from offset: Int64) async throws -> ByteBuffer {
        try body.readBack(from: offset)
    }

    @concurrent
    func finish() async throws -> StoredResponse? {
        try check(during: "finish")
        let length = body.length
        if let expected = draft.expectedLength, expected != StatedLength(clamping: length) {
            phase.withLock { $0 = .abandoned }
            throw StoreError(
                code: .incomplete,
                message:
                    "The body for '\(draft.key.components.target.redacted)' ended after \(length) of \(expected) bytes. "
                    + "The response is not stored. Fetch it again."
            )
        }
        let state = body.database.state
        let entry = ResponseEntry(draft: draft, state: state)
        let fencingNumber = fencingNumber
        let stored = try await body.finish(
            carrying: Int(draft.head.storedBytes + draft.tagLogBytes),
            mayRunHere: fencingNumber == nil
        ) { bodyID, length, whole in
            let (response, row) = entry.stored(
                id: bodyID,
                length: length,
                whole: whole,
                residentLimit: state.limits.residentBody
            )
            let visibility: BodyWriter.Visibility =
                if response.content?.body != nil { fencingNumber.map { .fenced($0.number) } ?? .pending } else {
                    .committed
                }
            return BodyWriter.Ending(draft: row, value: response, visibility: visibility) { context in
                if let fencingNumber { try !context.isInvalidated(after: fencingNumber, entry) } else { true }
            }
        }
        phase.withLock { $0 = stored == nil ? .abandoned : .finished }
        guard let stored else { return nil }
        core.changes.publish(StoreChange(.stored, .key(draft.key), tags: draft.tags))
        return stored
    }

    func abandon() async {
        phase.withLock { phase in
            if case .writing = phase { phase = .abandoned }
        }
    }

    private func check(during operation: StaticString) throws {
        let isWriting = phase.withLock { if case .writing = $0 { true } else { false } }
        guard isWriting else {
            throw StoreError(
                code: .closed,
                message: "Cannot \(operation) a stored response that was finished or abandoned. Begin a new one."
            )
        }
    }
}

/// A response's row, except for the values that are only known when the body ends.
///
/// All expensive work is done here, outside the writer's transaction.
struct ResponseEntry: Sendable {
    let keyHash: Int64
    let targetHash: Int64
    private let source: ResponseDraft
    private let variant: [UInt8]
    let tags: [TagName]

    /// - Parameter canonicalTarget: the key's canonical target, if the caller has it.
    init(draft: ResponseDraft, canonicalTarget: [UInt8]? = nil, state: DatabaseState) {
        source = draft
        variant = VariantKey.bytes(of: draft.head)
        keyHash = state.hash(draft.key.bytes, .responseKey)
        tags = draft.tagNames(state)
        targetHash = state.hash(canonicalTarget ?? draft.key.outline.canonicalTarget, .target)
    }

    /// Returns the hashes that only invalidations by prefix and principal need.
    func wideHashes(_ state: DatabaseState) -> WideHashes { state.wideHashes(of: source.key) }

    func draft(id: Int64, bodyID: Int64, bodyLength: Int64) -> EntryDraft {
        let binding = HeadBinding(entryID: id, keyHash: keyHash, bodyID: bodyID, bodyLength: bodyLength)
        return EntryDraft(
            id: id,
            kind: .response,
            keyHash: keyHash,
            key: source.key.bytes,
            variant: variant,
            targetHash: targetHash,
            invalidation: source.head.invalidation,
            isUsableStale: source.isUsableStale,
            isPinned: source.isPinned,
            storedAt: source.storedAt.milliseconds,
            expiresAt: source.freshUntil.milliseconds,
            bodyLength: bodyLength,
            head: StoredHeadCodec.encode(source.head, binding: binding),
            tags: tags
        )
    }

    /// Returns the response for readers, and its row.
    ///
    /// - Parameters:
    ///   - whole: the body, if all of it is in memory.
    ///   - residentLimit: the maximum length of a body that is kept in memory, in bytes.
    func stored(id: Int64, length: Int64, whole: ByteBuffer?, residentLimit: Int) -> (StoredResponse, EntryDraft) {
        var response = StoredResponse(
            id: id,
            key: source.key,
            head: source.head,
            bodyID: id,
            bodyLength: length,
            storedAt: source.storedAt
        )
        let body = length <= Int64(residentLimit) ? whole : nil
        response.content = ResidentContent(body: body, freshUntil: source.freshUntil)
        var row = draft(id: id, bodyID: id, bodyLength: length)
        row.memoryEntry = { [self, response] sequence in memoryEntry(response, sequence: sequence) }
        return (response, row)
    }

    /// Returns the row with its body.
    ///
    /// - Parameters:
    ///   - body: a body that fits in one transaction.
    ///   - isVisibleBeforeCommit: whether readers see the response before it is committed. If they
    ///     do not, and there is no memory tier, no copy for memory is created.
    func whole(_ body: ByteBuffer, isVisibleBeforeCommit: Bool, _ state: DatabaseState) -> WholeEntry {
        let limit = state.limits.residentBody
        let id = state.newID()
        let length = Int64(body.readableBytes)
        let row =
            isVisibleBeforeCommit || state.memory != nil
            ? stored(id: id, length: length, whole: body, residentLimit: limit).1
            : draft(id: id, bodyID: id, bodyLength: length)
        return WholeEntry(row, body: .buffer(body), residentLimit: limit)
    }

    /// Returns the response for memory, as the only response of its key.
    func memoryEntry(_ response: StoredResponse, sequence: Int64) -> MemoryEntry {
        MemoryEntry(
            key: response.key.bytes,
            value: .responses([response]),
            subject: InvalidationSubject(keyHash: keyHash, targetHash: targetHash, tagHashes: tags.map(\.hash)),
            sequence: sequence
        )
    }
}

extension WriteContext {
    /// Returns whether an invalidation after `fencingNumber` affected a response.
    ///
    /// - Parameter entryID: the entry that the response freshens. Its tags are included.
    func isInvalidated(
        after fencingNumber: InvalidationSequence,
        _ entry: ResponseEntry,
        freshening entryID: Int64? = nil
    ) throws -> Bool {
        try isInvalidated(
            after: fencingNumber,
            keyHash: entry.keyHash,
            targetHash: entry.targetHash,
            wide: entry.wideHashes(state)
        ) {
            try entry.tags + (entryID.map { try tags(of: $0) } ?? [])
        }
    }
}
