import HTTPCacheSemantics
import Logging
import StoreFiles
import Synchronization

/// A disk that accepts no writes, or a budget that pinned entries fill: new responses are declined
/// before their heads are sent, so that no head falsely claims that its response is stored.
/// RFC 9211 §2.5
extension StoreWriter {
    /// Returns whether a new response should be stored now.
    ///
    /// - Parameter length: the bytes of its body, if known.
    func admits(_ length: Int64?, at now: Timestamp) -> Bool {
        hasRoomInBudget(for: length, at: now) && isAcceptedByDisk(length, at: now)
    }

    private func hasRoomInBudget(for length: Int64?, at now: Timestamp) -> Bool {
        guard isFullOfPins.load(ordering: .relaxed) else { return true }
        let room = roomInBudget.load(ordering: .relaxed)
        let bytes = length.map(bytesOfTransaction)
        return isAdmitted(fullness.withLock { $0.admit(bytes: bytes, free: room, at: now) })
    }

    private func isAcceptedByDisk(_ length: Int64?, at now: Timestamp) -> Bool {
        guard hasTrouble.load(ordering: .relaxed) else { return true }
        if let length, canMakeRoomOnDisk(for: length) { return true }
        let free = FileSystemStatus(path: path)?.free
        let bytes = length.map(bytesOfTransaction)
        return isAdmitted(trouble.withLock { $0.admit(bytes: bytes, free: free, at: now) })
    }

    private func isAdmitted(_ admission: WritingTrouble.Admission) -> Bool {
        switch admission {
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

    /// Reports a full disk as soon as the store is opened, and not only after a write failed.
    ///
    /// Writes are tried all the same: eviction may make room, and the log may have some.
    func noteFullDiskAtOpening() {
        guard let free = FileSystemStatus(path: path)?.free, free < StoreLimits.fullDiskBytes else { return }
        wasFullAtOpening.store(true, ordering: .relaxed)
        logger.warning(
            """
            the store's disk is full; serving stored responses; new responses and purges may not be written \
            until there is room; free some space
            """,
            metadata: ["store.path": "\(path)", "disk.free": "\(free)"]
        )
    }

    /// Whether the disk was full at the opening, still is, and accepted no response in between.
    var isStillFullFromOpening: Bool {
        guard wasFullAtOpening.load(ordering: .relaxed), let free = FileSystemStatus(path: path)?.free else {
            return false
        }
        return free < StoreLimits.fullDiskBytes
    }

    /// Whether a disk that was full has room again for as much as failed, so that the next response
    /// is stored.
    var hasRoomAgain: Bool {
        guard let free = FileSystemStatus(path: path)?.free else { return false }
        return trouble.withLock { $0.hasRoomAgain(free: free) }
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

    /// Records that a write found no room in the budget, although everything that may be evicted
    /// was evicted.
    ///
    /// - Parameter room: the bytes that the budget has left.
    func noteFullness(_ error: StoreError, bytes: Int, room: Int64) {
        let bytes = Int64(min(max(bytes, StoreLimits.chunkLength), database.limits.transaction))
        let now = Timestamp(milliseconds: database.latestInstant)
        roomInBudget.store(max(0, room), ordering: .relaxed)
        fullness.withLock { $0.recordFailure(bytes: bytes, free: max(0, room), at: now) }
        guard !isFullOfPins.exchange(true, ordering: .relaxed) else { return }
        logger.warning(
            "pinned entries fill the store; new responses are not stored until there is room",
            metadata: ["store.path": "\(path)", "error": "\(error)"]
        )
    }

    /// Records a successful transaction. One without bytes may have unpinned or removed entries.
    func noteRoom(bytes: Int) {
        let isOver = fullness.withLock { fullness in
            if bytes == 0 { fullness.allowTrial(at: Timestamp(milliseconds: database.latestInstant)) }
            fullness.recordSuccess(bytes: Int64(bytes))
            return fullness.isOver
        }
        guard isOver, isFullOfPins.exchange(false, ordering: .relaxed) else { return }
        logger.notice("the store has room for new responses again", metadata: ["store.path": "\(path)"])
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
