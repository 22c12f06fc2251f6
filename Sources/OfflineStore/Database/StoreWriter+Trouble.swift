import HTTPCacheSemantics
import Logging
import StoreFiles
import Synchronization

/// A disk that accepts no writes: new responses are declined before their heads are sent, so that
/// no head falsely claims that its response is stored. RFC 9211 §2.5
extension StoreWriter {
    /// Returns whether a new response should be stored now.
    ///
    /// - Parameter length: the bytes of its body, if known.
    func admits(_ length: Int64?, at now: Timestamp) -> Bool {
        guard hasTrouble.load(ordering: .relaxed) else { return true }
        if let length, canMakeRoomOnDisk(for: length) { return true }
        let free = FileSystemStatus(path: path)?.free
        let bytes = length.map(bytesOfTransaction)
        switch trouble.withLock({ $0.admit(bytes: bytes, free: free, at: now) }) {
        case .accept: return true
        case .decline(let bytes):
            if let bytes { tryWriting(Int(clamping: bytes)) }
            return false
        }
    }

    /// The bytes that one transaction writes, and thus the size of a trial: at least one chunk.
    private func bytesOfTransaction(_ bytes: Int64) -> Int64 {
        min(max(bytes, Int64(StoreLimits.chunkLength)), Int64(database.limits.transaction))
    }

    /// Records a failed transaction, if the reason is a disk that accepts no writes.
    func noteTrouble(_ error: any Error, bytes: Int) {
        let error = StoreError(error, path: path)
        guard error.isOfDisk else { return }
        isDiskFull.store(error.code == .full, ordering: .relaxed)
        let free = FileSystemStatus(path: path)?.free
        // At most as much as a trial writes.
        let bytes = Int64(min(max(bytes, StoreLimits.chunkLength), database.limits.transaction))
        let now = Timestamp(milliseconds: database.latestInstant)
        trouble.withLock { $0.recordFailure(bytes: bytes, free: free, at: now) }
        guard !hasTrouble.exchange(true, ordering: .relaxed) else { return }
        logger.warning(
            "cannot write to the disk; new responses are not stored until writes succeed",
            metadata: ["store.path": "\(path)", "error": "\(error)"]
        )
    }

    func noteSuccess(bytes: Int) {
        let isOver = trouble.withLock { trouble in
            trouble.recordSuccess(bytes: Int64(bytes))
            return trouble.isOver
        }
        guard isOver, hasTrouble.exchange(false, ordering: .relaxed) else { return }
        memory.evictsOnFullDisk = true
        logger.notice("the disk accepts writes again", metadata: ["store.path": "\(path)"])
    }

    /// Writes bytes that belong to no response, and requests their removal.
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
