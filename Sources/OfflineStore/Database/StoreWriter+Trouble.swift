import HTTPCacheSemantics
import Logging
import Synchronization

/// A disk that takes no more: what passes is declined before its head is sent, so that no head says of it that it is stored. RFC 9211 §2.5
extension StoreWriter {
    /// Whether a response that comes is to be stored now.
    func admits(at now: Timestamp) -> Bool {
        guard hasTrouble.load(ordering: .relaxed) else { return true }
        let free = FileSystemStatus(path: path)?.free
        switch trouble.withLock({ $0.admit(free: free, at: now) }) {
        case .accept: return true
        case .decline(let octets):
            if let octets { tryWriting(Int(clamping: octets)) }
            return false
        }
    }

    /// Notes that a transaction failed, if it was the disk that did not take it.
    func noteTrouble(_ error: any Error, octets: Int) {
        let error = StoreError(error, path: path)
        guard error.code == .full || error.code == .unwritable else { return }
        let free = FileSystemStatus(path: path)?.free
        // Not more than a trial writes.
        let octets = Int64(min(max(octets, StoreLimits.chunkLength), database.limits.transaction))
        let now = Timestamp(milliseconds: database.latestInstant)
        trouble.withLock { $0.failed(octets: octets, free: free, at: now) }
        guard !hasTrouble.exchange(true, ordering: .relaxed) else { return }
        logger.warning(
            "the disk takes no more; what passes is not stored until it does",
            metadata: ["store.path": "\(path)", "error": "\(error)"]
        )
    }

    func noteSuccess(octets: Int) {
        let isOver = trouble.withLock { trouble in
            trouble.succeeded(octets: Int64(octets))
            return trouble.isOver
        }
        guard isOver, hasTrouble.exchange(false, ordering: .relaxed) else { return }
        logger.notice("the disk takes what is written again", metadata: ["store.path": "\(path)"])
    }

    /// Writes octets that are nobody's, and has them removed.
    private func tryWriting(_ octets: Int) {
        let job = WriteJob(bytes: octets, isDurable: false) { (context: WriteContext) throws -> Void in
            let id = try context.newID()
            try context.insert(ChunkRows(bodyID: id, from: 0, .array([UInt8](repeating: 0, count: octets))))
            try context.beginUnfinished(id)
            context.requestSweep()
        } completion: { (_: Swift.Result<Void, any Error>) in
        }
        if waiting.append(job) { schedule() }
    }
}
