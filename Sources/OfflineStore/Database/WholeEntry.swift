import NIOCore
import StoreMemory

/// An entry with its whole body, as rows.
///
/// It is created outside the writer's transaction, which then only writes the rows. It is a class
/// because many of them wait in queues: passing a reference costs less than copying the parts.
final class WholeEntry: Sendable {
    let draft: EntryDraft
    let chunks: ChunkRows
    /// The bytes that it adds to its transaction.
    let bytes: Int

    /// Whether memory holds all of it, so that readers need not wait for the commit.
    let fitsInMemory: Bool

    /// - Parameters:
    ///   - body: a body that fits in one transaction.
    ///   - residentLimit: the largest body that is kept in memory, in bytes.
    init(_ draft: EntryDraft, body: ChunkRows.Bytes, residentLimit: Int) {
        self.draft = draft
        fitsInMemory = body.count <= residentLimit
        chunks = ChunkRows(bodyID: draft.id, from: 0, body)
        bytes = Int(draft.size + Int64(draft.tags.count) * StoreLimits.tagLogOverhead)
    }
}

extension WriteContext {
    func insert(_ entry: WholeEntry) throws {
        try insert(entry.draft)
        try insert(entry.chunks)
    }
}

extension StoreCore {
    /// Stores an entry. Readers in this process see it immediately if the body is small enough for
    /// memory, otherwise after the commit.
    func writeEntry(_ entry: WholeEntry, to database: StoreDatabase) async throws {
        let memoryEntry = entry.fitsInMemory ? entry.draft.memoryEntry : nil
        let pendingWrite = memoryEntry.map {
            PendingWrite(
                writes: database.state.pending,
                entry: $0(lastInvalidation.number),
                hash: entry.draft.keyHash,
                token: entry.draft.id,
                fencingNumber: nil
            )
        }
        try await write(to: database, bytes: entry.bytes, mayRunHere: true, pendingWrite: pendingWrite) {
            try $0.insert(entry)
        }
    }

    /// Stores entries in as few transactions as possible. While one is written, the entries of the
    /// next are created.
    ///
    /// - Parameters:
    ///   - items: items with different keys.
    ///   - isAllowed: whether to store a batch; called within its transaction.
    ///   - entry: creates an entry; `nil` if the body was too large for a shared transaction and
    ///     was stored on its own.
    ///   - whenStored: called for each entry after its commit, except for those stored on their
    ///     own.
    func writeBatches<Item: Sendable>(
        of items: some Sequence<Item>,
        to database: StoreDatabase,
        through writer: StoreWriter,
        if isAllowed: @escaping @Sendable (WriteContext) throws -> Bool = { _ in true },
        entry: (Item) async throws -> WholeEntry?,
        whenStored: @escaping @Sendable (WholeEntry) -> Void = { _ in }
    ) async throws {
        let limits = database.state.limits
        try await withThrowingTaskGroup(of: Void.self) { group in
            var batch = EntryBatch()
            // The first transaction is small, so that the writer can start before a full
            // transaction of entries is ready.
            var limit = Self.entriesAtFirst
            for item in items {
                guard let entry = try await entry(item) else { continue }
                if !batch.takes(entry, atMost: limit, limits) {
                    // At most one transaction is in progress, because waiting entries use memory.
                    try await group.next()
                    await writer.admit()
                    group.addTask { [batch] in
                        try await self.writeBatch(batch, to: database, if: isAllowed, whenStored)
                    }
                    batch = EntryBatch()
                    limit = limits.entriesTogether
                }
                batch.append(entry)
            }
            try await group.next()
            try await writeBatch(batch, to: database, if: isAllowed, whenStored)
        }
    }

    /// The most entries in a call's first transaction. Later ones are created while the previous
    /// one is written, which takes longer.
    private static let entriesAtFirst = 1024

    private func writeBatch(
        _ batch: EntryBatch,
        to database: StoreDatabase,
        if isAllowed: @escaping @Sendable (WriteContext) throws -> Bool,
        _ whenStored: @Sendable (WholeEntry) -> Void
    ) async throws {
        if batch.entries.isEmpty { return }
        try await write(to: database, bytes: batch.bytes, entries: batch.entries.count) { [entries = batch.entries] in
            guard try isAllowed($0) else { return }
            for entry in entries { try $0.insert(entry) }
        }
        for entry in batch.entries { whenStored(entry) }
    }
}

/// Entries for one transaction.
private struct EntryBatch: Sendable {
    private(set) var entries: [WholeEntry] = []
    private(set) var bytes = 0

    func takes(_ entry: WholeEntry, atMost limit: Int, _ limits: StoreLimits) -> Bool {
        entries.isEmpty
            || entries.count < min(limit, limits.entriesTogether) && bytes + entry.bytes <= limits.bytesTogether
    }

    mutating func append(_ entry: WholeEntry) {
        entries.append(entry)
        bytes += entry.bytes
    }
}
