import HTTPCacheSemantics
import NIOCore
import StoreFiles
import StoreMemory

/// An object that is about to be stored.
struct ObjectEntry: Sendable {
    let key: [UInt8]
    let keyHash: Int64
    let head: ObjectHead
    let bytes: [UInt8]
    let storedAt: Timestamp
    let expiresAt: Timestamp

    /// Returns the row to store.
    ///
    /// - Parameter residentLimit: the maximum length of an object that is kept in memory, in bytes.
    func draft(id: Int64, residentLimit: Int) -> EntryDraft {
        let length = Int64(bytes.count)
        let binding = HeadBinding(entryID: id, keyHash: keyHash, bodyID: id, bodyLength: length)
        var draft = EntryDraft(
            id: id,
            kind: .object,
            keyHash: keyHash,
            key: key,
            variant: [],
            targetHash: nil,
            invalidation: nil,
            isUsableStale: true,
            storedAt: storedAt.milliseconds,
            expiresAt: expiresAt.milliseconds,
            bodyLength: length,
            head: binding.sealing(ObjectHeadCodec.content(of: head))
        )
        if bytes.count <= residentLimit {
            draft.memoryEntry = { [self] in
                MemoryEntry(loadedObject(id), key: key, hash: keyHash, sequence: $0)
            }
        }
        return draft
    }

    private func loadedObject(_ id: Int64) -> LoadedObject {
        LoadedObject(
            id: id,
            storedAt: storedAt,
            expiresAt: expiresAt,
            isDistrusted: false,
            typeName: head.typeName,
            bytes: bytes
        )
    }

    /// Returns the row with its body if they fit in one transaction; otherwise `nil`.
    ///
    /// - Parameter isVisibleBeforeCommit: whether readers see the object before it is committed. If
    ///   they do not, and there is no memory tier, no copy for memory is created.
    func whole(isVisibleBeforeCommit: Bool, _ state: DatabaseState) -> WholeEntry? {
        guard bytes.count < state.limits.transaction else { return nil }
        let limit = isVisibleBeforeCommit || state.memory != nil ? state.limits.residentBody : -1
        let draft = draft(id: state.newID(), residentLimit: limit)
        return WholeEntry(draft, body: .array(bytes), residentLimit: limit)
    }
}
