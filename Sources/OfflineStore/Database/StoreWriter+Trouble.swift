import HTTPCacheSemantics
import Logging
import Synchronization

/// A disk that takes no more: what passes is declined before its head is sent, so that no head says
/// of it that it is stored. RFC 9211 §2.5
extension StoreWriter {
    /// Whether a response that comes is to be stored now.
    ///
    /// - Parameter length: bytes of its body, where they are known.
    func admits(_ length: Int64?, at now: Timestamp) -> Bool {
        guard hasTrouble.load(ordering: .relaxed) else { return true }
        if let length, canMakeRoomOnDisk(for: length) { return true }
        let free = FileSystemStatus(path: path)?.free
        switch trouble.withLock({ $0.admit(free: free, at: now) }) {
        case .accept: return true
        case .decline(let bytes):
            if let bytes { tryWriting(Int(clamping: bytes)) }
            return false
        }
    }

    /// Notes that a transaction failed, if it was the disk that did not take it.
    func noteTrouble(_ error: any Error, bytes: Int) {
        let error = StoreError(error, path: path)
        guard error.code == .full || error.code == .unwritable else { return }
        let free = FileSystemStatus(path: path)?.free
        // No more than a trial writes.
        let bytes = Int64(min(max(bytes, StoreLimits.chunkLength), database.limits.transaction))
        let now = Timestamp(milliseconds: database.latestInstant)
        trouble.withLock { $0.failed(bytes: bytes, free: free, at: now) }
        guard !hasTrouble.exchange(true, ordering: .relaxed) else { return }
        logger.warning(
            "the disk takes no more; what passes is not stored until it does",
            metadata: ["store.path": "\(path)", "error": "\(error)"]
        )
    }

    func noteSuccess(bytes: Int) {
        let isOver = trouble.withLock { trouble in
            trouble.succeeded(bytes: Int64(bytes))
            return trouble.isOver
        }
        guard isOver, hasTrouble.exchange(false, ordering: .relaxed) else { return }
        memory.yieldsToFullDisk = true
        logger.notice("the disk takes what is written again", metadata: ["store.path": "\(path)"])
    }

    /// Writes bytes that belong to no response, and has them removed.
    private func tryWriting(_ bytes: Int) {
        let job = WriteJob(bytes: bytes, isDurable: false) { (context: WriteContext) throws -> Void in
            let id = try context.newID()
            try context.insert(ChunkRows(bodyID: id, from: 0, .array([UInt8](repeating: 0, count: bytes))))
            try context.beginUnfinished(id)
            context.requestSweep()
        } completion: { (_: Swift.Result<Void, any Error>) in
        }
        if waiting.append(job) { schedule() }
    }
}
