import NIOCore
import Synchronization

/// An entry with its whole body, as the rows they become.
///
/// Made outside the writer's transaction, which has nothing left to do but to write them. It has an
/// identity because many stand in line, and handing on one reference takes less than a count for
/// each of its parts.
final class WholeEntry: Sendable {
    let draft: EntryDraft
    let chunks: ChunkRows
    /// Bytes that it brings to its transaction.
    let bytes: Int

    /// Whether memory keeps all of it: then readers need not wait for the commit.
    let isResident: Bool

    /// - Parameters:
    ///   - body: one that a transaction takes as a whole.
    ///   - residentLimit: bytes of a body that memory keeps.
    init(_ draft: EntryDraft, body: ChunkRows.Bytes, residentLimit: Int) {
        self.draft = draft
        isResident = body.count <= residentLimit
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
    /// Stores an entry, visible to readers of the process from now on if memory keeps its like;
    /// else from its commit on.
    func write(_ entry: WholeEntry, to database: StoreDatabase) async throws {
        let resident = entry.isResident ? entry.draft.resident : nil
        let shown = resident.map {
            PendingWrite(
                writes: database.state.pending,
                entry: $0(sequence.load(ordering: .acquiring)),
                hash: entry.draft.keyHash,
                token: entry.draft.id,
                fence: nil
            )
        }
        try await write(to: database, bytes: entry.bytes, mayRunHere: true, shown: shown) { try $0.insert(entry) }
    }

    /// Stores entries, as many in one transaction as it takes; while one is written, the entries of
    /// the next are made.
    ///
    /// - Parameters:
    ///   - items: each under a key of its own.
    ///   - entry: makes an entry; `nil` where the body is too large for a transaction with others,
    ///     and was stored by itself.
    ///   - whenStored: called for each after its commit, but for those that were stored by
    ///     themselves.
    func write<Item: Sendable>(
        _ items: some Sequence<Item>,
        to database: StoreDatabase,
        through writer: StoreWriter,
        entry: (Item) async throws -> WholeEntry?,
        whenStored: @escaping @Sendable (WholeEntry) -> Void = { _ in }
    ) async throws {
        let limits = database.state.limits
        try await withThrowingTaskGroup(of: Void.self) { group in
            var some = EntryBatch()
            // The writer begins with few, and need not wait until a whole transaction of them is
            // made.
            var most = Self.entriesAtFirst
            for item in items {
                guard let entry = try await entry(item) else { continue }
                if !some.takes(entry, atMost: most, limits) {
                    // One is under way at most: what waits is in memory.
                    try await group.next()
                    await writer.admit()
                    group.addTask { [some] in try await self.write(some, to: database, whenStored) }
                    some = EntryBatch()
                    most = limits.entriesTogether
                }
                some.append(entry)
            }
            try await group.next()
            try await write(some, to: database, whenStored)
        }
    }

    /// Entries in a call's first transaction at most. Each of the others is made while the one
    /// before it is written, which takes longer.
    private static let entriesAtFirst = 1024

    private func write(
        _ some: EntryBatch,
        to database: StoreDatabase,
        _ whenStored: @Sendable (WholeEntry) -> Void
    ) async throws {
        if some.entries.isEmpty { return }
        try await write(to: database, bytes: some.bytes, entries: some.entries.count) { [entries = some.entries] in
            for entry in entries { try $0.insert(entry) }
        }
        for entry in some.entries { whenStored(entry) }
    }
}

/// Entries for one transaction.
private struct EntryBatch: Sendable {
    private(set) var entries: [WholeEntry] = []
    private(set) var bytes = 0

    func takes(_ entry: WholeEntry, atMost most: Int, _ limits: StoreLimits) -> Bool {
        entries.isEmpty
            || entries.count < min(most, limits.entriesTogether) && bytes + entry.bytes <= limits.bytesTogether
    }

    mutating func append(_ entry: WholeEntry) {
        entries.append(entry)
        bytes += entry.bytes
    }
}
